// Package localruntest gives tests a local run of their own, in a copy of the checkout: it meets neither that of the
// developer nor that of another package. It is for tests only.
package localruntest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/localrun"
	"shopfront/internal/local/localstate"
)

// CopyCheckout copies to dir, which exists, what a local run needs of the checkout that the working directory is in. The
// copy shares DynamoDB Local with it, which is fetched first if need be.
func CopyCheckout(ctx context.Context, dir string, progress io.Writer) error {
	workDir, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := localrun.FindRoot(workDir)
	if err != nil {
		return err
	}
	for _, name := range []string{"api", "examples", "functions", "infra", "pkg"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "template.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // this repository's
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil { //nolint:gosec // to the test's own directory
			return err
		}
	}
	pomDir, library := dynamolocal.Dirs(root)
	if err := dynamolocal.Fetch(ctx, pomDir, library, progress); err != nil {
		return err
	}
	_, link := dynamolocal.Dirs(dir)
	if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
		return err
	}
	return os.Symlink(library, link)
}

// Run is a local run that serves.
type Run struct {
	State localstate.State

	root  string
	out   *Output
	end   context.CancelFunc
	ended chan struct{}
	err   error // of localrun.Run; written before ended is closed
}

// Start starts a local run in the checkout at root, on a free port, and returns when it serves.
func Start(root string, fresh bool) (*Run, error) {
	ctx, end := context.WithCancel(context.Background())
	r := &Run{root: root, out: &Output{}, end: end, ended: make(chan struct{})}
	serving := make(chan localstate.State, 1)
	go func() {
		defer close(r.ended)
		r.err = localrun.Run(ctx, localrun.Options{
			Root: root, Fresh: fresh, Out: r.out, Now: time.Now, Random: rand.Int64N,
			Serving: func(state localstate.State) { serving <- state },
		})
	}()
	select {
	case r.State = <-serving:
		return r, nil
	case <-r.ended:
		end()
		if r.err == nil {
			return nil, errors.New("the local run ended before it served")
		}
		return nil, r.err
	}
}

// Root is the checkout of the run.
func (r *Run) Root() string { return r.root }

// Output is what the run has printed.
func (r *Run) Output() string { return r.out.String() }

// Ended is closed when the run has ended, asked to or not.
func (r *Run) Ended() <-chan struct{} { return r.ended }

// Stop ends the run, if it has not ended, and returns its error.
func (r *Run) Stop() error {
	r.end()
	<-r.ended
	return r.err
}

// Processes lists the processes, as ps shows them, whose command line names the directory: the functions of a local run in
// it, and its DynamoDB Local.
func Processes(ctx context.Context, dir string) ([]string, error) {
	list, err := exec.CommandContext(ctx, "ps", "-A", "-ww", "-o", "pid=,args=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(list)) {
		if strings.Contains(line, dir) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, nil
}

// Output keeps what is written to it. The zero value is ready.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write never fails.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// String is all that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
