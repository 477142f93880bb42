package voucher

import "time"

// HoldKind says where a hold is stored and counted. The kind depends on which limits the voucher has. No edit changes
// it.
type HoldKind string

// The kinds of holds, one for each combination of limits that a voucher can have. They are stored in checkouts, so they
// never change.
const (
	HoldSingleUse     HoldKind = "s" // a limit of one: the hold takes the only use
	HoldCountedByNick HoldKind = "c" // a limit above one, and a limit per nick
	HoldCounted       HoldKind = "r" // a limit above one
	HoldByNick        HoldKind = "n" // a limit per nick only
	HoldUnlimited     HoldKind = "f" // no limit: the hold takes nothing
)

// HoldKind returns the kind of the voucher's holds.
func (v Voucher) HoldKind() HoldKind {
	switch {
	case v.SingleUse():
		return HoldSingleUse
	case v.Limited() && v.MaxUsesPerNick != NoLimit:
		return HoldCountedByNick
	case v.Limited():
		return HoldCounted
	case v.MaxUsesPerNick != NoLimit:
		return HoldByNick
	default:
		return HoldUnlimited
	}
}

// IsByNick reports whether the voucher has a limit per nick.
func (k HoldKind) IsByNick() bool { return k == HoldCountedByNick || k == HoldByNick }

// IsCounted reports whether the held use was taken from a counter.
func (k HoldKind) IsCounted() bool { return k == HoldCountedByNick || k == HoldCounted }

// Hold is one use of a voucher, taken for a checkout. Once the hold has lapsed, another request can take over the use.
// A lapsed hold that no request has taken over still counts as taken.
type Hold struct {
	Kind HoldKind
	// ID is 22 random characters of base64url. Checkouts that share a hold share its ID.
	ID      string
	Counter int       // the counter that the use was taken from, if the kind is counted
	Until   time.Time // UTC, whole milliseconds; from then on the hold has lapsed
	Nick    Nick      // only for a single-use code: the nick that may share the hold; zero: no nick
}

// HasLapsed reports whether another request can take over the use at the given time.
func (h Hold) HasLapsed(at time.Time) bool { return !at.Before(h.Until) }

const (
	// holdGrace is how long a hold outlasts its checkout, so that an order sent while the checkout is open finds the
	// hold.
	holdGrace = 10 * time.Second
	// holdTick is the step to which the ends of holds are rounded up, so that many holds lapse at once. After a request
	// finds every use taken, no hold lapses before the next tick.
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

// NickUses is what one nick has taken of a voucher with a limit per nick.
type NickUses struct {
	Taken  int // redemptions and holds, lapsed ones included
	Undone int // how many redemptions were ever undone
	Holds  []Hold
}

// Lapsed returns the nick's holds that have lapsed.
func (u NickUses) Lapsed(at time.Time) []Hold {
	var lapsed []Hold
	for _, hold := range u.Holds {
		if hold.HasLapsed(at) {
			lapsed = append(lapsed, hold)
		}
	}
	return lapsed
}

// Hold returns the nick's hold with the given ID, live or lapsed, if there is one.
func (u NickUses) Hold(id string) (hold Hold, found bool) {
	for _, hold := range u.Holds {
		if hold.ID == id {
			return hold, true
		}
	}
	return Hold{}, false
}

// Live returns the nick's live hold that lapses last, if there is one.
func (u NickUses) Live(at time.Time) (live Hold, found bool) {
	for _, hold := range u.Holds {
		if !hold.HasLapsed(at) && hold.Until.After(live.Until) {
			live, found = hold, true
		}
	}
	return live, found
}
