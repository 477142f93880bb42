package torture_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
)

// `make torture` sets these flags. With the defaults, the test is short and draws the same faults each time. So if the
// test fails, the cause is most likely a change of the code.
//
//nolint:gochecknoglobals // flags of the test binary
var (
	seed       = flag.Uint64("seed", 1, "seed of faults and requests")
	duration   = flag.Duration("duration", 10*time.Second, "how long to start rounds")
	injections = flag.Int("injections", 1, "how often each fault is injected, at least")
	trial      = flag.String("trial", "", "one of: "+strings.Join(torture.Trials(), ", "))
	round      = flag.Int("round", 0, "a single round of the trial")
	table      = flag.String("table", "", "add the rows to the table in `file`")
)

func TestTorture(t *testing.T) {
	settings := torture.Settings{
		Programs: testshop.BuildChanged(t, torture.Overlay(t), torture.Packages()...),
		Seed:     *seed, Duration: *duration, Injections: *injections, Trial: *trial, Round: *round,
	}
	report := torture.Run(t, settings)
	for _, violation := range report.Violations {
		t.Error(violation)
	}
	if *round == 0 { // a single round may lack a fault
		for _, fault := range report.Untried {
			t.Errorf("%s: not tested: the fault hit no call, or nothing was redeemed", fault)
		}
	}
	t.Log(report)
	torture.Tell(t, *table, report.Rows)
}
