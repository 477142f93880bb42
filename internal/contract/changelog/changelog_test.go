package changelog_test

import (
	"reflect"
	"strings"
	"testing"

	"shopfront/internal/contract/changelog"
)

func TestCountsInWords(t *testing.T) {
	for want, counts := range map[string]changelog.Counts{
		"0 structure changes":                                           {},
		"1 structure change: 1 addition":                                {Changes: 1, Additions: 1},
		"2 structure changes: 2 breaking, 1 modification, 1 removal":    {Changes: 2, Breaking: 2, Modifications: 1, Removals: 1},
		"6 structure changes: 2 additions, 2 modifications, 2 removals": {Changes: 6, Additions: 2, Modifications: 2, Removals: 2},
	} {
		if got := counts.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatIsFormattedIsParsed(t *testing.T) {
	releases := []changelog.Release{
		{Name: "0001-undated", Reconstructed: true, Changes: []changelog.Change{}},
		{Name: "0002-2026-11-21", Date: "2026-11-21", Changes: []changelog.Change{{
			Kind: changelog.Modified, Method: "POST", Path: "/shop/{customer}/voucher", Breaking: true,
			Details: []changelog.Detail{{Text: "`code` has <= 80 bytes", Breaking: true}, {Text: "`nick` was added"}},
		}}},
	}
	text, err := changelog.Format(releases)
	if err != nil || !strings.Contains(string(text), "<= 80") {
		t.Fatalf("%s, %v", text, err)
	}
	if parsed, err := changelog.Parse(string(text)); err != nil || !reflect.DeepEqual(parsed, releases) {
		t.Errorf("%+v, %v", parsed, err)
	}
	for _, text := range []string{"", "{}", `[{"name":"0001-undated","notes":"by hand"}]`} {
		if releases, err := changelog.Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, releases)
		}
	}
}
