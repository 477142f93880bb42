package changelog_test

import (
	"testing"

	"shopfront/internal/contract/changelog"
)

func TestCounts_String(t *testing.T) {
	for want, counts := range map[string]changelog.Counts{
		"0 structure changes":            {},
		"1 structure change: 1 addition": {Changes: 1, Additions: 1},
		"2 structure changes: 2 breaking, 1 modification, 1 removal": {
			Changes: 2, Breaking: 2, Modifications: 1,
			Removals: 1,
		},
		"6 structure changes: 2 additions, 2 modifications, 2 removals": {
			Changes: 6, Additions: 2, Modifications: 2,
			Removals: 2,
		},
	} {
		if got := counts.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
