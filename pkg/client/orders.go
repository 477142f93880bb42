package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Payment names a payment at the shop's payment provider. Shopfront never asks the provider about it.
type Payment struct {
	Provider  string `json:"provider"`  // such as stripe: 1 to 32 characters of a-z 0-9 -
	Reference string `json:"reference"` // the provider's ID of the payment: 1 to 255 visible ASCII characters
}

// OrderStatus is the state of a placed order. New states may be added: deliver nothing for a state that you do not know.
type OrderStatus string

// The states of a placed order.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderFulfilled OrderStatus = "fulfilled"
	OrderCancelled OrderStatus = "cancelled" // perhaps after it was fulfilled
)

// PlacedOrder is a checkout that became an order. Deliver once for each ID.
type PlacedOrder struct {
	ID      string      `json:"id"` // of the checkout
	Status  OrderStatus `json:"status"`
	Product string      `json:"product"`
	Variant string      `json:"variant"`
	Amount  int64       `json:"amount"`
	// Data is a JSON object if the variant has a DataSchema, otherwise a JSON string.
	Data         json.RawMessage `json:"data"`
	Code         string          `json:"code"`      // that the order redeemed; empty if there is none
	Nick         string          `json:"nick"`      // of the checkout; empty if it had none
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
	// Replayed means that the call changed nothing, because an earlier call or attempt had already done so.
	Replayed bool `json:"-"`
}

func (o PlacedOrder) isComplete() bool {
	isPaid := o.Payment.Provider != "" && o.Payment.Reference != ""
	isFree := o.Payment == Payment{} && o.Total.Minor == 0
	isFulfilled, isCancelled := !o.FulfilledAt.IsZero(), !o.CancelledAt.IsZero() && o.CancelReason != ""
	return isRandomID(o.ID) && isID(o.Product) && isID(o.Variant) && o.Amount >= 1 && len(o.Data) > 0 && (isPaid || isFree) &&
		isPriced(o.UnitPrice, o.Subtotal, o.Discount, o.Total) && !o.CreatedAt.IsZero() && !o.OrderedAt.IsZero() &&
		o.Status != "" && (isFulfilled || o.Status != OrderFulfilled) && (isCancelled == (o.Status == OrderCancelled))
}

// PlaceOrder turns a paid checkout into an order, once. Pass the zero Payment if the total is zero. No error means that the
// checkout is ordered with this payment, by this call or by an earlier one with the same arguments. Like all calls about orders, it
// needs WithServerKey.
//
// The order redeems the use of a code that the checkout holds, in the same step.
//
// After one of these errors the payment buys nothing of this checkout, so refund the checkout's total: ErrCheckoutExpired (it
// expired too long ago, or it expired and its use of a code went elsewhere), ErrCheckoutReplaced (by another checkout), ErrNotFound
// (the checkout is unknown or was deleted) and ErrPaymentMismatch (the checkout was ordered with another payment).
// ErrOrderCancelled means that the order with this payment is cancelled: whoever cancelled it decides about a refund. ErrInvalid
// means that the payment is missing or malformed. After an *OutcomeUnknownError neither deliver nor refund: repeat the call.
//
// The call needs no Idempotency-Key, because an order is stored under its checkout. That also makes ErrPaymentMismatch, ErrOrderCancelled
// and ErrCheckoutReplaced final at once, even if an attempt was lost. Before it believes another refusal, PlaceOrder asks again
// DefaultAttemptTimeout after the loss: the lost attempt may have arrived when the checkout could still be ordered. An earlier call may
// have placed the order, so the outcome also stays unknown after 401 or 429, and if no connection was made. Only ErrWrongBaseURL and the
// errors about arguments are no *OutcomeUnknownError.
func (c *Client) PlaceOrder(ctx context.Context, checkout string, payment Payment) (PlacedOrder, error) {
	body, _ := json.Marshal(struct { // encoding strings cannot fail
		Checkout string  `json:"checkout"`
		Payment  Payment `json:"payment,omitzero"`
	}{checkout, payment})
	order, err := c.changeOrder(ctx, "", checkout, body, func(o PlacedOrder) bool {
		return o.Payment == payment && o.Status != OrderCancelled
	})
	if err != nil {
		return PlacedOrder{}, fmt.Errorf("place order: %w", err)
	}
	return order, nil
}

// FulfilOrder notes that the shop has delivered, once: the first time stays. ErrOrderCancelled means that the order is cancelled, and
// ErrNotFound that it does not exist. After an *OutcomeUnknownError repeat the call.
func (c *Client) FulfilOrder(ctx context.Context, id string) (PlacedOrder, error) {
	order, err := c.changeOrder(ctx, "/"+id+"/fulfil", id, nil, func(o PlacedOrder) bool {
		return !o.FulfilledAt.IsZero() && o.Status != OrderCancelled
	})
	if err != nil {
		return PlacedOrder{}, fmt.Errorf("fulfil order: %w", err)
	}
	return order, nil
}

// CancelOrder cancels an order for good, once: the first time and reason stay. The reason has 1 to 400 bytes. A fulfilled order can
// be cancelled, too. CancelOrder refunds nothing. If the order redeemed a code, the use can be taken again. ErrNotFound means that the
// order does not exist; if the outcome of PlaceOrder was unknown, repeat that first. After an *OutcomeUnknownError repeat the call.
func (c *Client) CancelOrder(ctx context.Context, id, reason string) (PlacedOrder, error) {
	body, _ := json.Marshal(struct { // encoding a string cannot fail
		Reason string `json:"reason"`
	}{reason})
	order, err := c.changeOrder(ctx, "/"+id+"/cancel", id, body, func(o PlacedOrder) bool { return o.Status == OrderCancelled })
	if err != nil {
		return PlacedOrder{}, fmt.Errorf("cancel order: %w", err)
	}
	return order, nil
}

// changeOrder sends a change of the order with the ID to a path below the orders. isDone reports whether an order has the change.
func (c *Client) changeOrder(ctx context.Context, path, id string, body []byte, isDone func(PlacedOrder) bool) (PlacedOrder, error) {
	r := request{method: http.MethodPost, path: path, body: body, isChange: true, isRepeated: true}
	if body != nil {
		r.contentType = "application/json"
	}
	return c.order(ctx, r, id, isDone)
}

// ShowOrder returns an order. ErrNotFound means that it does not exist; a call of PlaceOrder may still be in flight. To find out what
// became of such a call, repeat it instead.
func (c *Client) ShowOrder(ctx context.Context, id string) (PlacedOrder, error) {
	order, err := c.order(ctx, request{method: http.MethodGet, path: "/" + id}, id, func(PlacedOrder) bool { return true })
	if err != nil {
		return PlacedOrder{}, fmt.Errorf("show order: %w", err)
	}
	return order, nil
}

// order sends a request whose path is relative to the orders. The response must be the order with the ID, as expected.
func (c *Client) order(ctx context.Context, r request, id string, isExpected func(PlacedOrder) bool) (PlacedOrder, error) {
	if c.serverKey == nil {
		return PlacedOrder{}, ErrNoServerKey
	}
	if !isRandomID(id) {
		return PlacedOrder{}, ErrMalformedID
	}
	var received PlacedOrder
	r.path, r.maxBytes = c.ordersPath()+r.path, maxAnswerBytes
	r.read = func(a answer) error {
		if !a.decode("application/json", &received) || received.ID != id || !received.isComplete() || !isExpected(received) {
			return a.notUnderstood("it is not the order")
		}
		received.Replayed = a.isReplayed()
		return nil
	}
	err := c.do(ctx, r)
	return received, err
}

func (c *Client) ordersPath() string { return "/shop/" + c.customer + "/orders" }

// OrderFilter selects placed orders. A zero field selects all.
type OrderFilter struct {
	Status OrderStatus
	Nick   string // of the checkout, compared as in vouchers
	// From is when the first orders were placed, inclusive. An order can appear after newer ones. So do not continue at the time of
	// the newest one: list those with OrderPlaced, or begin some minutes earlier.
	From  time.Time
	Until time.Time // of placing, exclusive
	// PageSize is how many orders a page has at most, from 1 to 200; 0: as many as the service likes.
	PageSize int
}

func (f OrderFilter) query() string {
	return listQuery(map[string]string{"status": string(f.Status), "nick": f.Nick}, f.From, f.Until, f.PageSize)
}

// listQuery returns the query for the first page of a list. Empty and zero values select all.
func listQuery(selected map[string]string, from, until time.Time, pageSize int) string {
	query := url.Values{}
	for name, value := range selected {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": from, "to": until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if pageSize != 0 {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	return query.Encode()
}

// Orders iterates over pages of orders, newest first. It requests each page when the loop gets there and ends at the first error. A
// page can be empty although more pages follow. An order that was just placed or changed appears in the list a moment later. ErrInvalid
// means that the filter is not valid.
func (c *Client) Orders(ctx context.Context, filter OrderFilter) iter.Seq2[[]PlacedOrder, error] {
	return func(yield func([]PlacedOrder, error) bool) {
		page := orderPage{next: filter.query()}
		for more := true; more; more = page.next != "" {
			var err error
			if page, err = c.nextOrders(ctx, page, filter); err != nil {
				yield(nil, fmt.Errorf("orders: %w", err))
				return
			}
			if !yield(page.Orders, nil) {
				return
			}
		}
	}
}

type orderPage struct {
	Orders []PlacedOrder `json:"orders"`

	next string    // the query of the next page; empty on the last page
	end  time.Time // when the last order so far was placed
}

func (c *Client) nextOrders(ctx context.Context, previous orderPage, filter OrderFilter) (orderPage, error) {
	if c.serverKey == nil {
		return orderPage{}, ErrNoServerKey
	}
	var page orderPage
	r := request{method: http.MethodGet, path: c.ordersPath(), query: previous.next, maxBytes: maxPageBytes}
	r.read = func(a answer) error {
		var received struct {
			orderPage
			Next json.RawMessage `json:"next"` // a path or null; if it is missing, the response may be cut off
		}
		understood := a.decode("application/json", &received)
		page = received.orderPage
		if understood {
			page.next, understood = r.readNext(received.Next)
		}
		if !understood || page.Orders == nil || page.next != "" && page.next == r.query || !page.follows(previous, filter) {
			return a.notUnderstood("it is not a page of the orders")
		}
		return nil
	}
	err := c.do(ctx, r)
	return page, err
}

// follows reports whether the page is complete, has only orders that the filter selects, and starts after the previous page. It
// notes where the page ends. A proxy that drops the query would otherwise pass cancelled orders off as orders to deliver.
func (p *orderPage) follows(previous orderPage, filter OrderFilter) bool {
	p.end = previous.end
	for _, order := range p.Orders {
		isLater := !p.end.IsZero() && order.OrderedAt.After(p.end)
		isForeign := filter.Status != "" && order.Status != filter.Status || filter.Nick != "" && order.Nick == ""
		if !order.isComplete() || isLater || isForeign {
			return false
		}
		p.end = order.OrderedAt
	}
	return true
}
