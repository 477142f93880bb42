package benchmark

import (
	"io"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/measure/fixture"
)

func TestTimeBulk_EveryCommand_IsMeasuredInEachRound(t *testing.T) {
	bulk, err := TimeBulk(t.Context(), fixture.Setup{Root: root, Dir: t.TempDir(), Progress: t.Output()}, 70, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, calls := range []int{1, 4, 16, 64} {
		if rates := bulk.Bare[calls]; len(rates) != 2 || slices.Min(rates) <= 0 {
			t.Errorf("a bare loop with %d calls in flight has the rates %v; want two", calls, bulk.Bare[calls])
		}
	}
	for _, c := range bulk.Commands {
		if len(c.Seconds) != 2 || len(c.OfBare) != 2 || slices.Min(c.OfBare) <= 0 || c.Memory < 1_000_000 {
			t.Errorf("measured %+v, want figures of two rounds", c)
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
		"as fast as needed": {
			BulkCommand{Target: 0.7, OfBare: []float64{0.4, 0.7, 0.9}, Memory: 150_000_000},
			"",
		},
		"slower than the bare loop": {
			BulkCommand{Name: "import", Target: 0.7, OfBare: []float64{0.4, 0.6, 0.9}},
			"voucher import reaches 0.60",
		},
		"too much memory": {
			BulkCommand{Name: "list", OfBare: []float64{9}, Memory: 151_000_000},
			"voucher list takes 151 MB",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			err := (&Bulk{Count: leastJudged, Commands: []BulkCommand{test.command}}).Missed()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Missed() returned %v, want %q", err, test.want)
			}
		})
	}
}
