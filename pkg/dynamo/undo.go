package dynamo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// RedemptionRecords undoes and lists redemptions. It implements voucher.RedemptionStore. Create it with
// NewRedemptionRecords.
//
// An undone redemption keeps its record, in an item of its own under its token. A retry of the redemption finds the
// record there.
type RedemptionRecords struct {
	ledger

	vouchers, checkouts string // the tables
}

// NewRedemptionRecords returns a store of the redemptions in a table of vouchers. The table of checkouts shows which
// redemptions were made by orders. random is as in NewRedeemer.
func NewRedemptionRecords(api UsesAPI, tables Tables, random func(n int64) int64) *RedemptionRecords {
	return &RedemptionRecords{ledger{api, random}, tables.Vouchers, tables.Checkouts}
}

// Undo marks a redemption as undone and gives its use back, in one transaction.
func (s *RedemptionRecords) Undo(
	ctx context.Context, request voucher.UndoRequest,
) (redemption voucher.Redemption, err error) {
	err = s.again(ctx, func() error {
		found, err := s.find(ctx, request)
		redemption = found.redemption
		switch {
		case errors.Is(err, voucher.ErrRedemptionNotFound): // an order's may be in the item of an unknown nick
			return s.refuseOrdered(ctx, request)
		case err != nil || !redemption.Undone.IsZero():
			return err
		case redemption.ByOrder:
			return voucher.ErrRedemptionOfOrder
		}
		redemption.Undone, redemption.UndoReason, redemption.UndoneBy = request.At, request.Reason, request.By
		found.redemption = redemption
		return transact(ctx, s.api, found.actions(s.vouchers))
	})
	return redemption, table.Outcome(err)
}

// refuseOrdered returns voucher.ErrRedemptionOfOrder if a checkout that has the redemption's ID as its token was
// ordered with the code, and otherwise voucher.ErrRedemptionNotFound.
func (s *RedemptionRecords) refuseOrdered(ctx context.Context, request voucher.UndoRequest) error {
	c, err := readCheckoutSettled(ctx, s.api, s.random, s.checkouts, request.Shop, idempotency.Token(request.ID))
	if errors.Is(err, checkout.ErrNotFound) {
		return voucher.ErrRedemptionNotFound
	}
	if code, _ := voucher.ParseCode(c.Code); err == nil && c.Order != nil && code == request.Code {
		return voucher.ErrRedemptionOfOrder
	}
	if err == nil {
		err = voucher.ErrRedemptionNotFound
	}
	return err
}

// find returns how to undo a redemption, whose redemption may be undone already. If it is in none of its possible
// places, the error is voucher.ErrRedemptionNotFound.
func (s *RedemptionRecords) find(ctx context.Context, request voucher.UndoRequest) (undoing, error) {
	token := idempotency.Token(request.ID)
	keys := []table.Key{
		table.RedemptionKey(request.Shop, request.Code, token),
		table.NickKey(request.Shop, request.Code, request.ID[:voucher.NickIDLength]),
		table.VoucherKey(request.Shop, request.Code),
	}
	reads := make([]types.TransactGetItem, len(keys))
	for i, key := range keys {
		reads[i] = table.Reading(s.vouchers, key)
	}
	items, err := table.GetTogether(ctx, s.api, s.random, reads...)
	ofNick, ofCode := 1, 2
	for i, it := range items {
		redemption, found, err := table.Recorded(token, it)
		if err != nil {
			return undoing{}, err
		}
		if !found {
			continue
		}
		key := keys[i]
		u := undoing{request.Shop, request.Code, redemption, key, it[table.RecordPrefix+request.ID], nil}
		if items[ofCode].Has(table.AttrLimit) {
			u.takes = append(u.takes, keys[ofCode])
		}
		if i == ofNick {
			u.takes = append(u.takes, key)
		}
		return u, nil
	}
	return undoing{}, cmp.Or(err, voucher.ErrRedemptionNotFound)
}

// undoing is a redemption that is undone.
type undoing struct {
	shop       catalog.ShopID
	code       voucher.Code
	redemption voucher.Redemption // as it will be stored
	recordKey  table.Key          // of the item that has the record
	record     types.AttributeValue
	takes      []table.Key // of the allowances that get the use back; for an allowance with parts, of its head
}

// actions returns the writes that give the uses back, and mark the record as undone. An item of its own keeps the
// record. From any other item it moves there, so that the item is as it was before.
func (d undoing) actions(tableName string) []action {
	own := table.RedemptionKey(d.shop, d.code, idempotency.Token(d.redemption.ID))
	name, undone := table.RecordPrefix+d.redemption.ID, table.EncodeUndone(d.redemption)
	var actions []action
	for _, key := range d.takes {
		u := &table.Update{Key: key}
		u.Add(table.AttrLeft, 1)
		u.Add(table.AttrUsed, -1)
		u.Require("attribute_exists(#left)")
		if key == d.recordKey {
			u.Remove(name)
			u.RequireEqual(name, d.record)
			u.Set(table.AttrApart, table.Bool(true))
			if d.redemption.Imported {
				u.Remove(table.AttrImported)
			}
		}
		actions = append(actions, updating(tableName, u, nil))
	}
	if d.recordKey != own {
		maps.Copy(undone, own.Attributes())
		undone[name], undone[table.AttrCode] = table.EncodeRecord(d.redemption), table.Str(d.redemption.Code)
		return append(actions, inserting(tableName, undone))
	}
	u := &table.Update{Key: own}
	for _, attribute := range slices.Sorted(maps.Keys(undone)) {
		u.Set(attribute, undone[attribute])
	}
	u.RequireEqual(name, d.record)
	u.RequireEqual(table.AttrUndone, nil)
	return append(actions, updating(tableName, u, nil))
}
