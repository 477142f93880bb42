// Package runtimeapi runs built function binaries as AWS Lambda runs them. Each process asks the Lambda runtime API
// (2018-06-01, https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) for one event at a time. Its environment
// holds only variables that Lambda sets and those that the function declares. The function's timeout bounds each event.
//
// A Runtime is for the local run: it starts processes for a set of functions when events need them. A Process is a
// single process, for measurements. The package runs on Linux and macOS. It knows nothing about HTTP APIs, templates or
// the shop, and imports no other package of this module. No Lambda function may import it.
package runtimeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"
)

// maxProcesses bounds the processes of each function.
const maxProcesses = 8

// Errors of Invoke and Start.
var (
	ErrClosed  = errors.New("the runtime is closed")
	ErrTimeout = fmt.Errorf("the function took too long and was killed: %w", context.DeadlineExceeded)
)

// Function is one function as its deployment declares it.
type Function struct {
	// Name is the function's name, unique in a Config.
	Name string
	// Path is the absolute path of the built executable. Its directory is the working directory.
	Path string
	// MemorySize is in MB. The function can read this number, but nothing enforces it.
	MemorySize int
	// Timeout bounds the work on one event.
	Timeout time.Duration
	// Env holds the declared variables.
	Env map[string]string
}

// Config says what to run.
type Config struct {
	Functions []Function
	// Region is the value of AWS_REGION.
	Region string
	// AccessKey is the value of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. DynamoDB Local accepts any key.
	AccessKey string
	// Log receives what the processes write to stdout and stderr, line by line, one call at a time. A line may arrive
	// shortly after the response to the event that caused it. Log may be nil.
	Log func(function, line string)
}

// Runtime runs the processes of a set of functions. It is safe for concurrent use and must be closed.
type Runtime struct {
	functions map[string]*function
	log       func(function, line string)
	logging   sync.Mutex // one line at a time

	// alive ends at Close, which kills every process.
	alive context.Context
	end   context.CancelFunc

	mu      sync.RWMutex // guards running and the end of alive: after alive has ended, nothing is added to running
	running sync.WaitGroup
}

// New returns a Runtime. It does not start any processes: the first event for a function starts one.
func New(config Config) *Runtime {
	r := &Runtime{functions: make(map[string]*function), log: config.Log}
	r.alive, r.end = context.WithCancel(context.Background())
	for _, f := range config.Functions {
		r.functions[f.Name] = &function{
			runtime: r, name: f.Name, command: Command{Path: f.Path, Env: f.environment(config), Timeout: f.Timeout},
			slots: make(chan struct{}, maxProcesses), idle: make(chan *Process, maxProcesses),
		}
	}
	return r
}

// environment returns the variables for every process of the function. Only the address of the process's runtime API is
// missing.
func (f Function) environment(config Config) []string {
	vars := map[string]string{"TZ": ":UTC"}
	maps.Copy(vars, f.Env)
	maps.Copy(vars, map[string]string{
		"AWS_REGION":        config.Region,
		"AWS_ACCESS_KEY_ID": config.AccessKey, "AWS_SECRET_ACCESS_KEY": config.AccessKey,
		"AWS_LAMBDA_FUNCTION_NAME": f.Name, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.MemorySize),
	})
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env
}

// Invoke sends the event to a process of the function and returns the function's response unchanged. It uses an idle
// process or starts one. While all processes are busy, it waits. If ctx ends while the function works on the event,
// Invoke returns the error of ctx, and the function continues, as in Lambda. After Close, the error wraps ErrClosed.
func (r *Runtime) Invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	f, isKnown := r.functions[function]
	if !isKnown {
		return nil, fmt.Errorf("there is no function %q", function)
	}
	response, err := f.invoke(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", function, err)
	}
	return response, nil
}

// Close kills every process and waits until all are gone. Invocations in flight fail with ErrClosed. It always returns
// nil.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// function is one function with its processes.
type function struct {
	runtime *Runtime
	name    string
	command Command

	// slots has an entry for each event that has a process or may start one. Every process that is not idle has a slot,
	// and a process is started only if none is idle. So processes never outnumber cap(slots).
	slots chan struct{}

	// idle holds the processes that have no slot. Such a process may have ended, or may not have asked for its next
	// event yet.
	idle chan *Process
}

func (f *function) invoke(ctx context.Context, event []byte) ([]byte, error) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("no process was free in time: %w", ctx.Err())
	case <-f.runtime.alive.Done():
		return nil, ErrClosed
	}
	inv, err := f.deliver(ctx, event)
	if err != nil {
		<-f.slots
		return nil, err
	}
	select {
	case <-inv.done:
		return inv.response, inv.err
	case <-ctx.Done():
		return nil, fmt.Errorf("gave up waiting for the response: %w", ctx.Err())
	}
}

// deliver gives the event to a process and returns when the process has taken it. The end of the invocation frees the
// slot.
func (f *function) deliver(ctx context.Context, event []byte) (*invocation, error) {
	for {
		var p *Process
		var err error
		isNew := false
		select {
		case p = <-f.idle:
		default:
			isNew = true
			if p, err = f.start(); err != nil {
				return nil, err
			}
		}
		inv := newInvocation(event, func() {
			f.idle <- p
			<-f.slots
		})
		select {
		case p.offers <- inv:
			return inv, nil
		case <-ctx.Done():
			f.idle <- p
			return nil, fmt.Errorf("no process was ready in time: %w", ctx.Err())
		case <-p.gone:
			// Replace a process that ended while idle. But if a new process ends, return its error: a replacement might
			// end just the same.
			if isNew {
				return nil, p.err()
			}
		}
	}
}

// start starts a process of the function. Close waits until the process is gone.
func (f *function) start() (*Process, error) {
	r := f.runtime
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.alive.Err() != nil {
		return nil, ErrClosed
	}
	command := f.command
	command.Output = &lines{log: func(line string) {
		if r.log != nil {
			r.logging.Lock()
			defer r.logging.Unlock()
			r.log(f.name, line)
		}
	}}
	p, err := start(r.alive, command)
	if err != nil {
		return nil, err
	}
	r.running.Go(func() { <-p.gone })
	return p, nil
}

// lines passes on what is written, line by line. It drops a last line without an end.
type lines struct {
	rest []byte
	log  func(line string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, isWhole := bytes.Cut(l.rest, []byte("\n"))
		if !isWhole {
			return len(b), nil
		}
		l.log(string(line))
		l.rest = rest
	}
}
