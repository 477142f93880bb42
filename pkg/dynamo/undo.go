package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

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
	for attempt := 0; ; attempt++ {
		found, err := s.locate(ctx, request)
		if err != nil || !found.redemption.Undone.IsZero() {
			return found.redemption, err
		}
		if err := s.refuseOrdered(ctx, request, found); err != nil {
			return voucher.Redemption{}, err
		}
		claim := voucher.Claim{
			Request:      voucher.Request{Shop: request.Shop, Code: request.Code, At: request.At},
			RedemptionID: request.ID, Token: found.token,
		}
		actions, err := s.undoing(ctx, claim, found.key, request.Reason, request.By)
		if err == nil {
			err = transact(ctx, s.api, actions)
		}
		if err == nil {
			found.redemption.Undone, found.redemption.UndoReason, found.redemption.UndoneBy = request.At,
				request.Reason, request.By
			return found.redemption, nil
		}
		if !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return voucher.Redemption{}, err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return voucher.Redemption{}, err
		}
	}
}

// refuseOrdered returns voucher.ErrRedemptionOfOrder if an order made the redemption. The checkout of that order has
// the redemption's token. refuseOrdered waits for an order in flight, because the redemption may be visible before its
// order.
func (s *RedemptionRecords) refuseOrdered(ctx context.Context, request voucher.UndoRequest, found located) error {
	c, err := readCheckoutSettled(ctx, s.api, s.random, s.checkouts, request.Shop, found.token)
	switch {
	case errors.Is(err, checkout.ErrNotFound):
		return nil
	case err == nil && c.Order != nil && c.Hold != nil && c.Hold.ID == request.ID:
		return voucher.ErrRedemptionOfOrder
	default:
		return err
	}
}

// undoing returns the actions that undo the redemption with the claim's ID and token. key is the key of the item that
// contains the redemption's record. If the record is not there, the error is errLookAgain.
func (s *uses) undoing(ctx context.Context, claim voucher.Claim, key table.Key, reason, by string) ([]action, error) {
	v, err := table.ReadVoucher(ctx, s.api, s.vouchers, claim.Shop, claim.Code)
	if err != nil {
		return nil, err
	}
	var actions []action
	switch kind := v.HoldKind(); {
	case kind == voucher.HoldSingleUse:
		actions, err = s.undoingInVoucher(claim, key, v.Redeemed, reason, by)
	case kind.IsByNick():
		actions, err = s.undoingInNick(ctx, claim, key, v.Voucher, reason, by)
	default:
		actions = s.undoingInRecord(claim, key, reason, by)
	}
	if err != nil || !v.Limited() {
		return actions, err
	}
	counter, err := s.usedCounter(ctx, claim.Request, v.Voucher)
	return append(actions, s.returning(claim.Request, v.Voucher, counter)...), err
}

// undoingInVoucher returns the actions that undo the redemption of a single-use voucher.
func (s *uses) undoingInVoucher(
	claim voucher.Claim, key table.Key, redemption *voucher.Redemption, reason, by string,
) ([]action, error) {
	call := &table.Update{Key: key}
	for _, attribute := range []string{
		table.AttrRedemption, table.AttrToken, table.AttrRedeemed, table.AttrRedeemedBy,
		table.AttrImported,
	} {
		call.Remove(attribute)
	}
	call.RequireEqual(table.AttrRedemption, table.Str(claim.RedemptionID))
	call.RequireEqual(table.AttrToken, table.Str(claim.Token))
	call.RequireEqual(table.AttrHeldUntil, nil)
	return s.movingUndone(claim, call, redemption, reason, by)
}

// undoingInNick returns the actions that undo a redemption whose record is in the item of its nick.
func (s *uses) undoingInNick(
	ctx context.Context, claim voucher.Claim, key table.Key, v voucher.Voucher, reason, by string,
) ([]action, error) {
	it, err := table.Get(ctx, s.api, s.vouchers, key, errLookAgain)
	if err != nil {
		return nil, err
	}
	redemption, found, err := table.Recorded(claim.Token, v, it)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errLookAgain
	}
	record, call := table.RecordPrefix+string(claim.Token), &table.Update{Key: key}
	call.Remove(record)
	call.Add(table.AttrTaken, -1)
	call.RequireEqual(record, it[record])
	return s.movingUndone(claim, call, &redemption, reason, by)
}

// undoingInRecord returns the action that undoes a redemption in its own item, which keeps the record.
func (s *uses) undoingInRecord(claim voucher.Claim, key table.Key, reason, by string) []action {
	call := &table.Update{Key: key}
	call.Set(table.AttrUndone, table.Millis(claim.At))
	call.Set(table.AttrReason, table.Str(reason))
	call.Set(table.AttrUndoneBy, table.Str(by))
	call.Require("attribute_exists(" + call.Alias(table.RecordPrefix+string(claim.Token)) + ")")
	call.RequireEqual(table.AttrUndone, nil)
	return []action{updating(s.vouchers, call, nil)}
}

// movingUndone returns the actions that send the update, which removes a redemption's record, and store the record as
// undone in an item of its own.
func (s *uses) movingUndone(
	claim voucher.Claim, call *table.Update, redemption *voucher.Redemption, reason, by string,
) ([]action, error) {
	if redemption == nil || redemption.ID != claim.RedemptionID {
		return nil, errLookAgain
	}
	undone, err := undoneRecord(claim, *redemption, reason, by)
	if err != nil {
		return nil, err
	}
	call.Add(table.AttrUndone, 1)
	return []action{inserting(s.vouchers, undone), updating(s.vouchers, call, nil)}, nil
}

// undoneRecord returns the item that stores an undone redemption under its token.
func undoneRecord(claim voucher.Claim, redemption voucher.Redemption, reason, by string) (table.Item, error) {
	nick, err := voucher.ParseNick(redemption.Nick)
	if err != nil {
		return nil, errors.New("stored redemption: malformed nick")
	}
	it := table.RedemptionKey(claim.Shop, claim.Code, claim.Token).Attributes()
	it[table.RecordPrefix+string(claim.Token)] = table.EncodeRecord(redemption.ID, redemption.At, nick)
	if spelling := table.Spelling(nick); spelling != "" {
		it[table.SpellingPrefix+spelling] = table.Str(nick.Written)
	}
	if redemption.Imported {
		it[table.AttrImported] = table.Num(1)
	}
	it[table.AttrUndone], it[table.AttrReason], it[table.AttrUndoneBy] = table.Millis(claim.At), table.Str(reason),
		table.Str(by)
	return it, nil
}

// located is a redemption and the item that holds it.
type located struct {
	key        table.Key
	token      idempotency.Token
	redemption voucher.Redemption
}

// locate finds a redemption of a code, undone or not, or returns voucher.ErrRedemptionNotFound. While search runs,
// another request may undo the redemption and move its record to a place where search has already looked. A record
// moves only once, so locate calls search at most twice.
func (s *RedemptionRecords) locate(ctx context.Context, request voucher.UndoRequest) (located, error) {
	found, err := s.search(ctx, request)
	if errors.Is(err, voucher.ErrRedemptionNotFound) {
		found, err = s.search(ctx, request)
	}
	return found, err
}

// search looks for a redemption first where it most likely is, and then among all redemptions of the code.
func (s *RedemptionRecords) search(ctx context.Context, request voucher.UndoRequest) (located, error) {
	key := table.VoucherKey(request.Shop, request.Code)
	it, err := table.Get(ctx, s.api, s.vouchers, key, voucher.ErrRedemptionNotFound)
	if err != nil {
		return located{}, err
	}
	v, err := table.DecodeVoucher(it)
	if err != nil {
		return located{}, err
	}
	if v.Redeemed != nil && v.Redeemed.ID == request.ID {
		return located{key, v.Token, *v.Redeemed}, nil
	}
	likely := []table.Key{table.RedemptionKey(request.Shop, request.Code, idempotency.Token(request.ID))}
	if request.Nick != (voucher.Nick{}) {
		likely = append(likely, table.NickKey(request.Shop, request.Code, table.HashNick(request.Nick)))
	}
	items, err := table.BatchGet(ctx, s.api, s.random, s.vouchers, likely...)
	if err != nil {
		return located{}, err
	}
	for _, key := range likely {
		if found, is, err := withID(request.ID, v.Voucher, items[key]); is || err != nil {
			return found, err
		}
	}
	for bucket := range table.Buckets {
		if found, is, err := s.inBucket(ctx, request, v.Voucher, bucket); is || err != nil {
			return found, err
		}
	}
	return located{}, voucher.ErrRedemptionNotFound
}

// inBucket looks for a redemption among those in a bucket.
func (s *RedemptionRecords) inBucket(
	ctx context.Context, request voucher.UndoRequest, v voucher.Voucher, bucket int,
) (found located, is bool, err error) {
	query := s.records(request.Shop, v.Code, listPosition{bucket: bucket})
	query.Limit = nil // read as much as fits in a response, because a code may have very many redemptions
	for {
		out, err := s.api.Query(ctx, query)
		if err != nil {
			return located{}, false, err
		}
		for _, it := range out.Items {
			if found, is, err := withID(request.ID, v, it); is || err != nil {
				return found, is, err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return located{}, false, nil
		}
		query.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// withID searches an item for the redemption with the given ID. is reports whether the item holds it.
func withID(id string, v voucher.Voucher, it table.Item) (found located, is bool, err error) {
	all, err := redemptionsIn(it, v)
	for _, found := range all {
		if found.redemption.ID == id {
			return found, true, err
		}
	}
	return located{}, false, err
}

// redemptionsIn returns the redemptions that an item holds, in the order of their tokens.
func redemptionsIn(it table.Item, v voucher.Voucher) ([]located, error) {
	var found []located
	for _, name := range slices.Sorted(maps.Keys(it)) {
		token, is := strings.CutPrefix(name, table.RecordPrefix)
		if !is {
			continue
		}
		redemption, _, err := table.Recorded(idempotency.Token(token), v, it)
		if err != nil {
			return nil, err
		}
		found = append(found, located{table.KeyOf(it), idempotency.Token(token), redemption})
	}
	return found, nil
}
