// Package gobuild builds Lambda functions for this machine, with the flags that the Makefile uses for deployed functions. The local
// run, the tests and the measurements all use it, so that they run the same programs as AWS. It imports no package of this module.
package gobuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Flags returns the flags of `go build` for every function.
func Flags() []string {
	return []string{"-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"}
}

// Command returns the command that builds packages of the source tree at root, such as ./functions/checkout. The output is a file for
// one package, or a directory (ending with a slash) for several packages. More flags may come before the packages.
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
