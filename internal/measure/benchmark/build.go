package benchmark

import (
	"context"
	"path/filepath"

	"shopfront/internal/local/gobuild"
)

// Build builds a main package of the checkout at root, such as functions/checkout, below dir. It returns the path of the binary.
func Build(ctx context.Context, root, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, filepath.FromSlash(pkg), "bootstrap")
	return binary, gobuild.Build(ctx, root, binary, "./"+pkg)
}
