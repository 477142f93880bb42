package benchmark

import (
	"io"
	"strings"
	"testing"

	"shopfront/internal/measure/fixture"
)

func TestTimeBulk_EveryCommand_IsMeasured(t *testing.T) {
	bulk, err := TimeBulk(t.Context(), fixture.Setup{Root: root, Dir: t.TempDir(), Progress: t.Output()}, 70)
	if err != nil {
		t.Fatal(err)
	}
	for _, calls := range inFlight() {
		if bulk.Bare[calls] <= 0 {
			t.Errorf("a bare loop with %d calls in flight has the rate %g", calls, bulk.Bare[calls])
		}
	}
	for _, c := range bulk.Commands {
		if c.Seconds <= 0 || c.OfBare <= 0 || c.Memory < 1_000_000 {
			t.Errorf("measured %+v", c)
		}
	}
	if err := bulk.Print(io.Discard); err != nil || len(bulk.Commands) != 7 {
		t.Errorf("%d commands were measured, %v; want 7", len(bulk.Commands), err)
	}
}

func TestBulk_MissedTarget_IsAnError(t *testing.T) {
	for rule, test := range map[string]struct {
		command BulkCommand
		want    string
	}{
		"as fast as needed":         {BulkCommand{Target: 0.7, OfBare: 0.7, Memory: 150_000_000}, ""},
		"slower than the bare loop": {BulkCommand{Name: "import", Target: 0.7, OfBare: 0.6}, "voucher import reaches 0.60"},
		"too much memory":           {BulkCommand{Name: "list", Memory: 151_000_000}, "voucher list takes 151 MB"},
	} {
		t.Run(rule, func(t *testing.T) {
			err := (&Bulk{Count: leastJudged, Commands: []BulkCommand{test.command}}).Missed()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Missed() returned %v, want %q", err, test.want)
			}
		})
	}
}
