package client_test

import (
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
		ID: checkoutID, Number: checkoutNumber, Status: client.OrderPlaced, Product: "vip-rank", Variant: "30-days",
		Amount:    1,
		Data:      []byte(`{"player":"Alder"}`),
		UnitPrice: price, Subtotal: price, Discount: client.Money{Currency: "EUR", Display: "0.00 EUR"}, Total: price,
		CreatedAt: time.Date(2026, time.November, 21, 9, 11, 23, 839e6, time.UTC),
		Payment:   stripe(),
		OrderedAt: time.Date(2026, time.November, 21, 9, 12, 4, 118e6, time.UTC),
	}
}

func fulfilled() client.PlacedOrder {
	order := placed()
	order.Status = client.OrderFulfilled
	order.FulfilledAt = time.Date(2026, time.November, 21, 9, 12, 5, 300e6, time.UTC)
	return order
}

func cancelled() client.PlacedOrder {
	order := placed()
	order.Status, order.CancelReason = client.OrderCancelled, "Alder asked for it."
	order.CancelledAt = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	return order
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

// An order that was placed without an amount is a replay for a request that states one.
func TestPlaceOrder_StatedAmount_IsSent(t *testing.T) {
	for _, answer := range []string{
		orderJSON, strings.Replace(orderJSON, `pi_3Q0001"`, `pi_3Q0001","amount":799,"currency":"EUR"`, 1),
	} {
		s, c := serveTill(t, answers(200, answer))
		payment := stripe()
		payment.Amount, payment.Currency = 799, "EUR"
		if order, err := c.PlaceOrder(t.Context(), checkoutID, payment); err != nil || order.Payment.Reference == "" {
			t.Errorf("%+v, %v", order, err)
		}
		want := `{"checkout":"` + checkoutID + `","payment":{"provider":"stripe","reference":"pi_3Q0001",` +
			`"amount":799,"currency":"EUR"}}`
		if s.seen()[0].body != want {
			t.Errorf("body %s, want %s", s.seen()[0].body, want)
		}
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

func TestPlaceOrder_FulfilledOrder_IsReplayed(t *testing.T) {
	_, c := serveTill(t, answers(200, fulfilledJSON(), "Idempotency-Replayed", "true"))
	if order, err := c.PlaceOrder(t.Context(), checkoutID, stripe()); err != nil ||
		order.Status != client.OrderFulfilled || !order.Replayed {
		t.Errorf("%+v, %v", order, err)
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
	for query, filter := range map[string]client.OrderFilter{
		"":                               {},
		"?payment=stripe%3Api_3Q0001":    {Payment: stripe()},
		"?status=fulfilled":              {Status: client.OrderFulfilled},
		"?to=2026-11-21T12%3A00%3A00.5Z": {Until: time.Date(2026, time.November, 21, 12, 0, 0, 5e8, time.UTC)},
		"?from=1969-12-31T00%3A00%3A00Z": {From: time.Date(1969, time.December, 31, 0, 0, 0, 0, time.UTC)},
		"?limit=-1&status=new":           {PageSize: -1, Status: "new"}, // for the service to refuse
	} {
		synctest.Test(t, func(t *testing.T) {
			s, c := serveTill(t, problem("invalid", 422))
			if pages, err := collect(t, c.Orders(t.Context(), filter)); !errors.Is(err, client.ErrInvalid) ||
				len(pages) != 0 || s.seen()[0].uri != "/base/shop/emberforge/orders"+query {
				t.Errorf("%+v: %v, %+v", filter, err, s.seen())
			}
		})
	}
}

func TestOrders_NewestComeFirst(t *testing.T) {
	for name, test := range map[string]struct {
		pages [][]string
		want  int // pages
		ok    bool
	}{
		"no orders":                  {[][]string{{}}, 1, true},
		"orders of the same time":    {[][]string{{orderAt(9), orderAt(9)}}, 1, true},
		"the oldest first":           {[][]string{{orderAt(10), orderAt(20)}}, 0, false},
		"page two has a newer order": {[][]string{{orderAt(10)}, {orderAt(20)}}, 1, false},
		"page two leads to itself":   {[][]string{{}, {}, {}}, 1, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			var steps []step
			for i, orders := range test.pages {
				next := `"/shop/emberforge/orders?cursor=Y2"`
				if i == len(test.pages)-1 {
					next = "null"
				}
				steps = append(steps, answers(200, ordersJSON(next, orders...)))
			}
			_, c := serveTill(t, steps...)
			wantPages(t, c.Orders(t.Context(), client.OrderFilter{Status: client.OrderPlaced}), test.want, test.ok)
		})
	}
}
