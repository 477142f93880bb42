package dynamo_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
)

// paidWith returns a payment that states an amount in euros.
func paidWith(reference string, minor int64) checkout.Payment {
	payment := stripe(reference)
	payment.Amount = money.Money{Minor: minor, Currency: "EUR"}
	return payment
}

func (k *till) place(c checkout.Checkout, payment checkout.Payment) (checkout.Checkout, bool, error) {
	k.t.Helper()
	return k.orders.Place(within(k.t), emberforge, c.ID, payment, noon())
}

// The first amount with which an order of a payment is placed stands, and bounds the orders that state it.
func TestPlace_StatedAmount_BoundsTheOrdersOfThePayment(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	total := k.mustOpen(coins("")).Total.Minor
	inCents := func(payment checkout.Payment, currency money.Currency) checkout.Payment {
		payment.Amount.Currency = currency
		return payment
	}
	for _, step := range []struct {
		what    string
		payment checkout.Payment
		want    error
		pointer string // of a *checkout.MemberError
	}{
		{what: "less than the total", payment: paidWith("pi_1", total-1), want: checkout.ErrPaymentInsufficient},
		{what: "another currency", payment: inCents(paidWith("pi_1", total), "SEK"), pointer: "/payment/currency"},
		{what: "the total, and a cent less than another", payment: paidWith("pi_1", 2*total-1)},
		{what: "a second order", payment: paidWith("pi_1", 2*total-1), want: checkout.ErrPaymentInsufficient},
		{what: "another amount", payment: paidWith("pi_1", 2*total), pointer: "/payment/amount"},
		{what: "no amount", payment: stripe("pi_1")},
		{what: "another reference", payment: paidWith("pi_2", total)},
		{what: "another provider", payment: checkout.Payment{
			Provider: "paypal", Reference: "pi_1", Amount: paidWith("", total).Amount,
		}},
	} {
		c := k.mustOpen(coins(""))
		before := k.items()
		got, replayed, err := k.place(c, step.payment)
		if member, is := errors.AsType[*checkout.MemberError](err); step.pointer != "" {
			if !is || member.Pointer != step.pointer {
				t.Errorf("%s: Place = %v; want a *checkout.MemberError about %s", step.what, err, step.pointer)
			}
		} else if !errors.Is(err, step.want) {
			t.Errorf("%s: Place = %v, want %v", step.what, err, step.want)
		}
		if err != nil {
			if after := k.items(); !reflect.DeepEqual(before, after) {
				t.Errorf("%s: stored %+v\nwant %+v", step.what, after, before)
			}
			continue
		}
		want := withOrder(checkout.Order{Payment: step.payment, Placed: noon()}, c)
		shown, err := k.orders.Show(t.Context(), emberforge, c.ID)
		if replayed || err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(shown, want) {
			t.Errorf("%s: %+v, shown %+v, %v; want %+v", step.what, got.Order, shown.Order, err, want.Order)
		}
	}
}

// A retry succeeds, whatever the payment has left, and the order keeps its amount. The payment of a cancelled order may
// have been refunded, so it stays spent.
func TestPlace_StatedAmountAgain_SpendsNothing(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	c := k.mustOpen(coins(""))
	payment := paidWith("pi_1", c.Total.Minor)
	k.must(k.place(c, payment))
	for what, again := range map[string]checkout.Payment{"the same": payment, "without the amount": stripe("pi_1")} {
		got, replayed, err := k.orders.Place(within(t), emberforge, c.ID, again, noon().Add(time.Second))
		if err != nil || !replayed || got.Order.Payment != payment {
			t.Errorf("again, %s: %+v, replayed %t, %v", what, got.Order, replayed, err)
		}
	}
	if _, _, err := k.place(c, paidWith("pi_1", c.Total.Minor+1)); err == nil {
		t.Error("again, with another amount: no error")
	}
	k.mustCancel(c)
	if _, _, err := k.place(k.mustOpen(coins("")), payment); !errors.Is(err, checkout.ErrPaymentInsufficient) {
		t.Errorf("after a cancellation: %v, want checkout.ErrPaymentInsufficient", err)
	}
}

// The order and its payment are written in one transaction, after one read. With a code the transaction also redeems.
func TestPlace_StatedAmount_TakesTwoCalls(t *testing.T) {
	t.Parallel()
	meter, client := metered(t)
	k := newTill(t)
	orders := ordersOf(client, k.checkouts)
	place := func(c checkout.Checkout, payment checkout.Payment) { // other tests check the response
		_, _, _ = orders.Place(within(t), emberforge, c.ID, payment, noon())
	}
	first, second := k.mustOpen(coins("")), k.mustOpen(coins(""))
	payment := paidWith("pi_cart", first.Total.Minor)
	for _, step := range []struct {
		what    string
		c       checkout.Checkout
		payment checkout.Payment
		want    []memdynamo.Units
	}{
		{"place", first, payment, []memdynamo.Units{{Read: 1}, {Write: 5}}}, // one of them in the index
		{"place again", first, payment, []memdynamo.Units{{Read: 1}}},
		{"place beyond the amount", second, payment, []memdynamo.Units{{Read: 1}, {Write: 4}}},
		{"place with less than the total", second, paidWith("pi_less", 1), []memdynamo.Units{{Read: 1}}},
	} {
		place(step.c, step.payment)
		var got []memdynamo.Units
		for _, call := range meter.Take() {
			got = append(got, call.Units)
		}
		if !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s takes %v, want %v", step.what, got, step.want)
		}
	}
}

// A list can be restricted to one payment, whether or not its orders state an amount.
func TestListOrders_Payment_SelectsItsOrders(t *testing.T) {
	t.Parallel()
	k := newTill(t)
	want := map[checkout.ID]bool{}
	for i, payment := range []checkout.Payment{
		stripe("pi_1"), stripe("pi_10"), paidWith("pi_1", 100000), {Provider: "paypal", Reference: "pi_1"},
	} {
		c := k.mustOpen(coins(fmt.Sprint(i)))
		k.must(k.place(c, payment))
		if payment.IsOf(stripe("pi_1")) {
			want[c.ID] = true
		}
	}
	for _, status := range []checkout.OrderStatus{"", checkout.OrderPlaced} {
		orders, _, err := k.orders.List(within(t), emberforge,
			checkout.OrderFilter{Payment: stripe("pi_1"), Status: status, Limit: 50})
		got := map[checkout.ID]bool{}
		for _, order := range orders {
			got[order.ID] = true
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("status %q: listed %v, %v; want %v", status, got, err, want)
		}
	}
}

// Only one of two open checkouts that share a use can be ordered. So the later one says that it shares, even if it
// replaces another one that shares. A checkout that takes over the use of the one that it replaces does not share.
func TestOpenHeld_SecondOpenCheckoutOfANick_SaysThatItShares(t *testing.T) {
	t.Parallel()
	for what, of := range kindsOfLimits() {
		if of.uses != 1 && of.ofNick != 1 {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStall(t)
			s.percent20(of.uses, of.ofNick)
			at := func(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }
			replacing := func(c checkout.Checkout, minutes int) checkout.Request {
				request := s.wanted("Alder", "", at(minutes))
				request.Replaces = c.ID
				return request
			}
			first := s.mustOpen(s.wanted("Alder", "", at(0)))
			moved := s.mustOpen(replacing(first, 1))
			later := s.wanted("Alder", "", at(2))
			later.Key = "cart-2"
			second := s.mustOpen(later)
			third := s.mustOpen(replacing(second, 3))
			for name, got := range map[string]struct{ is, want bool }{
				"the first": {first.SharesUse, false}, "its replacement": {moved.SharesUse, false},
				"the second": {second.SharesUse, true}, "the replacement of the second": {third.SharesUse, true},
			} {
				if got.is != got.want {
					t.Errorf("%s shares: %t, want %t", name, got.is, got.want)
				}
			}
			stored, err := s.opener.Store.Recall(within(t), emberforge, third.ID.Token())
			if err != nil || !stored.SharesUse {
				t.Errorf("read back: %+v, %v", stored, err)
			}
		})
	}
}
