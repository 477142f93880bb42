// Package localrun is the local run, `shopctl dev`: a whole Shopfront on one machine. It serves the routes of template.yaml
// through an emulated HTTP API, which hands each request to a built function behind the Lambda runtime interface, on
// DynamoDB Local with a demo shop.
//
// Routes, functions, variables and tables are taken from the template, and examples from the functions' event.json: this
// package names none of them.
//
// It puts samtemplate, gateway, runtimeapi, dynamolocal and operator together. No function may link it.
package localrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/localstate"
	"shopfront/internal/local/samtemplate"
)

// Options says what to run.
type Options struct {
	// Root is the checkout of this repository, as FindRoot finds it. What a run keeps is in .shopfront in there.
	Root string
	// Port is the port of 127.0.0.1 to serve on, 0 for a free one.
	Port int
	// Fresh forgets what an earlier run stored.
	Fresh bool
	// Out receives progress, what the compiler prints, the address with examples, and a line per request.
	Out io.Writer
	// Serving, unless nil, is called once, when requests are answered.
	Serving func(localstate.State)
	// Now tells the time.
	Now func() time.Time
	// Random returns a random number from 0 up to, not including, n; it need not be secret.
	Random func(n int64) int64
}

// FindRoot is the checkout that dir is in: the nearest directory upwards with a template.yaml.
func FindRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, samtemplate.File))
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above it: change into a checkout of Shopfront", samtemplate.File, dir)
		}
	}
}

// Run serves until the context ends, which is no error, or until something has ended that it needs. Then it stops the
// server, the functions and DynamoDB Local, in this order: whatever Run returns, nothing is left running. While it serves,
// the checkout has the state that localstate reads, and .shopfront/env-vars.json for `sam local invoke`.
//
// An error says what to do about it, in one line, which Maven's or DynamoDB Local's own output may follow.
func Run(ctx context.Context, options Options) error {
	r := &run{
		Options: options,
		out:     &console{w: options.Out, now: options.Now},
		dir:     filepath.Join(options.Root, stateDir),
		failed:  make(chan error, 1),
	}
	err := r.start(ctx)
	if err == nil {
		err = r.wait(ctx)
	}
	if ctx.Err() != nil {
		err = nil // it was asked to end, whatever it was doing
		r.out.say("Stopping")
	}
	return errors.Join(err, r.stop())
}

// stateDir is where a checkout keeps what the local run makes. Git ignores it.
const stateDir = ".shopfront"

// run is a local run on its way. The steps of start fill in what those after them use.
type run struct {
	Options

	out *console
	dir string // stateDir of the checkout

	template *samtemplate.Template
	listener net.Listener
	store    *dynamolocal.Server
	state    localstate.State
	failed   chan error // takes how the server failed

	stops []func() error
}

func (r *run) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		r.claim, r.load, r.startStore, r.makeTables, r.loadDemo, r.build, r.serve, r.announce,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait returns nil when the context ends.
func (r *run) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-r.store.Done():
		return r.store.Err()
	case err := <-r.failed:
		return err
	}
}

// stop undoes what the steps did, the last first.
func (r *run) stop() error {
	var errs []error
	for _, undo := range slices.Backward(r.stops) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

func (r *run) onStop(undo func() error) { r.stops = append(r.stops, undo) }
