package operator

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// Redemption is a redemption with its voucher's batch.
type Redemption = backoffice.Redemption

// RedemptionFilter picks redemptions. A zero field picks all.
type RedemptionFilter struct {
	Code  voucher.Code
	Nick  voucher.Nick // who redeemed
	Batch string
	From  time.Time // inclusive
	Until time.Time // exclusive
}

func (f RedemptionFilter) picks(r Redemption) bool {
	return (f.Batch == "" || f.Batch == r.Batch) && voucher.RedemptionFilter{Nick: f.Nick, From: f.From, Until: f.Until}.Selects(r.Redemption)
}

// Redemptions yields redemptions in the order of their codes, including undone ones, and stops at the first error. Without a code in the
// filter it reads all of the customer's vouchers, while the shop stays live. If the filter's code is unknown, the list
// ends with a *voucher.RefusalError. If the filter has a batch but no code, and the batch has no vouchers, the list ends with
// voucher.ErrBatchUnknown.
func (s *Shop) Redemptions(ctx context.Context, filter RedemptionFilter) iter.Seq2[Redemption, error] {
	return func(yield func(Redemption, error) bool) {
		for entry, err := range s.stored(ctx, filter.Code, filter.Batch) {
			if err != nil {
				yield(Redemption{}, err)
				return
			}
			for _, r := range entry.redemptions() {
				if found := (Redemption{Redemption: r, Batch: entry.Of.Batch}); filter.picks(found) && !yield(found, nil) {
					return
				}
			}
		}
	}
}

// redemptions returns the redemptions in an entry. It sets their code and reward, which only the voucher has.
func (e storedEntry) redemptions() []voucher.Redemption {
	if e.Voucher != nil {
		if e.Voucher.Redeemed == nil {
			return nil
		}
		return []voucher.Redemption{*e.Voucher.Redeemed}
	}
	for i := range e.Redemptions {
		e.Redemptions[i].Code, e.Redemptions[i].Reward = e.Of.Written, e.Of.Reward
	}
	return e.Redemptions
}

// UndoRedemption undoes a redemption and gives its use back, as voucher.Undoer does. The bool reports whether the redemption was already
// undone. In that case the stored reason stays.
func (s *Shop) UndoRedemption(
	ctx context.Context, code voucher.Code, id, reason string, now time.Time,
) (voucher.Redemption, bool, error) {
	return s.records.Undo(ctx, voucher.UndoRequest{Customer: s.Customer.ID, Code: code, ID: id, Reason: reason, By: voucher.UndoneByOperator, At: asStored(now)})
}
