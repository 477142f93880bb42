package torture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/internal/torture/testshop"
)

// Settings says what to run, and for how long. Programs is required.
type Settings struct {
	// For the trials in which access changes or clients check out, the programs of Packages must be built with Overlay.
	Programs testshop.Programs
	// Seed repeats the faults and the choices of clients and operators, but not their timing.
	Seed uint64
	// Duration is the time during which new rounds start. Each trial has at least one round.
	Duration time.Duration
	// Injections is how often each fault must hit a call. In the trial with changes of access, this many requests must
	// be denied. In the trial without faults, there must be this many redemptions. After many rounds without an
	// injected fault or without a redemption, Run gives up the trial.
	Injections int
	// Trial names the only trial to run, or is empty for all trials. Round is the only round to run, from 1, or 0 for
	// all rounds.
	Trial string
	Round int
}

// Packages lists the programs that rounds use, for testshop.BuildChanged.
func Packages() []string {
	return []string{
		"functions/redeem-voucher", "functions/checkout", "functions/place-order", "functions/cancel-order",
		"functions/undo-redemption",
		"cmd/shopctl",
	}
}

// Report is the result of a run.
type Report struct {
	Seed uint64
	// Rows has a row for each trial.
	Rows []Row
	// Untried names the rows that prove nothing: their fault hit no call, or nothing was redeemed.
	Untried []string
	// Vouchers, Requests and Operations count the vouchers, the clients' requests, and what the operators did, mostly
	// edits and lists.
	Vouchers, Requests, Operations int
	Violations                     []Violation
}

// Violation is something that must not happen.
type Violation struct {
	Seed  uint64
	Trial string
	Round int
	// Breach reports that a voucher's history or sums, or shopctl verify, prove a broken promise. Any other violation,
	// such as an undocumented response, may result from a crash or a slow machine.
	Breach bool
	Text   string
}

// String describes the violation, and gives the command that repeats its round.
func (v Violation) String() string {
	return fmt.Sprintf("%s, round %d, seed %d: %s\nto repeat the round: go test ./internal/torture -count=1 -run "+
		"'^TestTorture$' -seed %d -trial '%s' -round %d",
		v.Trial, v.Round, v.Seed, v.Text, v.Seed, v.Trial, v.Round)
}

// lanes is how many rounds run at once. Requests under faults mostly wait.
const lanes = 5

// Run plays rounds and reports their violations. The test itself fails only if a round cannot be played.
func Run(tb testing.TB, settings Settings) Report {
	tb.Helper()
	r := &run{settings: settings, end: time.Now().Add(settings.Duration)}
	for _, trial := range trials() {
		if settings.Trial == "" || settings.Trial == trial.fault {
			r.progress = append(r.progress, &progress{trial: trial, row: Row{Fault: trial.fault}})
		}
	}
	if len(r.progress) == 0 {
		tb.Fatalf("no trial %q: there are %s", settings.Trial, strings.Join(Trials(), ", "))
	}
	var working sync.WaitGroup
	for range lanes {
		working.Go(func() {
			for {
				p, number, more := r.next()
				if !more || tb.Failed() {
					return
				}
				played := playRound(tb, settings, p.trial, number)
				r.add(p, number, played)
				tb.Logf("%s, round %d (%s): %+v in %s", p.trial.fault, number, played.plan, played.row,
					played.took.Round(time.Millisecond))
			}
		})
	}
	working.Wait()
	report := r.report
	report.Seed = settings.Seed
	for _, p := range r.progress {
		report.Rows = append(report.Rows, p.row)
		if !p.done(1) {
			report.Untried = append(report.Untried, p.trial.fault)
		}
	}
	return report
}

// run is a run in progress.
type run struct {
	settings Settings
	end      time.Time

	mu       sync.Mutex
	progress []*progress
	report   Report
}

// progress counts what a trial has done so far.
type progress struct {
	trial  trial
	begun  int // rounds
	inPlay int
	row    Row
}

// next picks the trial for the next round: the trial with the fewest rounds. After Duration, once each trial has begun
// a round, next picks among the trials that have finished a round and need more injections, except for trials that were
// in vain for too long.
func (r *run) next() (p *progress, number int, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p = slices.MinFunc(r.progress, func(a, b *progress) int { return cmp.Compare(a.begun, b.begun) })
	if r.settings.Round > 0 {
		p.begun++
		return p, r.settings.Round, p.begun == 1
	}
	if p.begun > 0 && !time.Now().Before(r.end) {
		short := slices.DeleteFunc(slices.Clone(r.progress), func(p *progress) bool {
			return p.done(r.settings.Injections) || p.begun == p.inPlay || p.inVain()
		})
		if len(short) == 0 {
			return nil, 0, false
		}
		p = slices.MinFunc(short, func(a, b *progress) int { return cmp.Compare(a.inPlay, b.inPlay) })
	}
	p.begun++
	p.inPlay++
	return p, p.begun, true
}

// done reports whether a trial has done enough. Its fault must have been injected, or requests must have been denied,
// often enough, and something must have been redeemed. A trial without a fault needs only enough redemptions.
func (p *progress) done(injections int) bool {
	if len(p.trial.counts) == 0 && !p.trial.access {
		return p.row.Redemptions >= injections
	}
	return p.row.Injected >= injections && p.row.Redemptions > 0
}

// vainRounds is how many rounds a trial may play without an injected fault or a redemption.
const vainRounds = 20

func (p *progress) inVain() bool { return p.begun-p.inPlay >= vainRounds && !p.done(1) }

// add adds a round to the report.
func (r *run) add(p *progress, number int, played outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.inPlay--
	p.row.Add(played.row)
	r.report.Vouchers += played.vouchers
	r.report.Requests += played.requests
	r.report.Operations += played.operations
	for _, violation := range played.violations {
		violation.Seed, violation.Trial, violation.Round = r.settings.Seed, p.trial.fault, number
		r.report.Violations = append(r.report.Violations, violation)
	}
}

// String sums up the run in one line.
func (r Report) String() string {
	return fmt.Sprintf("seed %d: %s vouchers, %s requests, %s edits and lists, %s violations",
		r.Seed, grouped(r.Vouchers), grouped(r.Requests), grouped(r.Operations), grouped(len(r.Violations)))
}
