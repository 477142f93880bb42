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

// busyEdit is an edit of the limit of a voucher that is being redeemed meanwhile.
type busyEdit struct {
	kind     string
	from, to int
	// meanwhile is how many are redeemed at most before the edit is complete.
	meanwhile int
}

// buyers redeem one code again and again, each time with a key of its own.
type buyers struct {
	*bench
	recorder
	t        *testing.T
	customer string
	code     string

	mu   sync.Mutex
	keys int
	left int             // that may be redeemed for now
	ids  map[string]bool // of the redemptions that were answered
}

const buyerCount = 3

// killBusyEdit kills an edit at each of its writes while the voucher is being redeemed, and runs it again.
func killBusyEdit(t *testing.T, programs testshop.Programs, edit busyEdit) torture.Row {
	t.Helper()
	busy, quiet := newBench(t, programs), newBench(t, programs)
	record := recorder{torture.Row{Fault: "killed: edit of a busy code, " + edit.kind}}
	for number := 0; number == 0 || record.row.Injected < wantedKills(t) && !t.Failed(); number++ {
		customer := fmt.Sprintf("busy-%s-%d", edit.kind, number)
		shop := quiet.open(t, customer)
		writes := 0 // of the undisturbed edit, which comes first
		for i := 0; i <= writes; i++ {
			b := &buyers{bench: busy, t: t, customer: customer, code: fmt.Sprintf("SUMMER-%03d", i), left: edit.meanwhile, ids: make(map[string]bool)}
			create(t, shop, voucher.Terms{
				Written: b.code, MaxUses: new(voucher.Limit(edit.from)), MaxUsesPerNick: new(voucher.NoLimit), Counters: 2,
			})
			if i == 0 {
				writes = b.edit(quiet, edit, nil)
			} else {
				b.edit(quiet, edit, &step{update, i, []fate{lost, unanswered, late}[(i+number)%3]})
			}
			record.row.Add(b.row)
		}
		wantVerified(t, &record, quiet, catalog.CustomerID(customer), false)
	}
	return record.row
}

// edit edits the limit while the code is redeemed, is killed at the step if there is one, and edits again. It returns how
// many writes the last edit made.
func (b *buyers) edit(quiet *bench, edit busyEdit, at *step) (writes int) {
	b.t.Helper()
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range buyerCount {
		running.Go(func() { b.redeemUntil(stop) })
	}
	args := []string{"voucher", "edit", b.customer, b.code, "--max-uses", fmt.Sprint(edit.to)}
	if at != nil {
		p := quiet.process(b.t, args...)
		quiet.trap.set(*at, func() { p.end(syscall.SIGKILL) })
		switch p.run(b.t); {
		case p.isKilled():
			b.row.Injected++
		case p.exit() != 0: // else it came through with fewer writes: how many it needs, the redemptions decide
			b.violation(b.t, "edit of a busy voucher: %s", p)
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
		b.violation(b.t, "killed at %v and edited again: %d redemptions answered, want the limit %d", at, len(b.ids), edit.to)
	}
	shop, err := b.Calm.Shop(b.t.Context(), catalog.CustomerID(b.customer))
	if err != nil {
		b.t.Fatal(err)
	}
	standing, err := shop.Voucher(b.t.Context(), compared(b.t, b.code))
	if err != nil {
		b.t.Fatal(err)
	}
	if standing.Used != edit.to || standing.UsesLeft != 0 || int(standing.MaxUses) != edit.to {
		b.violation(b.t, "killed at %v and edited again: %d used, %d left of %d; want %d used", at, standing.Used, standing.UsesLeft, standing.MaxUses, edit.to)
	}
	b.row.Redemptions = standing.Used
	return writes
}

// redeemUntil redeems as often as is allowed for now, until it is stopped.
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

// take takes from, or gives back to, what may be redeemed for now, and tells whether there was as much.
func (b *buyers) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < n {
		return false
	}
	b.left -= n
	return true
}

// drain redeems until there is nothing left.
func (b *buyers) drain() {
	for b.redeem() {
	}
}

// redeem redeems once, and tells whether there was a use left.
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
				b.violation(b.t, "two requests were answered one redemption")
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
