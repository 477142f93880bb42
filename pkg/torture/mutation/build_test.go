package mutation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/pkg/torture/testshop"
)

// change replaces texts of the source.
type change []replacement

// replacement replaces a text that a file, named from the checkout's root, has once.
type replacement struct{ file, old, new string }

// overlay is the changed files.
func (c change) overlay(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, r := range c {
		text, changed := texts[r.file]
		if !changed {
			source, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(r.file)))
			if err != nil {
				t.Fatal(err)
			}
			text = string(source)
		}
		if n := strings.Count(text, r.old); n != 1 {
			t.Fatalf("%s moved on, and the mutation has to follow: it has %d times, not once:\n%s", r.file, n, r.old)
		}
		texts[r.file] = strings.Replace(text, r.old, r.new, 1)
	}
	return texts
}

// build builds the function that redeems, and shopctl where the change is to that.
func (c change) build(t *testing.T) testshop.Programs {
	t.Helper()
	packages := []string{"functions/redeem-voucher"}
	if len(c) == 0 || c[0].file == vouchersGo {
		packages = append(packages, "cmd/shopctl")
	}
	return testshop.Build(t, c.overlay(t), packages...)
}
