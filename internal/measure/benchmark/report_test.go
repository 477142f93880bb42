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
	report := Report{measured: map[string][]Round{}}
	for _, s := range subjects() {
		report.measured[s.name] = []Round{round(10, 5), round(20, 10), round(30, 20)}
	}
	report.measured[singleUse] = []Round{round(12, 5), round(20, 11), round(39, 20)}
	var printed strings.Builder
	if err := report.Print(&printed); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(printed.String()), " ")
	for _, want := range []string{
		"start to ready ÷ reference redeem-voucher, single use ≤ 1.1 1.20 (1.00–1.30) !",
		"warm p50 ÷ reference redeem-voucher, single use ≤ 1.15 1.00 (1.00–1.10) warm",
		"first request ÷ warm p50 redeem-voucher, single use ≤ 2 0.00 first",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from the report:\n%s", want, printed.String())
		}
	}
}

func TestOracle_KindThatDiffers_IsMarked(t *testing.T) {
	milliseconds := func(from int) (times []time.Duration) {
		for i := range 100 {
			times = append(times, time.Duration(from+i)*time.Millisecond)
		}
		return times
	}
	var printed strings.Builder
	if err := (Oracle{
		{kind: unknownCode, times: milliseconds(1000)},
		{kind: "expired", times: milliseconds(900)},
		{kind: "used up", times: milliseconds(1001)},
	}).Print(&printed); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(printed.String()), " ")
	for _, want := range []string{"-9.53 % ! 0.0 % 0.000", "+0.10 % 51.0 % 0.809 >"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from the report:\n%s", want, printed.String())
		}
	}
}
