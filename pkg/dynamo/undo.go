package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"

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
	uses

	checkouts string
}

// NewRedemptionRecords returns a store of the redemptions in a table of vouchers. The table of checkouts shows which
// redemptions were made by orders. random is as in NewRedeemer.
func NewRedemptionRecords(api UsesAPI, tables Tables, random func(n int64) int64) *RedemptionRecords {
	return &RedemptionRecords{uses{api, tables.Vouchers, random}, tables.Checkouts}
}

// Undo marks a redemption as undone and gives its use back, in one transaction.
func (s *RedemptionRecords) Undo(ctx context.Context, request voucher.UndoRequest) (voucher.Redemption, error) {
	redemption, err := s.undo(ctx, request)
	return redemption, table.Outcome(err)
}

func (s *RedemptionRecords) undo(ctx context.Context, request voucher.UndoRequest) (voucher.Redemption, error) {
	lookedTwice := false
	for attempt := 0; ; attempt++ {
		redemption, actions, err := s.undoing(ctx, request, request.ID[:voucher.NickIDLength])
		switch {
		case errors.Is(err, voucher.ErrRedemptionNotFound) && !lookedTwice:
			// An order's redemption may be in the item of a nick that the ID does not lead to. Or another request undid
			// the redemption between the reads of its two places; then the next look finds it.
			if err := s.refuseOrdered(ctx, request); err != nil {
				return voucher.Redemption{}, err
			}
			lookedTwice = true
			continue
		case err == nil && !redemption.Undone.IsZero():
			return redemption, nil
		case err == nil && redemption.ByOrder:
			return voucher.Redemption{}, voucher.ErrRedemptionOfOrder
		case err == nil:
			err = transact(ctx, s.api, actions)
		}
		if err == nil {
			redemption.Undone, redemption.UndoReason, redemption.UndoneBy = request.At, request.Reason, request.By
			return redemption, nil
		}
		if !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return voucher.Redemption{}, err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return voucher.Redemption{}, err
		}
	}
}

// refuseOrdered returns voucher.ErrRedemptionOfOrder if a checkout that has the redemption's ID as its token was
// ordered with the code. It waits for an order in flight.
func (s *RedemptionRecords) refuseOrdered(ctx context.Context, request voucher.UndoRequest) error {
	c, err := readCheckoutSettled(ctx, s.api, s.random, s.checkouts, request.Shop, idempotency.Token(request.ID))
	if errors.Is(err, checkout.ErrNotFound) {
		return nil
	}
	if code, _ := voucher.ParseCode(c.Code); err == nil && c.Order != nil && code == request.Code {
		return voucher.ErrRedemptionOfOrder
	}
	return err
}

// undoing returns a redemption, and the actions that undo it: none if it was undone before. nick is the NickID of the
// redemption's nick. If the redemption is in none of its possible places, the error is voucher.ErrRedemptionNotFound.
func (s *uses) undoing(
	ctx context.Context, request voucher.UndoRequest, nick string,
) (voucher.Redemption, []action, error) {
	token := idempotency.Token(request.ID)
	own, ofNick, ofVoucher := table.RedemptionKey(request.Shop, request.Code, token),
		table.NickKey(request.Shop, request.Code, nick), table.VoucherKey(request.Shop, request.Code)
	items, err := table.BatchGet(ctx, s.api, s.random, s.vouchers, own, ofNick, ofVoucher)
	if err != nil {
		return voucher.Redemption{}, nil, err
	}
	if items[ofVoucher] == nil {
		return voucher.Redemption{}, nil, voucher.ErrRedemptionNotFound
	}
	v, err := table.DecodeVoucher(items[ofVoucher])
	if err != nil {
		return voucher.Redemption{}, nil, err
	}
	for _, key := range []table.Key{own, ofNick, ofVoucher} {
		redemption, found, err := table.Recorded(token, items[key])
		if err != nil {
			return voucher.Redemption{}, nil, err
		}
		if !found {
			continue
		}
		if !redemption.Undone.IsZero() {
			return redemption, nil, nil
		}
		actions := s.undoingIn(request, items[key], redemption)
		if v.Limited() {
			asked := voucher.Request{Shop: request.Shop, Code: request.Code, At: request.At}
			counter, err := s.usedCounter(ctx, asked, v.Voucher)
			if err != nil {
				return voucher.Redemption{}, nil, err
			}
			actions = append(actions, s.returning(asked, v.Voucher, counter)...)
		}
		return redemption, actions, nil
	}
	return voucher.Redemption{}, nil, voucher.ErrRedemptionNotFound
}

// undoingIn returns the actions that undo a redemption in the item that holds its record. An item of its own keeps the
// record. From any other item the record moves to an item of its own.
func (s *uses) undoingIn(request voucher.UndoRequest, it table.Item, redemption voucher.Redemption) []action {
	own := table.RedemptionKey(request.Shop, request.Code, idempotency.Token(redemption.ID))
	call := &table.Update{Key: table.KeyOf(it)}
	record := table.RecordPrefix + redemption.ID
	call.RequireEqual(record, it[record])
	undone := table.Item{
		table.AttrUndone: table.Millis(request.At), table.AttrReason: table.Str(request.Reason),
		table.AttrUndoneBy: table.Str(request.By),
	}
	if call.Key == own {
		for _, attribute := range slices.Sorted(maps.Keys(undone)) {
			call.Set(attribute, undone[attribute])
		}
		call.RequireEqual(table.AttrUndone, nil)
		return []action{updating(s.vouchers, call, nil)}
	}
	maps.Copy(undone, own.Attributes())
	undone[record], undone[table.AttrCode] = table.EncodeRecord(redemption), table.Str(redemption.Code)
	call.Remove(record)
	call.Add(table.AttrUndone, 1)
	if call.Key == table.VoucherKey(request.Shop, request.Code) {
		call.Remove(table.AttrUsed)
		call.Remove(table.AttrImported)
	} else {
		call.Add(table.AttrTaken, -1)
	}
	return []action{inserting(s.vouchers, undone), updating(s.vouchers, call, nil)}
}
