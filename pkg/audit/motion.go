package audit

import "slices"

// Glance is a quick reading of a voucher and its allowance, before or after the other items are read.
type Glance struct {
	Version int64  // 0: the voucher does not exist
	Items   []Item // the head and the parts
}

// changes returns by how many uses two glances differ, summed over the items. Between two glances, no more redemptions
// were recorded or undone than that, unless they cancel each other out in an item.
func (g Glance) changes(other Glance) (sum int64) {
	for i, item := range g.Items {
		if i < len(other.Items) {
			sum += max(item.Used-other.Items[i].Used, other.Items[i].Used-item.Used)
		}
	}
	return sum
}

// Between adds two glances, one from before the first item was read, and one from after the last.
func (a *Account) Between(before, after Glance) {
	a.before, a.after, a.isBracketed = before, after, true
}

// neverEdited reports whether the voucher's terms were the same at every redemption.
func (a *Account) neverEdited() bool { return a.voucher.Version == 1 && a.isSteady() }

// isSteady reports whether the voucher stayed the same while the account was read. Without glances, it returns true. If
// Judge then finds a fault, the code is read again with glances.
func (a *Account) isSteady() bool {
	return !a.isBracketed || a.before.Version == a.voucher.Version && a.after.Version == a.voucher.Version
}

func (a *Account) judgeMotion() *Motion {
	inParts := int64(0)
	for _, part := range a.parts {
		inParts += part.Left
	}
	switch {
	case !a.isSteady():
		return a.motion(MotionChange)
	case a.head.Left < 0 && inParts > 0:
		return a.motion(MotionEdit)
	case !slices.EqualFunc(a.before.Items, a.after.Items, Item.equal):
		return a.motion(MotionRedemption)
	default:
		return nil
	}
}

// sumsUpLike reports whether nothing moved between the item and others. Redemptions and holds move uses within an item.
func (i Item) sumsUpLike(other Item) bool { return i.sum() == other.sum() }

func (i Item) equal(other Item) bool {
	return i.Left == other.Left && i.Used == other.Used && slices.Equal(i.Holds, other.Holds)
}

func (a *Account) motion(kind MotionKind) *Motion {
	m := &Motion{Kind: kind, Code: a.Code}
	switch kind {
	case MotionEdit:
		m.MaxUses = a.voucher.MaxUses
		m.Message = "more is taken than the limit, but parts still have uses left: an edit of the limit is in flight " +
			"or was interrupted; run the edit again to complete it"
	case MotionChange:
		m.Message = "created or edited while it was read"
	case MotionRedemption:
		m.Message = "redeemed, held or undone while it was read"
	}
	return m
}
