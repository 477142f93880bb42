package voucher

import (
	"time"

	"shopfront/pkg/idempotency"
)

// Hold is what a checkout takes of a code until a time. An order takes it for good. Once the hold has lapsed, another
// request can take it over.
type Hold struct {
	// Holder stands for the first checkout that had the hold. Checkouts that share a hold have the same holder.
	Holder idempotency.Token
	Until  time.Time // UTC, whole milliseconds; from then on the hold has lapsed
	Takes  []Take    // none if the code has no limits
	// Apart means that an order's redemption is recorded apart from what it takes.
	Apart bool
}

// Take is one use that a checkout takes of an allowance.
type Take struct {
	Of   Allowance
	Item int // which item of the allowance
}

// Allowance says what a use is taken of.
type Allowance string

// The allowances of a code. They are stored in checkouts, so they never change.
const (
	OfCode Allowance = "u" // the uses of the code in total
	OfNick Allowance = "n" // the uses of one nick
)

// HasLapsed reports whether another request can take over what the hold has at the given time.
func (h Hold) HasLapsed(at time.Time) bool { return !at.Before(h.Until) }

const (
	// holdGrace is how long a hold outlasts its checkout, so that an order sent while the checkout is open finds the
	// hold.
	holdGrace = 10 * time.Second
	// holdTick is the step to which the ends of holds are rounded up, so that many holds lapse at once.
	holdTick = 10 * time.Second
)

// HeldUntil returns when the hold of a checkout lapses: 10 to 20 seconds after the checkout expires.
func HeldUntil(expires time.Time) time.Time {
	until := expires.Add(holdGrace)
	if rounded := until.Truncate(holdTick); rounded.Before(until) {
		return rounded.Add(holdTick)
	}
	return until
}
