package torture_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
)

// `make torture` sets these flags. With the defaults, the test is short and draws the same faults each time, so it begins to fail
// only because of a change.
//
//nolint:gochecknoglobals // flags of the test binary
var (
	seed       = flag.Uint64("seed", 1, "what faults and requests are drawn from")
	duration   = flag.Duration("duration", 10*time.Second, "how long rounds are begun, at least")
	injections = flag.Int("injections", 1, "how often each fault is injected, at least")
	trial      = flag.String("trial", "", "one of: "+strings.Join(torture.Trials(), ", "))
	round      = flag.Int("round", 0, "a single round of the trial")
	table      = flag.String("table", "", "the `file` with the table to add to")
)

func TestTorture(t *testing.T) {
	settings := torture.Settings{
		Programs: testshop.Build(t, nil, "functions/redeem-voucher", "cmd/shopctl"),
		Seed:     *seed, Duration: *duration, Injections: *injections, Trial: *trial, Round: *round, Progress: t.Output(),
	}
	report := torture.Run(t, settings)
	for _, violation := range report.Violations {
		t.Error(violation)
	}
	if *round == 0 { // else by the chance of one
		for _, fault := range report.Untried {
			t.Errorf("%s: not put to the test: no such fault befell a call, or nothing was redeemed", fault)
		}
	}
	t.Log(report)
	torture.Tell(t, *table, report.Rows)
}
