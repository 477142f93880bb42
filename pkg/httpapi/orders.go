package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// The endpoints of orders are for the shop's own server only. Each is idempotent: a retry of a change gets the same order, with
// the header Idempotency-Replayed. After an error with Unavailable() it is unknown whether the change was applied.

// OrderPlacer places orders. Errors: checkout.ErrNotFound, checkout.ErrExpired, checkout.ErrReleased, checkout.ErrPaymentMismatch,
// checkout.ErrOrderCancelled, and a *checkout.MemberError for a payment that is missing.
type OrderPlacer interface {
	Place(ctx context.Context, customer catalog.CustomerID, id checkout.ID, payment checkout.Payment, at time.Time) (checkout.Checkout, bool, error)
}

// PlaceOrder is POST /shop/{customer}/orders (docs/interface.md). It turns a checkout that was paid into an order.
func (s Service) PlaceOrder(placer OrderPlacer) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders", methods: []string{http.MethodPost}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			id, payment, err := orderRequest(c)
			if err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			order, replayed, err := placer.Place(c.Context(), c.customer, id, payment, c.received)
			return orderAnswer(c, order, replayed, err, "ordered", metricOrders)
		},
	})
}

// orderRequest validates the request's form.
func orderRequest(c *call) (id checkout.ID, payment checkout.Payment, err error) {
	if c.customer == "" {
		return "", checkout.Payment{}, problemNotFound.new()
	}
	if _, err := parseQuery(c.Request); err != nil {
		return "", checkout.Payment{}, err
	}
	members, err := readTextMembers(c.Request, "checkout", "payment/provider", "payment/reference")
	if err != nil {
		return "", checkout.Payment{}, err
	}
	if id, err = checkout.ParseID(members["checkout"]); err != nil {
		return "", checkout.Payment{}, problemInvalid.because("checkout must be the ID of a checkout.").at("/checkout")
	}
	if _, isPaid := members["payment"]; isPaid {
		payment, err = checkout.ParsePayment(members["payment/provider"], members["payment/reference"])
	}
	return id, payment, err
}

// OrderReader reads orders. It returns checkout.ErrOrderNotFound for an ID that is not an order's.
type OrderReader interface {
	Show(ctx context.Context, customer catalog.CustomerID, id checkout.ID) (checkout.Checkout, error)
}

// ShowOrder is GET /shop/{customer}/orders/{id} (docs/interface.md).
func (s Service) ShowOrder(reader OrderReader) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders/{id}", methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			id, err := checkoutID(c)
			if err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			order, err := reader.Show(c.Context(), c.customer, id)
			return orderAnswer(c, order, false, err, "shown")
		},
	})
}

// OrderLister lists orders, as checkout.OrderStore says.
type OrderLister interface {
	List(ctx context.Context, customer catalog.CustomerID, filter checkout.OrderFilter) ([]checkout.Checkout, *checkout.OrderPosition, error)
}

// ListOrders is GET /shop/{customer}/orders (docs/interface.md). It lists orders in pages, newest first.
func (s Service) ListOrders(lister OrderLister) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders", methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			query, filter, err := listRequest(c)
			if err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			orders, end, err := lister.List(c.Context(), c.customer, filter)
			if err != nil {
				return answer{}, err
			}
			c.record.note("listed")
			page := orderPageJSON{Orders: make([]orderJSON, len(orders))}
			for i, order := range orders {
				page.Orders[i] = representOrder(order)
			}
			if end != nil {
				query.Set("cursor", encodeCursor(c.customer, representPosition(*end)))
				next := fmt.Sprintf("/shop/%s/orders?%s", c.customer, query.Encode())
				page.Next = &next
			}
			return jsonAnswer(http.StatusOK, page)
		},
	})
}

type orderPageJSON struct {
	Orders []orderJSON `json:"orders"`
	Next   *string     `json:"next"`
}

func listRequest(c *call) (query url.Values, filter checkout.OrderFilter, err error) {
	if c.customer == "" {
		return nil, checkout.OrderFilter{}, problemNotFound.new()
	}
	if query, err = parseQuery(c.Request, "status", "nick", "from", "to", "limit", "cursor"); err != nil {
		return nil, checkout.OrderFilter{}, err
	}
	if filter.Limit, err = pageLimit(query, maxLimit); err != nil {
		return nil, checkout.OrderFilter{}, err
	}
	if query.Has("status") {
		filter.Status = checkout.OrderStatus(query.Get("status"))
		if !slices.Contains(checkout.OrderStatuses(), filter.Status) {
			return nil, checkout.OrderFilter{}, problemInvalid.because("The status must be placed, fulfilled or cancelled.").of("status")
		}
	}
	if filter.Nick, err = wantedNick(query); err != nil {
		return nil, checkout.OrderFilter{}, err
	}
	if filter.From, filter.Until, err = timeSpan(query); err != nil {
		return nil, checkout.OrderFilter{}, err
	}
	if query.Has("cursor") {
		filter.After, err = parseCursor(query.Get("cursor"), c.customer, parsePosition)
	}
	return query, filter, err
}

// wantedNick returns the nick that a list is about. An empty nick is an error, because it would select every nick.
func wantedNick(query url.Values) (voucher.Nick, error) {
	nick, err := parseNick(query)
	if err == nil && query.Has("nick") && nick == (voucher.Nick{}) {
		err = problemInvalid.because("The nick must not be empty.").of("nick")
	}
	return nick, err
}

// timeSpan returns the bounds of a list. A time that is missing is zero.
func timeSpan(query url.Values) (from, until time.Time, err error) {
	for _, bound := range []struct {
		name string
		at   *time.Time
	}{{"from", &from}, {"to", &until}} {
		if !query.Has(bound.name) {
			continue
		}
		// Unlike time.Parse, UnmarshalText is strict.
		if err = bound.at.UnmarshalText([]byte(query.Get(bound.name))); err != nil || bound.at.Year() < 1970 {
			return from, until, problemInvalid.because("The time must have the format of RFC 3339, such as 2026-11-22T09:00:00Z. Encode a + as %%2B.").of(bound.name)
		}
	}
	if !until.IsZero() && until.Before(from) {
		return from, until, problemInvalid.because("The time must not be before from.").of("to")
	}
	return from, until, nil
}

func representPosition(end checkout.OrderPosition) string {
	return fmt.Sprintf("%d/%s", end.Placed.UnixMilli(), end.Token)
}

func parsePosition(text string) (*checkout.OrderPosition, error) {
	millis, rest, _ := strings.Cut(text, "/")
	placed, err := strconv.ParseInt(millis, 10, 64)
	if err != nil || placed < 0 {
		return nil, checkout.ErrMalformedID
	}
	token, err := checkout.ParseToken(rest)
	return &checkout.OrderPosition{Placed: time.UnixMilli(placed).UTC(), Token: token}, err
}

// OrderFulfiller marks orders as fulfilled. Errors: checkout.ErrOrderNotFound, checkout.ErrOrderCancelled.
type OrderFulfiller interface {
	Fulfil(ctx context.Context, customer catalog.CustomerID, id checkout.ID, at time.Time) (checkout.Checkout, bool, error)
}

// FulfilOrder is POST /shop/{customer}/orders/{id}/fulfil (docs/interface.md). It notes that the shop has delivered.
func (s Service) FulfilOrder(fulfiller OrderFulfiller) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders/{id}/fulfil", methods: []string{http.MethodPost}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			id, err := checkoutID(c)
			if err != nil {
				return answer{}, err
			}
			if err := checkNoBody(c.Request); err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			order, replayed, err := fulfiller.Fulfil(c.Context(), c.customer, id, c.received)
			return orderAnswer(c, order, replayed, err, "fulfilled")
		},
	})
}

// checkNoBody rejects a body. Otherwise the client's developer would not notice that it is ignored.
func checkNoBody(r *http.Request) error {
	if n, err := io.ReadFull(r.Body, make([]byte, 1)); n > 0 || err != io.EOF {
		return problemMalformedRequest.because("This request must not have a body.")
	}
	return nil
}

// OrderCanceller marks orders as cancelled. Error: checkout.ErrOrderNotFound.
type OrderCanceller interface {
	Cancel(ctx context.Context, customer catalog.CustomerID, id checkout.ID, reason string, at time.Time) (checkout.Checkout, bool, error)
}

// CancelOrder is POST /shop/{customer}/orders/{id}/cancel (docs/interface.md).
func (s Service) CancelOrder(canceller OrderCanceller) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders/{id}/cancel", methods: []string{http.MethodPost}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			id, err := checkoutID(c)
			if err != nil {
				return answer{}, err
			}
			members, err := readTextMembers(c.Request, "reason")
			if err != nil {
				return answer{}, err
			}
			reason, err := checkout.ParseReason(members["reason"])
			if err != nil {
				return answer{}, err
			}
			if err := c.admitServer(); err != nil {
				return answer{}, err
			}
			order, replayed, err := canceller.Cancel(c.Context(), c.customer, id, reason, c.received)
			return orderAnswer(c, order, replayed, err, "cancelled", metricCancelledOrders)
		},
	})
}

func orderAnswer(c *call, ordered checkout.Checkout, replayed bool, err error, outcome string, metrics ...string) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return c.replayable(representOrder(ordered), replayed, outcome, metrics...)
}

// orderJSON is an order. Its ID is that of its checkout.
type orderJSON struct {
	checkoutJSON

	ExpiresAt    string       `json:"expiresAt,omitempty"` // hides that of the checkout: an order does not expire
	Payment      *paymentJSON `json:"payment"`
	OrderedAt    string       `json:"orderedAt"`
	FulfilledAt  string       `json:"fulfilledAt,omitempty"`
	CancelledAt  string       `json:"cancelledAt,omitempty"`
	CancelReason string       `json:"cancelReason,omitempty"`
}

type paymentJSON struct {
	Provider  string `json:"provider"`
	Reference string `json:"reference"`
}

func representOrder(c checkout.Checkout) orderJSON {
	order := c.Order
	represented := orderJSON{
		checkoutJSON: representCheckout(c, checkout.Status(order.Status())), OrderedAt: representTime(order.Placed), CancelReason: order.Reason,
	}
	if order.Payment != (checkout.Payment{}) {
		represented.Payment = &paymentJSON{Provider: order.Payment.Provider, Reference: order.Payment.Reference}
	}
	if !order.Fulfilled.IsZero() {
		represented.FulfilledAt = representTime(order.Fulfilled)
	}
	if !order.Cancelled.IsZero() {
		represented.CancelledAt = representTime(order.Cancelled)
	}
	return represented
}
