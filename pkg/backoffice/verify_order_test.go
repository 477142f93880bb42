package backoffice_test

import (
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/money"
)

// orderedAs orders the open checkout. Then it fulfils and cancels the order, as far as the status requires. All of that
// happens at the time when the shop opened.
func (s *shop) orderedAs(status checkout.OrderStatus) {
	s.t.Helper()
	var id checkout.ID
	for _, it := range s.items(s.names.Checkouts, "") {
		if it.text("status") == "open" {
			id = checkout.ID(it.text("id"))
		}
	}
	orders := checkout.Orders{Store: dynamo.NewOrders(s.client, s.names.Checkouts, s.names.Vouchers, mathrand.Int64N)}
	payment := checkout.Payment{Provider: "stripe", Reference: "pi_3MtwBwLkdIwHu7ix28a3tqPa"}
	_, _, err := orders.Place(s.t.Context(), s.shop, id, payment, s.opened)
	if err == nil && status != checkout.OrderPlaced {
		_, _, err = orders.Fulfil(s.t.Context(), s.shop, id, s.opened)
	}
	if err == nil && status == checkout.OrderCancelled {
		_, _, err = orders.Cancel(s.t.Context(), s.shop, id, "chargeback", s.opened)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// everyOrder leaves an order of each status.
func everyOrder(s *shop) {
	s.t.Helper()
	for _, status := range checkout.OrderStatuses() {
		s.checkOut(s.opened)
		s.orderedAs(status)
	}
}

// damagedOrders damages orders. Some of its cases only verify a correct order at a chosen time.
func damagedOrders() []damage {
	damaged := func(status checkout.OrderStatus, change func(attributes)) func(*shop) {
		return func(s *shop) {
			s.orderedAs(status)
			s.changeCheckout(change)
		}
	}
	later := func(name string, by time.Duration) func(attributes) {
		return func(it attributes) { it.add(name, by.Milliseconds()) }
	}
	orderedLater := func(by time.Duration) func(attributes) {
		return func(it attributes) {
			it["ordered"] = text(fmt.Sprintf("%013d#%s", it.number("created")+by.Milliseconds(), it.text("id")[:22]))
		}
	}
	without := func(name string) func(attributes) { return func(it attributes) { delete(it, name) } }
	having := func(name, value string) func(attributes) { return func(it attributes) { it[name] = text(value) } }
	free := func(it attributes) { it["unitPrice"], it["subtotal"], it["total"] = number(0), number(0), number(0) }
	const placed, fulfilled, cancelled = checkout.OrderPlaced, checkout.OrderFulfilled, checkout.OrderCancelled
	const last = checkout.Lifetime + checkout.LateOrders - time.Millisecond
	malformed, future := []string{"malformed "}, []string{"in_the_future "}
	return []damage{
		{what: "an order that is three years old", after: 3 * 365 * day, do: damaged(cancelled, func(attributes) {})},
		{
			what: "an order without its payment", want: []string{"unpaid_order "},
			do: damaged(placed, without("payment")),
		},
		{
			what: "a cancelled order without its payment", want: []string{"unpaid_order "},
			do: damaged(cancelled, without("payment")),
		},
		{
			what: "an order with a total of zero, without a payment",
			do:   damaged(placed, func(it attributes) { free(it); delete(it, "payment") }),
		},
		{what: "an order with a total of zero, with a payment", do: damaged(placed, free)},
		{
			what: "an order that will be deleted", want: []string{"deletion_time_differs "},
			do: damaged(placed, func(it attributes) {
				it["expiresAt"] = number(it.number("expires")/1000 + int64(8*day/time.Second))
			}),
		},
		{
			what: "an order whose total is wrong", want: []string{"price_differs "},
			do: damaged(placed, func(it attributes) {
				it.add("total", -1)
			}),
		},
		{
			what: "an order under the key of another ID", want: []string{"misplaced "},
			do: damaged(placed, having("sk", "LRLuWYz8-QoWsPfs4csHfg")),
		},
		{
			what: "an order in another bucket", want: []string{"misplaced "},
			do: damaged(placed, nextBucket),
		},

		{what: "ordered in the last moment", after: 8 * day, do: damaged(placed, orderedLater(last))},
		{
			what: "ordered after the last moment", after: 8 * day, want: malformed,
			do: damaged(placed, orderedLater(last+time.Millisecond)),
		},
		{
			what: "ordered long before it was created", want: malformed,
			do: damaged(placed, orderedLater(-11*time.Minute)),
		},
		{what: "ordered by a clock that is nine minutes slow", do: damaged(placed, orderedLater(-9*time.Minute))},
		{
			what: "fulfilled long before it was ordered", want: malformed,
			do: damaged(fulfilled, later("fulfilled", -11*time.Minute)),
		},
		{
			what: "fulfilled by a clock that is nine minutes slow",
			do:   damaged(fulfilled, later("fulfilled", -9*time.Minute)),
		},
		{
			what: "cancelled long before it was ordered", want: malformed,
			do: damaged(cancelled, later("cancelled", -11*time.Minute)),
		},
		{
			what: "cancelled by a clock that is nine minutes slow",
			do:   damaged(cancelled, later("cancelled", -9*time.Minute)),
		},
		{what: "ordered in the future", want: future, do: damaged(placed, orderedLater(11*time.Minute))},
		{what: "fulfilled in the future", want: future, do: damaged(fulfilled, later("fulfilled", 11*time.Minute))},
		{what: "cancelled in the future", want: future, do: damaged(cancelled, later("cancelled", 11*time.Minute))},

		{
			what: "an order that was turned back into an open checkout", want: malformed,
			do: damaged(placed, having("status", "open")),
		},
		{
			what: "an open checkout with a payment", want: malformed,
			do: func(s *shop) { s.changeCheckout(having("payment", "stripe#pi_1047")) },
		},
		{what: "an order without its time", want: malformed, do: damaged(placed, without("ordered"))},
		{what: "an order without its shelf", want: malformed, do: damaged(placed, without("shelf"))},
		{what: "an order on the shelf of no order", want: malformed, do: damaged(placed, having("shelf", "emberforge#08"))},
		{what: "an order whose time has another token", want: malformed, do: damaged(placed, func(it attributes) {
			it["ordered"] = text(it.text("ordered")[:13] + "#LRLuWYz8-QoWsPfs4csHfg")
		})},
		{what: "an order whose time has 12 digits", want: malformed, do: damaged(placed, func(it attributes) {
			it["ordered"] = text(it.text("ordered")[1:])
		})},
		{what: "an order whose time is a word", want: malformed, do: damaged(placed, having("ordered", "noon"))},
		{what: "a payment without a reference", want: malformed, do: damaged(placed, having("payment", "stripe"))},
		{
			what: "a payment with an invalid provider", want: malformed,
			do: damaged(placed, having("payment", "Stripe#pi_1047")),
		},
		{
			what: "a payment that is a number", want: malformed,
			do: damaged(placed, func(it attributes) { it["payment"] = number(1047) }),
		},
		{
			what: "a time of fulfilment that is a string", want: malformed,
			do: damaged(fulfilled, having("fulfilled", "noon")),
		},
		{
			what: "a time of cancellation that is a string", want: malformed,
			do: damaged(cancelled, having("cancelled", "noon")),
		},
		{
			what: "a cancelled order that was turned back into a placed one", want: malformed,
			do: damaged(cancelled, having("status", "ordered")),
		},
		{
			what: "a placed order with the reason of a cancellation", want: malformed,
			do: damaged(placed, having("reason", "chargeback")),
		},
		{
			what: "a cancelled order without the time of its cancellation", want: malformed,
			do: damaged(cancelled, without("cancelled")),
		},
		{what: "a cancelled order without a reason", want: malformed, do: damaged(cancelled, without("reason"))},
		{
			what: "a cancelled order with an invalid reason", want: malformed,
			do: damaged(cancelled, having("reason", "charge\nback")),
		},
	}
}

// damagedPayments damages what is stored about the stated amount of a payment, which two orders have spent.
func damagedPayments() []damage {
	paid := func(change func(s *shop, order checkout.ID)) func(*shop) {
		return func(s *shop) {
			orders := checkout.Orders{
				Store: dynamo.NewOrders(s.client, s.names.Checkouts, s.names.Vouchers, mathrand.Int64N),
			}
			payment := checkout.Payment{
				Provider: "stripe", Reference: "pi_3MtwBwLkdIwHu7ix28a3tqPa", Amount: money.Money{Minor: 10000, Currency: "EUR"},
			}
			s.checkOut(s.opened)
			var last checkout.ID
			for _, it := range s.items(s.names.Checkouts, "") {
				last = checkout.ID(it.text("id"))
				if _, _, err := orders.Place(s.t.Context(), s.shop, last, payment, s.opened); err != nil {
					s.t.Fatal(err)
				}
			}
			change(s, last)
		}
	}
	item := func(change func(attributes)) func(*shop) {
		return paid(func(s *shop, _ checkout.ID) {
			it := s.items(s.names.Checkouts, "pay#")[0]
			change(it)
			s.put(s.names.Checkouts, it)
		})
	}
	order := func(change func(attributes)) func(*shop) {
		return paid(func(s *shop, order checkout.ID) { s.changeCheckoutOf(checkout.Checkout{ID: order}, change) })
	}
	differs := []string{"allowance_differs "}
	return []damage{
		{what: "two orders of one payment", do: paid(func(*shop, checkout.ID) {})},
		{what: "less is spent than the orders cost", want: differs, do: item(func(it attributes) { it.add("used", -1); it.add("left", 1) })},
		{what: "more is spent than the orders cost", want: differs, do: item(func(it attributes) { it.add("used", 1); it.add("left", -1) })},
		{what: "nothing is stored about a stated amount", want: slices.Repeat(differs, 2), do: paid(func(s *shop, _ checkout.ID) {
			s.remove(s.names.Checkouts, s.items(s.names.Checkouts, "pay#")[0])
		})},
		{
			what: "another amount is stored", want: slices.Repeat(differs, 4),
			do: item(func(it attributes) { it.add("limit", 1) }),
		},
		{
			what: "an order states another amount", want: slices.Repeat(differs, 3),
			do: order(func(it attributes) { it.add("paid", 1) }),
		},
	}
}
