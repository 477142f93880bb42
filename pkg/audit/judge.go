package audit

import (
	"slices"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Judgement is the result of one reading of an account.
type Judgement struct {
	// Certain findings concern a single item, which DynamoDB always returns whole.
	Certain []Finding
	// Doubtful findings concern several items, which are not read at one moment. They count only if further readings
	// confirm them.
	Doubtful []Finding
	// Motion is set if the voucher changed while it was read, so that not everything could be judged.
	Motion *Motion
}

// Judge returns what is wrong with the account at the time now. currency is the shop's currency.
func (a *Account) Judge(currency money.Currency, now time.Time) Judgement {
	j := Judgement{Certain: slices.Clone(a.faults)}
	if a.latest.After(now.Add(ClockSkew)) {
		j.Certain = append(j.Certain, a.foundf(KindFuture, "redeemed or undone at %s, but it is %s now",
			written(a.latest), written(now)))
	}
	if a.unread || a.Items == 0 { // an account without items was deleted while it was read
		return j
	}
	if a.voucher == nil {
		if a.before.Version != 0 || a.after.Version != 0 {
			j.Motion = a.motion(MotionChange)
		} else {
			j.Doubtful = append(j.Doubtful,
				a.foundf(KindOrphaned, "%s without a voucher, for example %s", count(a.Items, "item"), a.anyPart))
		}
		return j
	}
	if wrong := a.judgeVoucher(currency); wrong != nil {
		j.Certain = append(j.Certain, wrong...)
		return j
	}
	j.Doubtful = a.judgeParts()
	j.Motion = a.judgeMotion()
	return j
}

func (a *Account) foundf(kind Kind, format string, args ...any) Finding {
	f := found(kind, a.home, format, args...)
	f.Code = a.Code
	return f
}

// judgeVoucher checks the item of the voucher.
func (a *Account) judgeVoucher(currency money.Currency) []Finding {
	v := a.voucher
	if err := v.Reward.InCurrency(currency); err != nil {
		return []Finding{a.foundf(KindCurrency, "%v", err)}
	}
	if _, err := v.Edited(voucher.Edit{}); err != nil { // an empty edit validates the voucher
		return []Finding{a.foundf(KindMalformed, "%v", err)}
	}
	switch {
	case v.Version < 1:
		return []Finding{a.foundf(KindMalformed, "the voucher has the version %d", v.Version)}
	case v.Parts < 0 || v.Parts > voucher.MaxParts || !v.Limited() && v.Parts > 0:
		return []Finding{a.foundf(KindWrongKind, "the voucher, with a limit of %d, cannot have %s", v.MaxUses,
			count(v.Parts, "part"))}
	case v.MaxUses == voucher.NoLimit && a.head.sum() != 0:
		return []Finding{a.foundf(KindWrongKind, "the voucher has no limit, but its item counts uses")}
	case !v.SingleUse() && (v.Redeemed != nil || a.apart):
		return []Finding{a.foundf(KindWrongKind, "the voucher has many uses, but its item has or had a redemption")}
	default:
		return nil
	}
}

// partsJudgement collects the findings about a voucher together with its other items.
type partsJudgement struct {
	*Account

	wrong []Finding
}

func (j *partsJudgement) add(kind Kind, format string, args ...any) {
	j.wrong = append(j.wrong, j.foundf(kind, format, args...))
}

// judgeParts checks the voucher together with its other items.
func (a *Account) judgeParts() []Finding {
	j := &partsJudgement{Account: a}
	if j.judgeKinds(); len(j.wrong) > 0 {
		return j.wrong
	}
	j.judgeNicks()
	j.judgeUses()
	j.judgeUndone()
	if n := a.duplicates(); n > 0 {
		j.add(KindDuplicate, "%s recorded more than once", count(n, "ID"))
	}
	j.judgeTerms()
	return j.wrong
}

// judgeKinds checks that a voucher of this kind may have the items that were added.
func (j *partsJudgement) judgeKinds() {
	v := j.voucher
	perNick := v.MaxUsesPerNick != voucher.NoLimit
	switch {
	case j.nickItems > 0 && !perNick:
		j.add(KindWrongKind, "%s of nicks, but the voucher has no limit per nick", count(j.nickItems, "item"))
	case j.looseItems > 0 && (perNick || v.SingleUse()):
		j.add(KindWrongKind, "%s with one redemption each, but the voucher must store its redemptions in other items",
			count(j.looseItems, "item"))
	}
}

// judgeNicks checks the limits of nicks. Each item of a nick was checked by itself.
func (j *partsJudgement) judgeNicks() {
	v := j.voucher
	for limit := range j.nickLimits {
		if limit < 1 || limit > int64(voucher.MaxPerNick) || j.neverEdited() && limit != int64(v.MaxUsesPerNick) {
			j.add(KindAllowance, "a nick has a limit of %s; the voucher's is %d", count(int(limit), "use"),
				v.MaxUsesPerNick)
		}
	}
	if j.isNickInDebt && j.neverEdited() {
		j.add(KindAllowance, "a nick has more than its limit, which was never edited")
	}
}

// judgeUses checks the allowance of the code.
func (j *partsJudgement) judgeUses() {
	v := j.voucher
	if v.MaxUses == voucher.NoLimit {
		return
	}
	items := []Item{j.head}
	for number := range v.Parts {
		part, there := j.parts[number]
		if !there {
			j.add(KindAllowance, "part %d of %d is missing", number, v.Parts)
			return
		}
		items = append(items, part)
	}
	for number, part := range j.parts {
		if number >= v.Parts && part.sum() != 0 { // parts without uses are about to be added
			j.add(KindAllowance, "there is a part %d, but the voucher has %d", number, v.Parts)
		}
	}
	taken := int64(len(j.redemptions))
	if !v.SingleUse() {
		taken += int64(v.Imported)
	}
	changed := j.before.changes(j.after)
	wrong := judgeUsed(j.home, "the code", taken-changed, taken+changed, items...)
	if j.isSteady() && slices.EqualFunc(j.before.Items, j.after.Items, Item.sumsUpLike) {
		wrong = append(wrong, judgeLimit(j.home, "the code", int64(v.MaxUses), items...)...)
	}
	j.wrong = append(j.wrong, coded(j.Code, wrong)...)
	if j.head.Left < 0 && v.Imported <= int(v.MaxUses) && (v.SingleUse() || j.neverEdited()) {
		j.add(KindAllowance, "more is taken than the limit, which was never edited")
	}
}

// judgeUndone checks that whatever looks for a redemption that was undone finds it: it is recorded apart.
func (j *partsJudgement) judgeUndone() {
	v := j.voucher
	wrong := v.SingleUse() && len(j.undone) > 0 && !j.apart
	for nick := range j.undoneOfNick {
		wrong = wrong || v.MaxUsesPerNick != voucher.NoLimit && !j.apartOfNick[nick]
	}
	if wrong {
		j.add(KindUndone, "a redemption was undone, but the voucher or the item of its nick does not say so")
	}
}

// duplicates returns how many IDs of redemptions are recorded more than once.
func (a *Account) duplicates() int {
	ids := slices.Concat(a.redemptions, a.undone)
	slices.SortFunc(ids, redemptionID.compare)
	return len(ids) - len(slices.Compact(ids))
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
