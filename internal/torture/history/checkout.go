package history

import "slices"

// checkout is the state of a checkout with the voucher's code.
type checkout struct {
	status status
	id     redemption // a number that replaces its ID
	nick   int
	lapsed bool // the checkout's time has passed
	// hold is the index in voucher.checkouts of the checkout that took the use: of another checkout if this one shares
	// a hold. A hold lasts until an order redeems the use, or until all its checkouts have lapsed. An order sets spent
	// in the checkout that took the use.
	hold  int
	spent bool
}

type status uint8

const (
	unmade status = iota
	open
	ordered
	cancelled
	replaced
)

// noCheckout is used instead of a place if there is no checkout.
const noCheckout = -1

// lasts reports whether a hold still lasts. The checkouts that the parameter stale marks count as not lapsed. stale may
// be nil.
func (v voucher) lasts(hold int, stale []bool) bool {
	for place, c := range v.checkouts {
		if c.status != unmade && c.hold == hold && (!c.lapsed || stale != nil && stale[place]) {
			return !v.checkouts[hold].spent
		}
	}
	return false
}

// held counts the holds that last. heldBy counts only the holds of a nick.
func (v voucher) held(stale []bool) int {
	return v.countHolds(func(hold int) bool { return v.lasts(hold, stale) })
}

func (v voucher) heldBy(nick int, stale []bool) int {
	return v.countHolds(func(hold int) bool { return v.checkouts[hold].nick == nick && v.lasts(hold, stale) })
}

func (v voucher) countHolds(counts func(hold int) bool) int {
	n := 0
	for hold := range v.checkouts {
		if v.isHold(hold) && counts(hold) {
			n++
		}
	}
	return n
}

// isHold reports whether a checkout took the use that it holds.
func (v voucher) isHold(place int) bool {
	return v.checkouts[place].status != unmade && v.checkouts[place].hold == place
}

// change returns the voucher with a changed checkout.
func (v voucher) change(place int, set func(c *checkout)) voucher {
	v.checkouts = slices.Clone(v.checkouts)
	set(&v.checkouts[place])
	return v
}

func (v voucher) hasStatus(place int, statuses ...status) bool {
	return place != noCheckout && slices.Contains(statuses, v.checkouts[place].status)
}

// opening makes a checkout.
type opening struct {
	judged

	place    int
	replaces int  // or noCheckout
	shares   bool // it may share a hold of its nick
	outcome  Outcome
	id       redemption // of the checkout
}

func (o opening) happen(v voucher) []voucher {
	c := v.checkouts[o.place]
	isNew := !slices.ContainsFunc(v.checkouts, func(c checkout) bool { return c.id == o.id })
	switch {
	case o.outcome == Held && c.status == unmade && isNew:
		return o.open(v, o.id)
	// shows the ID of a checkout whose response was lost
	case o.outcome == Replayed && c.status == open && c.id == unseen && isNew:
		return []voucher{v.change(o.place, func(c *checkout) { c.id = o.id })}
	case o.outcome == Replayed:
		return v.stays(c.status == open && c.id == o.id)
	case o.outcome == KeyInUse:
		return v.stays(c.status != unmade && c.status != open)
	case o.outcome == NotReplaceable:
		return v.stays(c.status == unmade && v.hasStatus(o.replaces, ordered, cancelled, replaced))
	case o.outcome == Refused:
		mustRefuse := o.disabled || v.deleted || o.anonymous && o.perNickHigh != unlimited
		return v.stays(c.status == unmade && (mustRefuse || o.isTaken(v) && len(o.sharable(v)) == 0))
	case o.outcome == Unknown && c.status == unmade && !c.lapsed:
		if made := o.open(v, unseen); len(made) > 0 {
			return made
		}
	}
	return v.stays(o.outcome == Unknown) // a checkout whose time has passed before it is made changes nothing
}

// sharable lists the holds that the checkout may share: the hold of the checkout that it replaces or, if there is no
// such hold, the holds of its nick.
func (o opening) sharable(v voucher) []int {
	own := o.own(v, nil)
	for _, hold := range own {
		if o.continues(v, hold) {
			return []int{hold}
		}
	}
	return own
}

// own lists the lasting holds of the nick and of the checkout to replace. The argument stale is the same as in lasts.
func (o opening) own(v voucher, stale []bool) []int {
	var holds []int
	for hold, c := range v.checkouts {
		if v.isHold(hold) && v.lasts(hold, stale) && (o.shares && c.nick == o.nick || o.continues(v, hold)) {
			holds = append(holds, hold)
		}
	}
	return holds
}

// continues reports whether the checkout to replace has this hold, and can pass it on. A checkout that was replaced or
// ordered before has no hold to pass on.
func (o opening) continues(v voucher, hold int) bool {
	return v.hasStatus(o.replaces, open) && v.checkouts[o.replaces].hold == hold
}

// open makes the checkout, if it can. A checkout that replaces another gets that checkout's hold, if the hold still
// lasts. Otherwise it shares a hold of its nick, or takes a free use. If a hold that it could have shared lapsed during
// the request, it may prolong that hold instead of taking a new one.
func (o opening) open(v voucher, id redemption) []voucher {
	if !o.enabled || v.deleted || o.replaces != noCheckout && !v.hasStatus(o.replaces, open) {
		return nil
	}
	holds := o.sharable(v)
	if o.gets(v) && (len(holds) == 0 || !o.continues(v, holds[0])) {
		holds = append(holds, o.place)
		for _, hold := range o.own(v, o.stale) {
			if !v.lasts(hold, nil) {
				holds = append(holds, hold)
			}
		}
	}
	var made []voucher
	for _, hold := range holds {
		after := v.change(o.place, func(c *checkout) {
			*c = checkout{
				status: open, id: id, nick: o.nick,
				lapsed: c.lapsed, hold: hold,
			}
		})
		if o.replaces != noCheckout {
			after = after.change(o.replaces, func(c *checkout) { c.status = replaced })
		}
		made = append(made, after)
	}
	return made
}

// ordering orders a checkout.
type ordering struct {
	judged

	place   int
	high    int // the highest limit while the order is in flight
	outcome Outcome
}

func (o ordering) happen(v voucher) []voucher {
	c := v.checkouts[o.place]
	o.nick, o.anonymous = c.nick, false
	switch {
	case o.outcome == Ordered && c.status == open:
		return o.order(v)
	case o.outcome == Ordered:
		return v.stays(c.status == ordered)
	case o.outcome == Replaced:
		return v.stays(c.status == replaced)
	case o.outcome == Cancelled:
		return v.stays(c.status == cancelled)
	case o.outcome == Expired:
		inTime := !c.lapsed || o.stale[o.place]
		return v.stays(c.status == open && !v.lasts(c.hold, nil) && (v.checkouts[c.hold].spent && inTime || o.isTaken(v)))
	case o.outcome == Unknown && c.status == open:
		if made := o.order(v); len(made) > 0 {
			return made
		}
	}
	return v.stays(o.outcome == Unknown) // if the order was never placed, the checker can put it last
}

// order redeems the hold. If the hold has lapsed, the order needs a free use. If no use is free, or the use of a hold
// that has not lapsed was redeemed before, order returns no state.
func (o ordering) order(v voucher) []voucher {
	c := v.checkouts[o.place]
	isFree := o.taken(v, nil) < o.perNickHigh && v.used+v.held(nil) < o.high
	if v.checkouts[c.hold].spent && !c.lapsed || !v.lasts(c.hold, nil) && !isFree {
		return nil
	}
	v = v.count(c.nick, 1).change(c.hold, func(c *checkout) { c.spent = true })
	return []voucher{v.change(o.place, func(c *checkout) { c.status = ordered })}
}

// cancelling cancels an order, and undoes its redemption.
type cancelling struct {
	place   int
	outcome Outcome
}

func (c cancelling) happen(v voucher) []voucher {
	switch status := v.checkouts[c.place].status; {
	case c.outcome == NotOrdered:
		return v.stays(status != ordered && status != cancelled)
	case status == ordered:
		v = v.count(v.checkouts[c.place].nick, -1)
		return []voucher{v.change(c.place, func(c *checkout) { c.status = cancelled })}
	default:
		return v.stays(status == cancelled || c.outcome == Unknown)
	}
}

// lapsing is the moment at which the time of some checkouts has passed.
type lapsing struct{ places []int }

func (l lapsing) happen(v voucher) []voucher {
	v.checkouts = slices.Clone(v.checkouts)
	for _, place := range l.places {
		v.checkouts[place].lapsed = true
	}
	return []voucher{v}
}
