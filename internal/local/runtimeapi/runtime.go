// Package runtimeapi runs built function binaries as AWS Lambda runs them. Each process asks the Lambda runtime API
// (2018-06-01, https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) for one event at a time. Its environment
// holds only the variables that Lambda sets and those that the function declares. The function's timeout bounds each event.
//
// A Runtime is for the local run: it starts processes for a set of functions when events need them. A Process is a single
// process, for measurements. The package runs on Linux and macOS. It knows nothing about HTTP APIs, templates or the shop,
// and imports no other package of this module. No Lambda function may import it.
package runtimeapi

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits and defaults of Lambda: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html and
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-function-common.html.
const (
	// MaxEvent is the size of the largest event, in bytes.
	MaxEvent = 6 << 20
	// MaxAnswer is the size of the largest response, in bytes: 6 MB and 100 bytes.
	MaxAnswer = 6<<20 + 100

	// MaxTimeout is the longest timeout that a function can declare.
	MaxTimeout = 15 * time.Minute

	defaultInitTimeout  = 10 * time.Second
	defaultMaxProcesses = 8
	accountID           = "123456789012"
)

const (
	// Each failed start in a row doubles the pause before the next one, so that a crash loop does not use up the machine.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	// maxLine is the length, in bytes, above which a line of output is split.
	maxLine = 64 << 10
)

// Function is one function as its deployment declares it.
type Function struct {
	// Name is the function's name, unique in a Config.
	Name string
	// Path is the built executable. Its directory is the working directory and LAMBDA_TASK_ROOT.
	Path string
	// Handler is the value of _HANDLER.
	Handler string
	// MemorySize is in MB. The function can read this number, but nothing enforces it.
	MemorySize int
	// Timeout bounds the work on one event. It must be more than 0 and at most MaxTimeout.
	Timeout time.Duration
	// Env holds the declared variables. Names that Lambda reserves are refused, as in Lambda.
	Env map[string]string
}

// Config says what to run.
type Config struct {
	Functions []Function
	// Region is the value of AWS_REGION.
	Region string
	// AccessKey is the value of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. DynamoDB Local accepts any key.
	AccessKey string
	// MaxProcesses bounds the processes of each function; 0 means 8.
	MaxProcesses int
	// Log receives what the processes write to stdout and stderr, line by line, one call at a time. A line may arrive
	// shortly after the response to the event that caused it. Lines over 64 KiB are split. Log may be nil.
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

// New checks the configuration and returns a Runtime. It does not start any processes: the first event for a function starts one.
func New(config Config) (*Runtime, error) {
	r := &Runtime{functions: map[string]*function{}, log: config.Log}
	r.alive, r.end = context.WithCancel(context.Background())
	for _, f := range config.Functions {
		if _, exists := r.functions[f.Name]; exists {
			return nil, fmt.Errorf("function %s is declared twice", f.Name)
		}
		command, err := f.command(config)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", f.Name, err)
		}
		processes := cmp.Or(config.MaxProcesses, defaultMaxProcesses)
		r.functions[f.Name] = &function{
			runtime: r, name: f.Name, command: command, slots: make(chan struct{}, processes), idle: make(chan *Process, processes),
		}
	}
	return r, nil
}

// command checks a function and returns how to start its processes.
func (f Function) command(config Config) (Command, error) {
	if f.Name == "" || f.Path == "" {
		return Command{}, errors.New("a function needs a name and the path of its executable")
	}
	if f.Timeout <= 0 || f.Timeout > MaxTimeout {
		return Command{}, fmt.Errorf("timeout %s is not between 1s and %s", f.Timeout, MaxTimeout)
	}
	path, err := filepath.Abs(f.Path)
	if err != nil {
		return Command{}, fmt.Errorf("path of the executable: %w", err)
	}
	f.Path = path
	for name, value := range f.Env {
		if slices.Contains(strings.Fields(reserved), name) {
			return Command{}, fmt.Errorf("variable %s is reserved by Lambda", name)
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return Command{}, fmt.Errorf("variable %q cannot be set", name)
		}
	}
	return Command{
		Path: path, Env: f.environment(config), Timeout: f.Timeout,
		ARN: fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", config.Region, accountID, f.Name),
	}, nil
}

// Invoke sends the event to a process of the function and returns the function's response unchanged. It uses an idle process or
// starts one. While all processes are busy, it waits. Errors, for errors.Is:
//
//   - ErrBusy: ctx ended before a process took the event; the function never saw it
//   - the error of ctx: ctx ended while the function worked on the event; the function continues, as in Lambda
//   - ErrClosed: the runtime was closed; the function may have worked on the event
//   - ErrEventTooLarge, ErrUnknownFunction: no function received the event
//   - ErrTimeout, ErrInitTimeout, ErrStart, ErrNoAnswer, ErrAnswerTooLarge and any other error: the function failed
func (r *Runtime) Invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	f, known := r.functions[function]
	if !known {
		return nil, fmt.Errorf("%q: %w", function, ErrUnknownFunction)
	}
	answer, err := f.invoke(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", function, err)
	}
	return answer, nil
}

// Close kills every process and waits until all are gone. Invocations in flight fail with ErrClosed. It always returns nil.
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

	// slots has an entry for each event that has a process or may start one. Every process that is not idle has a slot, and a
	// process is started only if none is idle. So processes never outnumber cap(slots).
	slots chan struct{}

	// idle holds the processes that have no slot. Such a process may have ended, or may not have asked for its next event yet.
	idle chan *Process

	mu       sync.Mutex
	pause    time.Duration
	pausedTo time.Time
}

func (f *function) invoke(ctx context.Context, event []byte) ([]byte, error) {
	if len(event) > MaxEvent {
		return nil, ErrEventTooLarge
	}
	if ctx.Err() != nil {
		return nil, busy(ctx)
	}
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, busy(ctx)
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
		return inv.answer, inv.err
	case <-ctx.Done():
		return nil, fmt.Errorf("gave up waiting for the response: %w", ctx.Err())
	}
}

func busy(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
}

// deliver gives the event to a process and returns when the process has taken it. The end of the invocation frees the slot.
func (f *function) deliver(ctx context.Context, event []byte) (*invocation, error) {
	for {
		var p *Process
		var err error
		isNew := false
		select {
		case p = <-f.idle:
		default:
			isNew = true
			if p, err = f.start(ctx); err != nil {
				return nil, err
			}
		}
		inv := newInvocation(event, func() {
			f.idle <- p
			<-f.slots
		})
		select {
		case p.offers <- inv:
			f.noteStart(true)
			return inv, nil
		case <-ctx.Done():
			f.idle <- p
			return nil, busy(ctx)
		case <-p.gone:
			// Replace a process that ended while idle. But if a new process ends, return its error: a replacement might end just the same.
			if isNew {
				f.noteStart(p.isReady())
				return nil, p.err()
			}
		}
	}
}

// start starts a process. If the last starts failed, it pauses first.
func (f *function) start(ctx context.Context) (*Process, error) {
	f.mu.Lock()
	wait := time.Until(f.pausedTo)
	f.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, busy(ctx)
	case <-f.runtime.alive.Done():
		return nil, ErrClosed
	}
	p, err := f.runtime.start(f)
	if err != nil {
		f.noteStart(false)
	}
	return p, err
}

// noteStart sets the pause before the next start: none after a success, and twice the last pause after a failure.
func (f *function) noteStart(succeeded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if succeeded {
		f.pause = 0
		return
	}
	f.pause = min(max(2*f.pause, firstPause), longestPause)
	f.pausedTo = time.Now().Add(f.pause)
}

// start starts a process of a function. Close waits until the process is gone.
func (r *Runtime) start(f *function) (*Process, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.alive.Err() != nil {
		return nil, ErrClosed
	}
	command := f.command
	read, write := io.Pipe()
	command.Stdout, command.Stderr = write, write
	p, err := start(r.alive, command)
	if err != nil {
		return nil, err
	}
	r.running.Go(func() {
		<-p.gone
		_ = write.Close() // always nil
	})
	r.running.Go(func() { r.logLines(f.name, read) })
	return p, nil
}

// logLines logs a process's output line by line until the process is gone.
func (r *Runtime) logLines(function string, output io.Reader) {
	lines := bufio.NewReaderSize(output, maxLine)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		if r.log != nil {
			r.logging.Lock()
			r.log(function, string(line))
			r.logging.Unlock()
		}
	}
}
