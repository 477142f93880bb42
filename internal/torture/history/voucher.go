package history

import "slices"

// voucher is the state of a voucher at one moment, as far as clients see it. The slices are never changed in place.
type voucher struct {
	// low and high bound the limit. They differ while the limit is edited. A request takes a use only if one is left at
	// that very moment, whatever the request read before. So a lowered limit also applies to requests that are in
	// flight.
	low, high int
	used      int // redemptions that are not undone
	byNick    []int
	redeemed  []redemption // by request
	undone    []bool       // by request
	checkouts []checkout   // by key
	deleted   bool
}

// redemption is a number that replaces a redemption's ID.
type redemption int

const (
	none   redemption = iota // not redeemed
	unseen                   // redeemed by a request of unknown outcome, and not in any response since
	firstID
)

// event happens to a voucher at one moment between the call and the return of an operation. It returns the states in
// which the voucher may be afterwards. If the outcome of the operation is impossible for this voucher, it returns no
// state.
type event func(v voucher) (after []voucher)

// stays returns the result of an event that changes nothing: v itself or, if the event is not possible, no state.
func (v voucher) stays(possible bool) []voucher {
	if !possible {
		return nil
	}
	return []voucher{v}
}

// judged holds the terms that may apply to a request at any moment from its call to its return.
type judged struct {
	nick                    int
	anonymous               bool
	enabled, disabled       bool
	perNickLow, perNickHigh int // unlimited: no nick is needed
	// stale reports, by key, whether a checkout may not have lapsed yet when the request was called. The request may be
	// judged as of that moment, and so be refused because of a hold that has lapsed since. But a request takes only a
	// use that is free at the moment of taking.
	stale []bool
}

// gets reports whether the voucher has a free use that the request may take.
func (j judged) gets(v voucher) bool { return j.redeems(v) && v.used+v.held(nil) < v.high }

// redeems reports whether the terms may let the request redeem.
func (j judged) redeems(v voucher) bool {
	return j.enabled && !v.deleted && j.taken(v, nil) < j.perNickHigh
}

// refuses reports whether the terms may refuse the request.
func (j judged) refuses(v voucher) bool { return j.disabled || v.deleted || j.isTaken(v) }

// isTaken reports whether the request may find no free use.
func (j judged) isTaken(v voucher) bool {
	return j.taken(v, j.stale) >= j.perNickLow || v.used+v.held(j.stale) >= v.low
}

// taken returns how many uses the request's nick has taken, holds included. If a nick is needed, a request
// without a nick cannot take any use.
func (j judged) taken(v voucher, stale []bool) int {
	if j.perNickHigh == unlimited {
		return v.byNick[j.nick]
	}
	if j.anonymous {
		return j.perNickHigh
	}
	return v.byNick[j.nick] + v.heldBy(j.nick, stale)
}

type redeeming struct {
	judged

	request int // the same for all retries under a key
	keyed   bool
	outcome Outcome
	id      redemption // of the response
}

func (r redeeming) happen(v voucher) []voucher {
	has, undone := v.redeemed[r.request], v.undone[r.request]
	isNew := !slices.Contains(v.redeemed, r.id)
	switch {
	case r.outcome == Redeemed && has == none && r.gets(v) && isNew:
		return []voucher{v.take(r, r.id)}
	// shows the ID of a redemption whose response was lost
	case r.outcome == Replayed && r.keyed && has == unseen && isNew:
		return []voucher{v.record(r, r.id)}
	case r.outcome == Replayed:
		return v.stays(r.keyed && has == r.id && !undone)
	case r.outcome == Refused:
		return v.stays(has == none && r.refuses(v))
	case r.outcome == Undone:
		return v.stays(undone)
	case r.outcome == Unknown && has == none && r.gets(v):
		return []voucher{v.take(r, unseen)}
	}
	// the checker can put a request that was never applied after all other operations
	return v.stays(r.outcome == Unknown)
}

func (v voucher) take(r redeeming, id redemption) voucher { return v.count(r.nick, 1).record(r, id) }

// count adds to the redeemed uses of the voucher and of a nick.
func (v voucher) count(nick, uses int) voucher {
	v.used += uses
	v.byNick = slices.Clone(v.byNick)
	v.byNick[nick] += uses
	return v
}

func (v voucher) record(r redeeming, id redemption) voucher {
	v.redeemed = slices.Clone(v.redeemed)
	v.redeemed[r.request] = id
	return v
}

// checking is a check with a response. A check does not read everything at one moment. So while the limit is edited, it
// may respond either way.
type checking struct {
	judged

	limitEdited bool
	outcome     Outcome
}

func (c checking) happen(v voucher) []voucher {
	if c.outcome == Redeemable {
		return v.stays(c.redeems(v) && (c.limitEdited || c.gets(v)))
	}
	return v.stays(c.outcome == Refused && (c.refuses(v) || c.limitEdited))
}

// undoing is the undoing of a redemption.
type undoing struct {
	id      redemption
	nicks   []int // of the requests
	outcome Outcome
}

func (u undoing) happen(v voucher) []voucher {
	request := slices.Index(v.redeemed, u.id)
	if request < 0 || v.undone[request] {
		return v.stays(request >= 0 || u.outcome == Unknown)
	}
	v = v.count(u.nicks[request], -1)
	v.undone = slices.Clone(v.undone)
	v.undone[request] = true
	return []voucher{v}
}

// deleting deletes the voucher. Only a voucher that was never redeemed or held can be deleted.
type deleting struct{ outcome Outcome }

func (d deleting) happen(v voucher) []voucher {
	wasUsed := v.used > 0 || slices.ContainsFunc(v.redeemed, func(r redemption) bool { return r != none }) ||
		slices.ContainsFunc(v.checkouts, func(c checkout) bool { return c.status != unmade })
	if v.deleted || wasUsed || d.outcome == WasUsed {
		return v.stays(d.outcome == Unknown || wasUsed == (d.outcome == WasUsed))
	}
	v.deleted = true
	return []voucher{v}
}

// listing is a list of all stored redemptions that are not undone, made while nothing else was in flight.
type listing struct {
	nicks []int
	ids   []redemption
}

func (l listing) happen(v voucher) []voucher {
	byNick := make([]int, len(v.byNick))
	for _, nick := range l.nicks {
		byNick[nick]++
	}
	for request, id := range v.redeemed {
		if id >= firstID && slices.Contains(l.ids, id) == v.undone[request] {
			return nil
		}
	}
	return v.stays(slices.Equal(v.byNick, byNick))
}

func (v voucher) equal(other voucher) bool {
	return v.low == other.low && v.high == other.high && v.deleted == other.deleted && v.used == other.used &&
		slices.Equal(v.byNick, other.byNick) && slices.Equal(v.redeemed, other.redeemed) &&
		slices.Equal(v.undone, other.undone) &&
		slices.Equal(v.checkouts, other.checkouts)
}
