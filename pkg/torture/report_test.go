package torture_test

import (
	"strings"
	"testing"

	"shopfront/pkg/torture"
)

func TestATableIsMarkdownInColumns(t *testing.T) {
	row := torture.Row{Fault: "late request", Injected: 999, Redemptions: 1}
	row.Add(torture.Row{Injected: 1_233_568, Redemptions: 2, Refusals: 3, Unknown: 4, Violations: 5})
	var table strings.Builder
	if err := torture.WriteTable(&table, []torture.Row{row}); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimLeft(`
| fault                      |  injected | redemptions |  refusals |  unknown | violations |
| ---                        |       --: |         --: |       --: |      --: |        --: |
| late request               | 1,234,567 |           3 |         3 |        4 |          5 |
`, "\n")
	if table.String() != want {
		t.Errorf("got\n%swant\n%s", table.String(), want)
	}
}

func TestAViolationTellsHowToRepeatIt(t *testing.T) {
	violation := torture.Violation{Seed: 17, Trial: "late request", Round: 3, Text: "SPRING-20-B: redeemed twice"}
	want := "late request, round 3, seed 17: SPRING-20-B: redeemed twice\n" +
		"to repeat the round: go test ./pkg/torture -count=1 -run '^TestTorture$' -seed 17 -trial 'late request' -round 3"
	if got := violation.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
