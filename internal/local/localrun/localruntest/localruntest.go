// Package localruntest gives tests their own local run in a copy of the source tree. The copy keeps this run apart from
// the developer's own run and from the runs of other packages' tests. The package is for tests only.
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
	"testing"
	"time"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/gobuild"
	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/voucher"
)

// CopyTree copies the files that a local run needs. It copies them from the current source tree to dir, which must
// exist. Both trees share the library of DynamoDB Local and the built functions, until the copy is edited. CopyTree
// fetches the library if it is missing.
func CopyTree(ctx context.Context, dir string, progress io.Writer) error {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		return err
	}
	arguments := []string{"-R"}
	for _, name := range []string{
		"api", "examples", "functions", "infra", "pkg", "go.mod", "go.sum",
		samtemplate.File,
	} {
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
	return errors.Join(os.MkdirAll(filepath.Dir(link), 0o750), os.Symlink(library, link), linkPrograms(ctx, root, dir))
}

// linkPrograms lets a local run in dir find the functions that are built from the source tree at root. The linker then
// has nothing to do. A link is replaced if the run builds another function in its place.
func linkPrograms(ctx context.Context, root, dir string) error {
	programs, err := gobuild.Programs(ctx, root)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(programs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(localrun.BinDir(dir), 0o750); err != nil {
		return err
	}
	for _, entry := range entries {
		from, to := filepath.Join(programs, entry.Name()), filepath.Join(localrun.BinDir(dir), entry.Name())
		if err := os.Symlink(from, to); err != nil {
			return err
		}
	}
	return nil
}

// Run is a local run for tests.
type Run struct {
	*localrun.Run

	out  *Output
	copy string // the copy of the source tree that Stop removes, if there is one
}

// Start starts a local run in the source tree at root, on a free port, and returns when the run serves requests.
func Start(root string, fresh bool) (*Run, error) {
	out := &Output{}
	run, err := localrun.Start(context.Background(), localrun.Options{
		Root: root, Fresh: fresh, Out: out, Warnings: out, Now: time.Now, Random: rand.Int64N,
	})
	if err != nil {
		return nil, err
	}
	return &Run{Run: run, out: out}, nil
}

// StartCopy starts a local run in a copy of the current source tree. Stop removes the copy. The run does not end with
// the context.
func StartCopy(ctx context.Context, progress io.Writer) (*Run, error) {
	dir, err := os.MkdirTemp("", "shopfront")
	if err != nil {
		return nil, err
	}
	if err := CopyTree(ctx, dir, progress); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	run, err := Start(dir, false) //nolint:contextcheck // the run outlives the test that starts it
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	run.copy = dir
	return run, nil
}

// Root returns the root of the run's source tree.
func (r *Run) Root() string { return r.Options.Root }

// Output returns what the run has printed.
func (r *Run) Output() string { return r.out.String() }

// Stop ends the run if it still runs, and returns the error of stopping it.
func (r *Run) Stop() error {
	ended, end := context.WithCancel(context.Background())
	end()
	err := r.Wait(ended)
	if r.copy != "" {
		err = errors.Join(err, os.RemoveAll(r.copy))
	}
	return err
}

// LoadShop loads a catalogue file as `shopctl catalog apply` does, and opens its first shop. It replaces SHOP in
// the file with the ID.
func (r *Run) LoadShop(tb testing.TB, file, id string) *backoffice.Shop {
	tb.Helper()
	deployment := r.State.Deployment(rand.Int64N)
	text := strings.ReplaceAll(file, "SHOP", id)
	plan, err := deployment.PlanCatalogue(tb.Context(), []catalogfile.File{{Name: "shop.yaml", Text: []byte(text)}},
		false, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	if err := plan.Apply(tb.Context(), func() {}); err != nil {
		tb.Fatal(err)
	}
	shop, err := deployment.Shop(tb.Context(), plan[0].Catalogue.Shop)
	if err != nil {
		tb.Fatal(err)
	}
	return shop
}

// CreateVoucher creates a single-use voucher for 500 coins. If change is not nil, it edits the terms first.
func CreateVoucher(tb testing.TB, shop *backoffice.Shop, code string, change func(*voucher.Terms)) voucher.Voucher {
	tb.Helper()
	terms := voucher.Terms{
		Written: code,
		Reward:  voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
	}
	if change != nil {
		change(&terms)
	}
	v, err := shop.CreateVoucher(tb.Context(), terms, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// Processes returns a line of ps for each process whose command line contains the directory. These are the functions
// and the DynamoDB Local of a local run in that directory.
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

// Output is an io.Writer that stores everything in memory. The zero value is ready to use.
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
