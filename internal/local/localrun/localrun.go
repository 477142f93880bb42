// Package localrun runs a whole Shopfront on this machine, for `shopctl dev` and for tests. An emulated HTTP API serves
// the routes of template.yaml and passes each request to a built function. The functions run behind an emulated Lambda
// runtime API, and store their data in DynamoDB Local, which starts with a demo shop. Streams and schedules also invoke
// functions.
//
// The package takes routes, functions, variables, tables and events from the template, and examples from the functions'
// event.json. It adds only the list of the shops, the demo payment page, and the variable that leads to that page.
//
// It combines samtemplate, gateway, eventsource, runtimeapi, dynamolocal and backoffice. No Lambda function may link
// it.
package localrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/gateway"
	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/local/samtemplate"
)

// Options says what to run.
type Options struct {
	// Root is the root of the source tree (samtemplate.FindRoot). A run stores its files in .shopfront there.
	Root string
	// Port is the port of 127.0.0.1 to serve on. If it is 0, the run uses a free port.
	Port int
	// Fresh deletes the data of earlier runs.
	Fresh bool
	// Out receives progress, the compiler's output, the address with examples, and a line per request.
	Out io.Writer
	// Warnings receives a line for each kind of resource, property or value of the template that this machine ignores.
	Warnings io.Writer
	// Now returns the current time.
	Now func() time.Time
	// Random returns a random number from 0 to n-1. It need not be secret.
	Random func(n int64) int64
}

// stateDir is the directory of the source tree in which a run stores its files. Git ignores it.
const stateDir = ".shopfront"

// Run is a local run. Each step of Start sets fields that later steps use.
type Run struct {
	State State

	Options

	dir      string // the path of stateDir
	mu       sync.Mutex
	lastPoll string // the last request's path if that request was a successful poll of a feed, or ""; guarded by mu
	listener net.Listener
	store    *dynamolocal.Server
	template *samtemplate.Template
	// functions is nil until the step serve.
	functions *runtimeapi.Runtime
	failed    chan error // receives the server's error

	stops []func() error // these undo the steps; stop calls them in reverse order
}

// Start starts a run and returns when the run serves requests. The caller must then call Wait. While the run serves,
// the source tree contains the state that Find reads, and .shopfront/env-vars.json for `sam local invoke`. If the
// context ends before the run serves, Start returns nil and no error.
//
// The first line of an error says what to do. Output of Maven or DynamoDB Local may follow. After an error, no process
// is left running.
func Start(ctx context.Context, options Options) (*Run, error) {
	r := &Run{Options: options, dir: filepath.Join(options.Root, stateDir), failed: make(chan error, 1)}
	for _, step := range []func(context.Context) error{
		r.lockTree, r.listen, r.startStore, r.load, r.makeTables, r.loadDemo, r.build, r.serve, r.startEvents,
		r.announce,
	} {
		if err := step(ctx); err != nil {
			return nil, r.stop(ctx, err)
		}
	}
	return r, nil
}

// Wait waits for the end of the run. It returns nil if the context ends, and an error if the server or DynamoDB Local
// ends by itself. Before it returns, it stops the events, the server, the functions and DynamoDB Local, in this order.
func (r *Run) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return r.stop(ctx, nil)
	case <-r.store.Done():
		return r.stop(ctx, r.store.Err())
	case err := <-r.failed:
		return r.stop(ctx, err)
	}
}

// stop undoes the steps and returns err with the errors of undoing them. If the context has ended, err does not matter,
// because the caller ended the run.
func (r *Run) stop(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = nil
		r.say("Stopping")
	}
	for _, undo := range slices.Backward(r.stops) {
		err = errors.Join(err, undo())
	}
	r.stops = nil
	return err
}

func (r *Run) onStop(undo func() error) { r.stops = append(r.stops, undo) }

// lockTree prevents a second run in the same source tree. The lock ends with the process, but its file stays.
func (r *Run) lockTree(ctx context.Context) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("no go in PATH: install Go 1.26 or later from https://go.dev/dl")
	}
	if err := os.MkdirAll(r.dir, 0o750); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(r.dir, "dev.lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock, err)
	}
	if !locked {
		if state, err := Find(ctx, r.Root); err == nil {
			return fmt.Errorf("a local run already serves this source tree at %s: use it, or stop it first",
				state.BaseURL)
		}
		return errors.New(
			"another local run is starting or stopping in this source tree: wait for it, or stop it first",
		)
	}
	r.onStop(lock.Unlock)
	return nil
}

// listen opens the port, before the slow steps. Clients that connect early wait until the run serves.
func (r *Run) listen(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: stop what listens there, or choose another port with --port (make "+
			"run ARGS=--port=0 picks a free one)", r.Port)
	}
	if err != nil {
		return err
	}
	r.listener = listener
	r.onStop(func() error {
		_ = listener.Close() // the server may have closed it
		return nil
	})
	return nil
}

// Write prints to Out, one call at a time. It never fails, so it never stops a command that writes to it.
func (r *Run) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.Out.Write(b)
	return len(b), nil
}

func (r *Run) say(format string, args ...any) { _, _ = fmt.Fprintf(r, format+"\n", args...) }

// showRequest prints a line about a request. The functions' log contains the same request ID. Of several successful
// polls of a feed in a row, it prints only the first, because shopctl polls twice a second.
func (r *Run) showRequest(record gateway.Record) {
	if r.repeatsPoll(record) {
		return
	}
	line := fmt.Sprintf("%s %d %s %s %s %s", r.Now().Format(time.TimeOnly), record.Status, record.Method, record.Path,
		record.Duration.Round(100*time.Microsecond), record.RequestID)
	if record.Err != nil {
		line += ": " + record.Err.Error()
	}
	r.say("%s", line)
}

func (r *Run) repeatsPoll(record gateway.Record) bool {
	poll := ""
	if record.Method == http.MethodGet && record.Status == http.StatusOK && strings.HasSuffix(record.Path, "/events") {
		poll = record.Path
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	repeats := poll != "" && poll == r.lastPoll
	r.lastPoll = poll
	return repeats
}
