package contract_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shopfront/internal/contract"
	"shopfront/internal/contract/changelog"
)

func TestRelease_FreezesTheWorkingDocument(t *testing.T) {
	working := edited(t, note, newNote)
	root := keep(t, working, [2]string{"0001-undated", shop}, [2]string{"0002-2026-11-21", shop})
	c := open(t, root)
	if err := c.Render(); err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2027, time.February, 28, 23, 30, 0, 0, time.FixedZone("", -3600)) // already March in UTC
	name, err := c.Release(t.Context(), routes(), evening)
	if err != nil || name != "0003-2027-03-01" {
		t.Fatalf("the release is named %s, %v, want 0003-2027-03-01", name, err)
	}
	frozen, err := os.ReadFile(filepath.Join(root, "api/releases/0003-2027-03-01.yaml"))
	if err != nil || string(frozen) != working {
		t.Errorf("the released document differs from the working document: %v, %s", err, frozen)
	}
	reopened := open(t, root)
	if problems, err := reopened.Check(t.Context(), routes(), today); err != nil || len(problems) > 0 {
		t.Errorf("after the release, the problems are %q, %v", problems, err)
	}
	text, err := os.ReadFile(filepath.Join(root, "api/changelog.json"))
	if err != nil {
		t.Fatal(err)
	}
	var releases []changelog.Release
	if err := json.Unmarshal(text, &releases); err != nil || len(releases) != 3 || releases[2].Date != "2027-03-01" ||
		releases[2].Counts().Modifications != 1 {
		t.Errorf("the changelog has %+v, %v, want the new release with one modification", releases, err)
	}
	if _, err := reopened.Release(t.Context(), routes(), today); !errors.Is(err, contract.ErrUnchanged) {
		t.Errorf("a second release: %v, want ErrUnchanged", err)
	}
}

// A new sunset justifies a release, even if nothing else changed.
func TestRelease_OnlyANewSunset_IsReleased(t *testing.T) {
	for name, text := range map[string]string{
		"a parameter's": channel, "a request field's": nick, "a response field's": note,
	} {
		t.Run(name, func(t *testing.T) {
			c := rendered(t, edited(t, marked(text, "2027-06-01")...), edited(t, marked(text, "2028-01-01")...))
			if _, err := c.Release(t.Context(), routes(), today); err != nil {
				t.Error(err) // TestChangelog_StructureChanges checks what the changelog says
			}
		})
	}
}

func TestRelease_RedOrUnchanged_IsRefused(t *testing.T) {
	addition := edited(t, note, newNote)
	for name, test := range map[string]struct {
		working string
		on      time.Time
		want    string
	}{
		"nothing changed":    {shop, today, "nothing changed"},
		"only words changed": {edited(t, "Voucher not found", "No such voucher"), today, "nothing changed"},
		"the gate is red":    {edited(t, note, ""), today, "field note"},
		"before the last release": {
			addition, time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC),
			"release 0001-2026-11-21: its date is in the future",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := rendered(t, shop, test.working)
			if name, err := c.Release(t.Context(), routes(), test.on); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("released %q, %v, want an error with %q", name, err, test.want)
			}
		})
	}
}
