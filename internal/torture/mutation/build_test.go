package mutation_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"shopfront/internal/local/localrun"
	"shopfront/internal/torture/testshop"
)

// change replaces strings in the source.
type change []replacement

// replacement replaces a string that occurs once in a file of the source tree.
type replacement struct{ File, Old, New string }

// overlay returns the changed files.
func (c change) overlay(t *testing.T) map[string]string {
	t.Helper()
	var replacements []testshop.Replacement
	for _, r := range c {
		replacements = append(replacements, testshop.Replacement(r))
	}
	return testshop.Overlay(t, replacements...)
}

// Programs of a shop.
const (
	redeemVoucher = "functions/redeem-voucher"
	shopctl       = "cmd/shopctl"
)

// build builds the programs that the change affects. It takes the other programs from the parameter whole.
func (c change) build(t *testing.T, whole testshop.Programs) testshop.Programs {
	t.Helper()
	if len(c) == 0 {
		return whole
	}
	isOperators := func(r replacement) bool { return r.File == editGo || r.File == createGo } // the function does not use these files
	var changed []string
	if slices.ContainsFunc(c, isOperators) {
		changed = append(changed, shopctl)
	}
	if slices.ContainsFunc(c, func(r replacement) bool { return !isOperators(r) }) {
		changed = append(changed, redeemVoucher)
	}
	programs := testshop.Build(t, c.overlay(t), changed...)
	if !slices.Contains(changed, redeemVoucher) {
		link(t, localrun.Binary(whole.Dir(), "redeem-voucher"), localrun.Binary(programs.Dir(), "redeem-voucher"))
	}
	if !slices.Contains(changed, shopctl) {
		link(t, whole.Shopctl(), programs.Shopctl())
	}
	return programs
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}
