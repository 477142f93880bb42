package dynamo

import (
	"context"
	"errors"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// errNotHeld means that the checkout alone does not hold its use any more.
var errNotHeld = errors.New("another checkout shares the hold, or another request took over its use")

// Release marks a checkout, which is given as it was read, as released, unless it has ended. In the same transaction it
// gives back the use that the checkout holds, even if the hold has lapsed. If another checkout of the nick shares the
// hold or did so once, the use stays held until the hold lapses. The hold also counts for its source until then.
//
// Release returns the checkout as it is stored afterwards, and whether this call released it.
func (s *Orders) Release(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout,
) (result checkout.Checkout, released bool, err error) {
	isAlone := c.Hold != nil && !c.SharesUse
	for attempt := 0; ; attempt++ {
		result, released = c, true
		result.Released = true
		call := updateWhile(shop, c.ID, table.StatusOpen)
		call.Set(table.AttrStatus, table.Str(table.StatusReleased))
		actions := []action{updating(s.checkouts, call, func(old table.Item) error {
			result, released = table.DecodeCheckout(old), false
			return nil
		})}
		var freed []action
		if err = nil; isAlone {
			freed, err = s.freeing(ctx, shop, c)
		}
		if err == nil {
			err = transact(ctx, s.api, append(actions, freed...))
		}
		switch {
		case errors.Is(err, errNotHeld):
			isAlone = false
		case !errors.Is(err, errLookAgain) && !table.IsConflict(err):
			return result, released, table.Outcome(err)
		default:
			if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
				return checkout.Checkout{}, false, table.Outcome(err)
			}
		}
	}
}

// freeing returns the actions that give back the use of the checkout's hold. The hold must be stored as the checkout
// has it: whoever shares a hold makes it last longer. Otherwise the error is errNotHeld.
func (s *Orders) freeing(ctx context.Context, shop catalog.ShopID, c checkout.Checkout) (actions []action, err error) {
	claim, err := claimOf(shop, c, time.Time{})
	if err != nil {
		return nil, err
	}
	hold := *c.Hold
	if hold.Kind == voucher.HoldSingleUse {
		call := &table.Update{Key: table.VoucherKey(shop, claim.Code)}
		for _, attribute := range []string{table.AttrHold, table.AttrHeldUntil, table.AttrHeldBy} {
			call.Remove(attribute)
		}
		call.RequireEqual(table.AttrHold, table.Str(hold.ID))
		call.RequireEqual(table.AttrHeldUntil, table.Millis(hold.Until))
		actions = append(actions, updating(s.vouchers, call, nil))
	}
	if hold.Kind.IsCounted() {
		actions = append(actions, deleting(s.vouchers, table.HoldKey(shop, claim.Code, hold)))
	}
	if hold.Kind.IsByNick() {
		actions = append(actions, s.losing(claim.Request, freeUse{lapsed: &hold, holder: nickID(claim.Request)}))
	}
	for i := range actions {
		actions[i].rejected = func(table.Item) error { return errNotHeld }
	}
	if !hold.Kind.IsCounted() {
		return actions, nil
	}
	v, err := table.ReadVoucher(ctx, s.api, s.vouchers, shop, claim.Code)
	if _, isDeleted := voucher.IsRefusal(err); isDeleted {
		err = errNotHeld
	}
	if err != nil {
		return nil, err
	}
	counter, err := s.usedCounter(ctx, claim.Request, v.Voucher)
	return append(actions, s.returning(claim.Request, v.Voucher, counter)...), err
}
