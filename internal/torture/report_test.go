package torture_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/torture"
)

func TestTable_IsAlignedMarkdown(t *testing.T) {
	row := torture.Row{Fault: "late request", Injected: 999, Redemptions: 1}
	row.Add(torture.Row{Injected: 1_233_568, Redemptions: 2, Refusals: 3, Unknown: 4, Violations: 5})
	want := strings.TrimLeft(`
| fault                                      |  injected | redemptions |  refusals |  unknown | violations |
| ---                                        |       --: |         --: |       --: |      --: |        --: |
| late request                               | 1,234,567 |           3 |         3 |        4 |          5 |
`, "\n")
	if table := torture.Table([]torture.Row{row}); table != want {
		t.Errorf("got\n%swant\n%s", table, want)
	}
}

func TestTell_RowsOfSeveralTests_AreOneTable(t *testing.T) {
	late, killed := torture.Row{Fault: "late request", Injected: 1000},
		torture.Row{Fault: "killed: apply, before a call", Injected: 100}
	file := filepath.Join(t.TempDir(), "table.md")
	torture.Tell(t, file, []torture.Row{late})
	torture.Tell(t, file, []torture.Row{killed})
	want := torture.Table([]torture.Row{late, killed})
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("got %v\n%swant\n%s", err, got, want)
	}
}

func TestViolation_String_SaysHowToRepeatIt(t *testing.T) {
	violation := torture.Violation{Seed: 17, Trial: "late request", Round: 3, Text: "SPRING-20-B: redeemed twice"}
	want := "late request, round 3, seed 17: SPRING-20-B: redeemed twice\n" +
		"to repeat the round: go test ./internal/torture -count=1 -run '^TestTorture$' -seed 17 -trial 'late " +
		"request' -round 3"
	if got := violation.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
