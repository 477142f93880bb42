package kills_test

import (
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// busyEdit changes the limit of a voucher while clients redeem it.
type busyEdit struct {
	kind     string
	from, to int
	// meanwhile is the upper bound of redemptions before the edit is complete.
	meanwhile int
}

// buyers redeem one code repeatedly, each time with a new key.
type buyers struct {
	*bench
	recorder
	t        *testing.T
	customer catalog.CustomerID
	code     string

	mu   sync.Mutex
	keys int
	left int             // redemptions still allowed before the edit is complete
	ids  map[string]bool // the IDs of the redemptions that got a response
}

const buyerCount = 3

// killBusyEdit kills an edit at each of its writes while clients redeem the voucher, and then runs the edit again.
func killBusyEdit(t *testing.T, programs testshop.Programs, edit busyEdit) torture.Row {
	t.Helper()
	busy, quiet := newBench(t, programs), newBench(t, programs)
	record := recorder{torture.Row{Fault: "killed: edit of a busy code, " + edit.kind}}
	for number := 0; number == 0 || record.row.Injected < wantedKills(t) && !t.Failed(); number++ {
		customer := catalog.CustomerID(fmt.Sprintf("busy-%s-%d", edit.kind, number))
		shop := quiet.open(t, customer)
		writes := 0 // how many writes the first edit makes; that edit is not killed
		for i := 0; i <= writes; i++ {
			b := &buyers{
				bench: busy, t: t, customer: customer, code: fmt.Sprintf("SUMMER-%03d", i),
				left: edit.meanwhile, ids: make(map[string]bool),
			}
			create(t, shop, voucher.Terms{
				Written: b.code, MaxUses: new(voucher.Limit(edit.from)), MaxUsesPerNick: new(voucher.NoLimit),
				Counters: 2,
			})
			if i == 0 {
				writes = b.edit(quiet, edit, nil)
			} else {
				b.edit(quiet, edit, &step{update, i, []fate{lost, unanswered, late}[(i+number)%3]})
			}
			record.row.Add(b.row)
		}
		wantVerified(t, &record, quiet, customer, false)
	}
	return record.row
}

// edit runs shopctl voucher edit while clients redeem the code. If a step is given, it first kills an edit at that
// step. It returns how many writes the complete edit made.
func (b *buyers) edit(quiet *bench, edit busyEdit, at *step) (writes int) {
	b.t.Helper()
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range buyerCount {
		running.Go(func() { b.redeemUntil(stop) })
	}
	args := []string{"voucher", "edit", string(b.customer), b.code, "--max-uses", fmt.Sprint(edit.to)}
	if at != nil {
		p := quiet.process(b.t, args...)
		quiet.trap.set(*at, func() { p.end(syscall.SIGKILL) })
		// Exit 0 is fine: how many writes an edit needs depends on the redemptions, so it may end before the step.
		switch p.run(b.t); {
		case p.isKilled():
			b.row.Injected++
		case p.exit() != 0:
			b.violation(b.t, "the edit of a busy voucher failed: %s", p)
		}
	}
	quiet.trap.reset()
	quiet.must(b.t, args...)
	for _, operation := range quiet.trap.calls() {
		if operation == update {
			writes++
		}
	}
	if err := quiet.trap.letGo(); err != nil {
		b.t.Fatal(err)
	}
	close(stop)
	running.Wait()
	b.drain()
	if len(b.ids) != edit.to {
		b.violation(b.t, "after the edit (killed at %v, then repeated), %d redemptions were confirmed; want the "+
			"limit %d",
			at, len(b.ids), edit.to)
	}
	standing, err := b.Customer(b.t, b.customer).Voucher(b.t.Context(), compared(b.t, b.code), time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	if standing.Used != edit.to || standing.UsesLeft != 0 || int(standing.MaxUses) != edit.to {
		b.violation(b.t, "after the edit (killed at %v, then repeated), %d uses are taken and %d left of %d; want "+
			"%d taken",
			at, standing.Used, standing.UsesLeft, standing.MaxUses, edit.to)
	}
	b.row.Redemptions = standing.Used
	return writes
}

// redeemUntil redeems, at most b.left times in all, until stop is closed.
func (b *buyers) redeemUntil(stop <-chan struct{}) {
	for {
		if b.take(1) && !b.redeem() {
			b.take(-1)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-stop:
			return
		}
	}
}

// take subtracts n from b.left and returns true, or returns false if less than n is left. A negative n adds to b.left.
func (b *buyers) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < n {
		return false
	}
	b.left -= n
	return true
}

// drain redeems until no use is left.
func (b *buyers) drain() {
	for b.redeem() {
	}
}

// redeem redeems once, retrying until the result is known, and reports whether a use was left.
func (b *buyers) redeem() bool {
	b.mu.Lock()
	b.keys++
	r := request{code: b.code, nick: alder, key: fmt.Sprintf("order-%s-%d", b.code, b.keys)}
	b.mu.Unlock()
	for {
		a := b.send(b.t, b.customer, r)
		b.mu.Lock()
		switch a.status {
		case http.StatusOK:
			if b.ids[a.id] {
				b.violation(b.t, "two requests got the same redemption")
			}
			b.ids[a.id] = true
		case http.StatusNotFound:
			b.row.Refusals++
		default:
			b.row.Unknown++
		}
		b.mu.Unlock()
		if a.status == http.StatusOK || a.status == http.StatusNotFound {
			return a.status == http.StatusOK
		}
		if b.t.Context().Err() != nil {
			return false
		}
	}
}
