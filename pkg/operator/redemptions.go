package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

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

func (f RedemptionFilter) picks(r voucher.Redemption) bool {
	return voucher.RedemptionFilter{Nick: f.Nick, From: f.From, Until: f.Until}.Selects(r)
}

// Redemptions lists redemptions, oldest first, undone ones included. It returns a *voucher.RefusalError if the filter's code is unknown,
// and voucher.ErrBatchUnknown if the filter has a batch, no code, and the batch has no vouchers. Without a code it reads all of the
// customer's vouchers, while the shop stays live.
func (s *Shop) Redemptions(ctx context.Context, filter RedemptionFilter) ([]Redemption, error) {
	vouchers := make(map[voucher.Code]voucher.Voucher) // for redemptions in other items than the voucher's
	if filter.Code != "" {
		v, err := s.vouchers.Voucher(ctx, s.Customer.ID, filter.Code)
		if err != nil {
			return nil, err
		}
		vouchers[filter.Code] = v
	}
	redemptions := []Redemption{}
	recorded := make(map[voucher.Code][]voucher.Redemption)
	batchFound := filter.Batch == "" || filter.Code != ""
	for entry, err := range s.vouchers.Entries(ctx, s.Customer.ID, filter.Code) {
		batchFound = batchFound || entry.Voucher != nil && entry.Voucher.Batch == filter.Batch
		switch v := entry.Voucher; {
		case err != nil:
			return nil, err
		case v == nil:
			recorded[entry.Code] = append(recorded[entry.Code], pick(filter, entry.Redemptions)...)
		default:
			if !v.SingleUse() || v.Undone > 0 {
				vouchers[entry.Code] = *v
			}
			if v.Redeemed != nil && filter.picks(*v.Redeemed) {
				redemptions = append(redemptions, Redemption{*v.Redeemed, v.Batch})
			}
		}
	}
	if !batchFound {
		return nil, fmt.Errorf("batch %s: %w", filter.Batch, voucher.ErrBatchUnknown)
	}
	ofManyUses, err := s.attribute(ctx, recorded, vouchers)
	if err != nil {
		return nil, err
	}
	redemptions = append(redemptions, ofManyUses...)
	if filter.Batch != "" {
		redemptions = slices.DeleteFunc(redemptions, func(r Redemption) bool { return r.Batch != filter.Batch })
	}
	slices.SortFunc(redemptions, func(a, b Redemption) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	return redemptions, nil
}

// UndoRedemption undoes a redemption and gives its use back, as voucher.Undoer does. The bool reports whether the redemption was already
// undone. The first reason stays.
func (s *Shop) UndoRedemption(
	ctx context.Context, code voucher.Code, id, reason string, now time.Time,
) (voucher.Redemption, bool, error) {
	return s.records.Undo(ctx, voucher.UndoRequest{Customer: s.Customer.ID, Code: code, ID: id, Reason: reason, At: asStored(now)})
}

// attribute adds code, reward and batch, which only the voucher holds, to redemptions of codes with many uses.
func (s *Shop) attribute(
	ctx context.Context, recorded map[voucher.Code][]voucher.Redemption, vouchers map[voucher.Code]voucher.Voucher,
) ([]Redemption, error) {
	var redemptions []Redemption
	for code, ofCode := range recorded {
		v, found := vouchers[code]
		if !found && len(ofCode) > 0 { // the voucher was created after its bucket was read
			var err error
			if v, err = s.vouchers.Voucher(ctx, s.Customer.ID, code); err != nil {
				return nil, err
			}
		}
		for _, redemption := range ofCode {
			redemption.Code, redemption.Reward = v.Written, v.Reward
			redemptions = append(redemptions, Redemption{redemption, v.Batch})
		}
	}
	return redemptions, nil
}

func pick(filter RedemptionFilter, redemptions []voucher.Redemption) []voucher.Redemption {
	return slices.DeleteFunc(redemptions, func(r voucher.Redemption) bool { return !filter.picks(r) })
}
