// Package gobuild builds Lambda functions for this machine, with the flags that the Makefile uses for deployed
// functions. The local run, the tests and the measurements all use it, so that they run the same programs as AWS. It
// imports no package of this module.
package gobuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// lockInterval is how often a waiting build checks whether the other build has finished.
const lockInterval = 50 * time.Millisecond

// Flags returns the flags of `go build` for every function.
func Flags() []string {
	return []string{"-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"}
}

// Command returns the command that builds packages of the source tree at root, such as ./functions/checkout. The output
// is a file for one package, or a directory (ending with a slash) for several packages. More flags may come before the
// packages.
func Command(ctx context.Context, root, output string, packages ...string) *exec.Cmd {
	arguments := append([]string{"build"}, Flags()...)
	arguments = append(arguments, "-o", output)
	command := exec.CommandContext(ctx, "go", append(arguments, packages...)...) //nolint:gosec // the project's own programs
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	return command
}

// Build runs the command that Command returns. Its error contains what the compiler printed.
func Build(ctx context.Context, root, output string, packages ...string) error {
	if printed, err := Command(ctx, root, output, packages...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %v: %w\n%s", packages, err, printed)
	}
	return nil
}

// Programs makes sure that all functions and shopctl are built from the current source tree at root, and returns the
// directory with the programs. All tests share this directory, so that the linker runs only after a change of the
// sources: if nothing has changed, Programs takes about a second. Do not write into the directory. If several processes
// call Programs at the same time, one process builds and the others wait.
func Programs(ctx context.Context, root string) (dir string, err error) {
	dir = filepath.Join(root, ".shopfront", "programs")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	lock := flock.New(dir + ".lock")
	defer func() { _ = lock.Unlock() }() // the file stays: if it were removed, two processes could lock different files
	if _, err := lock.TryLockContext(ctx, lockInterval); err != nil {
		return "", fmt.Errorf("wait for another build of the programs: %w", err)
	}
	return dir, Build(ctx, root, dir+"/", "./functions/...", "./cmd/shopctl")
}
