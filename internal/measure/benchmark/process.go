package benchmark

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	runtimePath = "/2018-06-01/runtime/"
	// patience bounds how long a process may take to start or to answer.
	patience = 10 * time.Second
	// lambdaMemory is what a process is told to have, in MB.
	lambdaMemory = 256
)

// process is one running process of a function behind a Lambda runtime API of its own
// (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html), with a clock at both of its ends. It has one event at a
// time.
type process struct {
	command *exec.Cmd
	api     *http.Server
	serial  int
	begun   time.Time
	// startCPU is the processor time that it had used when it asked for its first event.
	startCPU time.Duration

	asked   chan time.Time // the process asked for an event
	events  chan []byte
	answers chan timed
	ended   chan struct{} // closed when the process is gone
	output  *tail
}

// timed is what a process posted, and when that had arrived.
type timed struct {
	at   time.Time
	path string
	body []byte
}

// start runs a binary and returns when it asks for its first event, with the time that took from before it was started. Its log
// goes nowhere, as fast as it can.
func start(ctx context.Context, binary string, env []string) (p *process, ready time.Duration, err error) {
	return startLogging(ctx, binary, env, nil)
}

// startLogging is start with a file for the log; nil is nowhere.
func startLogging(ctx context.Context, binary string, env []string, log *os.File) (p *process, ready time.Duration, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	p = &process{
		asked: make(chan time.Time, 1), events: make(chan []byte), answers: make(chan timed, 1), ended: make(chan struct{}),
		output: new(tail),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+runtimePath+"invocation/next", p.next)
	mux.HandleFunc("POST "+runtimePath, p.post)
	p.api = &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { _ = p.api.Serve(listener) }() // until stop
	p.command = exec.Command(binary)          //nolint:noctx // this repository's own program, ended by stop
	p.command.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(),
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(lambdaMemory),
	}, env...)
	p.command.Stderr = p.output
	if log != nil {
		p.command.Stdout = log
	}
	p.begun = time.Now()
	if err := p.command.Start(); err != nil {
		_ = p.api.Close()
		return nil, 0, err
	}
	go func() {
		_ = p.command.Wait() // it says no more than that the process ended
		close(p.ended)
	}()
	select {
	case at := <-p.asked:
		if p.startCPU, err = CPUTime(p.command.Process.Pid); err == nil {
			return p, at.Sub(p.begun), nil
		}
	case <-p.ended:
		err = p.death()
	case <-time.After(patience):
		err = fmt.Errorf("%s does not ask for an event", binary)
	}
	p.stop()
	return nil, 0, err
}

func (p *process) next(w http.ResponseWriter, r *http.Request) {
	p.asked <- time.Now()
	select {
	case event := <-p.events:
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(event)))
		header.Set("Lambda-Runtime-Aws-Request-Id", strconv.Itoa(p.serial))
		header.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(patience).UnixMilli(), 10))
		header.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:benchmark")
		_, _ = w.Write(event) // where it does not arrive, no answer will
	case <-r.Context().Done():
	}
}

func (p *process) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	at := time.Now()
	if err == nil {
		p.answers <- timed{at, r.URL.Path, body}
	}
	w.WriteHeader(http.StatusAccepted)
}

// invoke gives the process, which has asked for it, an event, and returns the answer with the time from when the event was
// handed over until the answer had arrived. It returns when the process asks for the next event.
func (p *process) invoke(event []byte) (answer []byte, took time.Duration, err error) {
	p.serial++
	given := time.Now()
	select {
	case p.events <- event:
	case <-p.ended:
		return nil, 0, p.death()
	}
	select {
	case answer := <-p.answers:
		if answer.path != runtimePath+"invocation/"+strconv.Itoa(p.serial)+"/response" {
			return nil, 0, fmt.Errorf("the function failed: %s", answer.body)
		}
		select {
		case <-p.asked:
			return answer.body, answer.at.Sub(given), nil
		case <-time.After(patience):
			return nil, 0, fmt.Errorf("%s does not ask for another event", p.command.Path)
		}
	case <-p.ended:
		return nil, 0, p.death()
	case <-time.After(patience):
		return nil, 0, fmt.Errorf("%s does not answer", p.command.Path)
	}
}

// death says how the process, which is gone, ended.
func (p *process) death() error { return fmt.Errorf("%s ended: %s", p.command.Path, p.output) }

// stop ends the process and returns when it is gone.
func (p *process) stop() {
	_ = p.command.Process.Kill() // it may have ended
	<-p.ended
	_ = p.api.Close()
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	const kept = 4096
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-kept):]
	return len(b), nil
}

func (t *tail) String() string { return string(t.text) }
