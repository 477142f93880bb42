package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const (
	rankID     checkout.ID = "ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA"
	ordersPath             = "/shop/emberforge/orders"
	rankPath               = ordersPath + "/" + string(rankID)
)

// rankOrder returns an order of a VIP rank. It was placed three minutes after the checkout was opened.
func rankOrder() checkout.Checkout {
	price := money.Money{Minor: 799, Currency: "EUR"}
	created := now().UTC().Truncate(time.Millisecond)
	return checkout.Checkout{
		ID: rankID, Product: "vip-rank", Variant: "30-days", Amount: 1, Data: `{"player":"Alder"}`, DataIsObject: true,
		UnitPrice: price, Subtotal: price, Discount: money.Money{Currency: "EUR"}, Total: price,
		Created: created, Expires: created.Add(checkout.Lifetime),
		Order: &checkout.Order{
			Payment: checkout.Payment{Provider: "stripe", Reference: "pi_3QNa7c2e"},
			Placed:  created.Add(3 * time.Minute),
		},
	}
}

// fulfilled and cancelled change an order as the endpoints do.
func fulfilled(c checkout.Checkout) checkout.Checkout {
	c.Order.Fulfilled = c.Order.Placed.Add(time.Second)
	return c
}

func cancelled(c checkout.Checkout) checkout.Checkout {
	c.Order.Cancelled, c.Order.Reason = c.Order.Placed.Add(time.Hour), "chargeback"
	return c
}

const (
	rankBody = `{"id":"ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA","number":"HCAXP-K92P9","status":"%s",` +
		`"product":"vip-rank","variant":"30-days","amount":1,` +
		`%s"unitPrice":{"minor":799,"currency":"EUR","display":"7.99 EUR"},"subtotal":{"minor":799,` +
		`"currency":"EUR","display":"7.99 EUR"},` +
		`"discount":{"minor":0,"currency":"EUR","display":"0.00 EUR"},"total":{"minor":799,"currency":"EUR",` +
		`"display":"7.99 EUR"},` +
		`"createdAt":"2026-11-21T12:00:00.123Z",%s}`
	rankData    = `"data":{"player":"Alder"},`
	rankOrdered = `"payment":{"provider":"stripe","reference":"pi_3QNa7c2e"},"orderedAt":"2026-11-21T12:03:00.123Z"`
)

func placedBody() string { return fmt.Sprintf(rankBody, "placed", rankData, rankOrdered) }

func fulfilledBody() string {
	return fmt.Sprintf(rankBody, "fulfilled", rankData, rankOrdered+`,"fulfilledAt":"2026-11-21T12:03:01.123Z"`)
}

func cancelledBody() string {
	return fmt.Sprintf(rankBody, "cancelled", rankData,
		rankOrdered+`,"cancelledAt":"2026-11-21T13:03:00.123Z","cancelReason":"chargeback"`)
}

// fakeOrders is an httpapi.Orders, CheckoutReader and CheckoutReleaser. Every request gets the same result.
type fakeOrders struct {
	asked    func(arguments ...any) // if set, receives what a request asks for
	order    checkout.Checkout
	replayed bool
	listed   []checkout.Checkout
	end      *checkout.OrderPosition
	err      error
}

func (o fakeOrders) note(arguments ...any) {
	if o.asked != nil {
		o.asked(arguments...)
	}
}

func (o fakeOrders) Place(
	_ context.Context, shop catalog.ShopID, id checkout.ID, payment checkout.Payment, at time.Time,
) (checkout.Checkout, bool, error) {
	o.note(shop, id, payment, at)
	return o.order, o.replayed, o.err
}

func (o fakeOrders) Fulfil(
	_ context.Context, shop catalog.ShopID, id checkout.ID, at time.Time,
) (checkout.Checkout, bool, error) {
	o.note(shop, id, at)
	return o.order, o.replayed, o.err
}

func (o fakeOrders) Cancel(
	_ context.Context, shop catalog.ShopID, id checkout.ID, reason string, at time.Time,
) (checkout.Checkout, bool, error) {
	o.note(shop, id, reason, at)
	return o.order, o.replayed, o.err
}

func (o fakeOrders) Release(
	_ context.Context, shop catalog.ShopID, id checkout.ID, byServer bool,
) (checkout.Checkout, bool, error) {
	o.note(shop, id, byServer)
	return o.order, o.replayed, o.err
}

func (o fakeOrders) Show(_ context.Context, shop catalog.ShopID, id checkout.ID) (checkout.Checkout, error) {
	o.note(shop, id)
	return o.order, o.err
}

func (o fakeOrders) Find(
	_ context.Context, shop catalog.ShopID, number checkout.Number,
) (checkout.Checkout, error) {
	o.note(shop, number)
	return o.order, o.err
}

func (o fakeOrders) List(
	_ context.Context, shop catalog.ShopID, filter checkout.OrderFilter,
) ([]checkout.Checkout, *checkout.OrderPosition, error) {
	o.note(shop, filter)
	return o.listed, o.end, o.err
}

// unusedOrders fails the test when a request reaches it.
func unusedOrders(t *testing.T) fakeOrders {
	return fakeOrders{asked: func(...any) { t.Error("the request reached the orders") }}
}

// orderCall is a well-formed request to an endpoint of orders.
type orderCall struct {
	what     string
	method   string
	target   string
	body     string
	endpoint func(service, fakeOrders) http.Handler
}

func (c orderCall) request(headers ...string) *http.Request {
	if c.body == "" {
		return request(c.method, c.target, "", headers...)
	}
	return post(c.target, c.body, headers...)
}

// with returns the call with another target and body.
func (c orderCall) with(target, body string) orderCall {
	c.target, c.body = target, body
	return c
}

const placeBody = `{"checkout":"ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA","payment":{"provider":"stripe",` +
	`"reference":"pi_3QNa7c2e"}}`

func placing() orderCall {
	return orderCall{
		"place", http.MethodPost, ordersPath, placeBody,
		func(s service, o fakeOrders) http.Handler { return s.PlaceOrder(o) },
	}
}

func listing() orderCall {
	return orderCall{
		"list", http.MethodGet, ordersPath, "",
		func(s service, o fakeOrders) http.Handler { return s.ListOrders(o) },
	}
}

func showing() orderCall {
	return orderCall{
		"show", http.MethodGet, rankPath, "",
		func(s service, o fakeOrders) http.Handler { return s.ShowOrder(o) },
	}
}

func fulfilling() orderCall {
	return orderCall{
		"fulfil", http.MethodPost, rankPath + "/fulfil", "",
		func(s service, o fakeOrders) http.Handler { return s.FulfilOrder(o) },
	}
}

func cancelling() orderCall {
	return orderCall{
		"cancel", http.MethodPost, rankPath + "/cancel", `{"reason":"chargeback"}`,
		func(s service, o fakeOrders) http.Handler { return s.CancelOrder(o) },
	}
}

func everyOrderCall() []orderCall {
	return []orderCall{placing(), listing(), showing(), fulfilling(), cancelling()}
}

// asServer sends the call as the shop's server.
func (c orderCall) asServer(s service, o fakeOrders) response {
	return s.send(c.endpoint(s, o), c.request("Authorization", serverKey))
}

func TestOrders_EachChange_RespondsWithTheOrder(t *testing.T) {
	at := now().Truncate(time.Millisecond)
	payment := checkout.Payment{Provider: "stripe", Reference: "pi_3QNa7c2e"}
	for _, test := range []struct {
		call    orderCall
		order   checkout.Checkout
		asked   []any
		body    string
		outcome string
		metric  string
	}{
		{
			placing(), rankOrder(),
			[]any{catalog.ShopID("emberforge"), rankID, payment, at},
			placedBody(), "ordered",
			"Orders",
		},
		{showing(), rankOrder(), []any{catalog.ShopID("emberforge"), rankID}, placedBody(), "shown", ""},
		{
			fulfilling(), fulfilled(rankOrder()),
			[]any{catalog.ShopID("emberforge"), rankID, at},
			fulfilledBody(),
			"fulfilled", "",
		},
		{
			cancelling(), cancelled(rankOrder()),
			[]any{catalog.ShopID("emberforge"), rankID, "chargeback", at},
			cancelledBody(),
			"cancelled", "CancelledOrders",
		},
	} {
		t.Run(test.call.what, func(t *testing.T) {
			var asked []any
			s := newService(t)
			a := test.call.asServer(s, fakeOrders{
				order: test.order,
				asked: func(arguments ...any) { asked = arguments },
			})
			a.want(t, http.StatusOK, test.body)
			a.wantHeader(t, "Content-Type", "application/json")
			a.wantHeader(t, "Cache-Control", "no-store")
			a.wantHeader(t, "Request-Id", "request-1")
			a.wantHeader(t, "Idempotency-Replayed", "")
			if !reflect.DeepEqual(asked, test.asked) {
				t.Errorf("asked for %v; want %v", asked, test.asked)
			}
			line := s.logged(t)
			for _, metric := range []string{"Orders", "CancelledOrders"} {
				if (line[metric] == 1.0) != (metric == test.metric) {
					t.Errorf("metric %s: %v", metric, line[metric])
				}
			}
			if line["outcome"] != test.outcome || line["keyId"] != serverKeyID || line["customer"] != "emberforge" {
				t.Errorf("logged %v", line)
			}
		})
	}
}

func TestOrders_Retry_IsReplayedAndNotCounted(t *testing.T) {
	for _, call := range []orderCall{placing(), fulfilling(), cancelling()} {
		t.Run(call.what, func(t *testing.T) {
			s := newService(t)
			a := call.asServer(s, fakeOrders{order: rankOrder(), replayed: true})
			a.want(t, http.StatusOK, placedBody())
			a.wantHeader(t, "Idempotency-Replayed", "true")
			if line := s.logged(t); line["outcome"] != "replayed" || line["Orders"] != nil ||
				line["CancelledOrders"] != nil {
				t.Errorf("logged %v", line)
			}
		})
	}
}

func TestOrders_WithACode_ShowTheCodeAndTheNick(t *testing.T) {
	order := rankOrder()
	order.Code, order.Nick = "SUMMER-20", "Alder"
	order.Discount.Minor, order.Total.Minor = 159, 640
	want := strings.NewReplacer(
		`"unitPrice"`, `"code":"SUMMER-20","nick":"Alder","unitPrice"`,
		`"discount":{"minor":0,"currency":"EUR","display":"0.00 EUR"},"total":{"minor":799,"currency":"EUR",`+
			`"display":"7.99 EUR"}`,
		`"discount":{"minor":159,"currency":"EUR","display":"1.59 EUR"},"total":{"minor":640,"currency":"EUR",`+
			`"display":"6.40 EUR"}`,
	).Replace(placedBody())
	for _, call := range []orderCall{placing(), showing(), fulfilling(), cancelling()} {
		call.asServer(newService(t), fakeOrders{order: order}).want(t, http.StatusOK, want)
	}
	listing().asServer(newService(t), fakeOrders{listed: []checkout.Checkout{order}}).want(t, http.StatusOK,
		`{"orders":[`+want+`],"next":null}`)
}

func TestPlaceOrder_WithoutPayment_ReachesTheRules(t *testing.T) {
	free := rankOrder()
	free.Order.Payment = checkout.Payment{}
	s := newService(t)
	call := placing().with(ordersPath, `{"checkout":"`+string(rankID)+`"}`)
	a := call.asServer(s, fakeOrders{order: free, asked: func(arguments ...any) {
		if arguments[2] != (checkout.Payment{}) {
			t.Errorf("asked for %v", arguments)
		}
	}})
	a.want(t, http.StatusOK, fmt.Sprintf(rankBody, "placed", rankData,
		`"payment":null,"orderedAt":"2026-11-21T12:03:00.123Z"`))
}

func TestPlaceOrder_StatedAmount_ReachesTheRulesAndIsShown(t *testing.T) {
	order := rankOrder()
	order.Order.Payment.Amount = money.Money{Minor: 1598, Currency: "EUR"}
	body := strings.Replace(placeBody, `"reference"`, `"amount":1598,"currency":"EUR","reference"`, 1)
	a := placing().with(ordersPath, body).asServer(newService(t), fakeOrders{
		order: order, asked: func(arguments ...any) {
			if arguments[2] != order.Order.Payment {
				t.Errorf("asked for %v, want %v", arguments[2], order.Order.Payment)
			}
		},
	})
	a.want(t, http.StatusOK, strings.Replace(placedBody(), `pi_3QNa7c2e"`, `pi_3QNa7c2e","amount":1598,"currency":"EUR"`, 1))
}

type badOrderCall struct {
	what    string
	call    orderCall
	problem string
}

func badPaths() (bad []badOrderCall) {
	for what, id := range map[string]string{
		"short": string(rankID[1:]), "with another character": string(rankID[1:]) + "*",
		"encoded slash": string(rankID[3:]) + "%2FA",
	} {
		bad = append(bad,
			badOrderCall{"show, ID " + what, showing().with(ordersPath+"/"+id, ""), "not-found"},
			badOrderCall{"fulfil, ID " + what, fulfilling().with(ordersPath+"/"+id+"/fulfil", ""), "not-found"},
			badOrderCall{
				"cancel, ID " + what, cancelling().with(ordersPath+"/"+id+"/cancel", cancelling().body), "not-found",
			},
		)
	}
	for _, call := range everyOrderCall() {
		otherMethod := call
		otherMethod.method, otherMethod.body = http.MethodDelete, ""
		bad = append(bad,
			badOrderCall{
				call.what + ", shop",
				call.with(strings.Replace(call.target, "emberforge", "-ember", 1), call.body), "not-found",
			},
			badOrderCall{
				call.what + ", unknown parameter", call.with(call.target+"?dry-run=true", call.body),
				"malformed-request",
			},
			badOrderCall{call.what + ", another method", otherMethod, "method-not-allowed"},
		)
	}
	return bad
}

func badBodies() (bad []badOrderCall) {
	place := func(problem, what, body string) {
		bad = append(bad, badOrderCall{"place, " + what, placing().with(ordersPath, body), problem})
	}
	// The test of a redemption has the faults that every body can have.
	const id = `"checkout":"ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA"`
	malformed := func(what, body string) { place("malformed-request", what, body) }
	malformed("cut off", `{`+id)
	malformed("cut off in the payment", `{`+id+`,"payment":{"provider":"stripe"`)
	malformed("payment not closed", `{`+id+`,"payment":{"provider":"stripe","reference":"pi_1"}`)
	malformed("unknown member", `{`+id+`,"nick":"Alder"}`)
	malformed("unknown member of the payment",
		`{`+id+`,"payment":{"provider":"stripe","reference":"pi_1","amount":"7.99"}}`)
	malformed("member of the payment outside", `{`+id+`,"provider":"stripe","reference":"pi_1"}`)
	malformed("checkout inside the payment", `{"payment":{"provider":"stripe","reference":"pi_1",`+id+`}}`)
	malformed("name with a slash", `{`+id+`,"payment/provider":"stripe","payment/reference":"pi_1"}`)
	malformed("name that is a path", `{`+id+`,"payment/":{}}`)
	malformed("payment twice", `{`+id+`,"payment":{"provider":"stripe","reference":"pi_1"},"payment":{}}`)
	malformed("reference twice", `{`+id+`,"payment":{"provider":"stripe","reference":"pi_1","reference":"pi_2"}}`)
	malformed("reference is an object", `{`+id+`,"payment":{"provider":"stripe","reference":{}}}`)
	malformed("payment is null", `{`+id+`,"payment":null}`)
	malformed("payment is a string", `{`+id+`,"payment":"pi_1"}`)
	invalid := func(what, body string) { place("invalid", what, body) }
	invalid("empty object", `{}`)
	invalid("checkout missing", `{"payment":{"provider":"stripe","reference":"pi_1"}}`)
	invalid("checkout too short", `{"checkout":"ySBDAj4aT84YTR_U3sQzxw"}`)
	invalid("number of a checkout", `{"checkout":"HCAXP-K92P9"}`)
	invalid("payment empty", `{`+id+`,"payment":{}}`)
	invalid("reference missing", `{`+id+`,"payment":{"provider":"stripe"}}`)
	invalid("malformed provider", `{`+id+`,"payment":{"provider":"Stripe","reference":"pi_1"}}`)
	invalid("malformed reference", `{`+id+`,"payment":{"provider":"stripe","reference":"pi 1"}}`)
	amount := func(members string) string {
		return `{` + id + `,"payment":{"provider":"stripe","reference":"pi_1",` + members + `}}`
	}
	malformed("amount is null", amount(`"amount":null,"currency":"EUR"`))
	malformed("currency is a number", amount(`"amount":799,"currency":978`))
	invalid("amount without a currency", amount(`"amount":799`))
	invalid("currency without an amount", amount(`"currency":"EUR"`))
	invalid("unknown currency", amount(`"amount":799,"currency":"eur"`))
	for _, number := range []string{"0", "-799", "7.99", "799.0", "8e2", "9007199254740992"} {
		invalid("amount of "+number, amount(`"amount":`+number+`,"currency":"EUR"`))
	}

	cancel := func(problem, what, body string) {
		bad = append(bad, badOrderCall{"cancel, " + what, cancelling().with(cancelling().target, body), problem})
	}
	cancel("malformed-request", "unknown member", `{"reason":"chargeback","refund":"true"}`)
	cancel("invalid", "reason missing", `{}`)
	cancel("invalid", "reason too long", `{"reason":"`+strings.Repeat("é", 200)+`e"}`)
	cancel("invalid", "reason with a line feed", `{"reason":"charge\nback"}`)

	bad = append(bad,
		badOrderCall{"fulfil, body", fulfilling().with(fulfilling().target, `{}`), "malformed-request"},
		badOrderCall{"fulfil, a byte", fulfilling().with(fulfilling().target, ` `), "malformed-request"},
	)
	return bad
}

// cursor encodes a cursor as a list does.
func cursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func badQueries() (bad []badOrderCall) {
	list := func(problem string, queries ...string) {
		for _, query := range queries {
			bad = append(bad, badOrderCall{"list?" + query, listing().with(ordersPath+"?"+query, ""), problem})
		}
	}
	list("malformed-request",
		"after=x", "cursor=a",
		"cursor="+cursor("brambleshop/1795262400123/"+string(rankID[:22])),
		"cursor="+cursor("emberforge/1795262400123"),
		"cursor="+cursor("emberforge/1795262400123/"+string(rankID[:21])),
		"cursor="+cursor("emberforge/1795262400123/"+string(rankID[:22])+"/"),
		"cursor="+cursor("emberforge/-1/"+string(rankID[:22])),
		"cursor="+cursor("emberforge/noon/"+string(rankID[:22])),
		"cursor="+cursor("emberforge/9223372036854775808/"+string(rankID[:22])))
	list("invalid",
		"nick", "nick=%20", "payment=", "payment=pi_1", "payment=Stripe:pi_1", "payment=stripe:", "status=", "status=open", "limit=0", "limit=201",
		"from=", "from=2026-11-21", "from=2026-11-21T12:00:00",
		"from=1969-12-31T23:59:59Z", "from=2026-11-21T12:00:00+01:00",
		"to=2026-11-21T24:00:01Z", "from=2026-11-21T12:00:00Z&to=2026-11-21T11:59:59Z")
	return bad
}

func TestOrders_MalformedRequests_AreRejectedBeforeAnyLookup(t *testing.T) {
	for _, bad := range slices.Concat(badPaths(), badBodies(), badQueries()) {
		t.Run(bad.what, func(t *testing.T) {
			s := newService(t)
			r := bad.call.request()
			r.Header.Set("Authorization", serverKey)
			s.send(bad.call.endpoint(s, unusedOrders(t)), r).wantProblem(t, bad.problem)
		})
	}
}

func TestOrders_InvalidRequests_NameTheFault(t *testing.T) {
	const id = `"checkout":"ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA"`
	list := func(query string) orderCall { return listing().with(ordersPath+"?"+query, "") }
	for _, test := range []struct {
		call orderCall
		want string
	}{
		{placing().with(ordersPath, `{}`), `"checkout must be the ID of a checkout.","pointer":"/checkout"}`},
		{
			placing().with(ordersPath, `{`+id+`,"payment":{}}`),
			`"payment/provider is required.","pointer":"/payment/provider"}`,
		},
		{
			placing().with(ordersPath, `{`+id+`,"payment":{"provider":"stripe"}}`),
			`"payment/reference is required.","pointer":"/payment/reference"}`,
		},
		{cancelling().with(cancelling().target, `{}`), `"reason is required.","pointer":"/reason"}`},
		{list("status=open"), `"The status must be placed, fulfilled or cancelled.","parameter":"status"}`},
		{list("nick="), `"The nick must not be empty.","parameter":"nick"}`},
		{
			list("nick=" + strings.Repeat("a", 65)),
			`"nick must have at most 64 characters in 128 bytes.","parameter":"nick"}`,
		},
		{list("to=yesterday"), `"The time must have the format of RFC 3339, such as 2026-11-22T09:00:00Z. Encode a ` +
			`+ as %2B.","parameter":"to"}`},
		{
			list("from=2026-11-21T12:00:00Z&to=2026-11-20T12:00:00Z"),
			`"The time must not be before from.","parameter":"to"}`,
		},
	} {
		s := newService(t)
		a := test.call.asServer(s, unusedOrders(t))
		a.want(t, 422, problemFormat+`invalid","title":"Invalid request","status":422,"detail":`+test.want)
	}
	s := newService(t)
	a := fulfilling().with(fulfilling().target, `{}`).asServer(s, unusedOrders(t))
	a.want(t, 400, problemFormat+`malformed-request","title":"Malformed request","status":400,"detail":"This `+
		`request must not have a body."}`)
}

func TestOrders_Errors_BecomeProblems(t *testing.T) {
	for _, test := range []struct {
		what string
		err  error
		want string
	}{
		{
			"no checkout", checkout.ErrNotFound,
			`{"type":"urn:problem:shopfront:not-found","title":"Not found","status":404}`,
		},
		{
			"no order", checkout.ErrOrderNotFound,
			`{"type":"urn:problem:shopfront:not-found","title":"Not found","status":404}`,
		},
		{
			"expired", fmt.Errorf("place: %w", checkout.ErrExpired),
			`{"type":"urn:problem:shopfront:checkout-expired","title":"Checkout expired","status":409,` +
				`"detail":"The checkout expired more than 7 days ago, its code was used elsewhere since, its key ` +
				`made another checkout, ` +
				`or the ID is mistyped. Nothing was ordered."}`,
		},
		{
			"replaced", fmt.Errorf("place: %w", checkout.ErrReplaced),
			`{"type":"urn:problem:shopfront:checkout-replaced","title":"Checkout replaced","status":409,` +
				`"detail":"Another checkout replaced this one. Nothing was ordered."}`,
		},
		{
			"released", checkout.ErrReleased,
			`{"type":"urn:problem:shopfront:checkout-released","title":"Checkout released","status":409,` +
				`"detail":"This checkout was released. Nothing was ordered. Refund the payment."}`,
		},
		{
			"another payment", checkout.ErrPaymentMismatch,
			`{"type":"urn:problem:shopfront:payment-mismatch","title":"Ordered with another payment","status":409,` +
				`"detail":"This checkout was ordered with a payment that this request does not name. Nothing was ` +
				`changed."}`,
		},
		{
			"payment spent", checkout.ErrPaymentInsufficient,
			`{"type":"urn:problem:shopfront:payment-insufficient","title":"Payment insufficient","status":409,` +
				`"detail":"The amount of this payment does not cover this order and the earlier orders of the ` +
				`payment. Nothing was ordered."}`,
		},
		{
			"cancelled", checkout.ErrOrderCancelled,
			`{"type":"urn:problem:shopfront:order-cancelled","title":"Order cancelled","status":409,` +
				`"detail":"This order is cancelled for good. Whoever cancelled it decides about the refund."}`,
		},
		{
			"payment missing", &checkout.MemberError{
				Pointer: "/payment",
				Reason:  "is required, because the total is not zero",
			},
			`{"type":"urn:problem:shopfront:invalid","title":"Invalid request","status":422,` +
				`"detail":"payment is required, because the total is not zero.","pointer":"/payment"}`,
		},
	} {
		for _, call := range everyOrderCall() {
			t.Run(call.what+", "+test.what, func(t *testing.T) {
				s := newService(t)
				a := call.asServer(s, fakeOrders{err: test.err})
				a.want(t, a.status, test.want)
				if !strings.Contains(test.want, fmt.Sprintf(`"status":%d`, a.status)) {
					t.Errorf("status %d", a.status)
				}
				if line := s.logged(t); line["level"] != "INFO" || line["Orders"] != nil ||
					line["CancelledOrders"] != nil {
					t.Errorf("logged %v", line)
				}
			})
		}
	}
}

func TestListOrders_Query_BecomesAFilter(t *testing.T) {
	token, err := checkout.ParseToken(string(rankID[:22]))
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	after := &checkout.OrderPosition{Placed: noon.Add(123 * time.Millisecond), Token: token}
	for query, want := range map[string]checkout.OrderFilter{
		"":                           {Limit: 100},
		"?limit=1":                   {Limit: 1},
		"?limit=200":                 {Limit: 200},
		"?status=placed":             {Limit: 100, Status: checkout.OrderPlaced},
		"?status=fulfilled":          {Limit: 100, Status: checkout.OrderFulfilled},
		"?status=cancelled":          {Limit: 100, Status: checkout.OrderCancelled},
		"?payment=stripe:pi_3:QN":    {Limit: 100, Payment: checkout.Payment{Provider: "stripe", Reference: "pi_3:QN"}},
		"?nick=%20ALDER":             {Limit: 100, Nick: voucher.Nick{Written: "ALDER", Compared: "alder"}},
		"?from=2026-11-21T12:00:00Z": {Limit: 100, From: noon},
		"?to=2026-11-21T13:00:00.5Z": {Limit: 100, Until: noon.Add(time.Hour + time.Second/2)},
		"?from=2026-11-21T12:00:00%2B01:00&to=2026-11-21T12:00:00-00:30": {
			Limit: 100, From: noon.Add(-time.Hour), Until: noon.Add(time.Hour / 2),
		},
		"?from=2026-11-21T12:00:00Z&to=2026-11-21T12:00:00Z":           {Limit: 100, From: noon, Until: noon},
		"?cursor=" + cursor("emberforge/1795262400123/"+string(token)): {Limit: 100, After: after},
	} {
		t.Run(query, func(t *testing.T) {
			var asked checkout.OrderFilter
			s := newService(t)
			a := listing().with(ordersPath+query, "").asServer(s, fakeOrders{asked: func(arguments ...any) {
				asked, _ = arguments[1].(checkout.OrderFilter)
			}})
			a.want(t, http.StatusOK, `{"orders":[],"next":null}`)
			asked.From, asked.Until = asked.From.UTC(), asked.Until.UTC()
			if !reflect.DeepEqual(asked, want) {
				t.Errorf("asked for %+v; want %+v", asked, want)
			}
		})
	}
}

func TestListOrders_Page_HoldsOrdersAndLeadsToTheNext(t *testing.T) {
	end := &checkout.OrderPosition{Placed: now().Truncate(time.Millisecond), Token: rankID.Token()}
	s := newService(t)
	page := fakeOrders{listed: []checkout.Checkout{cancelled(rankOrder()), rankOrder()}, end: end}
	query := "status=placed&limit=2&from=2026-11-21T12%3A00%3A00%2B01%3A00&nick=Kestrel+9"
	a := listing().with(ordersPath+"?"+query, "").asServer(s, page)
	next := "cursor=" + cursor("emberforge/1795262400123/"+string(end.Token)) +
		"&from=2026-11-21T12%3A00%3A00%2B01%3A00&limit=2&nick=Kestrel+9&status=placed"
	a.want(t, http.StatusOK, fmt.Sprintf(`{"orders":[%s,%s],"next":"%s?%s"}`, cancelledBody(), placedBody(), ordersPath,
		next))
	if line := s.logged(t); line["outcome"] != "listed" {
		t.Errorf("logged %v", line)
	}
	// The link asks for the same orders, after the end of the page.
	s = newService(t)
	listing().with(ordersPath+"?"+next, "").asServer(s, fakeOrders{asked: func(arguments ...any) {
		filter, _ := arguments[1].(checkout.OrderFilter)
		if filter.Status != checkout.OrderPlaced || filter.Limit != 2 || filter.Nick.Written != "Kestrel 9" ||
			!reflect.DeepEqual(filter.After, end) {
			t.Errorf("asked for %+v", filter)
		}
	}}).want(t, http.StatusOK, `{"orders":[],"next":null}`)
}

// No log line contains an ID, a payment, a reason or a query, whatever the outcome.
func TestOrders_Log_HoldsNothingPersonal(t *testing.T) {
	calls := append(everyOrderCall(),
		placing().with(ordersPath, `{"checkout":"ySBDAj","payment":{"provider":"stripe","reference":"pi_3QNa7c2e"}}`),
		placing().with(ordersPath+"?reference=pi_3QNa7c2e", placeBody),
		cancelling().with(cancelling().target, `{"reason":"chargeback\n"}`),
		listing().with(ordersPath+"?cursor="+string(rankID), ""),
		showing().with(rankPath+"A", ""),
	)
	for _, orders := range []fakeOrders{
		{order: cancelled(rankOrder()), listed: []checkout.Checkout{rankOrder()}},
		{order: rankOrder(), replayed: true},
		{err: checkout.ErrPaymentMismatch},
		{err: &checkout.MemberError{Pointer: "/payment", Reason: "is required"}},
		{err: throttled{}},
		{asked: func(...any) { panic("index out of range") }},
	} {
		for _, call := range calls {
			s := newService(t)
			call.asServer(s, orders)
			line, err := json.Marshal(s.logged(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{
				"ySBDAj", "stripe", "pi_3QNa7c2e", "chargeback", "Alder", "reference=",
				"cursor=", "key of the",
			} {
				if strings.Contains(string(line), secret) {
					t.Errorf("%s: the log holds %q: %s", call.what, secret, line)
				}
			}
		}
	}
}

func FuzzOrderBody(f *testing.F) {
	for _, seed := range []string{
		placeBody, `{"checkout":"` + string(rankID) + `"}`, `{"payment":{}}`, `{"payment/provider":"a"}`,
		`{"checkout":{"checkout":""}}`, `{`, " {\"ch\\u0065ckout\" :\n\"" + string(rankID) + "\"}\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var asked []any
		s := newService(t)
		orders := fakeOrders{order: rankOrder(), asked: func(arguments ...any) { asked = arguments }}
		a := s.send(s.PlaceOrder(orders), post(ordersPath, body, "Authorization", serverKey))
		if (a.status == http.StatusOK) != (asked != nil) || a.status != http.StatusOK && a.status/100 != 4 {
			t.Fatalf("%q: got %d %s; only an accepted body may reach the orders", body, a.status, a.body)
		}
		if asked == nil {
			return
		}
		// The endpoint must have read the body as another parser does.
		var sent struct {
			Checkout checkout.ID
			Payment  *struct{ Provider, Reference string }
		}
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatalf("%q was accepted: %v", body, err)
		}
		want := checkout.Payment{}
		if sent.Payment != nil {
			want = checkout.Payment{Provider: sent.Payment.Provider, Reference: sent.Payment.Reference}
		}
		if asked[1] != sent.Checkout || asked[2] != want {
			t.Errorf("%q asks for %v", body, asked)
		}
	})
}

func FuzzOrderList(f *testing.F) {
	for _, query := range []string{
		"status=placed&limit=1", "from=2026-11-21T12:00:00Z", "cursor=" + cursor("emberforge/1/"+string(rankID[:22])),
		"from=0000-01-01T00:00:00Z", "a;b",
	} {
		f.Add(query)
	}
	fuzzPages(f, ordersPath, func(_ *testing.T, s service, _ string) (first, next http.Handler) {
		end := &checkout.OrderPosition{Placed: now(), Token: rankID.Token()}
		return s.ListOrders(fakeOrders{end: end}), s.ListOrders(fakeOrders{})
	})
}
