package dynamo

import (
	"context"
	"errors"
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
	p, err := s.placing(shop, c, order)
	if err != nil {
		return checkout.Checkout{}, err
	}
	recording := p.bookings
	p.bookings = func() []action {
		place := updating(s.checkouts, placement(shop, c.ID, order, expiresAfter), func(old table.Item) error {
			result = table.DecodeCheckout(old)
			return nil
		})
		return append([]action{place}, recording()...)
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

// held is what a checkout takes of a code.
type held struct {
	code           voucher.Code
	nick           string // the voucher.NickID
	redemption     voucher.Redemption
	recordKey      table.Key
	ofCode, ofNick *voucher.Take
}

// heldBy returns what a checkout with a code takes, and the redemption that its order makes at a time. The redemption
// has the checkout's token, so that the order can be found from it.
func heldBy(shop catalog.ShopID, c checkout.Checkout, at time.Time) (held, error) {
	code, badCode := voucher.ParseCode(c.Code)
	nick, badNick := voucher.ParseNick(c.Nick)
	if badCode != nil || badNick != nil {
		return held{}, errors.New("checkout item: malformed code or nick")
	}
	token := c.ID.Token()
	h := held{
		code: code, recordKey: table.RedemptionKey(shop, code, token),
		redemption: voucher.Redemption{
			ID: string(token), Code: c.Code, Nick: c.Nick, At: at, Reward: c.Reward, ByOrder: true,
		},
	}
	if nick != (voucher.Nick{}) {
		h.nick = voucher.NickID(shop, code, nick)
	}
	for _, take := range c.Hold.Takes {
		if take.Of == voucher.OfNick {
			h.ofNick = &take
		} else {
			h.ofCode = &take
		}
	}
	switch {
	case h.ofNick != nil:
		h.recordKey = table.NickKey(shop, code, h.nick)
	case !c.Hold.Apart:
		h.recordKey = table.VoucherKey(shop, code)
	}
	return h, nil
}

// placing returns what an order takes, and the record of its redemption if that has an item of its own.
func (s *Orders) placing(shop catalog.ShopID, c checkout.Checkout, order checkout.Order) (*posting, error) {
	p := &posting{bookings: func() []action { return nil }}
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
	take := func(item int, note string, key func(int) table.Key) {
		t := &taking{
			table: s.vouchers, key: key, item: item, parts: item + 1, amount: 1, at: order.Placed,
			holder: string(c.Hold.Holder), anew: c.Hold.HasLapsed(order.Placed),
			from: &table.Hold{Holder: string(c.Hold.Holder), Amount: 1, Until: c.Hold.Until, Note: note},
		}
		if key(item) == h.recordKey {
			t.with = func(u *table.Update) { record(u, h.redemption) }
		}
		p.takings = append(p.takings, t)
	}
	if h.ofCode != nil {
		note := ""
		if !c.Hold.Apart && h.ofNick == nil {
			note = h.nick
		}
		take(h.ofCode.Item, note, func(item int) table.Key { return table.PartKey(shop, h.code, item) })
	}
	if h.ofNick != nil {
		note := ""
		if h.ofCode != nil {
			note = strconv.Itoa(h.ofCode.Item)
		}
		take(table.Head, note, func(int) table.Key { return h.recordKey })
	}
	if c.Hold.Apart {
		p.bookings = func() []action {
			u := &table.Update{Key: h.recordKey}
			record(u, h.redemption)
			return []action{updating(s.vouchers, u, nil)}
		}
	}
	return p, nil
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
// ordered or replaced the checkout, readExpired returns it. Otherwise the error stays checkout.ErrExpired.
func (s *Orders) readExpired(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout,
) (checkout.Checkout, error) {
	now, err := readCheckoutSettled(ctx, s.api, s.random, s.checkouts, shop, c.ID.Token())
	if err == nil && now.ID == c.ID && now.Order == nil && !now.Replaced {
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
	undo := undoing{
		request: voucher.UndoRequest{
			Shop: shop, Code: h.code, ID: h.redemption.ID, Reason: reason, By: voucher.UndoneByOrder, At: at,
		},
		redemption: h.redemption, recordKey: h.recordKey, record: table.EncodeRecord(h.redemption),
	}
	if h.ofCode != nil {
		undo.takes = append(undo.takes, table.VoucherKey(shop, h.code))
	}
	if h.ofNick != nil {
		undo.takes = append(undo.takes, h.recordKey)
	}
	for attempt := 0; ; attempt++ {
		result := c
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
			return result, err
		}
		// Another request may have cancelled or fulfilled the order.
		if c, err = readCheckout(ctx, s.api, s.checkouts, shop, c.ID.Token()); err != nil || c.Order == nil ||
			c.Order.Status() == checkout.OrderCancelled {
			return c, err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return checkout.Checkout{}, err
		}
	}
}
