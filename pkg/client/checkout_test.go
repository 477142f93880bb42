package client_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		`"unitPrice"`, `"code":"SUMMER-20","nick":"Alder","unitPrice"`, "9007199254740991", "799", "90071992547409.91",
		"7.99",
		`"discount":{"minor":0,"currency":"EUR","display":"0.00 EUR"},"total":{"minor":9007199254740991,`+
			`"currency":"EUR","display":"90071992547409.91 EUR"}`,
		`"discount":{"minor":159,"currency":"EUR","display":"1.59 EUR"},"total":{"minor":640,"currency":"EUR",`+
			`"display":"6.40 EUR"}`,
	).Replace(checkoutJSON)
}

func TestCheckout_ReturnsTheCheckout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serve(t, loses(keeps(checkoutJSON)), keeps(checkoutJSON))
		checkout, err := c.Checkout(t.Context(), vipRank(), client.WithKey("till-1047"))
		if err != nil {
			t.Fatal(err)
		}
		price := client.Money{Minor: 1<<53 - 1, Currency: "EUR", Display: "90071992547409.91 EUR"}
		if checkout.ID != "ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw" || checkout.Status != client.CheckoutOpen ||
			checkout.Product != "vip-rank" || checkout.Variant != "30-days" ||
			checkout.Amount != 1 || string(checkout.Data) != `{"player":"Alder"}` || checkout.UnitPrice != price ||
			checkout.Subtotal != price ||
			checkout.Discount != (client.Money{Currency: "EUR", Display: "0.00 EUR"}) || checkout.Total != price ||
			checkout.ExpiresAt.Sub(checkout.CreatedAt) != 30*time.Minute || !checkout.Replayed {
			t.Errorf("checkout %+v", checkout)
		}
		for _, r := range s.seen() {
			path, query, _ := strings.Cut(r.uri, "?")
			values, err := url.ParseQuery(query)
			if r.method != "GET" || path != "/base/shop/emberforge/checkout/vip-rank/30-days" || err != nil ||
				len(values) != 2 ||
				values.Get("amount") != "1" || values.Get("data") != vipRank().Data || r.body != "" ||
				r.header.Get("Idempotency-Key") != "till-1047" {
				t.Errorf("request %+v", r)
			}
		}
	})
}

func TestCheckout_OrdersBecomeQueries(t *testing.T) {
	for uri, order := range map[string]client.Order{
		"/base/shop/emberforge/checkout/coins/500?amount=1": {
			Product: "coins",
			Variant: "500",
		},
		"/base/shop/emberforge/checkout/coins/500?amount=3": {
			Product: "coins",
			Variant: "500", Amount: 3,
		},
		// for the service to refuse
		"/base/shop/emberforge/checkout/coins/500?amount=-3": {Product: "coins", Variant: "500", Amount: -3},
		"/base/shop/emberforge/checkout/t-shirt/xl?amount=1&data=a%2Fb+": {
			Product: "t-shirt",
			Variant: "xl", Data: "a/b ",
		},
		"/base/shop/emberforge/checkout/coins/500?amount=1&code=summer+20&nick=%C3%84rl": {
			Product: "coins",
			Variant: "500", Code: "summer 20", Nick: "Ärl",
		},
		"/base/shop/emberforge/checkout/coins/500?amount=2&replaces=" +
			checkoutID: {Product: "coins", Variant: "500", Amount: 2, Replaces: checkoutID},
	} {
		s, c := serve(t, problem("invalid", 422))
		_, err := c.Checkout(t.Context(), order)
		if !errors.Is(err, client.ErrInvalid) || s.seen()[0].uri != uri {
			t.Errorf("%+v: %v, %+v", order, err, s.seen())
		}
	}
}

func TestCheckout_WithACode_ReturnsTheDiscount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serve(t, loses(keeps(discountedJSON())), keeps(discountedJSON()))
		checkout, err := c.Checkout(t.Context(), summerRank())
		if err != nil || checkout.Code != "SUMMER-20" || checkout.Nick != "Alder" || checkout.Discount.Minor != 159 ||
			checkout.Total.Minor != 640 ||
			!checkout.Replayed {
			t.Errorf("%+v, %v", checkout, err)
		}
		if keys := s.keys(); len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("keys %q", keys)
		}
	})
}

// A lost attempt may have stored a checkout that holds the code's last use. So a refusal is final only when the lost
// attempt cannot be applied any more.
func TestCheckout_RefusedCode_IsFinalOnceNoLostAttemptCanBeApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := problem("code-refused", 409)
		s, c := serve(t, hangsUp, refused, refused)
		began := time.Now()
		_, err := c.Checkout(t.Context(), summerRank())
		if !errors.Is(err, client.ErrCodeRefused) || len(s.seen()) != 3 ||
			time.Since(began) < client.DefaultAttemptTimeout || wantFailure(t, err, s.keys()[0]) {
			t.Errorf("%v after %d requests and %v", err, len(s.seen()), time.Since(began))
		}
		s, c = serve(t, refused)
		began = time.Now()
		if _, err = c.Checkout(t.Context(), summerRank()); !errors.Is(err, client.ErrCodeRefused) ||
			len(s.seen()) != 1 || time.Since(began) > time.Second {
			t.Errorf("%v after %d requests and %v", err, len(s.seen()), time.Since(began))
		}
	})
}

// The service responds with 429 to a source with too many holds before it looks for an earlier attempt.
func TestCheckout_TooManyHolds_OutcomeOfALostAttemptStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := problem("too-many-holds", 429, "Retry-After", "1200")
		s, c := serve(t, full)
		if _, err := c.Checkout(t.Context(), summerRank()); !errors.Is(err, client.ErrTooManyHolds) ||
			len(s.seen()) != 1 || wantFailure(t, err, s.keys()[0]) {
			t.Errorf("%v after %d requests", err, len(s.seen()))
		}
		s, c = serve(t, loses(keeps(discountedJSON())), full)
		if _, err := c.Checkout(t.Context(), summerRank()); !errors.Is(err, client.ErrTooManyHolds) ||
			!wantFailure(t, err, s.keys()[0]) {
			t.Errorf("%v: want an unknown outcome", err)
		}
	})
}

func TestCheckout_MalformedIDOfTheEarlierCheckout_IsNotSent(t *testing.T) {
	s, c := serve(t, answers(200, checkoutJSON))
	order := vipRank()
	order.Replaces = "../orders"
	if _, err := c.Checkout(t.Context(), order); !errors.Is(err, client.ErrMalformedID) || len(s.seen()) > 0 {
		t.Errorf("%v after %d requests", err, len(s.seen()))
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
			vipRank(),
			strings.Replace(checkoutJSON, `"amount"`, `"nick":"Alder","amount"`, 1),
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

func TestCheckout_IncompleteOrForeignResponse_IsRejected(t *testing.T) {
	for name, change := range map[string][2]string{
		"another product":    {`"vip-rank"`, `"coins"`},
		"another variant":    {`"30-days"`, `"90-days"`},
		"another amount":     {`"amount":1`, `"amount":2`},
		"expired":            {`"open"`, `"expired"`},
		"without ID":         {`"id"`, `"di"`},
		"without data":       {`"data"`, `"date"`},
		"without total":      {`"total"`, `"sum"`},
		"without discount":   {`"discount"`, `"rebate"`},
		"without unit price": {`"unitPrice"`, `"price"`},
		"a null amount":      {`"minor":0`, `"minor":null`},
		"mixed currencies":   {`"minor":0,"currency":"EUR"`, `"minor":0,"currency":"JPY"`},
		"a negative amount":  {`"minor":0`, `"minor":-1`},
		"without expiry":     {`"expiresAt"`, `"until"`},
		"expired when made":  {"09:41:23", "08:41:23"},
		"a float":            {"9007199254740991", "90071992547409.91"},
	} {
		inBubble(t, name, func(t *testing.T) {
			changed := strings.Replace(checkoutJSON, change[0], change[1], 1)
			if changed == checkoutJSON {
				t.Fatalf("the response has no %s", change[0])
			}
			_, c := serve(t, answers(200, changed))
			checkout, err := c.Checkout(t.Context(), vipRank(), client.WithKey("till-1047"))
			unknown, is := errors.AsType[*client.OutcomeUnknownError](err)
			if !is || unknown.Key != "till-1047" || checkout.ID != "" {
				t.Errorf("%+v, %v: it was accepted", checkout, err)
			}
			wantNoSecrets(t, err)
		})
	}
}

// The URL of a checkout contains data, and net/http puts URLs into its errors.
func TestCheckout_LostResponse_ErrorHasNoData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := serve(t, hangsUp)
		_, err := c.Checkout(t.Context(), vipRank(), client.WithKey("till-1047"))
		if _, unknown := errors.AsType[*client.OutcomeUnknownError](err); !unknown {
			t.Errorf("error %v", err)
		}
		wantNoSecrets(t, err)
	})
}

const checkoutID = "ySBDAj4aT84YTR_U3sQzxwfPkI5GrohS55kPQs7VRFUw"

func TestShowCheckout_ReturnsTheCheckout(t *testing.T) {
	const unknownStatus = "disputed"
	for _, status := range []client.CheckoutStatus{
		client.CheckoutOpen, client.CheckoutExpired, client.CheckoutOrdered,
		client.CheckoutReleased, unknownStatus,
	} {
		synctest.Test(t, func(t *testing.T) {
			stored := answers(200, strings.Replace(checkoutJSON, "open", string(status), 1))
			s, c := serveTill(t, hangsUp, problem("unavailable", 503), cutsShort(stored), stored)
			checkout, err := c.ShowCheckout(t.Context(), checkoutID)
			if err != nil || checkout.ID != checkoutID || checkout.Status != status ||
				string(checkout.Data) != `{"player":"Alder"}` ||
				checkout.Total.Minor != 1<<53-1 || checkout.Replayed {
				t.Errorf("%+v, %v", checkout, err)
			}
			for _, r := range s.seen() {
				if r.method != "GET" || r.uri != "/base/shop/emberforge/checkouts/"+checkoutID || r.body != "" ||
					r.header["Idempotency-Key"] != nil {
					t.Errorf("request %+v", r)
				}
			}
		})
	}
}

func TestShowCheckout_OnlyTheShopsServerGetsTheData(t *testing.T) {
	withoutData := answers(200, strings.Replace(checkoutJSON, `"data":{"player":"Alder"},`, "", 1))
	_, stranger := serve(t, withoutData)
	if checkout, err := stranger.ShowCheckout(t.Context(), checkoutID); err != nil || checkout.Data != nil ||
		checkout.Product != "vip-rank" {
		t.Errorf("%+v, %v", checkout, err)
	}
	_, server := serveTill(t, withoutData)
	if checkout, err := server.ShowCheckout(t.Context(), checkoutID); err == nil {
		t.Errorf("%+v: it was accepted", checkout)
	}
}

// Reading changes nothing. So its outcome is never unknown, and a refusal is final at once.
func TestShowCheckout_Failure_IsFinal(t *testing.T) {
	for name, test := range map[string]struct {
		steps    []step
		is       error // nil: a *ResponseError
		requests int
	}{
		"unknown":             {[]step{hangsUp, problem("not-found", 404)}, client.ErrNotFound, 2},
		"unauthorized":        {[]step{problem("unauthorized", 401)}, client.ErrUnauthorized, 1},
		"unavailable":         {[]step{problem("unavailable", 503)}, client.ErrUnavailable, 4},
		"no route":            {[]step{message(404)}, client.ErrWrongBaseURL, 1},
		"another checkout":    {[]step{answers(200, strings.Replace(checkoutJSON, "ySBD", "ySBE", 1))}, nil, 1},
		"without status":      {[]step{answers(200, strings.Replace(checkoutJSON, `"status"`, `"state"`, 1))}, nil, 1},
		"without total":       {[]step{answers(200, strings.Replace(checkoutJSON, `"total"`, `"sum"`, 1))}, nil, 1},
		"another site's page": {[]step{page(200)}, nil, 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, c := serveTill(t, test.steps...)
			checkout, err := c.ShowCheckout(t.Context(), checkoutID)
			_, notUnderstood := errors.AsType[*client.ResponseError](err)
			if checkout.ID != "" || len(s.seen()) != test.requests || notUnderstood != (test.is == nil) ||
				test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%+v, %v after %d requests, want %v after %d", checkout, err, len(s.seen()), test.is,
					test.requests)
			}
			if wantFailure(t, err, checkoutID) {
				t.Errorf("%v: the outcome is unknown", err)
			}
		})
	}
}
