package audit

import (
	"slices"
	"time"

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
		if a.isBracketed && (a.before.Found || a.after.Found) {
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
	j.Doubtful = a.judgeParts(now)
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
	case v.Limited() && (v.Counters < 1 || v.Counters > voucher.MaxCounters):
		return []Finding{a.foundf(KindWrongKind, "the voucher has a limit of %d uses and names %s", v.MaxUses,
			count(v.Counters, "counter"))}
	case !v.Limited() && v.Counters != 0:
		return []Finding{a.foundf(KindWrongKind, "the voucher has no limit above one but names %s",
			count(v.Counters, "counter"))}
	case !v.Limited() && (!v.FullUntil.IsZero() || v.Editing != voucher.NoLimit || v.Over != 0 || v.Returns != 0):
		return []Finding{a.foundf(KindWrongKind,
			"the voucher has no limit above one but is marked as full, as being edited or as over a limit")}
	case !v.SingleUse() && (v.Redeemed != nil || v.Held != nil || v.Undone != 0):
		return []Finding{a.foundf(KindWrongKind,
			"the voucher has many uses, but its item holds or counts a redemption")}
	default:
		return nil
	}
}
