package client_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

func stripe() client.Payment { return client.Payment{Provider: "stripe", Reference: "pi_3Q0001"} }

// orderWith returns the order with members replaced or added.
func orderWith(status, members string) string {
	return strings.Replace(orderJSON, `"placed",`, fmt.Sprintf("%q,", status)+members, 1)
}

func fulfilledJSON() string {
	return orderWith("fulfilled", `"fulfilledAt":"2026-11-21T09:12:05.300Z",`)
}

func cancelledJSON() string {
	return orderWith("cancelled", `"cancelledAt":"2026-11-21T10:00:00.000Z","cancelReason":"Alder asked for it.",`)
}

// placed is the order of orderJSON.
func placed() client.PlacedOrder {
	price := client.Money{Minor: 799, Currency: "EUR", Display: "7.99 EUR"}
	return client.PlacedOrder{
		ID: checkoutID, Status: client.OrderPlaced, Product: "vip-rank", Variant: "30-days", Amount: 1,
		Data:      []byte(`{"player":"Alder"}`),
		UnitPrice: price, Subtotal: price, Discount: client.Money{Currency: "EUR", Display: "0.00 EUR"}, Total: price,
		CreatedAt: time.Date(2026, time.November, 21, 9, 11, 23, 839e6, time.UTC),
		Payment:   stripe(),
		OrderedAt: time.Date(2026, time.November, 21, 9, 12, 4, 118e6, time.UTC),
	}
}

// orderCall is a call about one order.
type orderCall struct {
	call    func(c *client.Client, ctx context.Context, id string) (client.PlacedOrder, error)
	method  string
	uri     string
	body    string
	answer  string
	want    func(*client.PlacedOrder) // turns the result of placed into the wanted order
	changes bool
}

func orderCalls() map[string]orderCall {
	const orders = "/base/shop/emberforge/orders"
	return map[string]orderCall{
		"place": {
			func(c *client.Client, ctx context.Context, id string) (client.PlacedOrder, error) {
				return c.PlaceOrder(ctx, id, stripe())
			},
			"POST", orders, `{"checkout":"` + checkoutID + `","payment":{"provider":"stripe","reference":"pi_3Q0001"}}`,
			orderJSON, func(*client.PlacedOrder) {}, true,
		},
		"fulfil": {
			(*client.Client).FulfilOrder,
			"POST", orders + "/" + checkoutID + "/fulfil", "",
			fulfilledJSON(), func(o *client.PlacedOrder) {
				o.Status, o.FulfilledAt = client.OrderFulfilled,
					time.Date(2026, time.November, 21, 9, 12, 5, 300e6, time.UTC)
			}, true,
		},
		"cancel": {
			func(c *client.Client, ctx context.Context, id string) (client.PlacedOrder, error) {
				return c.CancelOrder(ctx, id, "Alder asked for it.")
			},
			"POST", orders + "/" + checkoutID + "/cancel", `{"reason":"Alder asked for it."}`,
			cancelledJSON(), func(o *client.PlacedOrder) {
				o.Status, o.CancelReason = client.OrderCancelled, "Alder asked for it."
				o.CancelledAt = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
			}, true,
		},
		"show": {
			(*client.Client).ShowOrder,
			"GET", orders + "/" + checkoutID, "",
			orderJSON, func(*client.PlacedOrder) {}, false,
		},
	}
}

func TestOrder_TransientFailure_IsRetriedWithTheSameRequestAndNoKey(t *testing.T) {
	for name, call := range orderCalls() {
		responds := keeps(call.answer)
		for failure, test := range map[string]struct {
			failures []step
			replayed bool
		}{
			"no failure":                       {nil, false},
			"the response is lost":             {[]step{loses(responds)}, true},
			"the response is lost three times": {[]step{loses(responds), loses(responds), loses(responds)}, true},
			"the response is cut short":        {[]step{cutsShort(responds)}, true},
			"no response comes":                {[]step{silent}, false},
			"the connection is lost, then 503": {
				[]step{hangsUp, problem("unavailable", 503, "Retry-After", "1")},
				false,
			},
			"the gateway throttles":               {[]step{message(429), message(429)}, false},
			"the response is lost, then 500, 502": {[]step{loses(responds), message(500), page(502)}, true},
		} {
			inBubble(t, name+", "+failure, func(t *testing.T) {
				s, c := serveTill(t, append(slices.Clone(test.failures), responds)...)
				want := placed()
				call.want(&want)
				want.Replayed = test.replayed
				if order, err := call.call(c, t.Context(), checkoutID); err != nil || !reflect.DeepEqual(order, want) {
					t.Errorf("%+v, %v, want %+v", order, err, want)
				}
				call.wantRequests(t, s, len(test.failures)+1)
			})
		}
	}
}

// wantRequests fails the test unless the call sent n equal requests, without a key.
func (call orderCall) wantRequests(t *testing.T, s *service, n int) {
	t.Helper()
	requests := s.seen()
	for _, r := range requests {
		isJSON := r.header.Get("Content-Type") == "application/json"
		if r.method != call.method || r.uri != call.uri || r.body != call.body || isJSON != (call.body != "") ||
			r.header["Idempotency-Key"] != nil || r.header.Get("Authorization") != "Bearer "+serverKey {
			t.Errorf("request %+v", r)
		}
	}
	if len(requests) != n {
		t.Errorf("%d requests, want %d", len(requests), n)
	}
}

// An earlier call may have changed the order. So an error settles the outcome of a change only if the service itself
// rejected the request. 401 and 429 do not count, because the service sends them before it looks for the order.
// ErrWrongBaseURL settles the outcome, too: the caller must correct the URL first.
func TestOrder_ChangeFails_OutcomeIsUnknownUnlessTheServiceRejectedIt(t *testing.T) {
	for name, test := range map[string]struct {
		step     step
		is       error // nil: any error
		unknown  bool  // after a change
		requests int
	}{
		"not found":                       {problem("not-found", 404), client.ErrNotFound, false, 1},
		"expired":                         {problem("checkout-expired", 409), client.ErrCheckoutExpired, false, 1},
		"another payment":                 {problem("payment-mismatch", 409), client.ErrPaymentMismatch, false, 1},
		"cancelled":                       {problem("order-cancelled", 409), client.ErrOrderCancelled, false, 1},
		"replaced":                        {problem("checkout-replaced", 409), client.ErrCheckoutReplaced, false, 1},
		"invalid":                         {problem("invalid", 422), client.ErrInvalid, false, 1},
		"unauthorized":                    {problem("unauthorized", 401), client.ErrUnauthorized, true, 1},
		"refused with an unknown problem": {problem("disputed", 409), nil, true, 1},
		"throttled each time":             {message(429), client.ErrThrottled, true, 4},
		"unavailable each time":           {problem("unavailable", 503), client.ErrUnavailable, true, 4},
		"an internal error each time":     {problem("internal", 500), client.ErrInternal, true, 4},
		"a proxy's conflict":              {message(409), nil, true, 1},
		"no route":                        {message(404), client.ErrWrongBaseURL, false, 1},
		"no response comes":               {silent, context.DeadlineExceeded, true, 4},
		"every response is lost":          {loses(keeps(orderJSON)), nil, true, 4},
		"every response is cut short":     {cutsShort(keeps(orderJSON)), nil, true, 4},
		"another server's page":           {page(200), nil, true, 1},
	} {
		for called, call := range orderCalls() {
			inBubble(t, called+", "+name, func(t *testing.T) {
				s, c := serveTill(t, test.step)
				order, err := call.call(c, t.Context(), checkoutID)
				if order.ID != "" || test.is != nil && !errors.Is(err, test.is) || len(s.seen()) != test.requests {
					t.Errorf("%+v, %v after %d requests, want %v after %d", order, err, len(s.seen()), test.is,
						test.requests)
				}
				if unknown := wantFailure(t, err, ""); unknown != (test.unknown && call.changes) {
					t.Errorf("%v: outcome unknown %t, want %t", err, unknown, !unknown)
				}
			})
		}
	}
}

// An order keeps its payment and stays cancelled, and a checkout stays replaced. So a refusal for one of these reasons
// is final at once, even if an attempt was lost. Any other refusal is final only when no lost attempt can be applied
// any more.
func TestPlaceOrder_Refusal_IsFinalOnceNoLostAttemptCanBeApplied(t *testing.T) {
	for name, test := range map[string]struct {
		steps    []step
		attempts int
		is       error // nil: the outcome is unknown
		requests int
		took     time.Duration // at least, and at most a second more
	}{
		"another payment, at once": {
			[]step{hangsUp, problem("payment-mismatch", 409)},
			4,
			client.ErrPaymentMismatch, 2, 0,
		},
		"cancelled, at once": {
			[]step{hangsUp, problem("order-cancelled", 409)},
			4,
			client.ErrOrderCancelled, 2, 0,
		},
		"another payment, and no attempt is left": {
			[]step{hangsUp, problem("payment-mismatch", 409)},
			2,
			client.ErrPaymentMismatch, 2, 0,
		},
		"replaced, at once": {
			[]step{hangsUp, problem("checkout-replaced", 409)},
			4,
			client.ErrCheckoutReplaced, 2, 0,
		},
		"expired, at once": {
			[]step{problem("checkout-expired", 409)},
			4,
			client.ErrCheckoutExpired, 1, 0,
		},
		"expired, some time after a lost attempt": {
			[]step{hangsUp, problem("checkout-expired", 409)},
			4,
			client.ErrCheckoutExpired, 3, 10 * time.Second,
		},
		"not found, some time after a lost attempt": {
			[]step{hangsUp, problem("not-found", 404)},
			4, client.ErrNotFound,
			3, 10 * time.Second,
		},
		"expired, and no attempt is left": {[]step{hangsUp, problem("checkout-expired", 409)}, 2, nil, 2, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, _ := serve(t, test.steps...)
			c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithServerKey(serverKey),
				client.WithAttempts(test.attempts))
			began := time.Now()
			_, err := c.PlaceOrder(t.Context(), checkoutID, stripe())
			took := time.Since(began)
			if unknown := wantFailure(t, err, ""); unknown != (test.is == nil) || test.is != nil &&
				!errors.Is(err, test.is) {
				t.Errorf("%v, want %v", err, test.is)
			}
			if len(s.seen()) != test.requests || took < test.took || took > test.took+time.Second {
				t.Errorf("%d requests in %v, want %d in %v", len(s.seen()), took, test.requests, test.took)
			}
		})
	}
}

// A slow lost attempt arrives just before the checkout becomes too old to order. A later attempt arrives just after.
func TestPlaceOrder_LostAttemptAtTheLastMoment_IsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := keeps(orderJSON)
		s, c := serveTill(t, appliesLate(places), problem("checkout-expired", 409), places)
		if order, err := c.PlaceOrder(t.Context(), checkoutID, stripe()); err != nil || !order.Replayed ||
			len(s.seen()) != 3 {
			t.Errorf("%+v, %v after %d requests, want the order of the first request", order, err, len(s.seen()))
		}
	})
}

func TestPlaceOrder_ZeroTotal_NeedsNoPayment(t *testing.T) {
	free := strings.NewReplacer("799", "0", "7.99", "0.00", `{"provider":"stripe","reference":"pi_3Q0001"}`,
		"null").Replace(orderJSON)
	s, c := serveTill(t, answers(200, free))
	order, err := c.PlaceOrder(t.Context(), checkoutID, client.Payment{})
	if err != nil || order.Payment != (client.Payment{}) || order.Total.Minor != 0 {
		t.Errorf("%+v, %v", order, err)
	}
	if want := `{"checkout":"` + checkoutID + `"}`; s.seen()[0].body != want {
		t.Errorf("body %s, want %s", s.seen()[0].body, want)
	}
}

func TestPlaceOrder_ReturnsTheCodeThatItRedeemed(t *testing.T) {
	_, c := serveTill(t, answers(200,
		strings.Replace(orderJSON, `"unitPrice"`, `"code":"SUMMER-20","nick":"Alder","unitPrice"`, 1)))
	if order, err := c.PlaceOrder(t.Context(), checkoutID, stripe()); err != nil || order.Code != "SUMMER-20" ||
		order.Nick != "Alder" {
		t.Errorf("%+v, %v", order, err)
	}
}

// A proxy that drops the query would pass off other orders as those of the nick.
func TestOrders_OfANick_OrdersWithoutANickAreRejected(t *testing.T) {
	ofAlder := strings.Replace(orderJSON, `"unitPrice"`, `"nick":"Alder","unitPrice"`, 1)
	_, c := serveTill(t, answers(200, ordersJSON("null", ofAlder)),
		answers(200, ordersJSON("null", ofAlder, orderJSON)))
	filter := client.OrderFilter{Nick: "ALDER"}
	if pages, err := collect(t, c.Orders(t.Context(), filter)); err != nil || len(pages) != 1 {
		t.Errorf("%+v, %v", pages, err)
	}
	if pages, err := collect(t, c.Orders(t.Context(), filter)); len(pages) != 0 || err == nil {
		t.Errorf("%+v: it was accepted", pages)
	}
}

func TestPlaceOrder_FulfilledOrder_IsReplayed(t *testing.T) {
	_, c := serveTill(t, answers(200, fulfilledJSON(), "Idempotency-Replayed", "true"))
	if order, err := c.PlaceOrder(t.Context(), checkoutID, stripe()); err != nil ||
		order.Status != client.OrderFulfilled || !order.Replayed {
		t.Errorf("%+v, %v", order, err)
	}
}

func TestOrder_IncompleteOrForeignResponse_IsRejected(t *testing.T) {
	for name, change := range map[string][2]string{
		"another order":        {`"ySBD`, `"ySBE`},
		"without ID":           {`"id"`, `"di"`},
		"without status":       {`"status"`, `"state"`},
		"without product":      {`"product"`, `"item"`},
		"without variant":      {`"variant"`, `"form"`},
		"without amount":       {`"amount"`, `"count"`},
		"without data":         {`"data"`, `"date"`},
		"without unit price":   {`"unitPrice"`, `"price"`},
		"without total":        {`"total"`, `"sum"`},
		"mixed currencies":     {`"minor":0,"currency":"EUR"`, `"minor":0,"currency":"JPY"`},
		"a float":              {`"minor":799`, `"minor":7.99`},
		"without creation":     {`"createdAt"`, `"made"`},
		"without time":         {`"orderedAt"`, `"at"`},
		"a malformed time":     {`"2026-11-21T09:12:04.118Z"`, `"yesterday"`},
		"no payment":           {`{"provider":"stripe","reference":"pi_3Q0001"}`, `null`},
		"without reference":    {`"reference"`, `"ref"`},
		"fulfilled, no time":   {`"placed"`, `"fulfilled"`},
		"cancelled, no time":   {`"placed"`, `"cancelled","cancelReason":"Alder asked for it."`},
		"cancelled, no reason": {`"placed"`, `"cancelled","cancelledAt":"2026-11-21T10:00:00.000Z"`},
		"placed, yet cancelled": {
			`"placed"`,
			`"placed","cancelledAt":"2026-11-21T10:00:00.000Z","cancelReason":"Alder asked for it."`,
		},
		"text after the JSON": {`"since":"2027"}`, `"since":"2027"}{}`},
	} {
		inBubble(t, name, func(t *testing.T) {
			changed := strings.Replace(orderJSON, change[0], change[1], 1)
			if changed == orderJSON {
				t.Fatalf("the response has no %s", change[0])
			}
			_, c := serveTill(t, answers(200, changed))
			for called, call := range orderCalls() {
				order, err := call.call(c, t.Context(), checkoutID)
				if _, is := errors.AsType[*client.ResponseError](err); !is || order.ID != "" {
					t.Errorf("%s: %+v, %v: it was accepted", called, order, err)
				}
			}
		})
	}
}

// A response with status 200 does not prove that the change was applied.
func TestOrder_ResponseWithoutTheChange_IsRejected(t *testing.T) {
	otherPayment := strings.Replace(orderJSON, "pi_3Q0001", "pi_3Q0002", 1)
	for name, bodies := range map[string][]string{
		"place": {otherPayment, cancelledJSON()},
		"fulfil": {
			orderJSON, cancelledJSON(),
			strings.Replace(fulfilledJSON(), `"fulfilled"`,
				`"cancelled","cancelledAt":"2026-11-21T10:00:00Z","cancelReason":"-"`, 1),
		},
		"cancel": {orderJSON, fulfilledJSON()},
	} {
		for _, body := range bodies {
			_, c := serveTill(t, answers(200, body))
			order, err := orderCalls()[name].call(c, t.Context(), checkoutID)
			if _, is := errors.AsType[*client.ResponseError](err); !is || !wantFailure(t, err, "") {
				t.Errorf("%s: %+v, %v: it was accepted", name, order, err)
			}
		}
	}
}

func TestShowOrder_EveryStatus_IsReturned(t *testing.T) {
	for body, status := range map[string]client.OrderStatus{
		orderJSON: client.OrderPlaced, fulfilledJSON(): client.OrderFulfilled, cancelledJSON(): client.OrderCancelled,
		orderWith("disputed", ""): "disputed", // the caller must handle unknown states
	} {
		_, c := serveTill(t, answers(200, body))
		if order, err := c.ShowOrder(t.Context(), checkoutID); err != nil || order.Status != status {
			t.Errorf("%+v, %v, want %s", order, err, status)
		}
	}
}

func TestOrder_MalformedArgumentsAreNotSent(t *testing.T) {
	s, till := serveTill(t, answers(200, orderJSON))
	stranger := newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http))
	for name, call := range orderCalls() {
		for _, id := range []string{"", "..", "a/b", checkoutID + "?", checkoutID + "%", "ü", strings.Repeat("a", 65)} {
			if _, err := call.call(till, t.Context(), id); !errors.Is(err, client.ErrMalformedID) {
				t.Errorf("%s %q: %v", name, id, err)
			}
		}
		if _, err := call.call(stranger, t.Context(), checkoutID); !errors.Is(err, client.ErrNoServerKey) {
			t.Errorf("%s without a key: %v", name, err)
		}
	}
	if _, err := till.ShowCheckout(t.Context(), "../orders"); !errors.Is(err, client.ErrMalformedID) {
		t.Errorf("show checkout: %v", err)
	}
	if _, err := collect(t, stranger.Orders(t.Context(), client.OrderFilter{})); !errors.Is(err,
		client.ErrNoServerKey) {
		t.Errorf("list without a key: %v", err)
	}
	if len(s.seen()) > 0 {
		t.Errorf("requests %+v", s.seen())
	}
}

// ordersJSON returns a page of orders. next is the path of the next page in quotes, or null.
func ordersJSON(next string, orders ...string) string {
	return fmt.Sprintf(`{"orders":[%s],"next":%s,"since":"2027"}`, strings.Join(orders, ","), next)
}

// orderAt returns an order that was placed at a second past 09:12.
func orderAt(second int) string {
	return strings.NewReplacer("ySBD", fmt.Sprintf("yS%02d", second), "09:12:04",
		fmt.Sprintf("09:12:%02d", second)).Replace(orderJSON)
}

// idsOf returns the beginnings of the IDs on each page of orders.
func idsOf(pages [][]client.PlacedOrder) [][]string {
	ids := make([][]string, len(pages))
	for i, page := range pages {
		for _, order := range page {
			ids[i] = append(ids[i], order.ID[:4])
		}
	}
	return ids
}

// A page without an order of the wanted status is empty, although more pages follow.
func TestOrders_IteratesOverAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := func(cursor string) string { return `"/shop/emberforge/orders?cursor=` + cursor + `&status=placed"` }
		s, c := serveTill(t,
			answers(200, ordersJSON(next("Y2"), orderAt(30), orderAt(20))), hangsUp,
			answers(200, ordersJSON(next("Y3"))),
			problem("unavailable", 503), answers(200, ordersJSON("null", orderAt(20), orderAt(10))))
		pages, err := collect(t, c.Orders(t.Context(), client.OrderFilter{Status: client.OrderPlaced}))
		if got, want := idsOf(pages), [][]string{{"yS30", "yS20"}, nil, {"yS20", "yS10"}}; err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		var got []string
		for _, r := range s.seen() {
			got = append(got, strings.TrimPrefix(r.uri, "/base/shop/emberforge/orders?"))
			if r.method != "GET" || r.body != "" || r.header.Get("Authorization") != "Bearer "+serverKey {
				t.Errorf("request %+v", r)
			}
		}
		const second, third = "cursor=Y2&status=placed", "cursor=Y3&status=placed"
		if want := []string{"status=placed", second, second, third, third}; !slices.Equal(got, want) {
			t.Errorf("requests %q, want %q", got, want)
		}
	})
}

func TestOrders_StopsRequestingWhenTheLoopEnds(t *testing.T) {
	s, c := serveTill(t, answers(200, ordersJSON(`"/shop/emberforge/orders?cursor=Y2"`, orderJSON)))
	for page, err := range c.Orders(t.Context(), client.OrderFilter{}) {
		if err != nil || !reflect.DeepEqual(page, []client.PlacedOrder{placed()}) {
			t.Errorf("%+v, %v", page, err)
		}
		break
	}
	if len(s.seen()) != 1 {
		t.Errorf("%d requests, want 1", len(s.seen()))
	}
}

func TestOrders_FiltersBecomeQueries(t *testing.T) {
	noon := time.Date(2026, time.November, 21, 13, 0, 0, 5e6, time.FixedZone("CET", 3600))
	for uri, filter := range map[string]client.OrderFilter{
		"/base/shop/emberforge/orders": {},
		"/base/shop/emberforge/orders?limit=200&status=fulfilled": {
			Status:   client.OrderFulfilled,
			PageSize: 200,
		},
		"/base/shop/emberforge/orders?nick=Alder+%26+Birch&status=placed": {
			Status: client.OrderPlaced,
			Nick:   "Alder & Birch",
		},
		"/base/shop/emberforge/orders?from=2026-11-21T12%3A00%3A00.005Z": {From: noon},
		// for the service to refuse
		"/base/shop/emberforge/orders?limit=-1&to=2026-11-21T12%3A00%3A00Z": {
			Until:    noon.Truncate(time.Second),
			PageSize: -1,
		},
		"/base/shop/emberforge/orders?from=1969-12-31T00%3A00%3A00Z&status=new": {From: time.Date(1969, 12, 31, 0, 0, 0,
			0, time.UTC), Status: "new"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, c := serveTill(t, problem("invalid", 422))
			if pages, err := collect(t, c.Orders(t.Context(), filter)); !errors.Is(err, client.ErrInvalid) ||
				len(pages) != 0 || s.seen()[0].uri != uri {
				t.Errorf("%+v: %v, %+v", filter, err, s.seen())
			}
		})
	}
}

func TestOrders_Responses(t *testing.T) {
	for name, test := range map[string]struct {
		steps []step
		pages int
		is    error // nil: a *ResponseError, or no error if ok
		ok    bool
	}{
		"no orders": {[]step{answers(200, ordersJSON("null"))}, 1, nil, true},
		"orders of the same time": {
			[]step{answers(200, ordersJSON("null", orderAt(9), orderAt(9)))},
			1, nil,
			true,
		},
		"unauthorized": {[]step{problem("unauthorized", 401)}, 0, client.ErrUnauthorized, false},
		"unavailable":  {[]step{problem("unavailable", 503)}, 0, client.ErrUnavailable, false},
		"no route":     {[]step{message(404)}, 0, client.ErrWrongBaseURL, false},
		"an error on the second page": {[]step{
			answers(200, ordersJSON(`"/shop/emberforge/orders?cursor=Y2"`)),
			problem("malformed-request", 400),
		}, 1, client.ErrMalformedRequest, false},
		"more than 4 MB": {
			[]step{answers(200, ordersJSON("null")+strings.Repeat(" ", 4_000_000))},
			0,
			nil, false,
		},
		"another status": {[]step{answers(200, ordersJSON("null", cancelledJSON()))}, 0, nil, false},
		"an incomplete order": {
			[]step{answers(200, ordersJSON("null", orderWith("cancelled", "")))},
			0, nil,
			false,
		},
		"the oldest first": {
			[]step{answers(200, ordersJSON("null", orderAt(10), orderAt(20)))},
			0, nil,
			false,
		},
		"page two has a newer order": {[]step{
			answers(200,
				ordersJSON(`"/shop/emberforge/orders?cursor=Y2"`, orderAt(10))),
			answers(200, ordersJSON("null", orderAt(20))),
		}, 1, nil, false},
		"page two leads to itself": {
			[]step{answers(200, ordersJSON(`"/shop/emberforge/orders?cursor=Y2"`))},
			1,
			nil, false,
		},
		"orders are missing": {[]step{answers(200, `{"next":null}`)}, 0, nil, false},
		"next is missing":    {[]step{answers(200, `{"orders":[]}`)}, 0, nil, false},
		"another customer's next page": {
			[]step{answers(200, ordersJSON(`"/shop/sakura-goods/orders?cursor=Y2"`))},
			0,
			nil, false,
		},
		"next is a URL": {[]step{answers(200,
			ordersJSON(`"https://shop.example/shop/emberforge/orders?cursor=Y2"`))}, 0, nil, false},
		"next has no query":             {[]step{answers(200, ordersJSON(`"/shop/emberforge/orders"`))}, 0, nil, false},
		"another server's page":         {[]step{page(200)}, 0, nil, false},
		"not modified, without an ETag": {[]step{answers(304, "")}, 0, nil, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, c := serveTill(t, test.steps...)
			wantPages(t, c.Orders(t.Context(), client.OrderFilter{Status: client.OrderPlaced}), test.pages, test.ok,
				test.is)
		})
	}
}
