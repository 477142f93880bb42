package audit

import (
	"slices"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// partsJudgement collects the findings about a voucher together with its other items.
type partsJudgement struct {
	*Account

	wrong []Finding
}

func (j *partsJudgement) add(kind Kind, format string, args ...any) {
	j.wrong = append(j.wrong, j.foundf(kind, format, args...))
}

// judgeParts checks the voucher together with its other items.
func (a *Account) judgeParts(now time.Time) []Finding {
	j := &partsJudgement{Account: a}
	if j.judgeKinds(); len(j.wrong) > 0 {
		return j.wrong
	}
	if a.voucher.Limited() {
		j.judgeCounters(now)
	}
	j.judgeHolds()
	j.judgeUndone()
	if n := a.duplicates(); n > a.moved {
		j.add(KindDuplicate, "%s recorded more than once", count(n, "ID"))
	}
	switch most, limit := voucher.Limit(a.mostOfNick), a.voucher.MaxUsesPerNick; {
	case most > voucher.MaxPerNick:
		j.add(KindNickLimit, "a nick has %s; no limit is above %d", count(a.mostOfNick, "use"), voucher.MaxPerNick)
	case limit != voucher.NoLimit && most > limit && a.neverEdited():
		j.add(KindNickLimit, "a nick has %s; the limit is %d and was never edited", count(a.mostOfNick, "use"), limit)
	}
	j.judgeTerms()
	return j.wrong
}

// judgeKinds checks that a voucher of this kind may have the items that were added.
func (j *partsJudgement) judgeKinds() {
	v := j.voucher
	perNick := v.MaxUsesPerNick != voucher.NoLimit
	switch {
	case !v.Limited() && len(j.counters) > 0:
		j.add(KindWrongKind, "%s, but the voucher has no limit above one", count(len(j.counters), "counter"))
	case j.nickItems > 0 && !perNick:
		j.add(KindWrongKind, "%s of nicks, but the voucher has no limit per nick", count(j.nickItems, "item"))
	case j.looseItems > 0 && (perNick || v.SingleUse()):
		j.add(KindWrongKind, "%s with one redemption each, but the voucher must store its redemptions in other items",
			count(j.looseItems, "item"))
	case len(j.holds) > 0 && !v.Limited():
		j.add(KindWrongKind, "%s, but the voucher has no limit above one", count(len(j.holds), "hold"))
	case slices.ContainsFunc(j.holds, func(h heldUse) bool { return (h.holder == "") == perNick }):
		j.add(KindWrongKind, "a hold names a nick although the voucher has no limit per nick, or names no nick "+
			"although the voucher has such a limit")
	}
}

func (j *partsJudgement) judgeCounters(now time.Time) {
	v := j.voucher
	left, used := 0, 0
	for number := range v.Counters {
		counter, there := j.counters[number]
		if !there {
			j.add(KindCounters, "counter %d of %d is missing", number, v.Counters)
			return
		}
		left, used = left+counter.Left, used+counter.Used
	}
	if len(j.counters) != v.Counters {
		j.add(KindCounters, "there are %s, but the voucher names %d", count(len(j.counters), "counter"), v.Counters)
		return
	}
	least, most := used, used
	if j.isBracketed {
		returned := int(j.after.Returns - j.before.Returns)
		least, most = j.before.Used-returned, j.after.Used+returned
	}
	if n := v.Imported + len(j.redemptions) + len(j.holds); n < least-j.moved || n > most+j.moved {
		imported := ""
		if v.Imported > 0 {
			imported = count(v.Imported, "imported use") + ", "
		}
		j.add(KindUses, "the counters count %s, but the records show %s%s and %s",
			count(used, "use"), imported, count(len(j.redemptions), "redemption"), count(len(j.holds), "hold"))
	}
	if !j.isSteady() || j.before.Returns != j.after.Returns {
		return
	}
	j.judgeEdits()
	if v.Editing != voucher.NoLimit {
		return
	}
	if left+used-v.Over != int(v.MaxUses) || v.Over > 0 && left > 0 {
		j.add(KindLimit, "the counters have %d uses left and %d taken, but the limit is %d, and the voucher counts "+
			"%d over it",
			left, used, v.MaxUses, v.Over)
	}
	if v.FullUntil.After(now) && left > 0 {
		j.add(KindFull, "the voucher is marked as full but has %s left", count(left, "use"))
	}
}

// judgeEdits checks the edits that the counters name. An edit of the limit takes a version of the voucher, writes that
// version to every counter, and finishes in a later version. While no edit runs, all counters name the same edit.
func (j *partsJudgement) judgeEdits() {
	v := j.voucher
	for _, counter := range j.counters {
		switch {
		case v.Editing != voucher.NoLimit && counter.Edit > v.Version,
			v.Editing == voucher.NoLimit && counter.Edit >= v.Version:
			j.add(KindEdits, "a counter names a later edit than the voucher")
			return
		case v.Editing == voucher.NoLimit && counter.Edit != j.counters[0].Edit:
			j.add(KindEdits, "the counters name different edits, and no edit is running")
			return
		}
	}
}

// judgeHolds checks the holds. If the voucher has a limit per nick, each hold is in the item of its nick. If a counter
// counts a hold, the hold also has an item of its own.
func (j *partsJudgement) judgeHolds() {
	if !j.voucher.Limited() {
		if slices.ContainsFunc(j.holdsOfNick, func(h heldUse) bool { return h.counter >= 0 }) {
			j.add(KindHolds, "the item of a nick has a hold of a counter, but the voucher has no counters")
		}
		return
	}
	for _, hold := range j.holds {
		if counter := j.counters[int(hold.counter)]; counter.Lapse.IsZero() || hold.until < counter.Lapse.UnixMilli() {
			j.add(KindHolds, "a hold lapses earlier than the first lapse that its counter records")
			return
		}
	}
	if j.voucher.MaxUsesPerNick == voucher.NoLimit {
		return
	}
	if n := differing(j.holds, j.holdsOfNick, heldUse.compare); n > j.moved {
		j.add(KindHolds, "%s only in the nick's item, or only in the hold's own item", count(n, "hold"))
	}
}

// judgeUndone checks the numbers of undone redemptions.
func (j *partsJudgement) judgeUndone() {
	v := j.voucher
	if v.SingleUse() && v.Undone != len(j.undone) {
		j.add(KindUndone, "the voucher counts %s, but the records show %d", count(v.Undone, "undone redemption"),
			len(j.undone))
		return
	}
	wrong := 0
	for _, difference := range j.undoneOfNick {
		wrong += max(difference, -difference)
	}
	if v.MaxUsesPerNick != voucher.NoLimit && wrong > j.moved {
		j.add(KindUndone, "the items of nicks do not count exactly the %s that the records show",
			count(len(j.undone), "undone redemption"))
	}
}

// duplicates returns how many IDs of redemptions and holds are recorded more than once.
func (a *Account) duplicates() int {
	ids := slices.Concat(a.redemptions, a.undone)
	held := a.holds
	if !a.voucher.Limited() {
		held = a.holdsOfNick
	}
	for _, hold := range held {
		ids = append(ids, hold.id)
	}
	if a.voucher.Held != nil {
		id, _ := a.decodeID(a.home, a.voucher.Held.ID)
		ids = append(ids, id)
	}
	slices.SortFunc(ids, redemptionID.compare)
	n := 0
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] && (i == 1 || ids[i] != ids[i-2]) {
			n++
		}
	}
	return n
}

// judgeTerms checks the redemptions against the terms of a voucher that was never edited.
func (j *partsJudgement) judgeTerms() {
	v := j.voucher
	if !j.neverEdited() || j.madeHere == 0 {
		return
	}
	// An order can turn a hold of a discount into a redemption even after the voucher has expired.
	validUntil := v.ValidUntil
	if !validUntil.IsZero() && v.Reward.Goods() == nil {
		validUntil = validUntil.Add(checkout.Lifetime + checkout.LateOrders)
	}
	switch bound := v.Nick != (voucher.Nick{}); {
	case v.Disabled:
		j.add(KindTerms, "redeemed, although the voucher was always disabled")
	case j.first.Before(v.ValidFrom):
		j.add(KindTerms, "redeemed at %s, before the voucher was valid", written(j.first))
	case !validUntil.IsZero() && !j.last.Before(validUntil):
		j.add(KindTerms, "redeemed at %s, after the voucher had expired", written(j.last))
	case bound && (j.nicksDiffer || j.nick != v.Nick.Compared):
		j.add(KindTerms, "redeemed by a nick other than the one that the voucher is bound to")
	}
}
