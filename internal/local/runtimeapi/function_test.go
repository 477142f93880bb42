package runtimeapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// order is the event of the test function. It says what the function should do.
type order struct {
	Do     string `json:"do"`
	Millis int    `json:"millis"`
	Bytes  int    `json:"bytes"`
}

// runFunction turns the test binary into a Lambda function. The variable START and the event say how it behaves.
func runFunction() {
	switch start := os.Getenv("START"); start {
	case "":
	case "crash":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	case "init-error":
		post("/runtime/init/error", `{"errorType":"Settings","errorMessage":"TABLE is not set"}`)
		os.Exit(1)
	case "init-error-hang":
		post("/runtime/init/error", `{"errorType":"Settings","errorMessage":"TABLE is not set"}`)
		time.Sleep(time.Hour)
	case "never-answer":
		for {
			askForEvent()
		}
	case "wrong-id":
		askForEvent()
		fmt.Println("status", post("/runtime/invocation/8476a536-e9f4-11e8-9739-2dfe598c3fcd/response", `{}`))
		time.Sleep(time.Hour)
	case "slow":
		fmt.Println("starting", os.Getpid())
		time.Sleep(10 * time.Second)
	}
	fmt.Println("started")
	lambda.Start(handle)
}

func handle(ctx context.Context, o order) (any, error) {
	began := time.Now()
	time.Sleep(time.Duration(o.Millis) * time.Millisecond)
	switch o.Do {
	case "exit":
		os.Exit(4)
	case "panic":
		panic("the shelf is empty")
	case "error":
		return nil, errors.New("the shelf is empty")
	case "rubbish":
		return strings.NewReader("<html>"), nil
	case "huge":
		return strings.NewReader(strings.Repeat("a", o.Bytes)), nil
	case "broken-stream":
		return io.MultiReader(strings.NewReader("half of it"), brokenReader{}), nil
	case "lines":
		fmt.Print("one\ntwo\r\n")
		fmt.Fprintln(os.Stderr, "three")
		fmt.Print("no end")
		time.Sleep(20 * time.Millisecond)
		fmt.Println(" of line")
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	dir, _ := os.Getwd()
	return report{
		PID: os.Getpid(), RequestID: lc.AwsRequestID, ARN: lc.InvokedFunctionArn, TraceID: os.Getenv("_X_AMZN_TRACE_ID"),
		Deadline: deadline, Began: began, Ended: time.Now(), Env: os.Environ(), Dir: dir,
	}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the shelf collapsed") }

func askForEvent() {
	r, err := http.Get(runtimeURL() + "/runtime/invocation/next") //nolint:noctx // may wait until the process ends
	if err != nil {
		os.Exit(5)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
}

func post(path, body string) int {
	r, err := http.Post(runtimeURL()+path, "application/json", strings.NewReader(body)) //nolint:noctx // may wait until the process ends
	if err != nil {
		os.Exit(5)
	}
	_ = r.Body.Close()
	return r.StatusCode
}

func runtimeURL() string { return "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01" }
