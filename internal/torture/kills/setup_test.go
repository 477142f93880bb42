package kills_test

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const (
	killsFlag = "kills"
	tableFlag = "table"
)

func TestMain(m *testing.M) {
	flag.Int(killsFlag, 0, "kill each kind of work at every step and in each way at least `N` times; 0 kills it at "+
		"a few steps")
	flag.String(tableFlag, "", "the `file` with the table to add to")
	m.Run()
}

// wantedKills returns how often each kind of work must be killed in each way. 0 is the short form: a few steps of each
// kind.
func wantedKills(t *testing.T) int {
	t.Helper()
	getter, is := flag.Lookup(killsFlag).Value.(flag.Getter)
	if !is {
		t.Fatal("the flag cannot be read")
	}
	n, is := getter.Get().(int)
	if !is {
		t.Fatal("the flag is not a number")
	}
	return n
}

// bench is a shop whose processes the test ends.
type bench struct {
	*testshop.Shop
	programs testshop.Programs
	trap     *trap
}

func newBench(t *testing.T, programs testshop.Programs) *bench {
	t.Helper()
	trap := newTrap()
	shop := testshop.Start(t, programs, testshop.Settings{Front: trap.front})
	state, err := localrun.Find(t.Context(), shop.Dir)
	if err != nil {
		t.Fatal(err)
	}
	state.Tables.Events = eventsTable
	if err := state.Write(shop.Dir); err != nil {
		t.Fatal(err)
	}
	return &bench{Shop: shop, programs: programs, trap: trap}
}

const currency = money.Currency("EUR")

// open loads a shop's catalogue and opens the shop, bypassing the trap. Every refusal is counted, and nobody is
// blocked.
func (b *bench) open(t *testing.T, shop catalog.ShopID) *backoffice.Shop {
	t.Helper()
	return b.Open(t, shop, "refusals: {limit: 1000000, per: 24h}")
}

// create creates a voucher for coins, bypassing the trap.
func create(t *testing.T, shop *backoffice.Shop, terms voucher.Terms) {
	t.Helper()
	var err error
	if terms.Reward, err = voucher.ParseReward("coins/500", currency); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.CreateVoucher(t.Context(), terms, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// wantVerified checks that a shop's records add up. An edit of a limit may be in progress only if mayBeEdited is
// set.
func wantVerified(t *testing.T, r *recorder, b *bench, shop catalog.ShopID, mayBeEdited bool) {
	t.Helper()
	report, err := b.BackOffice(t, shop).Verify(t.Context(),
		backoffice.Verification{Now: time.Now, Settle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range report.Findings {
		r.violation(t, "verify %s finds %+v", shop, finding)
	}
	for _, motion := range report.InMotion {
		if !mayBeEdited {
			r.violation(t, "verify %s reports an edit in progress: %+v", shop, motion)
		}
	}
}

// recorder counts what happened, as a row of the report.
type recorder struct{ row torture.Row }

func (r *recorder) violation(t *testing.T, format string, args ...any) {
	t.Helper()
	r.row.Violations++
	t.Errorf(format, args...)
}

// process is a shopctl that runs, or has run.
type process struct {
	command        *exec.Cmd
	stdout, stderr bytes.Buffer
	started, ended chan struct{}
}

// process returns a shopctl with these arguments, not yet started.
func (b *bench) process(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{
		command: exec.CommandContext(t.Context(), b.programs.Shopctl(),
			append([]string{"--local", "--json"}, args...)...),
		started: make(chan struct{}), ended: make(chan struct{}),
	}
	p.command.Dir = b.Dir
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	close(p.started)
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // ProcessState has the result
	}()
}

// run starts the process and returns when it has ended.
func (p *process) run(t *testing.T) {
	t.Helper()
	p.start(t)
	<-p.ended
}

// end sends a signal to the running process and returns when it has ended.
func (p *process) end(signal syscall.Signal) {
	<-p.started
	_ = p.command.Process.Signal(signal) // it has not ended, because it waits for a response
	select {
	case <-p.ended:
	case <-time.After(patience): // the test fails because of the exit code
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

func (p *process) exit() int { return p.command.ProcessState.ExitCode() }

func (p *process) isKilled() bool {
	status, is := p.command.ProcessState.Sys().(syscall.WaitStatus)
	return is && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func (p *process) String() string {
	return fmt.Sprintf("shopctl %s: %s\n%s%s", strings.Join(p.command.Args[1:], " "), p.command.ProcessState, &p.stdout,
		&p.stderr)
}

// must runs shopctl, which must succeed.
func (b *bench) must(t *testing.T, args ...string) *process {
	t.Helper()
	p := b.process(t, args...)
	if p.run(t); p.exit() != 0 {
		t.Fatal(p)
	}
	return p
}
