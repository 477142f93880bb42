package runtimeapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const apiVersion = "/2018-06-01"

// Command says which process to start.
type Command struct {
	// Path is the built executable. Its directory is the working directory.
	Path string
	// Env is the whole environment, except for the address of the runtime API. Nothing is inherited.
	Env []string
	// Output receives what the process writes to stdout and stderr. If it is nil, the output is discarded.
	Output io.Writer
	// Timeout bounds the time for one event.
	Timeout time.Duration
}

// Process is one running process of a function. It has its own runtime API and gets one event at a time.
type Process struct {
	Command

	command *exec.Cmd
	api     *http.Server
	kill    context.CancelFunc // returns before the process has ended; to wait for the end, wait for gone
	begun   time.Time

	offers chan *invocation // each request for an event takes one invocation
	asked  chan struct{}    // holds one entry after the process asked for an event
	gone   chan struct{}    // closed when the process has ended and its output is read

	mu      sync.Mutex
	readyAt time.Time   // time of the first request for an event
	current *invocation // the invocation that was delivered last
	cause   error       // why the process ended or is being killed; nil while it works
}

// Start starts a process and returns when the process asks for its first event. The process is killed when ctx ends.
// The error wraps ErrClosed if ctx ended. If the process ended, Start's error says how. After an
// error, no process is left running.
func Start(ctx context.Context, command Command) (*Process, error) {
	p, err := start(ctx, command)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.asked:
		return p, nil
	case <-p.gone:
		return nil, p.err()
	}
}

// start returns before the process is ready.
func start(ctx context.Context, command Command) (*Process, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtime API: %w", err)
	}
	alive, kill := context.WithCancel(ctx)
	p := &Process{
		Command: command, kill: kill,
		offers: make(chan *invocation), asked: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	p.api = &http.Server{Handler: p.runtimeAPI(), ReadHeaderTimeout: time.Minute}
	p.command = exec.CommandContext(alive, p.Path) //nolint:gosec // the path is the caller's own build
	p.command.Dir = filepath.Dir(p.Path)
	p.command.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}, p.Env...)
	p.command.Stdout, p.command.Stderr = p.Output, p.Output
	p.command.SysProcAttr = processAttributes()
	started := make(chan error)
	go p.run(ctx, listener, started)
	return p, <-started
}

// run starts the process and waits for its end. It keeps its goroutine on one thread, because on Linux the process dies
// with the thread that started it.
func (p *Process) run(ctx context.Context, listener net.Listener, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer p.kill()
	p.begun = time.Now()
	if err := p.command.Start(); err != nil {
		_ = listener.Close()
		started <- err
		return
	}
	go func() { _ = p.api.Serve(listener) }() // until Close
	started <- nil

	_ = p.command.Wait() // ProcessState has the result
	_ = p.api.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cause != nil:
	case ctx.Err() != nil:
		p.cause = ErrClosed
	case p.readyAt.IsZero():
		p.cause = fmt.Errorf("the process ended while it started: %s", p.command.ProcessState)
	default:
		p.cause = fmt.Errorf("the process ended before it responded: %s", p.command.ProcessState)
	}
	close(p.gone)
	if p.current != nil {
		p.current.finish(nil, p.cause)
	}
}

// end kills the process. If several causes are given, the first one counts.
func (p *Process) end(cause error) {
	p.mu.Lock()
	p.cause = cmp.Or(p.cause, cause)
	p.mu.Unlock()
	p.kill()
}

// err returns why the process ended.
func (p *Process) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ready returns the time from the start of the process until it asked for its first event.
func (p *Process) Ready() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readyAt.Sub(p.begun)
}

// Stop kills the process and returns when it is gone.
func (p *Process) Stop() {
	p.end(ErrClosed)
	<-p.gone
}

// Invoke sends an event to the process and waits until the process asks for the next event. It returns the response and
// how long the response took. Do not call it concurrently.
func (p *Process) Invoke(event []byte) (response []byte, took time.Duration, err error) {
	inv := newInvocation(event, func() {})
	given := time.Now()
	select {
	case p.offers <- inv:
	case <-p.gone:
		return nil, 0, p.err()
	}
	<-inv.done
	took = inv.at.Sub(given)
	select {
	case <-p.asked:
	case <-p.gone:
		return nil, 0, cmp.Or(inv.err, p.err())
	}
	return inv.response, took, inv.err
}

// runtimeAPI returns the runtime API for this process alone. No other process knows its address.
func (p *Process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+apiVersion+"/runtime/invocation/next", p.next)
	mux.HandleFunc("POST "+apiVersion+"/runtime/invocation/{id}/response", p.respond)
	mux.HandleFunc("POST "+apiVersion+"/runtime/invocation/{id}/error", p.fail)
	return mux
}

// next waits, for as long as it takes, for an event and delivers it.
func (p *Process) next(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.readyAt.IsZero() {
		p.readyAt = time.Now()
	}
	p.mu.Unlock()
	select {
	case p.asked <- struct{}{}:
	default:
	}
	select {
	case inv := <-p.offers:
		p.deliver(w, inv)
	case <-p.gone:
	case <-r.Context().Done():
	}
}

func (p *Process) deliver(w http.ResponseWriter, inv *invocation) {
	p.mu.Lock()
	p.current = inv
	deadline := time.Now().Add(p.Timeout)
	inv.timeout = time.AfterFunc(p.Timeout, func() {
		p.end(ErrTimeout)
		inv.finish(nil, ErrTimeout)
	})
	select {
	case <-p.gone: // the process ended before inv became its current invocation
		inv.finish(nil, p.cause)
	default:
	}
	p.mu.Unlock()
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(inv.event)))
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(deadline.UnixMilli(), 10))
	_, _ = w.Write(inv.event) // if this fails, the process is gone or will time out
}

// respond takes the response to the current invocation.
func (p *Process) respond(w http.ResponseWriter, r *http.Request) {
	response, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the response is incomplete", http.StatusBadRequest)
		return
	}
	p.finish(response, nil)
	w.WriteHeader(http.StatusAccepted)
}

// fail takes the report that the function returned an error. It leaves out the function's message, which may repeat
// what a client sent.
func (p *Process) fail(w http.ResponseWriter, r *http.Request) {
	var report struct {
		Type string `json:"errorType"`
	}
	_ = json.NewDecoder(r.Body).Decode(&report) // without a type, the error is reported all the same
	p.finish(nil, fmt.Errorf("the function reported an error of type %q", report.Type))
	w.WriteHeader(http.StatusAccepted)
}

// finish sets the outcome of the current invocation.
func (p *Process) finish(response []byte, err error) {
	p.mu.Lock()
	inv := p.current
	p.mu.Unlock()
	inv.timeout.Stop()
	inv.finish(response, err)
}

// invocation is one event, given to a process at most once.
type invocation struct {
	id      string
	event   []byte
	timeout *time.Timer // runs from the delivery until the response

	once     sync.Once
	release  func()        // called before done is closed
	done     chan struct{} // closed once the fields below are set
	at       time.Time
	response []byte
	err      error
}

func newInvocation(event []byte, release func()) *invocation {
	return &invocation{id: rand.Text(), event: event, release: release, done: make(chan struct{})}
}

// finish sets the outcome of the invocation. The first outcome counts. Later outcomes are ignored.
func (i *invocation) finish(response []byte, err error) {
	i.once.Do(func() {
		i.at, i.response, i.err = time.Now(), response, err
		i.release()
		close(i.done)
	})
}
