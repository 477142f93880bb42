package backoffice

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// deleteUnused deletes a voucher and its parts if the voucher still has the version that was read and was never
// redeemed or held. Otherwise deleteUnused deletes nothing and returns voucher.ErrUsed or voucher.ErrEdited. If the
// voucher does not exist any more, deleteUnused returns nil.
//
// The items of a voucher with a limit show whether it was used. The item of a voucher without a limit does not show it.
// The caller must make sure that such a voucher has no records and that nobody writes one.
func (s *Shop) deleteUnused(ctx context.Context, v voucher.Voucher) error {
	var actions []types.TransactWriteItem
	for number := table.Head; number < v.Parts; number++ {
		unused := table.Update{Key: table.PartKey(s.Profile.ID, v.Code, number)}
		if number == table.Head {
			unused.RequireEqual(table.AttrVersion, table.Num(v.Version))
			// a late retry must not delete a new voucher with the same code
			unused.RequireEqual(table.AttrCreated, table.Millis(v.Created))
			unused.RequireEqual(table.AttrApart, nil)
			unused.RequireEqual(table.AttrImported, nil)
		}
		unused.Require("(attribute_not_exists(#used) OR #used = :zero) AND (attribute_not_exists(#n) OR #n = :zero)")
		unused.Name(table.AttrUsed, table.AttrHolds)
		unused.Value(":zero", table.Num(0))
		actions = append(actions, types.TransactWriteItem{Delete: unused.Deletion(s.Tables.Vouchers)})
	}
	failed, old, err := s.write(ctx, actions...)
	switch {
	case failed == noConditionFailed:
		return table.Outcome(err)
	case failed > 0:
		return voucher.ErrUsed // the condition of a part failed
	case len(old) == 0 || !old.Time(table.AttrCreated).Equal(v.Created):
		return nil
	case old.Num(table.AttrVersion) != v.Version:
		return voucher.ErrEdited
	default:
		return voucher.ErrUsed
	}
}

// requireUnused returns voucher.ErrUsed if a voucher has a redemption, undone or not, a hold, or an imported use.
func (s *Shop) requireUnused(ctx context.Context, code voucher.Code) error {
	for entry, err := range s.entries(ctx, code) {
		if err != nil {
			return err
		}
		a := entry.allowance
		isRecord := entry.voucher == nil && !entry.isPart // the item of a redemption or of a nick
		if isRecord || a.Used != 0 || len(a.Holds) > 0 || entry.voucher != nil && entry.voucher.Imported > 0 {
			return voucher.ErrUsed
		}
	}
	return nil
}
