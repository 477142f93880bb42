//go:build proofs

package mutation_test

import (
	"slices"
	"testing"

	"shopfront/internal/torture"
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

// build builds the programs that can have changes, with torture.Unremembered besides.
func (c change) build(t *testing.T) testshop.Programs {
	t.Helper()
	for _, r := range torture.Unremembered() {
		c = append(slices.Clip(c), replacement(r))
	}
	return testshop.BuildChanged(t, c.overlay(t), "functions/redeem-voucher", "functions/undo-redemption", "cmd/shopctl")
}
