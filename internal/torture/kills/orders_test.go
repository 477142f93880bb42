package kills_test

import (
	"fmt"
	"time"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/money"
)

// orderID is the ID of each shop's only checkout.
const orderID checkout.ID = "q83vEjRWeJASNFZ4kBI0Vg5ZHo9V0Hk3RmKUL0dT2g_-"

// paid is the payment of every order.
func paid() checkout.Payment {
	return checkout.Payment{Provider: "stripe", Reference: "pi_3QK8ZbF2eZvKYlo1"}
}

// ofOrder returns a command that changes an order. After the second run, a late write of the killed run must not change
// the stored order, not even a time in the order.
func ofOrder(verb string, prepare func(*round, subject), flags ...string) command {
	return command{
		kind: "order " + verb, isWhole: true, late: true, prepare: prepare,
		args: ofShop(append([]string{"order", verb, string(orderID)}, flags...)...),
		again: func(r *round, s subject, _ *process) {
			r.runAgain(s)
			r.printed[s] = []string{order(r, s)}
		},
		check: func(r *round, s subject, _ []keptItem) {
			if got := order(r, s); got != r.printed[s][0] {
				r.violation(r.t, "after a late write, the order is %s, want %s", got, r.printed[s][0])
			}
		},
	}
}

func orderPlace() command {
	return ofOrder("place", withCheckout, "--provider", paid().Provider, "--reference", paid().Reference)
}

// orderPlaceWithAmount also spends the payment, which verify checks.
func orderPlaceWithAmount() command {
	c := orderPlace()
	c.kind, c.args = "order place, with an amount", ofShop("order", "place", string(orderID),
		"--provider", paid().Provider, "--reference", paid().Reference, "--amount", "5.99")
	return c
}

func orderFulfil() command { return ofOrder("fulfil", withOrder) }

func orderCancel() command { return ofOrder("cancel", withOrder, "--reason", "refunded on request") }

// order returns the stored order as text.
func order(r *round, s subject) string {
	r.t.Helper()
	c, err := shopOf(r, s).Order(r.t.Context(), orderID)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%+v", *c.Order)
}

// withCheckout prepares a shop with a checkout.
func withCheckout(r *round, s subject) {
	r.t.Helper()
	withShop(r, s)
	checkouts := dynamo.NewCheckouts(dynamotest.Client(r.t), dynamo.Tables{Checkouts: r.Calm.Tables.Checkouts}, nil)
	at := time.Now().UTC().Truncate(time.Millisecond)
	if _, err := checkouts.Open(r.t.Context(),
		checkout.Opening{Shop: catalog.ShopID(s.shop), Checkout: openCheckout(at)}); err != nil {
		r.t.Fatal(err)
	}
}

// openCheckout returns a checkout that was made at a time.
func openCheckout(at time.Time) checkout.Checkout {
	price := money.Money{Minor: 599, Currency: currency}
	return checkout.Checkout{
		ID: orderID, Product: "coins", Variant: "500", Amount: 1, UnitPrice: price, Subtotal: price,
		Discount: money.Money{Currency: currency},
		Total:    price, Created: at, Expires: at.Add(checkout.Lifetime),
	}
}

// withOrder prepares a shop with an order.
func withOrder(r *round, s subject) {
	r.t.Helper()
	withCheckout(r, s)
	placeOrder(r, s)
}

func placeOrder(r *round, s subject) {
	r.t.Helper()
	if _, _, err := shopOf(r, s).PlaceOrder(r.t.Context(), orderID, paid(), began()); err != nil {
		r.t.Fatal(err)
	}
}
