package benchmark

import (
	"strings"
	"testing"
	"time"

	"shopfront/internal/measure/process"
)

func TestReport_Ratios_DivideFiguresOfTheSameRound(t *testing.T) {
	round := func(ready, p50 time.Duration) Round {
		return Round{Figures: process.Figures{Ready: ready * time.Millisecond, Warm: p50 * time.Millisecond}}
	}
	report := Report{
		Measured: map[string]map[string][]Round{stubSteady: {
			referenceRedeem: {round(10, 5), round(20, 10), round(30, 20)},
			singleUse:       {round(12, 5), round(20, 11), round(39, 20)},
		}},
		Binaries: map[string]int64{referenceRedeem: 8_000_000, singleUse: 8_800_000},
		Oracle: Oracle{Refusals: []Refusal{
			{Code: unknownCode},
			{Code: "expired", Apart: -0.06},
			{Code: "used up", Apart: 0.01},
		}},
	}
	report.compare()
	cells := make(map[string]string)
	for _, line := range report.Lines {
		if line.Subject == singleUse {
			cells[line.What] = line.cell(stubSteady)
		}
	}
	for what, want := range map[string]string{
		"start to ready ÷ reference":          "1.20 (1.00–1.30) !",
		"warm p50 ÷ reference":                "1.00 (1.00–1.10)",
		"first request ÷ warm p50":            "0.00",
		"binary ÷ reference":                  "1.10",
		"greatest p50 gap to an unknown code": "0.06 !",
	} {
		if cells[what] != want {
			t.Errorf("%s is %q, want %q", what, cells[what], want)
		}
	}
	var printed strings.Builder
	if err := report.Print(&printed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"≤ 1.15  1.00 (1.00–1.10)", "expired", "-6.00 %"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("%q is missing from the report:\n%s", want, printed.String())
		}
	}
}
