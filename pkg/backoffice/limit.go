package backoffice

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// addParts stores the parts that a voucher is about to get. They have nothing yet. Parts that exist stay as they are.
func (s *Shop) addParts(ctx context.Context, v voucher.Voucher, wanted int) error {
	for number := v.Parts; number < wanted; number++ {
		part := table.PartKey(s.Profile.ID, v.Code, number).Attributes()
		part[table.AttrLeft], part[table.AttrUsed] = table.Num(0), table.Num(0)
		put := putNew(s.Tables.Vouchers, part)
		if _, _, err := s.write(ctx, types.TransactWriteItem{Put: put}); err != nil {
			return err
		}
	}
	return nil
}

// settle spreads what a code has left evenly over its parts. If the limit was lowered below what the head and the uses
// taken have, the head is in debt, and the parts pay it with what they have left. After settle nobody can take a use
// unless the debt is paid. Each move is one transaction, so redemptions continue meanwhile, and an interrupted settle
// leaves no use uncounted. Holds stay where they are: whoever takes over a lapsed hold pays the debt with it.
func (s *Shop) settle(ctx context.Context, v voucher.Voucher) error {
	for attempt := 0; v.Parts > 0; attempt++ {
		_, items, err := s.allowance(ctx, v.Code)
		if err != nil {
			return err
		}
		head, left := items[0].Left, int64(0)
		for _, item := range items {
			left += item.Left
		}
		if attempt > 0 && (head >= 0 || left == head) {
			return nil
		}
		if attempt > 0 {
			if err := table.Wait(ctx, table.Backoff(attempt-1, s.random)); err != nil {
				return err
			}
		}
		if err := s.level(ctx, v.Code, items[1:], max(left, 0)); err != nil {
			return err
		}
	}
	return nil
}

// level moves uses between the head and the parts until each part has an equal share. It first moves what parts have
// above their share, and then what others lack.
func (s *Shop) level(ctx context.Context, code voucher.Code, parts []table.Allowance, left int64) error {
	shares := make([]int64, len(parts))
	for number := range parts {
		shares[number] = left / int64(len(parts)-number)
		left -= shares[number]
	}
	for number, part := range parts {
		if err := s.move(ctx, code, number, min(shares[number]-part.Left, 0)); err != nil {
			return err
		}
	}
	for number, part := range parts {
		if err := s.move(ctx, code, number, max(shares[number]-part.Left, 0)); err != nil {
			return err
		}
	}
	return nil
}

// move moves a number of uses from the head to a part, or back if it is negative. If the giver does not have so many
// any more, move changes nothing.
func (s *Shop) move(ctx context.Context, code voucher.Code, number int, uses int64) error {
	if uses == 0 {
		return nil
	}
	var actions []types.TransactWriteItem
	for _, change := range []struct {
		item int
		by   int64
	}{{table.Head, -uses}, {number, uses}} {
		u := &table.Update{Key: table.PartKey(s.Profile.ID, code, change.item)}
		u.Add(table.AttrLeft, int(change.by))
		if change.by > 0 {
			u.Require("attribute_exists(#left)")
		} else {
			u.Require("#left >= :uses")
			u.Value(":uses", table.Num(-change.by))
		}
		actions = append(actions, u.Action(s.Tables.Vouchers))
	}
	_, _, err := s.write(ctx, actions...)
	return err
}
