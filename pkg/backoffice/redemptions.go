package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Redemption is a redemption with its voucher's batch.
type Redemption struct {
	voucher.Redemption
	Batch string
}

// RedemptionFilter picks redemptions. A zero field picks all.
type RedemptionFilter struct {
	Code  voucher.Code
	Nick  voucher.Nick // who redeemed
	Batch string
	From  time.Time // inclusive
	Until time.Time // exclusive
}

func (f RedemptionFilter) picks(r Redemption) bool {
	return (f.Batch == "" || f.Batch == r.Batch) &&
		voucher.RedemptionFilter{Nick: f.Nick, From: f.From, Until: f.Until}.Selects(r.Redemption)
}

// Redemptions yields redemptions in the order of their codes, including undone ones, and stops at the first error.
// Without a code in the filter it reads all of the shop's vouchers, while the shop stays live. If the filter's code
// is unknown, the list ends with a *voucher.RefusalError. If the filter has a batch but no code, and the batch has no
// vouchers, the list ends with voucher.ErrBatchUnknown.
func (s *Shop) Redemptions(ctx context.Context, filter RedemptionFilter) iter.Seq2[Redemption, error] {
	return func(yield func(Redemption, error) bool) {
		for entry, err := range s.stored(ctx, filter.Code, filter.Batch) {
			if err != nil {
				yield(Redemption{}, err)
				return
			}
			for _, r := range entry.redemptions {
				if found := (Redemption{r, entry.of.Batch}); filter.picks(found) && !yield(found, nil) {
					return
				}
			}
		}
	}
}

// Redemption finds a redemption of a voucher by its ID, undone or not. It reads all redemptions of the code. Errors are
// voucher.ErrRedemptionNotFound, and a *voucher.RefusalError for an unknown code.
func (s *Shop) Redemption(ctx context.Context, code voucher.Code, id string) (Redemption, error) {
	for redemption, err := range s.Redemptions(ctx, RedemptionFilter{Code: code}) {
		if err != nil || redemption.ID == id {
			return redemption, err
		}
	}
	return Redemption{}, voucher.ErrRedemptionNotFound
}

// OrderOf returns the ID of the order that made the redemption with the given ID.
func (s *Shop) OrderOf(ctx context.Context, id string) (checkout.ID, error) {
	it, err := table.Get(ctx, s.api, s.Tables.Checkouts, table.CheckoutKey(s.Profile.ID, idempotency.Token(id)),
		checkout.ErrOrderNotFound)
	return checkout.ID(it.Str(table.AttrID)), table.Outcome(err)
}

// UndoRedemption undoes a redemption and gives its use back, as voucher.Redemptions does. The bool reports whether the
// redemption was already undone. In that case the stored reason stays.
func (s *Shop) UndoRedemption(
	ctx context.Context, code voucher.Code, id, reason string, now time.Time,
) (voucher.Redemption, bool, error) {
	return voucher.Redemptions{Store: dynamo.NewRedemptionRecords(s.api, s.dynamoTables(), s.random)}.Undo(ctx,
		voucher.UndoRequest{
			Shop: s.Profile.ID, Code: code, ID: id, Reason: reason,
			By: voucher.UndoneByOperator, At: asStored(now),
		})
}
