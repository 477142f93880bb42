package backoffice

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// deleteUnused deletes a voucher and its counters if the voucher still has the version that was read and was never
// redeemed or held. Otherwise deleteUnused deletes nothing and returns voucher.ErrUsed or voucher.ErrEdited. If the
// voucher does not exist any more, deleteUnused returns nil.
//
// The items of a single-use voucher, and of a voucher with counters, show whether the voucher was used. The item of a
// voucher without a limit does not show it. The caller must make sure that such a voucher has no records and that
// nobody writes one.
func (s *Shop) deleteUnused(ctx context.Context, v voucher.Voucher) error {
	key := table.VoucherKey(s.Profile.ID, v.Code)
	condition := table.Update{Key: key}
	condition.RequireEqual(table.AttrVersion, table.Num(v.Version))
	// a late retry must not delete a new voucher with the same code
	condition.RequireEqual(table.AttrCreated, table.Millis(v.Created))
	for _, mark := range []string{
		table.AttrUsed, table.AttrHold, table.AttrUndone, table.AttrReturns, table.AttrImported,
	} {
		condition.RequireEqual(mark, nil)
	}
	actions := []types.TransactWriteItem{{Delete: condition.Deletion(s.Tables.Vouchers)}}
	for number := range v.Counters {
		unused := table.Update{Key: table.CounterKey(s.Profile.ID, v.Code, number)}
		unused.RequireEqual(table.AttrUsed, table.Num(0))
		unused.RequireEqual(table.AttrLapse, nil) // the counter never had a hold
		actions = append(actions, types.TransactWriteItem{Delete: unused.Deletion(s.Tables.Vouchers)})
	}
	failed, old, err := s.write(ctx, actions...)
	switch {
	case failed == noConditionFailed:
		return table.Outcome(err)
	case failed > 0:
		return voucher.ErrUsed // the condition of a counter failed
	case len(old) == 0 || !old.Time(table.AttrCreated).Equal(v.Created):
		return nil
	case old.Num(table.AttrVersion) != v.Version:
		return voucher.ErrEdited
	default:
		return voucher.ErrUsed
	}
}

// isUsed reports whether a voucher has a redemption, undone or not, a hold, or an imported use.
func (s *Shop) isUsed(ctx context.Context, code voucher.Code) (bool, error) {
	for entry, err := range s.entries(ctx, code) {
		if err != nil {
			return false, err
		}
		v, counter := entry.voucher, entry.counter
		isRecord := v == nil && counter == nil // a hold, one redemption, or the redemptions and holds of a nick
		if isRecord || counter != nil && counter.Used > 0 || v != nil && v.WasUsed() {
			return true, nil
		}
	}
	return false, nil
}
