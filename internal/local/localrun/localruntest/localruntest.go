// Package localruntest gives tests their own local run, in a copy of the source tree, so that it disturbs neither
// the developer's run nor another package's tests. It is for tests only.
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
	"shopfront/internal/local/samtemplate"
)

// CopyTree copies the files that a local run needs from the current source tree to dir, which must exist. Both trees share
// DynamoDB Local, which is fetched first if it is missing.
func CopyTree(ctx context.Context, dir string, progress io.Writer) error {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		return err
	}
	arguments := []string{"-R"}
	for _, name := range []string{"api", "examples", "functions", "infra", "pkg", "go.mod", "go.sum", samtemplate.File} {
		arguments = append(arguments, filepath.Join(root, name))
	}
	//nolint:gosec // the project's own files
	if printed, err := exec.CommandContext(ctx, "cp", append(arguments, dir)...).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, printed)
	}
	pomDir, library := dynamolocal.Dirs(root)
	if err := dynamolocal.Fetch(ctx, pomDir, library, progress); err != nil {
		return err
	}
	_, link := dynamolocal.Dirs(dir)
	return errors.Join(os.MkdirAll(filepath.Dir(link), 0o750), os.Symlink(library, link))
}

// Run is a local run that serves.
type Run struct {
	*localrun.Run

	out *Output
}

// Start starts a local run in the source tree at root, on a free port, and returns when it serves.
func Start(root string, fresh bool) (*Run, error) {
	out := &Output{}
	run, err := localrun.Start(context.Background(), localrun.Options{
		Root: root, Fresh: fresh, Out: out, Warnings: out, Now: time.Now, Random: rand.Int64N,
	})
	if err != nil {
		return nil, err
	}
	return &Run{run, out}, nil
}

// Root is the source tree of the run.
func (r *Run) Root() string { return r.Options.Root }

// Output returns what the run has printed.
func (r *Run) Output() string { return r.out.String() }

// Stop ends the run, if it has not ended, and returns its error.
func (r *Run) Stop() error {
	ended, end := context.WithCancel(context.Background())
	end()
	return r.Wait(ended)
}

// Processes lists the processes, as ps shows them, whose command line contains the directory. These are the functions and the
// DynamoDB Local of a local run in that directory.
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

// Output stores what is written to it. The zero value is ready to use.
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

// String returns everything that was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
