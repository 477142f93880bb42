package runtimeapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// A process that reported that it cannot start is left this long to exit by itself.
	exitGrace = 500 * time.Millisecond
	// Output that a process's own children keep open after it ended is read this long.
	outputGrace = time.Second
	// The caller gets its answer when the process is ready for the next event, so that a call after it finds the process
	// idle; but no later than this.
	readyGrace = 50 * time.Millisecond
	// A client that opens a connection to the runtime API and says nothing is cut off.
	headerTimeout = 10 * time.Second
)

// process is one running process of a function, with a runtime API of its own. It is new until it asked for an event,
// then in turn idle and serving an invocation, and in the end gone. Only one goroutine at a time awaits or serves.
type process struct {
	function *function
	command  *exec.Cmd
	output   *lineWriter
	api      *http.Server
	kill     context.CancelFunc // asynchronous; gone says when it is done

	asks      chan struct{}       // the process asks for an event: received once for each request
	offers    chan *invocation    // taken by the request for an event
	initError chan *FunctionError // takes one without blocking
	gone      chan struct{}       // closed when the process has ended and its output is read

	current atomic.Pointer[invocation]
}

// newProcess starts a process. It must be called from within Runtime.run, so that Close waits for what it starts.
func (f *function) newProcess() (*process, error) {
	listener, err := (&net.ListenConfig{}).Listen(f.runtime.alive, "tcp", "127.0.0.1:0")
	if err != nil {
		if f.runtime.alive.Err() != nil {
			return nil, ErrClosed
		}
		return nil, fmt.Errorf("runtime API: %w", err)
	}
	alive, kill := context.WithCancel(f.runtime.alive)
	p := &process{
		function:  f,
		output:    &lineWriter{emit: f.log},
		kill:      kill,
		asks:      make(chan struct{}),
		offers:    make(chan *invocation),
		initError: make(chan *FunctionError, 1),
		gone:      make(chan struct{}),
	}
	p.api = &http.Server{Handler: p.runtimeAPI(), ReadHeaderTimeout: headerTimeout}
	p.command = exec.CommandContext(alive, f.Path) //nolint:gosec // the path is the caller's own build
	p.command.Dir = filepath.Dir(f.Path)
	p.command.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}, f.env...)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.SysProcAttr = ownGroup()
	p.command.Cancel = func() error { return killGroup(p.command.Process) }
	p.command.WaitDelay = outputGrace

	if err := f.runtime.startCommand(p.command); err != nil {
		kill()
		_ = listener.Close()
		if f.runtime.alive.Err() != nil {
			return nil, ErrClosed
		}
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	f.runtime.running.Go(func() { _ = p.api.Serve(listener) })
	f.runtime.running.Go(p.supervise)
	return p, nil
}

// supervise waits for the end of the process.
func (p *process) supervise() {
	_ = p.command.Wait() // what it says is in ProcessState
	p.kill()
	_ = killGroup(p.command.Process) // children of its own
	_ = p.api.Close()
	p.output.flush()
	close(p.gone)
	p.function.forget(p)
}

// killAndWait ends the process and returns when it is gone.
func (p *process) killAndWait() {
	p.kill()
	<-p.gone
}

// exitError says how a process that is gone ended.
func (p *process) exitError(init bool) error {
	if p.function.runtime.alive.Err() != nil {
		return ErrClosed
	}
	return &ExitError{Init: init, Status: p.command.ProcessState.String()}
}

// awaitInit returns nil when the process asks for its first event; otherwise the process is gone.
func (p *process) awaitInit() error {
	timer := time.NewTimer(p.function.initTimeout)
	defer timer.Stop()
	select {
	case <-p.asks:
		return nil
	case err := <-p.initError:
		select {
		case <-p.gone:
		case <-time.After(exitGrace):
			p.killAndWait()
		}
		return err
	case <-timer.C:
		p.killAndWait()
		return fmt.Errorf("%w (%s)", ErrInitTimeout, p.function.initTimeout)
	case <-p.gone:
		select {
		case err := <-p.initError:
			return err
		default:
			return p.exitError(true)
		}
	}
}

// served is what became of a process that was to serve an event.
type served int

const (
	servedIdle served = iota // it asks for the next event
	servedGone               // it had the event, and is gone
	notServed                // it was gone before it took the event
)

// serve offers the event to the process and returns when the process asks for the next one or is gone. The invocation is
// finished then, unless the process never took it. It is settled early where the process works on after its answer.
func (p *process) serve(inv *invocation) served {
	timeout := p.function.Timeout
	inv.deadline = time.Now().Add(timeout)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var late <-chan time.Time
	answered := inv.answered
	for offered := p.offers; ; {
		select {
		case offered <- inv:
			offered = nil
		case <-p.asks:
			if offered != nil {
				continue // it lost the connection of its former request
			}
			if inv.finish(nil, ErrNoAnswer) {
				p.killAndWait()
				return servedGone
			}
			return servedIdle
		case <-answered:
			answered, late = nil, time.After(readyGrace)
		case <-late:
			inv.settle()
		case <-timer.C:
			inv.finish(nil, fmt.Errorf("%w after %s", ErrTimeout, timeout))
			p.killAndWait()
			return servedGone
		case <-p.gone:
			if offered != nil {
				return notServed
			}
			inv.finish(nil, p.exitError(false))
			return servedGone
		}
	}
}

// startCommand starts the command on the runtime's own thread.
func (r *Runtime) startCommand(command *exec.Cmd) error {
	started := make(chan error, 1)
	r.starts <- func() { started <- command.Start() }
	return <-started
}

// launch starts processes on a thread that lives as long as they: on Linux they are told to die with the thread that
// started them, which is how they die with this process, and Go may end any thread that is not its own.
func launch(starts <-chan func()) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for start := range starts {
		start()
	}
}
