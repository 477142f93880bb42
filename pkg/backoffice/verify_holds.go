package backoffice

import (
	"context"
	"slices"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// holds are live holds, by holder. If a checkout cannot be read, any hold may be that checkout's, so none is judged.
type holds map[string][]*claimed

// claimed is a hold, and when the last hold of its checkouts lapses; zero: no checkout has it.
type claimed struct {
	audit.Held

	until time.Time
}

func (h holds) add(now time.Time, all ...audit.Held) {
	for _, held := range all {
		if now.Before(held.Until) {
			h[held.Holder] = append(h[held.Holder], &claimed{Held: held})
		}
	}
}

// found notes what a checkout holds. An order takes its holds, except those of its source, which lapse.
func (h holds) found(c audit.Checkout) {
	if len(c.Faults) > 0 {
		clear(h)
	}
	if c.Hold == nil {
		return
	}
	code, _ := voucher.ParseCode(c.Code)
	for _, held := range h[string(c.Hold.Holder)] {
		isOwn := held.Code == code && c.Order == nil && slices.Contains(c.Hold.Takes, held.Take)
		if until := voucher.HeldUntil(c.Expires); (isOwn || held.Code == "") && until.After(held.until) {
			held.until = until
		}
	}
}

// sourceCode stands where other sort keys have a code.
const sourceCode = "holds"

// sources reads the live holds of sources, and judges each source's allowance.
func (v *verifier) sources(ctx context.Context) error {
	if v.shop.Tables.Refusals == "" {
		return nil
	}
	for it, err := range v.shop.inOrder(ctx, v.shop.Tables.Refusals, sourceCode, listReaders) {
		if err != nil {
			return table.Outcome(err)
		}
		place := placeOf(v.shop.Tables.Refusals, table.KeyOf(it))
		a, err := table.DecodeAllowance(it)
		if err != nil {
			v.report.Add(audit.Finding{Kind: audit.KindMalformed, Place: place, Message: err.Error()})
			continue
		}
		item := auditedItem(a)
		v.report.Add(audit.JudgeItem(place, "the source", a.Limit, item, 0, 0)...)
		for _, hold := range item.Holds {
			v.holds.add(v.Now(), audit.Held{Hold: hold, Place: place})
		}
		v.Read(1)
	}
	return nil
}

// judgeHolds judges the holds by the checkouts. If some look wrong, it reads them and the checkouts again, with growing
// pauses: a checkout may have been ordered or opened meanwhile.
func (v *verifier) judgeHolds(ctx context.Context) error {
	return v.again(ctx, func() (found int, findings []audit.Finding, err error) {
		for holder, all := range v.holds {
			v.holds[holder] = slices.DeleteFunc(all, func(held *claimed) bool {
				wrong := audit.JudgeHeld(held.Held, held.until)
				findings = append(findings, wrong...)
				return len(wrong) == 0
			})
		}
		return len(findings), findings, nil
	}, func() error { return v.rereadHolds(ctx) })
}

// rereadHolds reads holds again, and if some are still there, all checkouts.
func (v *verifier) rereadHolds(ctx context.Context) error {
	isAny := false
	for holder, all := range v.holds {
		var still []*claimed
		for _, held := range all {
			key := table.Key{Partition: held.Place.Partition, Sort: held.Place.Sort}
			it, err := table.Get(ctx, v.shop.api, held.Place.Table, key, nil)
			if err != nil {
				return table.Outcome(err)
			}
			a, _ := table.DecodeAllowance(it) // what is damaged was reported
			if hold, there := a.Hold(holder); there {
				held.Until = hold.Until
				still = append(still, held)
			}
		}
		v.holds[holder], isAny = still, isAny || len(still) > 0
	}
	if !isAny {
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
