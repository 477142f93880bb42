package benchmark

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRatiosAreOfTheSameRound(t *testing.T) {
	round := func(ready, p50 time.Duration) Round {
		return Round{Ready: ready * time.Millisecond, P50: p50 * time.Millisecond}
	}
	report := Report{
		Measured: []Measured{
			{Subject: bareRedeem, Store: stubSteady, Rounds: []Round{round(10, 5), round(20, 10), round(30, 20)}},
			{Subject: singleUse, Store: stubSteady, Rounds: []Round{round(12, 5), round(20, 11), round(39, 20)}},
		},
		Handlers: []Handler{
			{Request: "redeem-single-use", Function: "shopfront", CPU: []float64{300, 450}, Allocations: []float64{660, 660}, Bytes: []float64{48_000, 48_000}},
			{Request: "redeem-single-use", Function: "bare", CPU: []float64{200, 300}, Allocations: []float64{440, 440}, Bytes: []float64{37_000, 37_000}},
		},
		Binaries: map[string]int64{bareRedeem: 8_000_000, singleUse: 8_800_000},
		Oracle:   Oracle{Refusals: []Refusal{{Code: unknownCode}, {Code: "expired", Apart: -0.06}, {Code: "used up", Apart: 0.01}}},
	}
	report.Finish()
	for _, want := range []struct{ what, subject, cell string }{
		{"start to ready ÷ bare", singleUse, "1.20 (1.00–1.30) !"},
		{"warm p50 ÷ bare", singleUse, "1.00 (1.00–1.10)"},
		{"first request ÷ warm p50", singleUse, "0.00"},
		{"CPU within the handler ÷ bare", "redeem-single-use", "1.50"},
		{"allocations ÷ bare", "redeem-single-use", "1.50 !"},
		{"binary ÷ bare", singleUse, "1.10"},
		{"refusals' p50 apart, at most", singleUse, "0.06 !"},
	} {
		at := slices.IndexFunc(report.Lines, func(l Line) bool { return l.What == want.what && l.Subject == want.subject })
		if at < 0 {
			t.Errorf("%s of %s is not there", want.what, want.subject)
			continue
		}
		if got := report.Lines[at].cell(stubSteady); got != want.cell {
			t.Errorf("%s of %s: %q, want %q", want.what, want.subject, got, want.cell)
		}
	}
	var printed strings.Builder
	if err := report.Print(&printed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"≤ 1.15  1.00 (1.00–1.10)", "expired", "-6.00 %"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("%q is not in:\n%s", want, printed.String())
		}
	}
}

func TestBenchmarksAreRead(t *testing.T) {
	const output = `goos: linux
BenchmarkHandler/request=check/function=shopfront-2   1000   273507 ns/op   244049 cpu-ns/op   46047 B/op   542 allocs/op
BenchmarkHandler/request=check/function=bare-2        1000   159622 ns/op   154752 cpu-ns/op   37254 B/op   450 allocs/op
PASS
`
	handlers, err := parseBenchmarks([]byte(output))
	if err != nil || len(handlers) != 2 {
		t.Fatalf("%+v, %v", handlers, err)
	}
	h := handlers[1]
	if h.Request != "check" || h.Function != "bare" || h.CPU[0] != 154752 || h.Allocations[0] != 450 || h.Bytes[0] != 37254 {
		t.Errorf("%+v", h)
	}
	for _, wrong := range []string{"PASS\n", strings.ReplaceAll(output, "542", "many")} {
		if _, err := parseBenchmarks([]byte(wrong)); err == nil {
			t.Errorf("no error for %s", wrong)
		}
	}
}
