package runtimeapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// order is the event of the test function. It says what the function should do.
type order struct {
	Do    string `json:"do"`
	Until string `json:"until"` // a file; the function first prints "working", and waits until the file exists
}

// runFunction turns the test binary into a Lambda function. The variable START and the event say how it behaves.
func runFunction() {
	switch os.Getenv("START") {
	case "crash":
		os.Exit(3)
	case "hang":
		fmt.Println("starting", os.Getpid())
		time.Sleep(time.Hour)
	}
	lambda.Start(handle)
}

func handle(ctx context.Context, o order) (any, error) {
	if o.Until != "" {
		fmt.Println("working")
		for exists := false; !exists; time.Sleep(time.Millisecond) {
			_, err := os.Stat(o.Until)
			exists = err == nil
		}
	}
	switch o.Do {
	case "exit":
		os.Exit(4)
	case "panic":
		panic("the shelf is empty")
	case "error":
		return nil, errors.New("the shelf is empty")
	case "html":
		return strings.NewReader("<html>"), nil
	case "lines":
		fmt.Print("one\ntwo\n")
		fmt.Fprintln(os.Stderr, "three")
		fmt.Print("no end")
		fmt.Println(" of line")
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	dir, _ := os.Getwd()
	return report{PID: os.Getpid(), RequestID: lc.AwsRequestID, Deadline: deadline, Env: os.Environ(), Dir: dir}, nil
}
