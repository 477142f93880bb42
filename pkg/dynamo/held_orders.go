package dynamo

import (
	"context"
	"errors"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// placeTogether turns a checkout into an order and, in the same transaction, its hold into a redemption, and spends the
// stated amount of its payment. It redeems even if the hold has lapsed. The error is checkout.ErrExpired if the hold is
// not stored any more: another request took over its use, or another checkout that shared the hold was ordered. It is
// also checkout.ErrExpired if the hold has lapsed, and more uses are taken than a lowered limit allows (see
// refuseLate).
//
// An order and a takeover both succeed only if the hold is still stored. Each of them removes or replaces the hold, so
// only one of them succeeds.
func (s *Orders) placeTogether(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout, order checkout.Order, expiresAfter time.Time,
) (checkout.Checkout, error) {
	claim := voucher.Claim{Request: voucher.Request{Shop: shop}}
	var hold voucher.Hold // zero: the checkout has no code
	if c.Hold != nil {
		var err error
		if claim, err = claimOf(shop, c, order.Placed); err != nil {
			return checkout.Checkout{}, err
		}
		hold = *c.Hold
	}
	var lost lostAttempt
	for attempt := 0; ; attempt++ {
		result, err := s.placeOnce(ctx, claim, hold, c, order, expiresAfter, &lost)
		switch {
		case errors.Is(err, errLookAgain):
			hold, err = s.holdNow(ctx, claim.Request, hold)
		case table.IsConflict(err):
			err = nil
		case err == nil:
			return result, nil
		}
		if errors.Is(err, checkout.ErrExpired) {
			result, err = s.readExpired(ctx, shop, c)
			if errors.Is(err, checkout.ErrExpired) && bool(lost) {
				err = &UnavailableError{Err: errMayBeApplied}
			}
			return result, err
		}
		if err == nil {
			err = table.Wait(ctx, table.Backoff(attempt, s.random))
		}
		if err != nil {
			return checkout.Checkout{}, err
		}
	}
}

// claimOf returns the claim for the redemption that an order of a checkout makes. The claim has the checkout's token,
// so that the order can be found from the redemption, and the redemption from the order.
func claimOf(shop catalog.ShopID, c checkout.Checkout, at time.Time) (voucher.Claim, error) {
	code, badCode := voucher.ParseCode(c.Code)
	nick, badNick := voucher.ParseNick(c.Nick)
	if badCode != nil || badNick != nil || c.Reward == (voucher.Reward{}) {
		return voucher.Claim{}, errors.New("checkout item: malformed code, nick or reward")
	}
	return voucher.Claim{
		Request: voucher.Request{Shop: shop, Code: code, Nick: nick, At: at}, Token: c.ID.Token(),
	}, nil
}

// placeOnce tries once to place the order with the hold as it was last read.
func (s *Orders) placeOnce(
	ctx context.Context, claim voucher.Claim, hold voucher.Hold, c checkout.Checkout, order checkout.Order,
	expiresAfter time.Time,
	lost *lostAttempt,
) (checkout.Checkout, error) {
	result := c
	result.Order = &order
	actions := []action{
		updating(s.checkouts, placement(claim.Shop, c.ID, order, expiresAfter), func(old table.Item) error {
			result = table.DecodeCheckout(old)
			return nil
		}),
	}
	if amount := order.Payment.Amount; amount != (money.Money{}) {
		if err := order.Payment.Cover(c.Total, amount, 0); err != nil {
			return checkout.Checkout{}, err
		}
		actions = append(actions, s.spending(claim.Shop, order.Payment, c.Total))
	}
	if hold != (voucher.Hold{}) {
		if err := s.refuseLate(ctx, claim.Request, hold); err != nil {
			return checkout.Checkout{}, err
		}
		actions = append(actions, s.redeeming(claim, c, hold)...)
	}
	err := transact(ctx, s.api, actions, lost.note)
	return result, err
}

// refuseLate returns checkout.ErrExpired for an order whose hold has lapsed, if more uses are taken than a lowered
// limit allows. Other requests count the use of a lapsed hold as free, so the order would take one use too many. The
// order does not require that the voucher is still as refuseLate read it: an edit need not apply to a request that
// began before the edit ended.
func (s *Orders) refuseLate(ctx context.Context, request voucher.Request, hold voucher.Hold) error {
	if !hold.HasLapsed(request.At) || !hold.Kind.IsCounted() && !hold.Kind.IsByNick() {
		return nil
	}
	v, err := table.ReadVoucher(ctx, s.api, s.vouchers, request.Shop, request.Code)
	if err != nil {
		return err
	}
	isOver := v.Over > 0
	if hold.Kind.IsByNick() {
		uses, err := s.nickUses(ctx, request, hold.Kind)
		if err != nil {
			return err
		}
		// a newer checkout shares the hold and made it last longer
		if now, found := uses.Hold(hold.ID); found && !now.HasLapsed(request.At) {
			return nil
		}
		isOver = isOver || uses.Taken > int(v.MaxUsesPerNick)
	}
	if isOver {
		return checkout.ErrExpired
	}
	return nil
}

func (s *Orders) nickUses(
	ctx context.Context, request voucher.Request, kind voucher.HoldKind,
) (voucher.NickUses, error) {
	key := table.NickKey(request.Shop, request.Code, nickID(request))
	it, err := table.Get(ctx, s.api, s.vouchers, key, nil)
	if err != nil {
		return voucher.NickUses{}, err
	}
	return table.DecodeNickUses(kind, it)
}

// redeeming returns the actions that turn a hold of a checkout into a redemption. The redemption has the reward by
// which the checkout was priced.
func (s *Orders) redeeming(claim voucher.Claim, c checkout.Checkout, hold voucher.Hold) []action {
	var actions []action
	if hold.Kind.IsCounted() {
		actions = append(actions, deleting(s.vouchers, table.HoldKey(claim.Shop, claim.Code, hold)))
	}
	redemption := blindRedemption(claim)
	redemption.Code, redemption.Reward, redemption.ByOrder = c.Code, c.Reward, true
	if hold.Kind == voucher.HoldSingleUse {
		call := &table.Update{Key: table.VoucherKey(claim.Shop, claim.Code)}
		redeemSingleUse(call, redemption)
		call.RequireEqual(table.AttrHold, table.Str(hold.ID))
		return []action{updating(s.vouchers, call, nil)}
	}
	call := recordingIn(claim, redemption, hold.Kind)
	if hold.Kind.IsByNick() {
		attribute := table.HoldPrefix + hold.ID
		call.Remove(attribute)
		call.RequireEqual(attribute, table.EncodeHold(hold))
	}
	return append(actions, updating(s.vouchers, call, nil))
}

// holdNow returns a hold as it is stored now, because a newer checkout that shares the hold may have made it last
// longer. If the hold is not stored any more, the error is checkout.ErrExpired.
func (s *Orders) holdNow(ctx context.Context, request voucher.Request, hold voucher.Hold) (voucher.Hold, error) {
	switch {
	case hold.Kind == voucher.HoldSingleUse:
		v, err := table.ReadVoucher(ctx, s.api, s.vouchers, request.Shop, request.Code)
		if err != nil {
			return hold, err
		}
		if v.Held != nil && v.Held.ID == hold.ID {
			return *v.Held, nil
		}
	case hold.Kind.IsByNick():
		uses, err := s.nickUses(ctx, request, hold.Kind)
		if err != nil {
			return hold, err
		}
		if now, found := uses.Hold(hold.ID); found {
			return now, nil
		}
	}
	// A hold of another kind becomes longer only if its checkout is replaced; then the order has failed before.
	return hold, checkout.ErrExpired
}

// readExpired reads a checkout again after placing its order failed with checkout.ErrExpired. If another request has
// ended the checkout, readExpired returns it. Otherwise the error stays checkout.ErrExpired.
func (s *Orders) readExpired(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout,
) (checkout.Checkout, error) {
	now, err := readCheckoutSettled(ctx, s.api, s.random, s.checkouts, shop, c.ID.Token())
	if err == nil && now.ID == c.ID && !now.HasEnded() {
		err = checkout.ErrExpired
	}
	return now, err
}

// cancelHeld cancels an order of a checkout with a code, and undoes its redemption.
func (s *Orders) cancelHeld(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout, reason string, at time.Time,
) (checkout.Checkout, error) {
	claim, err := claimOf(shop, c, at)
	if err != nil {
		return checkout.Checkout{}, err
	}
	for attempt := 0; ; attempt++ {
		result := c
		order := *c.Order
		order.Cancelled, order.Reason = at, reason
		result.Order = &order
		undone, err := s.undoingOrdered(ctx, claim, reason)
		if err == nil {
			call := cancellation(shop, c.ID, reason, at)
			if c.Order.Fulfilled.IsZero() {
				call.RequireEqual(table.AttrFulfilled, nil) // the response shows whether the order was fulfilled
			}
			cancel := updating(s.checkouts, call, func(old table.Item) error {
				if result = table.DecodeCheckout(old); result.Order != nil && result.Order.Cancelled.IsZero() {
					return errLookAgain
				}
				return nil
			})
			err = transact(ctx, s.api, append([]action{cancel}, undone...))
		}
		if !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return result, err
		}
		// Another request may have cancelled the order. Then the redemption is already undone, and its record may have
		// moved.
		if c, err = readCheckout(ctx, s.api, s.checkouts, shop, c.ID.Token()); err != nil || c.Order == nil ||
			c.Order.Status() == checkout.OrderCancelled {
			return c, err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return checkout.Checkout{}, err
		}
	}
}

// undoingOrdered returns the actions that undo the redemption of an order. If it is not there or is undone, another
// request may have just cancelled the order: then the error is errLookAgain.
func (s *Orders) undoingOrdered(ctx context.Context, claim voucher.Claim, reason string) ([]action, error) {
	redemption, actions, err := s.undoing(ctx, voucher.UndoRequest{
		Shop: claim.Shop, Code: claim.Code, ID: string(claim.Token), Reason: reason, By: voucher.UndoneByOrder,
		At: claim.At,
	}, nickID(claim.Request))
	if errors.Is(err, voucher.ErrRedemptionNotFound) || !redemption.Undone.IsZero() {
		err = errLookAgain
	}
	return actions, err
}
