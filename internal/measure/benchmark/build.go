package benchmark

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds a main package of the checkout at root, such as functions/checkout, below dir, as the Makefile builds functions
// for the SAM CLI, for this machine. It returns the path of the binary.
func Build(ctx context.Context, root, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, filepath.FromSlash(pkg), "bootstrap")
	command := exec.CommandContext(ctx, "go", append(BuildFlags(), "-o", binary, "./"+pkg)...) //nolint:gosec // the checkout's own programs
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, output)
	}
	return binary, nil
}

// BuildFlags are the arguments of go for every binary that is compared: those of the Makefile's rule for the SAM CLI.
func BuildFlags() []string {
	return []string{"build", "-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"}
}
