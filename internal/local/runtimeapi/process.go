package runtimeapi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// exitGrace is how long a process may take to exit after it reported that it cannot start.
	exitGrace = 500 * time.Millisecond
	// outputGrace is how long output is still read after the process has ended, if its children keep the output open.
	outputGrace = time.Second
	// headerTimeout is how long a client of the runtime API may take to send a request's header.
	headerTimeout = 10 * time.Second
)

// Command says which process to start.
type Command struct {
	// Path is the built executable. Its directory is the working directory.
	Path string
	// Env is the whole environment, except for the address of the runtime API. Nothing is inherited.
	Env []string
	// ARN is the function's ARN, as the process sees it.
	ARN string
	// Stdout and Stderr receive the process's output, as in exec.Cmd. Output for a nil writer is discarded.
	Stdout, Stderr io.Writer
	// InitTimeout bounds the time from the start to the first request for an event; 0 means 10 s.
	InitTimeout time.Duration
	// Timeout bounds the time for one event, from its delivery until the process asks for the next event.
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

// Start starts a process and returns when the process asks for its first event. The process is killed when ctx ends. The error
// wraps ErrStart, ErrInitTimeout, or ErrClosed if ctx ended. If the process ended or reported an error, Start's error says how.
// After an error, no process is left running.
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
	command.InitTimeout = cmp.Or(command.InitTimeout, defaultInitTimeout)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtime API: %w", err)
	}
	alive, kill := context.WithCancel(ctx)
	p := &Process{
		Command: command, kill: kill,
		offers: make(chan *invocation), asked: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	p.api = &http.Server{Handler: p.runtimeAPI(), ReadHeaderTimeout: headerTimeout}
	p.command = exec.CommandContext(alive, p.Path) //nolint:gosec // the path is the caller's own build
	p.command.Dir = filepath.Dir(p.Path)
	p.command.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}, p.Env...)
	p.command.Stdout, p.command.Stderr = p.Stdout, p.Stderr
	p.command.SysProcAttr = processAttributes()
	p.command.Cancel = p.killGroup
	p.command.WaitDelay = outputGrace
	started := make(chan error)
	go p.run(ctx, listener, started)
	return p, <-started
}

// run starts the process and waits for its end. It keeps its goroutine on one thread, because on Linux the process dies with the
// thread that started it.
func (p *Process) run(ctx context.Context, listener net.Listener, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer p.kill()
	p.begun = time.Now()
	if err := p.command.Start(); err != nil {
		_ = listener.Close()
		started <- fmt.Errorf("%w: %w", ErrStart, err)
		return
	}
	go func() { _ = p.api.Serve(listener) }() // until Close
	initTimeout := time.AfterFunc(p.InitTimeout, func() {
		if !p.isReady() {
			p.end(fmt.Errorf("%w (%s)", ErrInitTimeout, p.InitTimeout))
		}
	})
	started <- nil

	_ = p.command.Wait() // ProcessState has the result
	initTimeout.Stop()
	_ = p.killGroup() // children that the process left behind
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

// killGroup kills the process and its children.
func (p *Process) killGroup() error { return syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }

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

func (p *Process) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.readyAt.IsZero()
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

// Invoke sends an event to the process and waits until the process asks for the next event. It returns the response and how long the
// response took. Do not call it concurrently. If the function fails, the error is one that Runtime.Invoke documents.
func (p *Process) Invoke(event []byte) (answer []byte, took time.Duration, err error) {
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
	return inv.answer, took, inv.err
}

// invocation is one event, given to a process at most once.
type invocation struct {
	id      string
	event   []byte
	timeout *time.Timer // runs from the delivery until the process asks for the next event

	once    sync.Once
	release func()        // called before done is closed
	done    chan struct{} // closed once the fields below are set
	at      time.Time
	answer  []byte
	err     error
}

func newInvocation(event []byte, release func()) *invocation {
	return &invocation{id: newUUID(), event: event, release: release, done: make(chan struct{})}
}

// finish sets the outcome of the invocation. The first outcome counts. Later outcomes are ignored.
func (i *invocation) finish(answer []byte, err error) {
	i.once.Do(func() {
		i.at, i.answer, i.err = time.Now(), answer, err
		i.release()
		close(i.done)
	})
}

func (i *invocation) isFinished() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
}
