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
	"shopfront/pkg/wire"
)

// The endpoints of orders are for the shop's own server only. Every change is idempotent: a retry gets the same order,
// with the header Idempotency-Replayed. After an error with Unavailable() it is unknown whether the change was applied.

// Orders places, changes and reads orders. A checkout.Orders implements it and describes the results and errors. The
// bool reports whether the request is a retry of one that was applied.
type Orders interface {
	Place(ctx context.Context, shop catalog.ShopID, id checkout.ID, payment checkout.Payment,
		at time.Time) (checkout.Checkout, bool, error)
	Fulfil(ctx context.Context, shop catalog.ShopID, id checkout.ID, at time.Time) (checkout.Checkout, bool,
		error)
	Cancel(ctx context.Context, shop catalog.ShopID, id checkout.ID, reason string,
		at time.Time) (checkout.Checkout, bool, error)
	Show(ctx context.Context, shop catalog.ShopID, id checkout.ID) (checkout.Checkout, error)
	List(ctx context.Context, shop catalog.ShopID, filter checkout.OrderFilter) ([]checkout.Checkout,
		*checkout.OrderPosition, error)
}

// PlaceOrder is POST /shop/{customer}/orders. It turns a checkout that was paid into an order.
func (s Service) PlaceOrder(orders Orders) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders", methods: []string{http.MethodPost},
		respond: admitted(placementRequest, (*call).admitServer, func(c *call, p placement) (response, error) {
			order, replayed, err := orders.Place(c.Context(), c.shop, p.id, p.payment, c.received)
			if err != nil {
				return response{}, err
			}
			return c.replayable(wire.OfOrder(order), replayed, "ordered", metricOrders)
		}),
	})
}

// placement asks to turn a checkout into an order.
type placement struct {
	id      checkout.ID
	payment checkout.Payment
}

func placementRequest(c *call) (p placement, err error) {
	if err := c.parseQuery(); err != nil {
		return placement{}, err
	}
	members, err := readTextMembers(c.Request, "checkout", "payment/provider", "payment/reference", paidAmount,
		"payment/currency")
	if err != nil {
		return placement{}, err
	}
	if p.id, err = checkout.ParseID(members["checkout"]); err != nil {
		return placement{}, problemInvalid.because("checkout must be the ID of a checkout.").at("/checkout")
	}
	if _, isPaid := members["payment"]; isPaid {
		p.payment, err = checkout.ParsePayment(members["payment/provider"], members["payment/reference"])
	}
	amount, hasAmount := members[paidAmount]
	currency, hasCurrency := members["payment/currency"]
	if err == nil && (hasAmount || hasCurrency) {
		p.payment, err = p.payment.Stating(amount, currency)
	}
	return p, err
}

// ShowOrder is GET /shop/{customer}/orders/{id}.
func (s Service) ShowOrder(orders Orders) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders/{id}",
		respond: admitted(idRequest, (*call).admitServer, func(c *call, id checkout.ID) (response, error) {
			order, err := orders.Show(c.Context(), c.shop, id)
			if err != nil {
				return response{}, err
			}
			c.record.note("shown")
			return jsonResponse(http.StatusOK, wire.OfOrder(order))
		}),
	})
}

// ListOrders is GET /shop/{customer}/orders. It lists orders in pages, newest first.
func (s Service) ListOrders(orders Orders) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders",
		respond: admitted(ordersRequest, (*call).admitServer,
			func(c *call, filter checkout.OrderFilter) (response, error) {
				listed, end, err := orders.List(c.Context(), c.shop, filter)
				if err != nil {
					return response{}, err
				}
				c.record.note("listed")
				page := orderPageJSON{Orders: make([]wire.Order, len(listed))}
				for i, order := range listed {
					page.Orders[i] = wire.OfOrder(order)
				}
				if end != nil {
					page.Next = c.nextPage(representPosition(*end))
				}
				return jsonResponse(http.StatusOK, page)
			}),
	})
}

type orderPageJSON struct {
	Orders []wire.Order `json:"orders"`
	Next   *string      `json:"next"`
}

func ordersRequest(c *call) (filter checkout.OrderFilter, err error) {
	if err := c.parseQuery("status", "nick", "payment", "from", "to", "limit", "cursor"); err != nil {
		return checkout.OrderFilter{}, err
	}
	if filter.Limit, err = pageLimit(c.query, maxLimit); err != nil {
		return checkout.OrderFilter{}, err
	}
	filter.Status = checkout.OrderStatus(c.query.Get("status"))
	if c.query.Has("status") && !slices.Contains(checkout.OrderStatuses(), filter.Status) {
		return checkout.OrderFilter{},
			problemInvalid.because("The status must be placed, fulfilled or cancelled.").of("status")
	}
	if filter.Nick, err = wantedNick(c.query); err != nil {
		return checkout.OrderFilter{}, err
	}
	if c.query.Has("payment") {
		if filter.Payment, err = checkout.FindPayment(c.query.Get("payment")); err != nil {
			return checkout.OrderFilter{}, problemInvalid.because("The payment must be a provider, a colon and a " +
				"reference, such as stripe:pi_3QNa7c2eZvKYlo2C.").of("payment")
		}
	}
	if filter.From, filter.Until, err = timeSpan(c.query); err != nil {
		return checkout.OrderFilter{}, err
	}
	filter.After, err = parseCursor(c, parsePosition)
	return filter, err
}

// wantedNick returns the nick that a list is restricted to. An empty nick is an error, because it would not restrict
// the list.
func wantedNick(query url.Values) (voucher.Nick, error) {
	nick, err := parseNick(query)
	if err == nil && query.Has("nick") && nick == (voucher.Nick{}) {
		err = problemInvalid.because("The nick must not be empty.").of("nick")
	}
	return nick, err
}

// timeSpan returns the bounds of a list. A missing time is zero.
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
			return from, until, problemInvalid.because("The time must have the format of RFC 3339, such as " +
				"2026-11-22T09:00:00Z. Encode a + as %%2B.").of(bound.name)
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

// FulfilOrder is POST /shop/{customer}/orders/{id}/fulfil. It records that the shop has delivered the order.
func (s Service) FulfilOrder(orders Orders) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders/{id}/fulfil", methods: []string{http.MethodPost},
		respond: admitted(bareRequest, (*call).admitServer, func(c *call, id checkout.ID) (response, error) {
			order, replayed, err := orders.Fulfil(c.Context(), c.shop, id, c.received)
			if err != nil {
				return response{}, err
			}
			return c.replayable(wire.OfOrder(order), replayed, "fulfilled")
		}),
	})
}

// bareRequest is idRequest for a POST. It rejects a request with a body, because the client's developer would not
// notice that Shopfront ignores the body.
func bareRequest(c *call) (checkout.ID, error) {
	id, err := idRequest(c)
	if err != nil {
		return "", err
	}
	if n, err := io.ReadFull(c.Body, make([]byte, 1)); n > 0 || err != io.EOF {
		return "", problemMalformedRequest.because("This request must not have a body.")
	}
	return id, nil
}

// CancelOrder is POST /shop/{customer}/orders/{id}/cancel.
func (s Service) CancelOrder(orders Orders) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/orders/{id}/cancel", methods: []string{http.MethodPost},
		respond: admitted(cancellationRequest, (*call).admitServer,
			func(c *call, request cancellation) (response, error) {
				order, replayed, err := orders.Cancel(c.Context(), c.shop, request.id, request.reason, c.received)
				if err != nil {
					return response{}, err
				}
				return c.replayable(wire.OfOrder(order), replayed, "cancelled", metricCancelledOrders)
			}),
	})
}

// cancellation asks to cancel an order.
type cancellation struct {
	id     checkout.ID
	reason string
}

func cancellationRequest(c *call) (request cancellation, err error) {
	if request.id, err = idRequest(c); err != nil {
		return cancellation{}, err
	}
	members, err := readTextMembers(c.Request, "reason")
	if err != nil {
		return cancellation{}, err
	}
	request.reason, err = checkout.ParseReason(members["reason"])
	return request, err
}
