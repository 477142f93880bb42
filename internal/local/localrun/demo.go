package localrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"shopfront/pkg/catalogfile"
	"shopfront/pkg/operator"
)

// demoFile is the demo shop, from the root of the checkout.
const demoFile = "examples/demo.yaml"

// loadDemo loads the demo shop into a store that never had it, as `shopctl catalog apply` would. Where that was interrupted
// it is completed.
func (r *run) loadDemo(ctx context.Context) error {
	// In the directory of the data, so that it is forgotten with them.
	loaded := filepath.Join(r.dataDir(), "demo-shop-loaded")
	if _, err := os.Stat(loaded); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.out.say("Loading the demo shop, %s", demoFile)
	text, err := os.ReadFile(filepath.Join(r.Root, filepath.FromSlash(demoFile)))
	if err != nil {
		return err
	}
	files := []catalogfile.File{{Name: demoFile, Text: text}}
	plan, err := operator.Local(r.state, r.Random).PlanCatalogue(ctx, files, false, r.Now())
	if err != nil {
		return fmt.Errorf("load the demo shop: %w", err)
	}
	if err := plan.Apply(ctx, func() {}); err != nil {
		return fmt.Errorf("load the demo shop: %w", err)
	}
	return os.WriteFile(loaded, nil, 0o600)
}
