package localrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"shopfront/internal/local/gobuild"
)

// interruptGrace is how long the compiler may take to stop after an interrupt.
const interruptGrace = 5 * time.Second

// BinDir returns the directory in which a Run builds the functions of the source tree at root.
func BinDir(root string) string { return filepath.Join(root, stateDir, "bin") }

// build builds the functions for this machine.
func (r *Run) build(ctx context.Context) error {
	var packages []string
	for _, f := range r.template.Functions {
		packages = append(packages, "./"+f.Package)
	}
	r.say("Building %d functions", len(packages))
	command := gobuild.Command(ctx, r.Root, BinDir(r.Root)+"/", packages...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = interruptGrace
	command.Stdout, command.Stderr = r, r
	if err := command.Run(); err != nil {
		return fmt.Errorf("the functions cannot be built: correct what the compiler reports, and start again (%w)", err)
	}
	return nil
}
