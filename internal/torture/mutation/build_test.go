//go:build proofs

package mutation_test

import (
	"slices"
	"testing"

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

// build builds the programs that the change affects. If there is no change, it returns the programs of whole.
func (c change) build(t *testing.T, whole testshop.Programs) testshop.Programs {
	t.Helper()
	if len(c) == 0 {
		return whole
	}
	// the function does not use these files
	isOperators := func(r replacement) bool {
		return slices.Contains([]string{editGo, limitGo}, r.File)
	}
	var changed []string
	if slices.ContainsFunc(c, isOperators) {
		changed = append(changed, shopctl)
	}
	if slices.ContainsFunc(c, func(r replacement) bool { return !isOperators(r) }) {
		changed = append(changed, redeemVoucher)
	}
	return testshop.BuildChanged(t, c.overlay(t), changed...)
}
