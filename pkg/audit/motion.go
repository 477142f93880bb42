package audit

import (
	"slices"

	"shopfront/pkg/voucher"
)

// Glance is a quick reading of a voucher and its counters, before or after the other items are read.
type Glance struct {
	Found   bool
	Version int64
	Returns int64 // how many uses came back; read before the counters
	Used    int   // the sum of the counters
}

// Between adds two glances, one from before the first item was read, and one from after the last. The sum of the uses
// taken and the uses that came back never falls. So the two glances bound the number of redemptions and holds that were
// read.
func (a *Account) Between(before, after Glance) {
	a.before, a.after, a.isBracketed = before, after, true
}

// MayMove reports whether redemptions and holds may move between items. That happens when a hold becomes a redemption,
// when another checkout takes a hold over, and when a redemption is undone. A reading during such a move may find the
// redemption or hold in both places or in neither, and no counter shows that.
func (a *Account) MayMove() bool {
	for _, counter := range a.counters {
		if !counter.Lapse.IsZero() {
			return true
		}
	}
	return len(a.undone) > 0 || len(a.holdsOfNick) > 0
}

// Again adds a second reading of the account, and counts what differs from the first. Redemptions and holds that moved
// during the first reading are in another place in the second.
func (a *Account) Again(second *Account) {
	a.moved = differing(a.redemptions, second.redemptions, redemptionID.compare) + differing(a.undone, second.undone,
		redemptionID.compare) +
		differing(a.holds, second.holds, heldUse.compare) + differing(a.holdsOfNick, second.holdsOfNick,
		heldUse.compare)
}

// differing sorts two lists and returns how many elements are in only one of them.
func differing[E any](one, other []E, compare func(E, E) int) int {
	slices.SortFunc(one, compare)
	slices.SortFunc(other, compare)
	n := 0
	for len(one) > 0 && len(other) > 0 {
		switch order := compare(one[0], other[0]); {
		case order == 0:
			one, other = one[1:], other[1:]
		case order < 0:
			one, n = one[1:], n+1
		default:
			other, n = other[1:], n+1
		}
	}
	return n + len(one) + len(other)
}

// neverEdited reports whether the voucher's terms were the same at every redemption.
func (a *Account) neverEdited() bool { return a.voucher.Version == 1 && a.isSteady() }

// isSteady reports whether the voucher stayed the same while the account was read. Without glances, it returns true. If
// Judge then finds a fault, the code is read again with glances.
func (a *Account) isSteady() bool {
	return !a.isBracketed || a.before.Found && a.after.Found && a.before.Version == a.voucher.Version &&
		a.after.Version == a.voucher.Version
}

func (a *Account) judgeMotion() *Motion {
	switch {
	case a.voucher.Editing != voucher.NoLimit:
		return a.motion(MotionEdit)
	case !a.isSteady():
		return a.motion(MotionChange)
	case a.before.Used != a.after.Used || a.before.Returns != a.after.Returns || a.moved > 0:
		return a.motion(MotionRedemption)
	default:
		return nil
	}
}

func (a *Account) motion(kind MotionKind) *Motion {
	m := &Motion{Kind: kind, Code: a.Code}
	switch kind {
	case MotionEdit:
		m.MaxUses = a.voucher.Editing
		m.Message = "an edit of the limit is in flight or was interrupted; run the edit again to complete it"
	case MotionChange:
		m.Message = "created or edited while it was read"
	case MotionRedemption:
		m.Message = "redeemed, held or undone while it was read"
	}
	return m
}
