package localrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"shopfront/internal/local/gobuild"
	"shopfront/internal/local/samtemplate"
)

// interruptGrace is how long the compiler may take to stop when it is interrupted.
const interruptGrace = 5 * time.Second

// Binary is where Run leaves the built function of that name in the checkout at root.
func Binary(root, function string) string {
	return filepath.Join(root, stateDir, "functions", function, "bootstrap")
}

// build builds the functions for this machine.
func (r *run) build(ctx context.Context) error {
	functions := r.template.Functions()
	r.out.say("Building %d functions, the first of them with all that they share", len(functions))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turns := make(chan struct{}, runtime.NumCPU())
	var building sync.WaitGroup
	for i, f := range functions {
		turns <- struct{}{}
		building.Go(func() {
			if err := r.buildFunction(ctx, f); err != nil {
				stop(err)
			}
			<-turns
		})
		if i == 0 {
			building.Wait()
		}
	}
	building.Wait()
	return context.Cause(ctx)
}

func (r *run) buildFunction(ctx context.Context, f samtemplate.Function) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	began := r.Now()
	command := gobuild.Command(ctx, r.Root, Binary(r.Root, f.Name), "./"+f.Package)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = interruptGrace
	command.Stdout, command.Stderr = r.out, r.out
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s cannot be built: correct what the compiler says, and start again (%w)", f.Package, err)
	}
	r.out.say("  %s, %s", f.Name, r.Now().Sub(began).Round(100*time.Millisecond))
	return nil
}
