//go:build proofs

package mutation_test

import (
	"fmt"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/torture"
	"shopfront/pkg/voucher"
)

// scene plays a sequence of events at a shop. The store keeps its promises during these events only because of a guard.
type scene func(s *shop)

// limit returns a limit for terms.
func limit(uses int) *voucher.Limit { return new(voucher.Limit(uses)) }

// Codes of each kind, as operators write them.
func single() voucher.Terms { return voucher.Terms{Written: "WELCOME-COINS"} }

func limited(uses int) voucher.Terms {
	return voucher.Terms{Written: "SUMMER-20", MaxUses: limit(uses), MaxUsesPerNick: new(voucher.NoLimit)}
}

func spread(uses, parts int) voucher.Terms {
	terms := limited(uses)
	terms.Parts = &parts
	return terms
}

func perNick(uses, each int) voucher.Terms {
	return voucher.Terms{Written: "AUTUMN-20", MaxUses: limit(uses), MaxUsesPerNick: limit(each)}
}

func unlimited() voucher.Terms {
	return voucher.Terms{Written: "NEWSLETTER", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)}
}

// A limited code gets more requests than it has uses.
func moreRequestsThanUses(s *shop) {
	c := s.create(limited(3))
	for range 5 {
		c.redeem("", "")
	}
}

// A code with many uses is redeemed for the first time.
func firstOfManyUses(s *shop) {
	c := s.create(perNick(2, 1))
	c.redeem("alder", "")
	c.redeem("alder", "")
	c.redeem("birch", "")
}

// The uses of a limited code are spread over many parts, most of which run empty.
func usesOnManyParts(s *shop) {
	c := s.create(spread(32, 32))
	for range 33 {
		c.redeem("", "")
	}
}

// Shoppers type codes that are disabled, not valid yet, expired or reserved for another nick.
func codesThatMustBeRefused(s *shop) {
	for i, closed := range []voucher.Terms{
		{Disabled: true},
		{ValidFrom: time.Now().Add(time.Hour)},
		{ValidUntil: time.Now().Add(-time.Hour)},
		{Nick: "cedar"},
	} {
		closed.Written = fmt.Sprintf("GIFT-%d", i)
		s.createClosed(closed).redeem("alder", "")
		closed.Written, closed.MaxUses = fmt.Sprintf("TEAM-%d", i), limit(2)
		s.createClosed(closed).redeem("alder", "")
	}
}

// Shoppers type codes of a batch that is paused.
func pausedCodes(s *shop) {
	if _, err := s.operator.Pause(s.Context(), "launch"); err != nil {
		s.Fatal(err)
	}
	for _, terms := range []voucher.Terms{single(), limited(8), unlimited()} {
		terms.Batch = "launch"
		s.createClosed(terms).redeem("alder", "")
	}
}

// All codes are paused after a process has read that no code is paused.
func pausedAfterALook(s *shop) {
	s.create(unlimited()).redeem("alder", "")
	if _, err := s.operator.Pause(s.Context()); err != nil {
		s.Fatal(err)
	}
	time.Sleep(torture.TakesEffect)
	s.createClosed(single()).redeem("birch", "")
}

// A code is disabled after a process has read its rules.
func disabledAfterALook(s *shop) {
	c := s.create(spread(8, 1))
	c.redeem("alder", "")
	c.edit(disabled(true))
	c.redeem("birch", "")
}

// Shoppers retry their requests with the same keys.
func requestsAreRetried(s *shop) {
	for _, terms := range []voucher.Terms{single(), limited(8), perNick(8, 3), unlimited()} {
		c := s.create(terms)
		c.redeem("alder", "order-1047")
		c.redeem("alder", "order-1047")
	}
}

// A redemption with a key is retried after its code was disabled.
func retryAfterDisabling(s *shop) {
	c := s.create(perNick(8, 3))
	c.redeem("alder", "order-1047")
	c.edit(disabled(true))
	c.redeem("alder", "order-1047")
	c.redeem("birch", "order-1048")
}

// A request is retried. Its code has no uses left.
func retryOfTheLastUse(s *shop) {
	c := s.create(limited(2))
	c.redeem("alder", "order-1047")
	c.redeem("birch", "order-1048")
	c.redeem("alder", "order-1047")
}

// The store's response is lost, and the SDK retries.
func lostResponse(s *shop) {
	c := s.create(single())
	s.gate.inflict("UpdateItem", 1, memdynamo.LostResponse)
	c.redeem("alder", "")
}

// A transaction is applied late: its first retry meets a conflict, and the next retry an empty part. Then a use is added,
// and the late transaction takes it.
func lateTransaction(s *shop) {
	c := s.create(spread(2, 1))
	c.redeem("birch", "")
	late := s.gate.stop(s.T, "TransactWriteItems", 1, memdynamo.Arrived)
	s.gate.inflict("TransactWriteItems", 2, memdynamo.Conflict)
	next := s.gate.stop(s.T, "TransactWriteItems", 3, memdynamo.Arrived)
	wait := c.redeeming("alder", "")
	late.wait(s.T)
	next.wait(s.T)
	c.redeem("birch", "")
	look := s.gate.stop(s.T, "TransactGetItems", 1, memdynamo.Applied)
	next.release()
	look.wait(s.T)
	c.edit(limitedTo(3))
	applied := s.gate.stop(s.T, "TransactWriteItems", 1, memdynamo.Applied)
	late.release()
	applied.wait(s.T)
	applied.release()
	look.release()
	wait()
}

// Two requests with the same key race for the last use of a code. The first request's transaction is half visible: the
// code has no use left, but the record does not exist yet.
func lastUseInHalves(s *shop) {
	s.takeInHalves("TransactWriteItems")
}

// The same race, but the second request looks up the record.
func lookupInHalves(s *shop) { s.takeInHalves("TransactGetItems") }

// Redemptions with a key are undone, and then requested again.
func undoneRedemptions(s *shop) {
	for _, terms := range []voucher.Terms{single(), perNick(8, 3)} {
		c := s.create(terms)
		c.redeem("alder", "order-1047")
		c.undo()
		c.redeem("alder", "order-1047")
	}
}

// takeInHalves sends two requests with the same key for the last use of a code. The first transaction stays half
// visible until the second request has its response or sends the operation again. Before, two requests at the same time
// make two processes learn that the code has many uses.
func (s *shop) takeInHalves(operation string) {
	c := s.create(limited(3))
	first := s.gate.stop(s.T, "UpdateItem", 1, memdynamo.Arrived)
	waitForFirst := c.redeeming("birch", "")
	first.wait(s.T)
	c.redeem("cedar", "")
	first.release()
	waitForFirst()
	s.gate.inflict("TransactWriteItems", 1, memdynamo.Halves)
	half := s.gate.stop(s.T, "TransactWriteItems", 1, memdynamo.Applied)
	wait := c.redeeming("alder", "order-1047")
	half.wait(s.T)
	again := s.gate.stop(s.T, operation, 2, memdynamo.Arrived)
	waitForSecond := c.redeeming("alder", "order-1047")
	responded := make(chan struct{})
	go func() {
		defer close(responded)
		waitForSecond()
	}()
	select {
	case <-again.reached:
	case <-responded:
	case <-time.After(patience):
		s.Errorf("the second request got no response and did not retry its %s", operation)
	}
	half.release()
	again.release()
	<-responded
	wait()
}

// A code is disabled, a request is refused while one of its attempts is still in flight, and the code is enabled again.
func refusalWithAttemptInFlight(s *shop) {
	c := s.create(single())
	c.edit(disabled(true))
	late := s.gate.stop(s.T, "UpdateItem", 1, memdynamo.Arrived)
	applied := s.gate.stop(s.T, "UpdateItem", 2, memdynamo.Applied) // the late call, after its retry
	c.redeem("alder", "")
	c.edit(disabled(false))
	late.release()
	applied.wait(s.T)
	applied.release()
}

// A note is written to a voucher while it is being disabled.
func noteDuringADisabling(s *shop) {
	c := s.create(single())
	write := s.gate.stop(s.T, "UpdateItem", 1, memdynamo.Arrived)
	running := c.editing(disabled(true))
	write.wait(s.T)
	c.edit(edit{edit: voucher.Edit{Note: new("for the team")}})
	write.release()
	running.end()
	c.redeem("alder", "")
}

// An operator lowers the limit below what parts have.
func loweredLimit(s *shop) {
	c := s.create(spread(8, 2))
	c.editing(limitedTo(2)).end()
	for range 3 {
		c.redeem("", "")
	}
}
