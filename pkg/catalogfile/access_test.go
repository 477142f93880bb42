package catalogfile_test

import (
	"cmp"
	"reflect"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalogfile"
)

func TestAccess_IsReadAndWrittenInItsShortestForm(t *testing.T) {
	limit := func(limit int, per time.Duration) *access.SourceLimit {
		return &access.SourceLimit{Limit: limit, Per: per}
	}
	for _, c := range []struct {
		name, lines string
		want        catalogfile.Access
		written     string // empty: the same as lines
	}{
		{"nothing", "", catalogfile.Access{}, ""},
		{
			"both policies", "    access: {redeem: server, check-out: anyone}\n",
			catalogfile.Access{Redeem: access.ServerOnly, CheckOut: access.Anyone},
			"",
		},
		{"one policy", "    access: {check-out: server}\n", catalogfile.Access{CheckOut: access.ServerOnly}, ""},
		{
			"a limit", "    refusals: {limit: 100, per: 10m}\n",
			catalogfile.Access{Refusals: limit(100, 10*time.Minute)},
			"",
		},
		{
			"a limit on several lines", "    refusals:\n      per: \"5400s\"\n      limit: 7\n",
			catalogfile.Access{Refusals: limit(7, 90*time.Minute)},
			"    refusals: {limit: 7, per: 1h30m}\n",
		},
		{
			"the longest window", "    refusals: {limit: 1000000, per: 24h}\n",
			catalogfile.Access{Refusals: limit(access.MaxOfSource, access.MaxWindow)},
			"",
		},
		{"off", "    refusals: off\n", catalogfile.Access{Refusals: limit(0, 0)}, ""},
		{
			"a limit of redemptions", "    redemptions: {limit: 20, per: 1h}\n",
			catalogfile.Access{Redemptions: limit(20, time.Hour)},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			const header = "shops:\n  - id: emberforge\n    name: Emberforge\n    currency: EUR\n"
			entries, err := catalogfile.Parse(catalogfile.File{Name: "shop.yaml", Text: []byte(header + c.lines)})
			if err != nil || !reflect.DeepEqual(entries[0].Access, c.want) {
				t.Fatalf("read %+v, %v, want the access %+v", entries, err, c.want)
			}
			var file strings.Builder
			if err := catalogfile.Write(&file, entries...); err != nil {
				t.Fatal(err)
			}
			if want := header + cmp.Or(c.written, c.lines); file.String() != want {
				t.Errorf("written\n%s\nwant\n%s", file.String(), want)
			}
		})
	}
}

func TestAccess_Over_ChangesOnlyWhatTheFileSays(t *testing.T) {
	stored := access.Settings{
		Redeem: access.ServerOnly, CheckOut: access.ServerOnly,
		Refusals: access.DefaultRefusals(), Redemptions: access.DefaultRefusals(), Version: 3,
	}
	stored.Paused.All = true
	if got := (catalogfile.Access{}).Over(stored); !reflect.DeepEqual(got, stored) {
		t.Errorf("a file without values: %+v", got)
	}
	want := access.Settings{Redeem: access.Anyone, CheckOut: access.ServerOnly, Paused: stored.Paused, Version: 3}
	if got := (catalogfile.Access{
		Redeem:   access.Anyone,
		Refusals: &access.SourceLimit{}, Redemptions: &access.SourceLimit{},
	}).Over(stored); !reflect.DeepEqual(got, want) {
		t.Errorf("a file with some values: %+v, want %+v", got, want)
	}
}
