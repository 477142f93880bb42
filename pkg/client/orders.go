package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Payment names a payment at the shop's payment provider. Shopfront never asks the provider about it.
type Payment struct {
	Provider  string `json:"provider"`  // such as stripe: 1 to 32 characters of a-z 0-9 -
	Reference string `json:"reference"` // the provider's ID of the payment: 1 to 255 visible ASCII characters
	// Amount is what was paid, in minor units of Currency; zero: not stated. State it, and the orders of the payment
	// cannot exceed it.
	Amount   int64  `json:"amount,omitzero"`
	Currency string `json:"currency,omitzero"` // ISO 4217
}

func (p Payment) isOf(other Payment) bool {
	return p.Provider == other.Provider && p.Reference == other.Reference
}

// OrderStatus is the state of a placed order. New states may be added: deliver nothing for a state that you do not
// know.
type OrderStatus string

// The states of a placed order.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderFulfilled OrderStatus = "fulfilled"
	OrderCancelled OrderStatus = "cancelled" // perhaps after it was fulfilled
)

// PlacedOrder is a checkout that became an order. Deliver once for each ID.
type PlacedOrder struct {
	ID      string      `json:"id"`     // of the checkout
	Number  string      `json:"number"` // of the checkout, for people
	Status  OrderStatus `json:"status"`
	Product string      `json:"product"`
	Variant string      `json:"variant"`
	Amount  int64       `json:"amount"`
	// Data is a JSON object if the variant has a DataSchema, otherwise a JSON string.
	Data         json.RawMessage `json:"data"`
	Code         string          `json:"code"`      // the code that the order redeemed; empty: none
	Nick         string          `json:"nick"`      // of the checkout; empty: none
	UnitPrice    Money           `json:"unitPrice"` // at the time of the checkout, like the other prices
	Subtotal     Money           `json:"subtotal"`
	Discount     Money           `json:"discount"`
	Total        Money           `json:"total"`
	CreatedAt    time.Time       `json:"createdAt"`    // when it was checked out
	Payment      Payment         `json:"payment"`      // zero if the total was zero and nothing was paid
	OrderedAt    time.Time       `json:"orderedAt"`    // when it was placed
	FulfilledAt  time.Time       `json:"fulfilledAt"`  // zero: not fulfilled
	CancelledAt  time.Time       `json:"cancelledAt"`  // zero: not cancelled
	CancelReason string          `json:"cancelReason"` // empty: not cancelled
	// Replayed means that the call changed nothing, because an earlier call or attempt had already made the change.
	Replayed bool `json:"-"`
}

func (o PlacedOrder) isComplete() bool {
	isPaid := o.Payment.Provider != "" && o.Payment.Reference != ""
	isFree := o.Payment == Payment{} && o.Total.Minor == 0
	isFulfilled, isCancelled := !o.FulfilledAt.IsZero(), !o.CancelledAt.IsZero() && o.CancelReason != ""
	return isRandomID(o.ID) && isID(o.Product) && isID(o.Variant) && o.Amount >= 1 && len(o.Data) > 0 &&
		(isPaid || isFree) &&
		isPriced(o.UnitPrice, o.Subtotal, o.Discount, o.Total) && !o.CreatedAt.IsZero() && !o.OrderedAt.IsZero() &&
		o.Status != "" && (isFulfilled || o.Status != OrderFulfilled) && (isCancelled == (o.Status == OrderCancelled))
}

// PlaceOrder turns a paid checkout into an order, once. Pass the zero Payment if the total is zero. No error means that
// the checkout is ordered with this payment, by this call or by an earlier one with the same arguments. If the checkout
// holds a use of a code, the order redeems that use in the same step. Like all calls about orders, PlaceOrder needs
// WithServerKey.
//
// After one of these errors the payment buys nothing of this checkout, so refund the checkout's total:
// ErrCheckoutExpired (the checkout expired too long ago, its use of a code was taken, or its key made another
// checkout), ErrCheckoutReplaced (by another checkout), ErrCheckoutReleased, ErrNotFound (the checkout is unknown or
// was deleted) and ErrPaymentMismatch (the checkout was ordered with another payment). After ErrPaymentInsufficient the
// checkout can still be ordered with another payment. ErrOrderCancelled means that the order with this payment is
// cancelled: whoever cancelled it decides about a refund. ErrInvalid means that the payment is missing or malformed, or
// that another amount was stated for it before. After an *OutcomeUnknownError neither deliver nor refund: repeat the
// call.
//
// The call needs no Idempotency-Key, because an order is stored under its checkout. Therefore ErrPaymentMismatch,
// ErrOrderCancelled, ErrCheckoutReplaced and ErrCheckoutReleased are final at once, even if an attempt was lost. If a
// lost attempt is followed by any other refusal, PlaceOrder asks again DefaultAttemptTimeout after the loss: the lost
// attempt may have arrived when the checkout could still be ordered. An earlier call may have placed the order, so the
// outcome also stays unknown after 401 or 429, and if no connection was made. The errors about arguments never come
// with an *OutcomeUnknownError. ErrWrongBaseURL comes with one only if an earlier attempt of the same call may have
// been applied.
func (c *Client) PlaceOrder(ctx context.Context, checkout string, payment Payment) (PlacedOrder, error) {
	r := c.change("place order", "/orders", checkout, struct {
		Checkout string  `json:"checkout"`
		Payment  Payment `json:"payment,omitzero"`
	}{checkout, payment})
	return c.order(ctx, r, checkout,
		func(o PlacedOrder) bool { return o.Payment.isOf(payment) && o.Status != OrderCancelled })
}

// FulfilOrder records that the shop has delivered. Only the first call changes FulfilledAt. ErrOrderCancelled means
// that the order is cancelled, and ErrNotFound that it does not exist. After an *OutcomeUnknownError repeat the call.
func (c *Client) FulfilOrder(ctx context.Context, id string) (PlacedOrder, error) {
	r := c.change("fulfil order", "/orders/"+id+"/fulfil", id, nil)
	return c.order(ctx, r, id, func(o PlacedOrder) bool {
		return !o.FulfilledAt.IsZero() &&
			o.Status != OrderCancelled
	})
}

// CancelOrder cancels an order for good. Only the first call sets CancelledAt and CancelReason. The reason has 1 to 400
// bytes. A fulfilled order can be cancelled, too. CancelOrder refunds nothing. If the order redeemed a code, the use
// becomes free again. ErrNotFound means that the order does not exist. If the outcome of PlaceOrder was unknown, repeat
// PlaceOrder first. After an *OutcomeUnknownError repeat CancelOrder.
func (c *Client) CancelOrder(ctx context.Context, id, reason string) (PlacedOrder, error) {
	r := c.change("cancel order", "/orders/"+id+"/cancel", id, struct {
		Reason string `json:"reason"`
	}{reason})
	return c.order(ctx, r, id, func(o PlacedOrder) bool { return o.Status == OrderCancelled })
}

// ShowOrder returns an order. ErrNotFound means that the order does not exist, but a call of PlaceOrder may still be in
// flight. To learn the outcome of such a call, repeat PlaceOrder instead.
func (c *Client) ShowOrder(ctx context.Context, id string) (PlacedOrder, error) {
	r := c.get("show order", "/orders/"+id).about(id)
	r.isServersOnly = true
	return c.order(ctx, r, id, func(PlacedOrder) bool { return true })
}

// order sends a request about the order with the given ID. isDone reports whether the order in the response is as
// requested.
func (c *Client) order(ctx context.Context, r request, id string, isDone func(PlacedOrder) bool) (PlacedOrder, error) {
	return receive(ctx, c, r, "the order", func(o *PlacedOrder, resp response) bool {
		o.Replayed = resp.isReplayed()
		return o.ID == id && o.isComplete() && isDone(*o)
	})
}

// OrderFilter selects placed orders. A zero field selects all.
type OrderFilter struct {
	Status OrderStatus
	Nick   string // of the checkout, compared as when redeeming
	// Payment selects the orders with its provider and reference.
	Payment Payment
	// From and Until bound the time at which an order was placed. From is inclusive, Until is exclusive. An order may
	// appear in the list later than newer orders do. So do not continue at the time of the newest known order: begin
	// some minutes earlier, or list all orders with the status OrderPlaced.
	From, Until time.Time
	// PageSize is how many orders a page has at most, from 1 to 200; 0: the service decides.
	PageSize int
}

// Orders iterates over pages of orders, newest first. Each page is requested when the loop needs it. The first error
// ends the iteration. A page can be empty although more pages follow. An order that was just placed or changed appears
// in the list a moment later. ErrInvalid means that the filter is not valid.
func (c *Client) Orders(ctx context.Context, filter OrderFilter) iter.Seq2[[]PlacedOrder, error] {
	return func(yield func([]PlacedOrder, error) bool) {
		var last PlacedOrder
		members := map[string]string{"status": string(filter.Status), "nick": filter.Nick}
		if filter.Payment != (Payment{}) {
			members["payment"] = filter.Payment.Provider + ":" + filter.Payment.Reference
		}
		query := listQuery(members, filter.From, filter.Until, filter.PageSize)
		eachPage(query, yield, func(query string) ([]PlacedOrder, string, error) {
			page, err := c.orderPage(ctx, query, filter, last)
			if n := len(page.Orders); n > 0 {
				last = page.Orders[n-1]
			}
			return page.Orders, page.next, err
		})
	}
}

type orderPage struct {
	Orders []PlacedOrder `json:"orders"`
	pageEnd
}

// orderPage requests a page of orders. The parameter last is the last order of the page before.
func (c *Client) orderPage(ctx context.Context, query string, filter OrderFilter, last PlacedOrder) (orderPage, error) {
	r := c.getPage("orders", "/orders", query)
	r.isServersOnly = true
	return receive(ctx, c, r, "a page of the orders", func(p *orderPage, _ response) bool {
		return p.readNext(r) && p.Orders != nil && filter.selects(p.Orders, last)
	})
}

// selects reports whether the filter selects all orders of a page, and whether they are complete, newest first, and not
// newer than the parameter last, which is the last order of the page before. Without this check, a proxy that drops the
// query would pass cancelled orders off as orders to deliver.
func (f OrderFilter) selects(orders []PlacedOrder, last PlacedOrder) bool {
	for _, order := range orders {
		isNewer := last.ID != "" && order.OrderedAt.After(last.OrderedAt)
		isForeign := f.Status != "" && order.Status != f.Status || f.Nick != "" && order.Nick == "" ||
			f.Payment != (Payment{}) && !order.Payment.isOf(f.Payment)
		if !order.isComplete() || isNewer || isForeign {
			return false
		}
		last = order
	}
	return true
}
