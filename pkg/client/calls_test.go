package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/client"
)

// caller is a client that makes one call.
type caller struct {
	*client.Client

	t       *testing.T
	id      string // of the checkout, order or redemption that the call is about
	options []client.CallOption
}

// call is a call of the client, with the request that it sends, a response, and the result of the response.
type call struct {
	do                func(caller) (any, error)
	method, uri, body string
	isKeyed           bool   // the request has an Idempotency-Key
	isChange          bool   // the request may change something
	isServers         bool   // only the shop's server may make the call
	about             string // the ID of the checkout, order or redemption; empty: the call is about none
	answer            string
	want              any // after an earlier attempt was applied
}

// untyped returns the result of a call as any.
func untyped[T any](result T, err error) (any, error) { return result, err }

func calls() map[string]call {
	const shop = "/base/shop/emberforge"
	redemption, undone := record().Redemption, undone()
	show, place, fulfil, cancel := placed(), placed(), fulfilled(), cancelled()
	ofNick := placed()
	ofNick.Nick = "Alder & Birch"
	for _, isReplayed := range []*bool{
		&redemption.Replayed, &undone.Replayed, &show.Replayed, &place.Replayed, &fulfil.Replayed, &cancel.Replayed,
	} {
		*isReplayed = true
	}
	order := placed()
	checkout := client.Checkout{
		ID: checkoutID, Number: checkoutNumber, Status: client.CheckoutOpen, Product: "vip-rank", Variant: "30-days",
		Amount: 1, Data: order.Data,
		UnitPrice: order.UnitPrice, Subtotal: order.Subtotal, Discount: order.Discount, Total: order.Total,
		CreatedAt: order.CreatedAt, ExpiresAt: order.CreatedAt.Add(30 * time.Minute),
	}
	checkedOut := checkout
	checkedOut.Replayed = true
	released := checkedOut
	released.Status = client.CheckoutReleased
	noon := time.Date(2026, time.November, 21, 13, 0, 0, 5e6, time.FixedZone("CET", 3600))
	return map[string]call{
		"redeem": {
			do: func(c caller) (any, error) {
				return untyped(c.Redeem(c.t.Context(), "WELCOME-COINS", "Alder", c.options...))
			},
			method: "POST", uri: shop + "/voucher", body: `{"code":"WELCOME-COINS","nick":"Alder"}`,
			isKeyed: true, isChange: true, answer: redemptionJSON, want: redemption,
		},
		"check": {
			do:     func(c caller) (any, error) { return untyped(c.Check(c.t.Context(), "welcome coins", "Alder")) },
			method: "POST", uri: shop + "/voucher?check=true", body: `{"code":"welcome coins","nick":"Alder"}`,
			answer: strings.Replace(redemptionJSON, `"redeemed"`, `"redeemable"`, 1),
			want:   client.Redeemable{Code: "WELCOME-COINS", Nick: "Alder", Reward: redemption.Reward},
		},
		"area": {
			do: func(c caller) (any, error) {
				pages, err := collect(c.t, c.CheckoutArea(c.t.Context()))
				var products []client.Product
				for _, page := range pages {
					products = append(products, page.Products...)
				}
				return products, err
			},
			method: "GET", uri: shop + "/checkout", answer: pageJSON("null", productJSON("coins", 499)),
			want: []client.Product{{ID: "coins", Name: "<coins>", Variants: []client.Variant{{
				ID: "500", Name: "Small", Price: client.Money{Minor: 499, Currency: "EUR", Display: "-"},
				MinAmount: 1, MaxAmount: 64, DataSchema: json.RawMessage(`{"type":"object"}`),
			}}}},
		},
		"check out": {
			do:      func(c caller) (any, error) { return untyped(c.Checkout(c.t.Context(), vipRank(), c.options...)) },
			method:  "GET",
			uri:     shop + "/checkout/vip-rank/30-days?amount=1&data=%7B%22player%22%3A%22Alder+%26+Birch+%2B+1%22%7D",
			isKeyed: true, isChange: true, answer: checkoutJSON, want: checkedOut,
		},
		"show checkout": {
			do:     func(c caller) (any, error) { return untyped(c.ShowCheckout(c.t.Context(), c.id)) },
			method: "GET", uri: shop + "/checkouts/" + checkoutID,
			about: checkoutID, answer: checkoutJSON, want: checkout,
		},
		"release checkout": {
			do:     func(c caller) (any, error) { return untyped(c.ReleaseCheckout(c.t.Context(), c.id)) },
			method: "POST", uri: shop + "/checkouts/" + checkoutID + "/release", isChange: true, about: checkoutID,
			answer: strings.Replace(checkoutJSON, "open", "released", 1), want: released,
		},
		"place order": {
			do:     func(c caller) (any, error) { return untyped(c.PlaceOrder(c.t.Context(), c.id, stripe())) },
			method: "POST", uri: shop + "/orders",
			body:     `{"checkout":"` + checkoutID + `","payment":{"provider":"stripe","reference":"pi_3Q0001"}}`,
			isChange: true, isServers: true, about: checkoutID, answer: orderJSON, want: place,
		},
		"fulfil order": {
			do:     func(c caller) (any, error) { return untyped(c.FulfilOrder(c.t.Context(), c.id)) },
			method: "POST", uri: shop + "/orders/" + checkoutID + "/fulfil",
			isChange: true, isServers: true, about: checkoutID, answer: fulfilledJSON(), want: fulfil,
		},
		"cancel order": {
			do:     func(c caller) (any, error) { return untyped(c.CancelOrder(c.t.Context(), c.id, "Alder asked for it.")) },
			method: "POST", uri: shop + "/orders/" + checkoutID + "/cancel", body: `{"reason":"Alder asked for it."}`,
			isChange: true, isServers: true, about: checkoutID, answer: cancelledJSON(), want: cancel,
		},
		"show order": {
			do:     func(c caller) (any, error) { return untyped(c.ShowOrder(c.t.Context(), c.id)) },
			method: "GET", uri: shop + "/orders/" + checkoutID,
			isServers: true, about: checkoutID, answer: orderJSON, want: show,
		},
		"orders": {
			do: func(c caller) (any, error) {
				filter := client.OrderFilter{Status: client.OrderPlaced, Nick: "Alder & Birch", From: noon, PageSize: 200}
				return untyped(collect(c.t, c.Orders(c.t.Context(), filter)))
			},
			method:    "GET",
			uri:       shop + "/orders?from=2026-11-21T12%3A00%3A00.005Z&limit=200&nick=Alder+%26+Birch&status=placed",
			isServers: true, answer: ordersJSON("null", orderWith("placed", `"nick":"Alder & Birch",`)),
			want: [][]client.PlacedOrder{{ofNick}},
		},
		"undo redemption": {
			do: func(c caller) (any, error) {
				undo := client.Redemption{ID: c.id, Code: "WELCOME-COINS", Nick: "Alder"}
				return untyped(c.UndoRedemption(c.t.Context(), undo, "granted twice"))
			},
			method: "POST", uri: shop + "/redemptions/" + redemptionID + "/undo",
			body:     `{"code":"WELCOME-COINS","nick":"Alder","reason":"granted twice"}`,
			isChange: true, isServers: true, about: redemptionID, answer: undoneJSON(), want: undone,
		},
		"redemptions": {
			do: func(c caller) (any, error) {
				filter := client.RedemptionFilter{
					Code: "WELCOME-COINS", Nick: "Alder", From: noon, Until: noon.Truncate(time.Hour), PageSize: 200,
				}
				return untyped(collect(c.t, c.Redemptions(c.t.Context(), filter)))
			},
			method: "GET", uri: shop + "/redemptions?code=WELCOME-COINS&from=2026-11-21T12%3A00%3A00.005Z&limit=200" +
				"&nick=Alder&to=2026-11-21T12%3A00%3A00Z",
			isServers: true, answer: redemptionsJSON("null", redemptionJSON),
			want: [][]client.RedemptionRecord{{record()}},
		},
		"events": {
			do: func(c caller) (any, error) {
				page, err := c.EventPage(c.t.Context(), client.EventCursor{After: 4, Feed: feedID})
				return page.Events, err
			},
			method: "GET", uri: shop + "/events?after=4&feed=" + feedID,
			isServers: true, answer: eventsJSON(5, 15, redeemedEvent(5)),
			want: []client.Event{{
				ID: "MTCXgwWFAhhCzmYLdeg-5", Type: client.EventRedemptionCreated, Sequence: 5, Shop: "emberforge",
				Timestamp: time.Date(2026, time.November, 22, 1, 35, 52, 130e6, time.UTC), Feed: feedID,
				Data: json.RawMessage(redemptionJSON), Raw: json.RawMessage(redeemedEvent(5)), Redemption: new(record()),
			}},
		},
	}
}

func TestCall_LostResponses_AreRetriedWithTheSameRequest(t *testing.T) {
	for name, call := range calls() {
		inBubble(t, name, func(t *testing.T) {
			answer := keeps(call.answer)
			s, c := serveTill(t, loses(answer), message(429), cutsShort(answer), answer)
			if got, err := call.do(caller{c, t, call.about, nil}); err != nil || !reflect.DeepEqual(got, call.want) {
				t.Errorf("%+v, %v, want %+v", got, err, call.want)
			}
			if len(s.seen()) != 4 {
				t.Errorf("%d requests, want 4", len(s.seen()))
			}
			for _, r := range s.seen() {
				isJSON, isKeyed := r.header.Get("Content-Type") == "application/json", r.header["Idempotency-Key"] != nil
				if r.method != call.method || r.uri != call.uri || r.body != call.body || isJSON != (call.body != "") ||
					isKeyed != call.isKeyed || r.header.Get("Idempotency-Key") != s.keys()[0] ||
					r.header.Get("Authorization") != "Bearer "+serverKey {
					t.Errorf("request %+v", r)
				}
			}
		})
	}
}

// outcome says what the error of a change proves. A call that only reads has no outcome.
type outcome int

const (
	known outcome = iota // nothing was applied
	// ifRepeated: this call applied nothing, but an earlier call for the key, order or redemption may have done so. 401
	// and 429 prove no more, because the service sends them before it looks for that call.
	ifRepeated
	unknown // this call may have been applied
)

// failure is what the service does, and what a call then returns.
type failure struct {
	steps    []step
	is       error // nil: any error
	outcome  outcome
	requests int
	reads    int // the requests of a call that only reads
}

// ErrWrongBaseURL settles the outcome of a repeated call: the caller must correct the URL first.
func TestCall_Failure_OutcomeIsUnknownOnlyIfTheChangeMayBeApplied(t *testing.T) {
	refused, unavailable := problem("not-found", 404), problem("unavailable", 503)
	turnedAway, tooMany := problem("unauthorized", 401), problem("too-many-refusals", 429, "Retry-After", "540")
	lasting := problem("order-cancelled", 409)
	for name, test := range map[string]failure{
		"refused":                      {[]step{refused}, client.ErrNotFound, known, 1, 1},
		"refused for good":             {[]step{lasting}, client.ErrOrderCancelled, known, 1, 1},
		"invalid":                      {[]step{problem("invalid", 422)}, client.ErrInvalid, known, 1, 1},
		"no route":                     {[]step{message(404)}, client.ErrWrongBaseURL, known, 1, 1},
		"a refusal's body is lost":     {[]step{cutsShort(refused), refused}, client.ErrNotFound, known, 3, 2},
		"lost, then refused":           {[]step{hangsUp, refused}, client.ErrNotFound, known, 3, 2},
		"lost, then refused for good":  {[]step{hangsUp, lasting}, client.ErrOrderCancelled, known, 2, 2},
		"unavailable, then refused":    {[]step{unavailable, refused}, client.ErrNotFound, known, 3, 2},
		"unauthorized":                 {[]step{turnedAway}, client.ErrUnauthorized, ifRepeated, 1, 1},
		"cross-site request":           {[]step{problem("cross-site-request", 403)}, client.ErrCrossSite, ifRepeated, 1, 1},
		"too many refusals":            {[]step{tooMany}, client.ErrTooManyRefusals, ifRepeated, 1, 1},
		"throttled":                    {[]step{message(429)}, client.ErrThrottled, ifRepeated, 4, 4},
		"an unknown problem, 403":      {[]step{problem("blocked", 403)}, nil, ifRepeated, 1, 1},
		"an unknown problem, 429":      {[]step{problem("too-many-tills", 429)}, client.ErrThrottled, ifRepeated, 4, 4},
		"an unknown problem, 409":      {[]step{problem("disputed", 409)}, nil, unknown, 1, 1},
		"a proxy's conflict":           {[]step{message(409)}, nil, unknown, 1, 1},
		"a proxy stopped waiting":      {[]step{message(408)}, nil, unknown, 1, 1},
		"lost, then unauthorized":      {[]step{hangsUp, turnedAway}, client.ErrUnauthorized, unknown, 2, 2},
		"lost, then too many refusals": {[]step{hangsUp, tooMany}, client.ErrTooManyRefusals, unknown, 2, 2},
		"lost, then another server":    {[]step{hangsUp, page(200)}, nil, unknown, 2, 2},
		"unavailable, then no route":   {[]step{unavailable, message(404)}, client.ErrWrongBaseURL, unknown, 2, 2},
		"unavailable, then throttled":  {[]step{unavailable, message(429)}, client.ErrThrottled, unknown, 4, 4},
		"unavailable each time":        {[]step{unavailable}, client.ErrUnavailable, unknown, 4, 4},
		"an internal error each time":  {[]step{problem("internal", 500)}, client.ErrInternal, unknown, 4, 4},
		"a function dies each time":    {[]step{message(500)}, nil, unknown, 4, 4},
		"a proxy's 502 each time":      {[]step{page(502)}, nil, unknown, 4, 4},
		"each response is lost":        {[]step{hangsUp}, nil, unknown, 4, 4},
		"each response is cut short":   {[]step{cutsShort(answers(200, "{}"))}, nil, unknown, 4, 4},
		"no response comes to any":     {[]step{silent}, context.DeadlineExceeded, unknown, 4, 4},
	} {
		for called, call := range calls() {
			inBubble(t, called+", "+name, func(t *testing.T) { call.wantFailure(t, test, nil) })
			if call.isKeyed {
				inBubble(t, called+" again, "+name, func(t *testing.T) {
					call.wantFailure(t, test, []client.CallOption{client.WithKey("till-1047")})
				})
			}
		}
	}
}

// wantFailure fails the test unless a call fails with the wanted error and outcome.
func (call call) wantFailure(t *testing.T, test failure, options []client.CallOption) {
	t.Helper()
	s, c := serveTill(t, test.steps...)
	got, err := call.do(caller{c, t, call.about, options})
	isRepeated := options != nil || !call.isKeyed
	requests, want := test.requests, test.outcome == unknown || test.outcome == ifRepeated && isRepeated
	if !call.isChange {
		requests, want = test.reads, false
	}
	if !reflect.ValueOf(got).IsZero() || test.is != nil && !errors.Is(err, test.is) || len(s.seen()) != requests {
		t.Errorf("%+v, %v after %d requests, want %v after %d", got, err, len(s.seen()), test.is, requests)
	}
	if isUnknown := wantFailure(t, err, s.keys()[0]); isUnknown != want {
		t.Errorf("%v: outcome unknown %t, want %t", err, isUnknown, want)
	}
}

// wantNotUnderstood fails the test unless a call rejects a response at once. The outcome of a change is then unknown.
func (call call) wantNotUnderstood(t *testing.T, response step) {
	t.Helper()
	s, c := serveTill(t, response)
	got, err := call.do(caller{c, t, call.about, nil})
	if _, is := errors.AsType[*client.ResponseError](err); !is || !reflect.ValueOf(got).IsZero() || len(s.seen()) != 1 {
		t.Errorf("%+v, %v after %d requests: it was accepted", got, err, len(s.seen()))
	}
	if isUnknown := wantFailure(t, err, s.keys()[0]); isUnknown != call.isChange {
		t.Errorf("%v: outcome unknown %t, want %t", err, isUnknown, call.isChange)
	}
}

func TestCall_ResponseOfAnotherServer_IsRejected(t *testing.T) {
	foreign := func(status int, body string) step {
		return answers(status, body, "Content-Type", "application/problem+json")
	}
	for name, call := range calls() {
		for what, response := range map[string]step{
			"a page":                         page(200),
			"not JSON":                       answers(200, call.answer[1:]),
			"text after the JSON":            answers(200, call.answer+"{}"),
			"not UTF-8":                      answers(200, strings.Replace(call.answer, "-", "\xff", 1)),
			"no body":                        answers(200, ""),
			"null":                           answers(200, "null"),
			"another success status":         answers(201, call.answer),
			"not modified":                   answers(304, ""),
			"too large":                      answers(200, strings.Repeat(" ", 4_000_000)+call.answer),
			"a page that says not found":     page(404),
			"JSON that is not a problem":     answers(404, `{}`),
			"a problem of another service":   foreign(404, `{"type":"about:blank","status":404}`),
			"a problem with another status":  foreign(404, `{"type":"urn:problem:shopfront:not-found","status":410}`),
			"a problem with an unfit status": problem("voucher-not-found", 410),
		} {
			inBubble(t, name+", "+what, func(t *testing.T) { call.wantNotUnderstood(t, response) })
		}
	}
}

func TestCall_IncompleteOrForeignResponse_IsRejected(t *testing.T) {
	const cancelled = `"cancelled","cancelledAt":"2026-11-21T10:00:00Z","cancelReason":"-"`
	for name, changes := range map[string][][2]string{
		"redeem": {
			{`"redeemed"`, `"redeemable"`},
			{`"id"`, `"di"`},
			{`"redeemedAt"`, `"at"`},
			{"2026-11-21T", ""},
			{`"WELCOME-COINS"`, "null"},
		},
		"check": {{`"redeemable"`, `"redeemed"`}},
		"check out": {
			{`"vip-rank"`, `"coins"`},
			{`"30-days"`, `"90-days"`},
			{`"amount":1`, `"amount":2`},
			{`"open"`, `"expired"`},
			{`"id"`, `"di"`},
			{`"data"`, `"date"`},
			{`"total"`, `"sum"`},
			{`"discount"`, `"rebate"`},
			{`"unitPrice"`, `"price"`},
			{`"minor":0`, `"minor":null`},
			{`"minor":0`, `"minor":-1`},
			{`"minor":0,"currency":"EUR"`, `"minor":0,"currency":"JPY"`},
			{`"expiresAt"`, `"until"`},
			{"09:41:23", "08:41:23"},
			{`"minor":799`, `"minor":7.99`},
		},
		// Only a stranger gets a checkout without its data.
		"show checkout": {{"ySBD", "ySBE"}, {`"status"`, `"state"`}, {`"total"`, `"sum"`}, {`"data"`, `"date"`}},
		"place order":   {{"pi_3Q0001", "pi_3Q0002"}, {`"placed"`, cancelled}},
		"fulfil order": {
			{`"fulfilled","fulfilledAt":"2026-11-21T09:12:05.300Z"`, `"placed"`}, {`"fulfilled"`, cancelled},
		},
		"cancel order": {
			{`"cancelled","cancelledAt":"2026-11-21T10:00:00.000Z","cancelReason":"Alder asked for it."`, `"placed"`},
		},
		"show order": {
			{`"ySBD`, `"ySBE`},
			{`"id"`, `"di"`},
			{`"status"`, `"state"`},
			{`"product"`, `"item"`},
			{`"variant"`, `"form"`},
			{`"amount"`, `"count"`},
			{`"data"`, `"date"`},
			{`"unitPrice"`, `"price"`},
			{`"total"`, `"sum"`},
			{`"minor":0,"currency":"EUR"`, `"minor":0,"currency":"JPY"`},
			{`"minor":799`, `"minor":7.99`},
			{`"createdAt"`, `"made"`},
			{`"orderedAt"`, `"at"`},
			{`"2026-11-21T09:12:04.118Z"`, `"yesterday"`},
			{`{"provider":"stripe","reference":"pi_3Q0001"}`, `null`},
			{`"reference"`, `"ref"`},
			{`"placed"`, `"fulfilled"`},
			{`"placed"`, `"cancelled","cancelReason":"-"`},
			{`"placed"`, `"cancelled","cancelledAt":"2026-11-21T10:00:00.000Z"`},
			{`"placed"`, `"placed","cancelledAt":"2026-11-21T10:00:00.000Z","cancelReason":"-"`},
		},
		"undo redemption": {
			{`"undone","undoneAt":"2026-11-23T08:05:11.402Z"`, `"redeemed"`},
			{"S90E", "S90F"},
			{`"undoneAt"`, `"at"`},
			{`"code"`, `"word"`},
			{`"amount":2`, `"amount":0`},
		},
		// A proxy that drops the query would pass off other orders and redemptions as those of the nick.
		"orders": {
			{`"nick":"Alder & Birch",`, ""},
			{`"placed"`, cancelled},
			{`"payment"`, `"paid"`},
			{`"orders"`, `"sales"`},
			{`"next"`, `"then"`},
		},
		"redemptions": {
			{`"nick":"Alder",`, ""}, {`"redeemed"`, `"undone"`}, {`"redemptions"`, `"uses"`}, {`"next"`, `"then"`},
		},
	} {
		for _, change := range changes {
			inBubble(t, name+", "+change[1], func(t *testing.T) {
				call := calls()[name]
				if !strings.Contains(call.answer, change[0]) {
					t.Fatalf("the response has no %s", change[0])
				}
				call.wantNotUnderstood(t, answers(200, strings.Replace(call.answer, change[0], change[1], 1)))
			})
		}
	}
}

func TestCall_MalformedArgumentsAreNotSent(t *testing.T) {
	s, c := serveTill(t, keeps(checkoutJSON))
	for name, call := range calls() {
		if call.about != "" {
			for _, id := range []string{"", "..", "a/b", checkoutID + "?", checkoutID + "%", "ü", strings.Repeat("a", 65)} {
				if _, err := call.do(caller{c, t, id, nil}); !errors.Is(err, client.ErrMalformedID) {
					t.Errorf("%s %q: %v", name, id, err)
				}
			}
		}
	}
	for _, key := range []string{"", "till 1047", "till,1047", "clé", "\xff", "till\n", strings.Repeat("k", 256)} {
		for _, name := range []string{"redeem", "check out"} {
			options := []client.CallOption{client.WithKey(key)}
			if _, err := calls()[name].do(caller{c, t, "", options}); !errors.Is(err, client.ErrMalformedKey) {
				t.Errorf("%s, key %.20q: %v", name, key, err)
			}
		}
	}
	for _, order := range []client.Order{
		{Product: "", Variant: "500"},
		{Product: "coins", Variant: ""},
		{Product: "..", Variant: "500"},
		{Product: "coins/variant", Variant: "500"},
		{Product: "coins", Variant: "500?amount=2"},
		{Product: "coins", Variant: "5%30"},
		{Product: "coins", Variant: strings.Repeat("5", 65)},
		{Product: "coins", Variant: "500", Replaces: "../orders"},
	} {
		if _, err := c.Checkout(t.Context(), order); !errors.Is(err, client.ErrMalformedID) {
			t.Errorf("%+v: %v", order, err)
		}
	}
	if len(s.seen()) > 0 {
		t.Errorf("requests %+v", s.seen())
	}
}

func TestServerKey_CallsOfTheShopsServer_NeedOne(t *testing.T) {
	s, c := serve(t, problem("unauthorized", 401))
	open := 0
	for name, call := range calls() {
		want := client.ErrNoServerKey
		if !call.isServers {
			open++
			want = client.ErrUnauthorized
		}
		if _, err := call.do(caller{c, t, call.about, nil}); !errors.Is(err, want) {
			t.Errorf("%s without a key: %v, want %v", name, err, want)
		}
	}
	isAuthorised := func(r request) bool { return r.header["Authorization"] != nil }
	if requests := s.seen(); len(requests) != open || slices.ContainsFunc(requests, isAuthorised) {
		t.Errorf("requests %+v, want %d without Authorization", requests, open)
	}
}
