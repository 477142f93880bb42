package backoffice

import (
	"context"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// holds are the live holds of codes. If a checkout cannot be read, a hold may be that checkout's, so they are not judged.
type holds map[claim]*claimed

// claim is what a checkout says about its hold.
type claim struct {
	holder string
	code   voucher.Code
	take   voucher.Take
}

type claimed struct {
	audit.Held

	until time.Time // when the last hold of a checkout lapses that claims it; zero: none does
}

func (h holds) add(account *audit.Account, now time.Time) {
	for _, held := range account.Held {
		if now.Before(held.Until) {
			h[claim{held.Holder, held.Code, held.Take}] = &claimed{Held: held}
		}
	}
}

// found notes what a checkout claims that was not ordered.
func (h holds) found(c audit.Checkout) {
	if len(c.Faults) > 0 {
		clear(h)
	}
	if c.Hold == nil || c.Order != nil {
		return
	}
	code, _ := voucher.ParseCode(c.Code)
	for _, take := range c.Hold.Takes {
		held := h[claim{string(c.Hold.Holder), code, take}]
		if until := voucher.HeldUntil(c.Expires); held != nil && until.After(held.until) {
			held.until = until
		}
	}
}

// judgeHolds judges the holds by the checkouts. If some look wrong, it reads them and the checkouts again, with growing
// pauses: a checkout may have been ordered or opened meanwhile.
func (v *verifier) judgeHolds(ctx context.Context) error {
	return v.again(ctx, func() (found int, findings []audit.Finding, err error) {
		for claim, held := range v.holds {
			wrong := audit.JudgeHeld(held.Held, held.until)
			if findings = append(findings, wrong...); len(wrong) == 0 {
				delete(v.holds, claim)
			}
		}
		return len(findings), findings, nil
	}, func() error { return v.rereadHolds(ctx) })
}

func (v *verifier) rereadHolds(ctx context.Context) error {
	for claim, held := range v.holds {
		it, err := table.Get(ctx, v.shop.api, held.Place.Table, table.Key{
			Partition: held.Place.Partition, Sort: held.Place.Sort,
		}, nil)
		if err != nil {
			return table.Outcome(err)
		}
		a, _ := table.DecodeAllowance(it) // what is damaged was reported
		if hold, there := a.Hold(held.Holder); there {
			held.Until = hold.Until
		} else {
			delete(v.holds, claim)
		}
	}
	if len(v.holds) == 0 {
		return nil
	}
	for c, err := range v.shop.auditedCheckouts(ctx) {
		if err != nil {
			return err
		}
		v.holds.found(c)
	}
	return nil
}
