package localrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"shopfront/internal/local/dynamolocal"
	"shopfront/pkg/catalogfile"
)

const (
	// DynamoDB Local accepts any region and access key, and shows the same tables in all of them.
	region    = "us-east-1"
	accessKey = "local"

	// demoFile is the demo shop's catalogue, relative to the root of the source tree.
	demoFile = "examples/demo.yaml"
)

func (r *Run) dataDir() string { return filepath.Join(r.dir, "data") }

// startStore fetches and starts DynamoDB Local, with the data of earlier runs.
func (r *Run) startStore(ctx context.Context) error {
	pomDir, libDir := dynamolocal.Dirs(r.Root)
	if err := dynamolocal.Fetch(ctx, pomDir, libDir, r); err != nil {
		return err
	}
	if r.Fresh {
		if err := os.RemoveAll(r.dataDir()); err != nil {
			return err
		}
	}
	r.say("Starting DynamoDB Local")
	store, err := dynamolocal.Start(ctx, dynamolocal.Options{LibDir: libDir, DataDir: r.dataDir()})
	if err != nil {
		return fmt.Errorf("%w\nIf the data in %s are damaged, --fresh deletes them", err, r.dataDir())
	}
	r.store = store
	r.onStop(store.Stop)
	return nil
}

// makeTables creates the template's tables if they do not exist yet.
func (r *Run) makeTables(ctx context.Context) error {
	client := dynamolocal.NewClient(r.store.Endpoint())
	for _, table := range r.template.Tables {
		if err := table.Create(ctx, client, table.Name); err != nil {
			return fmt.Errorf("table %s: %w; --fresh deletes the data and starts again", table.Name, err)
		}
	}
	return nil
}

// loadDemo loads the demo shop, as `shopctl catalog apply` would, if no earlier run has loaded it. If an earlier run
// was interrupted while loading, loadDemo finishes the load.
func (r *Run) loadDemo(ctx context.Context) error {
	// The marker is in the data directory, so that it is deleted with the data.
	loaded := filepath.Join(r.dataDir(), "demo-shop-loaded")
	if _, err := os.Stat(loaded); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.say("Loading the demo shop, %s", demoFile)
	file, err := r.demoCatalogue()
	if err != nil {
		return err
	}
	plan, err := r.State.Deployment(r.Random).PlanCatalogue(ctx, []catalogfile.File{file}, false, r.Now())
	if err == nil {
		err = plan.Apply(ctx, func() {})
	}
	if err != nil {
		return fmt.Errorf("load the demo shop: %w", err)
	}
	return os.WriteFile(loaded, nil, 0o600)
}

func (r *Run) demoCatalogue() (catalogfile.File, error) {
	text, err := os.ReadFile(filepath.Join(r.Root, filepath.FromSlash(demoFile)))
	return catalogfile.File{Name: demoFile, Text: text}, err
}
