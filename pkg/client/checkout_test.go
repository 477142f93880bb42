package client_test

import (
	"errors"
	"strings"
	"testing"

	"shopfront/pkg/client"
)

func vipRank() client.Order {
	return client.Order{Product: "vip-rank", Variant: "30-days", Data: `{"player":"Alder & Birch + 1"}`}
}

// summerRank returns the order of vipRank with a code that takes 20 % off.
func summerRank() client.Order {
	order := vipRank()
	order.Code, order.Nick = "summer 20", "Alder"
	return order
}

// discountedJSON returns a checkout of summerRank.
func discountedJSON() string {
	return strings.NewReplacer(
		`"unitPrice"`, `"code":"SUMMER-20","nick":"Alder","unitPrice"`,
		`"minor":0,"currency":"EUR","display":"0.00 EUR"`, `"minor":159,"currency":"EUR","display":"1.59 EUR"`,
		`"total":{"minor":799,"currency":"EUR","display":"7.99 EUR"`,
		`"total":{"minor":640,"currency":"EUR","display":"6.40 EUR"`,
	).Replace(checkoutJSON)
}

func TestCheckout_OrdersBecomeQueries(t *testing.T) {
	for query, order := range map[string]client.Order{
		"amount=1":                              {},
		"amount=3":                              {Amount: 3},
		"amount=-3":                             {Amount: -3}, // for the service to refuse
		"amount=1&data=a%2Fb+":                  {Data: "a/b "},
		"amount=1&code=summer+20&nick=%C3%84rl": {Code: "summer 20", Nick: "Ärl"},
		"amount=2&replaces=" + checkoutID:       {Amount: 2, Replaces: checkoutID},
	} {
		order.Product, order.Variant = "coins", "500"
		s, c := serve(t, problem("invalid", 422))
		_, err := c.Checkout(t.Context(), order)
		if !errors.Is(err, client.ErrInvalid) || s.seen()[0].uri != "/base/shop/emberforge/checkout/coins/500?"+query {
			t.Errorf("%+v: %v, %+v", order, err, s.seen())
		}
	}
}

func TestCheckout_WithACode_ReturnsTheDiscount(t *testing.T) {
	_, c := serve(t, answers(200, discountedJSON()))
	checkout, err := c.Checkout(t.Context(), summerRank())
	if err != nil || checkout.Code != "SUMMER-20" || checkout.Nick != "Alder" || checkout.Discount.Minor != 159 ||
		checkout.Total.Minor != 640 || checkout.Replayed {
		t.Errorf("%+v, %v", checkout, err)
	}
}

// A shopper must not pay the full price because a part of the query was lost. Nor must a shopper get a discount without
// a code.
func TestCheckout_ResponseWithAnotherCode_IsRejected(t *testing.T) {
	for name, test := range map[string]struct {
		order    client.Order
		response string
	}{
		"no code, though one was sent": {summerRank(), checkoutJSON},
		"a code, though none was sent": {vipRank(), strings.Replace(discountedJSON(), `"nick":"Alder",`, "", 1)},
		"a nick, though none was sent": {
			vipRank(), strings.Replace(checkoutJSON, `"amount"`, `"nick":"Alder","amount"`, 1),
		},
		"an empty code, though one was sent": {summerRank(), strings.Replace(discountedJSON(), "SUMMER-20", "", 1)},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, c := serve(t, answers(200, test.response))
			if checkout, err := c.Checkout(t.Context(), test.order, client.WithKey("till-1047")); !wantFailure(t, err,
				"till-1047") || checkout.ID != "" {
				t.Errorf("%+v, %v: it was accepted", checkout, err)
			}
		})
	}
}

const checkoutID, checkoutNumber = "ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw", "HCAXP-3GGED"

func TestShowCheckout_EveryStatus_IsReturned(t *testing.T) {
	for _, status := range []client.CheckoutStatus{
		client.CheckoutOpen, client.CheckoutExpired, client.CheckoutOrdered, client.CheckoutReleased,
		"disputed", // the caller must handle unknown states
	} {
		for _, id := range []string{checkoutID, checkoutNumber} {
			_, c := serve(t, answers(200, strings.Replace(checkoutJSON, "open", string(status), 1)))
			if checkout, err := c.ShowCheckout(t.Context(), id); err != nil || checkout.Status != status {
				t.Errorf("%s: %+v, %v, want %s", id, checkout, err, status)
			}
		}
	}
}

func TestShowCheckout_Stranger_GetsNoData(t *testing.T) {
	_, c := serve(t, answers(200, strings.Replace(checkoutJSON, `"data":{"player":"Alder"},`, "", 1)))
	if checkout, err := c.ShowCheckout(t.Context(), checkoutID); err != nil || checkout.Data != nil ||
		checkout.Product != "vip-rank" {
		t.Errorf("%+v, %v", checkout, err)
	}
}
