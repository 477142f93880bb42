// Package lambdaruntime runs built function binaries as AWS Lambda runs them: each process asks the Lambda runtime API
// (2018-06-01, https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) for one event at a time, in an environment
// that holds only what Lambda sets and what was declared for the function, within the function's timeout.
//
// It knows nothing of HTTP APIs, templates or the shop, and imports none of this module's packages. A function must not
// import it: it is for the local run only.
package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits and defaults of Lambda: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html and
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-function-common.html.
const (
	// MaxEvent is the size of the largest event that a function is given, in bytes.
	MaxEvent = 6 << 20
	// MaxAnswer is the size of the largest answer that a function may give, in bytes: 6 MB and 100 bytes.
	MaxAnswer = 6<<20 + 100

	// DefaultTimeout is a function's timeout where none is declared, MaxTimeout the longest that can be.
	DefaultTimeout = 3 * time.Second
	MaxTimeout     = 15 * time.Minute
	// DefaultMemorySize is a function's memory in MB where none is declared. It is told to the function and not enforced.
	DefaultMemorySize = 128
	// DefaultInitTimeout is the time that Lambda gives a process to ask for its first event.
	DefaultInitTimeout = 10 * time.Second
	// DefaultMaxProcesses is how many processes of one function run at once, unless Config says otherwise.
	DefaultMaxProcesses = 8

	defaultRegion    = "us-east-1"
	defaultAccountID = "123456789012"
	defaultHandler   = "bootstrap"
)

// Function is one function as its deployment declares it.
type Function struct {
	// Name is the function's name, unique in a Config.
	Name string
	// Path is the built executable. Its directory is the working directory and LAMBDA_TASK_ROOT.
	Path string
	// Handler is what _HANDLER says; "bootstrap" where empty.
	Handler string
	// MemorySize is in MB; DefaultMemorySize where 0.
	MemorySize int
	// Timeout counts from the moment the process is offered the event; DefaultTimeout where 0, at most MaxTimeout.
	Timeout time.Duration
	// Env holds the declared variables. Names that Lambda reserves are refused, as Lambda refuses them.
	Env map[string]string
}

// Credentials is what a function finds in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Empty ones are not set.
type Credentials struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

// Config says what to run. Only Functions is required.
type Config struct {
	Functions []Function
	// Region is what AWS_REGION says and AccountID is part of every function's ARN; placeholders where empty.
	Region, AccountID string
	Credentials       Credentials
	// MaxProcesses bounds the processes of each function; DefaultMaxProcesses where 0.
	MaxProcesses int
	// InitTimeout bounds the time from a process's start to its first request for an event; DefaultInitTimeout where 0.
	InitTimeout time.Duration
	// Log takes what the processes write to stdout and stderr, line by line, one call at a time. A line may arrive
	// shortly after the answer of the event that caused it. Lines over 64 KiB come in pieces. May be nil.
	Log func(function, line string)
}

// Runtime runs the processes of a set of functions. It is safe for concurrent use and must be closed.
type Runtime struct {
	functions map[string]*function

	// alive ends at Close, and with it every process.
	alive context.Context
	end   context.CancelFunc

	mu      sync.Mutex // guards closed, and so that nothing is added to running once Close waits for it
	closed  bool
	running sync.WaitGroup
	close   sync.Once

	starts chan func()
}

// New checks the configuration. It starts no process: the first event of a function does.
func New(config Config) (*Runtime, error) {
	if err := config.setDefaults(); err != nil {
		return nil, err
	}
	alive, end := context.WithCancel(context.Background())
	r := &Runtime{functions: map[string]*function{}, alive: alive, end: end, starts: make(chan func())}
	log := serialise(config.Log)
	for _, declared := range config.Functions {
		if err := declared.setDefaults(); err != nil {
			end()
			return nil, fmt.Errorf("function %s: %w", declared.Name, err)
		}
		if _, exists := r.functions[declared.Name]; exists {
			end()
			return nil, fmt.Errorf("function %s is declared twice", declared.Name)
		}
		r.functions[declared.Name] = newFunction(r, config, declared, log)
	}
	go launch(r.starts)
	return r, nil
}

func (c *Config) setDefaults() error {
	if c.Region == "" {
		c.Region = defaultRegion
	}
	if c.AccountID == "" {
		c.AccountID = defaultAccountID
	}
	if c.MaxProcesses == 0 {
		c.MaxProcesses = DefaultMaxProcesses
	}
	if c.InitTimeout == 0 {
		c.InitTimeout = DefaultInitTimeout
	}
	if c.MaxProcesses < 0 || c.InitTimeout < 0 {
		return errors.New("the number of processes and the time to start must not be negative")
	}
	return nil
}

func (f *Function) setDefaults() error {
	if f.Name == "" || f.Path == "" {
		return errors.New("a function needs a name and the path of its executable")
	}
	if f.Handler == "" {
		f.Handler = defaultHandler
	}
	if f.MemorySize == 0 {
		f.MemorySize = DefaultMemorySize
	}
	if f.Timeout == 0 {
		f.Timeout = DefaultTimeout
	}
	if f.Timeout < 0 || f.Timeout > MaxTimeout {
		return fmt.Errorf("timeout %s is not within 0 and %s", f.Timeout, MaxTimeout)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		if isReserved(name) {
			return fmt.Errorf("variable %s is reserved by Lambda", name)
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(f.Env[name], "\x00") {
			return fmt.Errorf("variable %q cannot be set", name)
		}
	}
	path, err := filepath.Abs(f.Path)
	if err != nil {
		return fmt.Errorf("path of the executable: %w", err)
	}
	f.Path = path
	return nil
}

// Invoke gives the event to a process of the function and returns its answer, whatever that contains. A process that is
// idle takes it, else a new one; while all are busy it waits for one. Errors, for errors.Is and errors.As:
//
//   - ErrBusy: ctx ended before a process took the event; the function never saw it
//   - the error of ctx: it ended while the function worked on the event, which goes on, as it does in Lambda
//   - ErrTimeout, ErrInitTimeout, ErrStart, ErrNoAnswer, ErrAnswerTooLarge, *ExitError and *FunctionError: the function failed
//   - ErrClosed: the runtime was closed; the function may have worked on the event
//   - ErrEventTooLarge, ErrUnknownFunction: the event was not given to any function
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

// Close kills every process, waits until all are gone, and fails what was under way with ErrClosed. It always returns nil.
func (r *Runtime) Close() error {
	r.close.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		r.end()
		r.running.Wait()
		close(r.starts)
	})
	return nil
}

// run does work in a goroutine that Close waits for, unless the runtime is closed.
func (r *Runtime) run(work func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.running.Go(work)
	return true
}

// serialise lets several processes write to a log that expects one call at a time.
func serialise(log func(function, line string)) func(function, line string) {
	if log == nil {
		return func(string, string) {}
	}
	var mu sync.Mutex
	return func(function, line string) {
		mu.Lock()
		defer mu.Unlock()
		log(function, line)
	}
}
