package history

import "slices"

// voucher is a voucher as the interface knows it, at one moment. It is never changed in place.
type voucher struct {
	// low and high are what the limit is: different while it is edited. A use is taken from what is left at that very moment,
	// whatever the request has read before: a limit that was lowered holds for the requests under way too.
	low, high int
	used      int
	byNick    []int
	// redeemed has the redemption of each token: one request, with all its repetitions under its key, has one token.
	redeemed []redemption
}

// redemption stands for a redemption's ID.
type redemption int

const (
	none   redemption = iota // not redeemed
	unseen                   // redeemed by a request of unknown outcome, and not answered since
	firstID
)

// event is something that happens to a voucher at one moment between a call and its return.
type event interface {
	// happen returns the voucher after it, or that it cannot happen to this voucher with the outcome that it had.
	happen(v voucher) (after voucher, can bool)
}

// judged are the terms that a request may be judged by: those of any moment from its call to its return.
type judged struct {
	nick              int // -1: none
	enabled, disabled bool
	perNickLow        int // unlimited: no nick is needed
	perNickHigh       int
}

// redeems tells whether the terms may let the request redeem.
func (j judged) redeems(v voucher) bool {
	return j.enabled && j.taken(v) < j.perNickHigh
}

// refuses tells whether the terms may refuse the request.
func (j judged) refuses(v voucher) bool {
	return j.disabled || j.taken(v) >= j.perNickLow
}

// taken is how many uses the request's nick has taken. Who has no nick can take none where one is needed.
func (j judged) taken(v voucher) int {
	if j.nick >= 0 {
		return v.byNick[j.nick]
	}
	if j.perNickHigh == unlimited {
		return 0
	}
	return j.perNickHigh
}

// redeeming is a request to redeem.
type redeeming struct {
	judged
	token   int
	keyed   bool
	outcome Outcome
	id      redemption // where it was answered
}

func (r redeeming) happen(v voucher) (voucher, bool) {
	has := v.redeemed[r.token]
	free := r.redeems(v) && v.used < v.high
	switch r.outcome {
	case Redeemed:
		if has == none && free && !slices.Contains(v.redeemed, r.id) {
			return v.take(r, r.id), true
		}
		return v, false
	case Replayed:
		return v.replay(r)
	case Refused:
		return v, has == none && (r.refuses(v) || v.used >= v.low)
	case Unknown: // what never happens, happens behind the end of the history
		if has == none && free {
			return v.take(r, unseen), true
		}
		return v, true
	case Redeemable, Done: // of a check, an edit or a list
	}
	return v, false
}

func (v voucher) take(r redeeming, id redemption) voucher {
	v.used++
	if r.nick >= 0 {
		v.byNick = slices.Clone(v.byNick)
		v.byNick[r.nick]++
	}
	return v.record(r.token, id)
}

func (v voucher) record(token int, id redemption) voucher {
	v.redeemed = slices.Clone(v.redeemed)
	v.redeemed[token] = id
	return v
}

// replay answers what the token has. The redemption of a request whose outcome was unknown is learnt from the first replay.
func (v voucher) replay(r redeeming) (voucher, bool) {
	has := v.redeemed[r.token]
	switch {
	case !r.keyed || has == none:
		return v, false
	case has == unseen:
		return v.record(r.token, r.id), !slices.Contains(v.redeemed, r.id)
	}
	return v, has == r.id
}

// checking is an answered check. What it reads is not of one moment: where the limit is edited meanwhile, it may answer
// either way as far as that goes.
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

// limiting begins or ends an edit of the limit.
type limiting struct{ low, high int }

func (l limiting) happen(v voucher) (voucher, bool) {
	v.low, v.high = l.low, l.high
	return v, true
}

// listing is a list of all redemptions on record, while nothing else went on.
type listing struct {
	byNick []int
	ids    []redemption
}

func (l listing) happen(v voucher) (voucher, bool) {
	if v.used != len(l.ids) || !slices.Equal(v.byNick, l.byNick) {
		return v, false
	}
	for _, id := range v.redeemed {
		if id >= firstID && !slices.Contains(l.ids, id) {
			return v, false
		}
	}
	return v, true
}

// equal tells whether two vouchers are the same.
func (v voucher) equal(other voucher) bool {
	return v.low == other.low && v.high == other.high && v.used == other.used &&
		slices.Equal(v.byNick, other.byNick) && slices.Equal(v.redeemed, other.redeemed)
}
