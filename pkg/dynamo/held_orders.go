package dynamo

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// placeTogether turns a checkout into an order and, in the same transaction, takes for good what the checkout holds,
// and takes the order's total of the stated amount of its payment. If the hold has lapsed, the order still takes it,
// unless others have taken it over; then the order takes anew. The error is checkout.ErrExpired if there is nothing to
// take, or if the hold has not lapsed and is gone: another checkout that shared it was ordered.
func (s *Orders) placeTogether(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout, order checkout.Order, expiresAfter time.Time,
) (checkout.Checkout, error) {
	if amount := order.Payment.Amount; amount != (money.Money{}) {
		if err := order.Payment.Cover(c.Total, amount, 0); err != nil {
			return checkout.Checkout{}, err
		}
	}
	result := c
	result.Order = &order
	p, err := s.placing(ctx, shop, c, order,
		updating(s.checkouts, placement(shop, c.ID, order, expiresAfter), func(old table.Item) error {
			result = table.DecodeCheckout(old)
			return nil
		}))
	if err != nil {
		return checkout.Checkout{}, err
	}
	var lost lostAttempt
	err = s.post(ctx, p, &lost)
	if _, isShort := errors.AsType[*shortError](err); !isShort && !errors.Is(err, errHoldGone) {
		return result, err
	}
	result, err = s.readExpired(ctx, shop, c)
	if errors.Is(err, checkout.ErrExpired) && bool(lost) {
		err = &UnavailableError{Err: errMayBeApplied}
	}
	return result, err
}

// held is what a checkout with a code takes, and the redemption that its order makes. The redemption has the checkout's
// token, so that the order can be found from it.
type held struct {
	code       voucher.Code
	redemption voucher.Redemption
	recordKey  table.Key
	uses       []heldUse
}

// heldUse is a use that a checkout holds.
type heldUse struct {
	of   voucher.Allowance
	key  func(item int) table.Key
	item int
	hold table.Hold // as it is stored
}

// heldBy returns what a checkout with a code takes. The order was placed at a time.
func heldBy(shop catalog.ShopID, c checkout.Checkout, at time.Time) (held, error) {
	code, badCode := voucher.ParseCode(c.Code)
	nick, badNick := voucher.ParseNick(c.Nick)
	if badCode != nil || badNick != nil {
		return held{}, errors.New("checkout item: malformed code or nick")
	}
	token, ofNick := c.ID.Token(), table.NickKey(shop, code, voucher.NickID(shop, code, nick))
	h := held{code: code, recordKey: table.VoucherKey(shop, code), redemption: voucher.Redemption{
		ID: string(token), Code: c.Code, Nick: c.Nick, At: at, Reward: c.Reward, ByOrder: true,
	}}
	if c.Hold.Apart {
		h.recordKey = table.RedemptionKey(shop, code, token)
	}
	for _, take := range c.Hold.Takes {
		use := heldUse{
			of: take.Of, key: func(item int) table.Key { return table.PartKey(shop, code, item) }, item: take.Item,
			hold: table.Hold{Holder: string(c.Hold.Holder), Amount: 1, Until: c.Hold.Until},
		}
		switch {
		case take.Of == voucher.OfNick:
			use.key, h.recordKey = func(int) table.Key { return ofNick }, ofNick
			if len(h.uses) > 0 {
				use.hold.Note = strconv.Itoa(h.uses[0].item)
			}
		case len(c.Hold.Takes) == 1 && !c.Hold.Apart && nick != (voucher.Nick{}):
			use.hold.Note = voucher.NickID(shop, code, nick)
		}
		h.uses = append(h.uses, use)
	}
	return h, nil
}

// placing returns what an order takes. It adds the record of the order's redemption to the other writes if that has an
// item of its own. A late order follows the limit per nick that is in force now, so it reads the voucher.
func (s *Orders) placing(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout, order checkout.Order, bookings ...action,
) (*posting, error) {
	p := &posting{bookings: func() []action { return slices.Clip(bookings) }}
	if order.Payment.Amount != (money.Money{}) {
		p.takings = append(p.takings, s.ofPayment(shop, order.Payment, c.Total))
	}
	if c.Hold == nil {
		return p, nil
	}
	h, err := heldBy(shop, c, order.Placed)
	if err != nil {
		return nil, err
	}
	late := c.Hold.HasLapsed(order.Placed)
	for _, use := range h.uses {
		t := &taking{
			of: use.of, table: s.vouchers, key: use.key, item: use.item, parts: use.item + 1, amount: use.hold.Amount,
			at: order.Placed, holder: use.hold.Holder, from: &use.hold, anew: late,
		}
		if late && t.of == voucher.OfNick {
			v, err := table.ReadVoucher(ctx, s.api, s.vouchers, shop, h.code)
			if err != nil {
				return nil, err
			}
			t.limit = int64(v.MaxUsesPerNick)
		}
		if t.key(t.item) == h.recordKey {
			t.recordOrder(h.redemption)
		}
		p.takings = append(p.takings, t)
	}
	if c.Hold.Apart {
		u := &table.Update{Key: h.recordKey}
		record(u, h.redemption)
		bookings = append(bookings, updating(s.vouchers, u, nil))
	}
	return p, nil
}

// recordOrder makes the taking record an order's redemption in the item.
func (t *taking) recordOrder(redemption voucher.Redemption) {
	t.with = func(u *table.Update) {
		record(u, redemption)
		if t.of == voucher.OfCode { // it may have been deleted and created again, with many uses
			u.RequireEqual(table.AttrLimit, table.Num(1))
		}
	}
	t.judge = func(old table.Item) error {
		if t.of == voucher.OfCode && old.Num(table.AttrLimit) != 1 {
			return errHoldGone
		}
		return errLookAgain
	}
}

// freeing returns the actions that give back what a checkout holds: to the head, if it was taken from a part. If a hold
// is not stored as the checkout has it, the error is errHoldGone.
func (s *Orders) freeing(shop catalog.ShopID, c checkout.Checkout) (actions []action, err error) {
	h, err := heldBy(shop, c, time.Time{})
	if err != nil {
		return nil, err
	}
	isGone := func(table.Item) error { return errHoldGone }
	for _, use := range h.uses {
		name := table.HoldPrefix + use.hold.Holder
		u, head := &table.Update{Key: use.key(use.item)}, &table.Update{Key: use.key(table.Head)}
		u.Remove(name)
		u.Add(table.AttrHolds, -1)
		u.RequireEqual(name, use.hold.Value())
		if u.Key == head.Key {
			u.Add(table.AttrLeft, int(use.hold.Amount))
		} else {
			head.Add(table.AttrLeft, int(use.hold.Amount))
			head.Require("attribute_exists(#left)")
			actions = append(actions, updating(s.vouchers, head, isGone))
		}
		actions = append(actions, updating(s.vouchers, u, isGone))
	}
	return actions, nil
}

// ofPayment returns what an order takes of its payment's stated amount. The first order that states an amount creates
// the allowance. The amount must cover the total.
func (s *Orders) ofPayment(shop catalog.ShopID, payment checkout.Payment, total money.Money) *taking {
	return &taking{
		table: s.checkouts, key: func(int) table.Key { return table.PaymentKey(shop, payment) }, item: table.Head,
		amount: total.Minor, limit: payment.Amount.Minor,
		with: func(u *table.Update) {
			u.Set(table.AttrCurrency, table.Str(payment.Amount.Currency))
			u.Require("(attribute_not_exists(#currency) OR #currency = :currency_new)")
		},
		judge: func(old table.Item) error {
			first := money.Money{Minor: old.Num(table.AttrLimit), Currency: money.Currency(old.Str(table.AttrCurrency))}
			if err := payment.Cover(total, first, old.Num(table.AttrUsed)); len(old) > 0 && err != nil {
				return err
			}
			return errLookAgain
		},
	}
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
	h, err := heldBy(shop, c, c.Order.Placed)
	if err != nil {
		return checkout.Checkout{}, err
	}
	undo := undoing{shop, h.code, h.redemption, h.recordKey, table.EncodeRecord(h.redemption), nil}
	undo.redemption.Undone, undo.redemption.UndoReason, undo.redemption.UndoneBy = at, reason, voucher.UndoneByOrder
	for _, use := range h.uses {
		undo.takes = append(undo.takes, use.key(table.Head))
	}
	var result checkout.Checkout
	err = s.again(ctx, func() error {
		result = c
		order := *c.Order
		order.Cancelled, order.Reason = at, reason
		result.Order = &order
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
		err := transact(ctx, s.api, append([]action{cancel}, undo.actions(s.vouchers)...))
		if !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return err
		}
		// Another request may have cancelled or fulfilled the order.
		now, readErr := s.Recall(ctx, shop, c.ID.Token())
		if c = now; readErr != nil || c.Order == nil || c.Order.Status() == checkout.OrderCancelled {
			result = c
			return readErr
		}
		return err
	})
	return result, err
}
