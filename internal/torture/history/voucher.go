package history

import "slices"

// voucher is the state of a voucher at one moment, as far as clients see it. It is never changed in place.
type voucher struct {
	// low and high bound the limit; they differ while the limit is edited. A request takes a use from what is left at that very
	// moment, whatever it read before: a lowered limit also applies to requests that are in flight.
	low, high int
	used      int
	byNick    []int
	redeemed  []redemption // by request
}

// redemption is a number that replaces a redemption's ID.
type redemption int

const (
	none   redemption = iota // not redeemed
	unseen                   // redeemed by a request of unknown outcome, and not in any response since
	firstID
)

// event happens to a voucher at one moment between the call and the return of an operation. It returns the voucher afterwards, and
// whether the outcome of the operation is possible for this voucher.
type event func(v voucher) (after voucher, can bool)

// judged holds the terms that may apply to a request at any moment from its call to its return.
type judged struct {
	nick                    int
	anonymous               bool
	enabled, disabled       bool
	perNickLow, perNickHigh int // unlimited: no nick is needed
}

// redeems reports whether the terms may let the request redeem.
func (j judged) redeems(v voucher) bool { return j.enabled && j.taken(v) < j.perNickHigh }

// refuses reports whether the terms may refuse the request.
func (j judged) refuses(v voucher) bool { return j.disabled || j.taken(v) >= j.perNickLow }

// taken returns how many uses the request's nick has taken. A request without a nick cannot take any if a nick is needed.
func (j judged) taken(v voucher) int {
	if j.anonymous && j.perNickHigh != unlimited {
		return j.perNickHigh
	}
	return v.byNick[j.nick]
}

type redeeming struct {
	judged

	request int // the same for all retries under a key
	keyed   bool
	outcome Outcome
	id      redemption // of the response
}

func (r redeeming) happen(v voucher) (voucher, bool) {
	has := v.redeemed[r.request]
	free := r.redeems(v) && v.used < v.high
	switch r.outcome {
	case Redeemed:
		if has == none && free && !slices.Contains(v.redeemed, r.id) {
			return v.take(r, r.id), true
		}
	case Replayed: // the first replay shows the ID of a redemption whose response was lost
		if r.keyed && has == unseen {
			return v.record(r, r.id), !slices.Contains(v.redeemed, r.id)
		}
		return v, r.keyed && has == r.id
	case Refused:
		return v, has == none && (r.refuses(v) || v.used >= v.low)
	case Unknown: // a request that is never applied is placed after the end of the history
		if has == none && free {
			return v.take(r, unseen), true
		}
		return v, true
	case Redeemable, Done, Denied: // outcomes of a check, an edit or a list; denied requests are left out
	}
	return v, false
}

func (v voucher) take(r redeeming, id redemption) voucher {
	v.used++
	v.byNick = slices.Clone(v.byNick)
	v.byNick[r.nick]++
	return v.record(r, id)
}

func (v voucher) record(r redeeming, id redemption) voucher {
	v.redeemed = slices.Clone(v.redeemed)
	v.redeemed[r.request] = id
	return v
}

// checking is a check with a response. It does not read everything at one moment: while the limit is edited, it may respond either way.
type checking struct {
	judged

	limitEdited bool
	outcome     Outcome
}

func (c checking) happen(v voucher) (voucher, bool) {
	if c.outcome == Redeemable {
		return v, c.redeems(v) && (v.used < v.high || c.limitEdited)
	}
	return v, c.refuses(v) || v.used >= v.low || c.limitEdited
}

// listing is a list of all stored redemptions, made while nothing else was in flight.
type listing struct {
	nicks []int
	ids   []redemption
}

func (l listing) happen(v voucher) (voucher, bool) {
	byNick := make([]int, len(v.byNick))
	for _, nick := range l.nicks {
		byNick[nick]++
	}
	isMissing := func(id redemption) bool { return id >= firstID && !slices.Contains(l.ids, id) }
	return v, slices.Equal(v.byNick, byNick) && !slices.ContainsFunc(v.redeemed, isMissing)
}

func (v voucher) equal(other voucher) bool {
	return v.low == other.low && v.high == other.high && v.used == other.used &&
		slices.Equal(v.byNick, other.byNick) && slices.Equal(v.redeemed, other.redeemed)
}
