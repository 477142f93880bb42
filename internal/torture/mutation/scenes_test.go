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

// The uses of a limited code are spread over many counters, most of which run empty.
func usesOnManyCounters(s *shop) {
	terms := limited(32)
	terms.Counters = 32
	c := s.create(terms)
	for range 33 {
		c.redeem("", "")
	}
}

// All remaining uses of a limited code are on its last counter, and one call cannot read all counters. A request that
// draws another counter reads all counters. It is very unlikely that every request draws the last counter.
func unreadCounters(s *shop) {
	terms := limited(128)
	terms.Counters = 32
	c := s.create(terms)
	c.edit(limitedTo(4))                                     // lowering takes uses from the first counter
	s.gate.inflict("BatchGetItem", 2, memdynamo.Unprocessed) // the first call reads the settings
	for range 5 {
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

// A request is retried. Its code has no uses left, but is not marked as full yet.
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

// A transaction is applied late: its first retry meets a conflict, and the next retry an empty counter. Then a use is
// added, and the late transaction takes it.
func lateTransaction(s *shop) {
	c := s.create(limited(2))
	c.redeem("birch", "")
	late := s.gate.stop(s.T, "TransactWriteItems", 1, memdynamo.Arrived)
	s.gate.inflict("TransactWriteItems", 2, memdynamo.Conflict)
	next := s.gate.stop(s.T, "TransactWriteItems", 3, memdynamo.Arrived)
	// the first is birch's, the second the retry
	applied := s.gate.stop(s.T, "TransactWriteItems", 3, memdynamo.Applied)
	wait := c.redeeming("alder", "")
	late.wait(s.T)
	next.wait(s.T)
	c.redeem("birch", "") // its process may read the settings, in a BatchGetItem
	look := s.gate.stop(s.T, "BatchGetItem", 1, memdynamo.Applied)
	next.release()
	look.wait(s.T)
	c.edit(limitedTo(3))
	late.release()
	applied.wait(s.T)
	applied.release()
	look.release()
	wait()
}

// Two requests with the same key race for the last use of a code. The first request's transaction is half visible: the
// counter is empty, but the record does not exist yet.
func lastUseInHalves(s *shop) {
	s.takeInHalves("TransactWriteItems", func(*code) {})
}

// The same race, but another request marks the code as full meanwhile.
func fullCodeInHalves(s *shop) {
	s.takeInHalves("TransactGetItems", func(c *code) { c.redeem("cedar", "") })
}

// takeInHalves sends two requests with the same key for the last use of a code. The first transaction stays half
// visible until the second request has its response or sends the operation again.
func (s *shop) takeInHalves(operation string, meanwhile func(*code)) {
	c := s.create(limited(2))
	c.redeem("birch", "")
	s.gate.inflict("TransactWriteItems", 1, memdynamo.Halves)
	half := s.gate.stop(s.T, "TransactWriteItems", 1, memdynamo.Applied)
	wait := c.redeeming("alder", "order-1047")
	half.wait(s.T)
	meanwhile(c)
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

// There is always a use left, but a request that reads the two counters one after the other finds both empty. While the
// request reads the first counter, the use is on the second one. While the request reads the second counter, another
// use is on the first one. The function always draws the last counter. Chance decides which counter a request reads
// first, so the scene has several requests.
func useMovesBetweenReads(s *shop) {
	for i := range 12 {
		terms := limited(2)
		terms.Written, terms.Counters = fmt.Sprint("SUMMER-", i), 2
		s.moveUseBetweenReads(s.create(terms))
	}
}

func (s *shop) moveUseBetweenReads(c *code) {
	c.redeem("", "")
	found := s.gate.stop(s.T, "TransactWriteItems", 1, memdynamo.Applied)
	half := s.gate.stop(s.T, "BatchGetItem", 1, memdynamo.Applied)
	s.gate.inflict("BatchGetItem", 1, memdynamo.Unprocessed)
	wait := c.redeeming("", "")
	found.wait(s.T)
	c.edit(limitedTo(4)) // raising adds uses to all counters, lowering takes them from the first
	c.edit(limitedTo(2))
	found.release()
	half.wait(s.T)
	s.gate.spare()
	c.edit(limitedTo(3)) // adds a use to the first counter
	c.redeem("", "")     // takes the use of the second
	half.release()
	wait()
}

// A request reads the counters during a raise, before uses are added. It marks the code as full after the raise has
// ended.
func markAfterTheRaise(s *shop) {
	c := s.create(limited(2))
	c.redeem("", "")
	c.redeem("", "")
	add := s.gate.stop(s.T, "UpdateItem", 3, memdynamo.Arrived) // after the voucher's own write and the fence
	running := c.editing(limitedTo(3))
	add.wait(s.T)
	mark := s.gate.stop(s.T, "UpdateItem", 1, memdynamo.Arrived)
	wait := c.redeeming("", "")
	mark.wait(s.T)
	add.release()
	running.end()
	mark.release()
	wait()
	c.redeem("", "")
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

// Two operators raise a limit from the same version of the voucher and write its counters in turn. The raise to eight
// ends last, so eight is the limit afterwards.
func twoLimitsAtOnce(s *shop) {
	terms := limited(2)
	terms.Counters = 2
	c := s.create(terms)
	begin := s.gate.stop(s.T, "UpdateItem", 1, memdynamo.Arrived)
	toFour := c.editing(limitedTo(4))
	begin.wait(s.T)
	beginToo := s.gate.stop(s.T, "UpdateItem", 1, memdynamo.Arrived)
	toEight := c.editing(limitedTo(8))
	beginToo.wait(s.T)

	raise := s.gate.stop(s.T, "UpdateItem", 3, memdynamo.Arrived) // after two fences
	begin.release()
	raise.wait(s.T)
	// the second write, or the first if the edit had to start over
	raiseToo := s.gate.stop(s.T, "UpdateItem", 4, memdynamo.Arrived)
	beginToo.release()
	raiseToo.wait(s.T)
	raise.release()
	toFour.end()
	raiseToo.release()
	toEight.end()
	for range 7 {
		c.redeem("", "")
	}
}

// A note is written to a voucher after a raise has written the counter, and before the raise writes the new limit.
func noteBeforeALimitIsSet(s *shop) {
	c := s.create(limited(2))
	c.redeem("", "")
	c.redeem("", "")
	c.redeem("", "")
	end := s.gate.stop(s.T, "UpdateItem", 4, memdynamo.Arrived) // after the mark, the fence and the raise
	running := c.editing(limitedTo(4))
	end.wait(s.T)
	c.edit(edit{edit: voucher.Edit{Note: new("for the team")}})
	end.release()
	running.end()
	for range 3 {
		c.redeem("", "")
	}
}
