package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"shopfront/pkg/client"
)

const (
	shopKey       = "sf_" + "3Q0001AlderKestrelFoxOwl-3Q0001AlderKestrelFoxOwl-3Q0001Alde"
	stripeKey     = "sk_test_Alder"
	webhookSecret = "whsec_Kestrel"
	paymentID     = "pi_3Q0001"
)

// shopfront stands in for Shopfront. It sells everything for one price.
type shopfront struct {
	price    client.Money
	refuses  *client.ProblemError // the response to every order; nil: orders are placed
	loses    string               // the next response for a path with this ending gets lost; empty: none
	mu       sync.Mutex
	byKey    map[string]client.Checkout
	orders   map[string]client.PlacedOrder
	unlocked bool           // whether a request came without the key of the shop's server
	guesses  map[string]int // refused codes, by the Shopper-Address
}

func (s *shopfront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlocked = s.unlocked || r.Header.Get("Authorization") != "Bearer "+shopKey
	mux := http.NewServeMux()
	mux.HandleFunc("GET /shop/emberforge/checkout/{product}/{variant}", s.checkOut)
	mux.HandleFunc("POST /shop/emberforge/orders", s.place)
	mux.HandleFunc("POST /shop/emberforge/orders/{id}/fulfil", s.fulfil)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, r)
	if s.loses != "" && strings.HasSuffix(r.URL.Path, s.loses) {
		s.loses = ""
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (s *shopfront) checkOut(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("product") != "coins" {
		writeProblem(w, client.ProblemError{Type: "not-found", Status: http.StatusNotFound})
		return
	}
	key := r.Header.Get("Idempotency-Key")
	checkout, isKnown := s.byKey[key]
	if _, isOrdered := s.orders[checkout.ID]; isOrdered {
		writeProblem(w, client.ProblemError{Type: "idempotency-key-in-use", Status: http.StatusUnprocessableEntity})
		return
	}
	if !isKnown {
		now := time.Now().UTC().Truncate(time.Millisecond)
		discount := client.Money{Currency: s.price.Currency}
		code, total := r.FormValue("code"), s.price
		switch {
		case code == "SUMMER-20":
			discount.Minor = s.price.Minor / 5
			total.Minor -= discount.Minor
		case s.guesses[r.Header.Get("Shopper-Address")] == 2:
			writeProblem(w, client.ProblemError{Type: "too-many-refusals", Status: http.StatusTooManyRequests})
			return
		case code != "":
			s.guesses[r.Header.Get("Shopper-Address")]++
			writeProblem(w, client.ProblemError{Type: "code-refused", Status: http.StatusConflict})
			return
		}
		checkout = client.Checkout{
			ID: fmt.Sprintf("ySBDAj4aT84YTR_U3sQzxw_%d", len(s.byKey)), Number: "HCAXP-K92P9",
			Status: client.CheckoutOpen, Product: "coins", Variant: r.PathValue("variant"), Amount: 1,
			Data: json.RawMessage(`""`),
			Code: code, Nick: r.FormValue("nick"), UnitPrice: s.price, Subtotal: s.price, Discount: discount,
			Total:     total,
			CreatedAt: now, ExpiresAt: now.Add(30 * time.Minute),
		}
		s.byKey[key] = checkout
	}
	writeJSON(w, checkout)
}

func (s *shopfront) place(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Checkout string
		Payment  client.Payment
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		writeProblem(w, client.ProblemError{Type: "malformed-request", Status: http.StatusBadRequest})
		return
	}
	if s.refuses != nil {
		writeProblem(w, *s.refuses)
		return
	}
	for _, c := range s.byKey {
		if _, isOrdered := s.orders[c.ID]; c.ID == asked.Checkout && !isOrdered {
			s.orders[c.ID] = client.PlacedOrder{
				ID: c.ID, Status: client.OrderPlaced, Product: c.Product, Variant: c.Variant, Amount: c.Amount,
				Data: c.Data, Code: c.Code, Nick: c.Nick,
				UnitPrice: c.UnitPrice, Subtotal: c.Subtotal, Discount: c.Discount, Total: c.Total,
				CreatedAt: c.CreatedAt,
				Payment:   asked.Payment, OrderedAt: time.Now(),
			}
		}
	}
	writeJSON(w, s.orders[asked.Checkout])
}

func (s *shopfront) fulfil(w http.ResponseWriter, r *http.Request) {
	order := s.orders[r.PathValue("id")]
	if order.Status == client.OrderCancelled {
		writeProblem(w, client.ProblemError{Type: "order-cancelled", Status: http.StatusConflict})
		return
	}
	order.Status, order.FulfilledAt = client.OrderFulfilled, time.Now()
	s.orders[order.ID] = order
	writeJSON(w, order)
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// writeProblem writes a problem of Shopfront, or an error of the gateway in front of it.
func writeProblem(w http.ResponseWriter, p client.ProblemError) {
	if p.Type == "the gateway" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(p.Status)
		_, _ = io.WriteString(w, `{"message":"Not Found"}`)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = fmt.Fprintf(w, `{"type":"urn:problem:shopfront:%s","title":"A title","status":%d}`, p.Type, p.Status)
}

// stripeAPI stands in for Stripe. It opens one session for each idempotency key.
type stripeAPI struct {
	mu       sync.Mutex
	fails    bool
	keys     []string
	sessions []url.Values // the parameters of each session
}

func (s *stripeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm() // after an error the form is empty
	key := r.Header.Get("Idempotency-Key")
	i := slices.Index(s.keys, key)
	switch {
	case r.Method+r.URL.Path != "POST/v1/checkout/sessions" || r.Header.Get("Authorization") != "Bearer "+stripeKey:
		http.Error(w, `{"error":{"type":"invalid_request_error"}}`, http.StatusUnauthorized)
		return
	case s.fails || i >= 0 && s.sessions[i].Encode() != r.PostForm.Encode():
		http.Error(w, `{"error":{"type":"idempotency_error","message":"Parameters of the key `+key+` differ"}}`,
			http.StatusBadRequest)
		return
	case i < 0:
		i = len(s.keys)
		s.keys, s.sessions = append(s.keys, key), append(s.sessions, r.PostForm)
	}
	writeJSON(w, map[string]string{
		"id":  fmt.Sprintf("cs_test_%d", i),
		"url": fmt.Sprintf("https://checkout.stripe.com/c/pay/cs_test_%d", i),
	})
}

// fixture is a till that uses stand-ins for Shopfront and Stripe.
type fixture struct {
	*till

	shopfront *shopfront
	stripeAPI *stripeAPI
	delivered []string
	log       bytes.Buffer
}

func environment(shopURL, stripeURL string) func(string) string {
	return func(name string) string {
		return map[string]string{
			"SHOP_URL": shopURL, "SHOP_KEY": shopKey, "STRIPE_SECRET_KEY": stripeKey,
			"STRIPE_WEBHOOK_SECRET": webhookSecret,
			"STRIPE_API":            stripeURL, "OWN_URL": "https://coins.example",
		}[name]
	}
}

func open(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{
		shopfront: &shopfront{
			price: client.Money{Minor: 499, Currency: "EUR", Display: "4.99 EUR"},
			byKey: map[string]client.Checkout{}, orders: map[string]client.PlacedOrder{}, guesses: map[string]int{},
		},
		stripeAPI: &stripeAPI{},
	}
	shop, api := httptest.NewServer(s.shopfront), httptest.NewServer(s.stripeAPI)
	t.Cleanup(shop.Close)
	t.Cleanup(api.Close)
	var err error
	if s.till, err = newTill(environment(shop.URL+"/shop/emberforge", api.URL),
		slog.New(slog.NewTextHandler(&s.log, nil))); err != nil {
		t.Fatal(err)
	}
	// The client makes only one attempt, so that Stripe has to send the event again.
	if s.shop, err = client.New(shop.URL, "emberforge", client.WithServerKey(shopKey),
		client.WithAttempts(1)); err != nil {
		t.Fatal(err)
	}
	s.deliver = func(_ context.Context, order client.PlacedOrder) error {
		s.delivered = append(s.delivered, order.ID)
		return nil
	}
	t.Cleanup(func() {
		if s.shopfront.unlocked {
			t.Error("Shopfront got a request without the key of the shop's server")
		}
		// the checkout's ID may be logged: the operator needs it
		for _, secret := range []string{shopKey, stripeKey, webhookSecret} {
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("the log contains %s:\n%s", secret, &s.log)
			}
		}
	})
	return s
}

func (s *fixture) post(t *testing.T, target, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	return w
}

// buy sends the form. The parameter attempt is the value of the form's field, and can be followed by & and more fields.
// buy returns the address to which the server sends the shopper, and the checkout's ID.
func (s *fixture) buy(t *testing.T, attempt string) (next, checkout string) {
	t.Helper()
	key, _, _ := strings.Cut(attempt, "&")
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	response := s.post(t, "/buy?product=coins&variant=500", "attempt="+attempt, form)
	if response.Code != http.StatusSeeOther {
		t.Fatalf("buying gets %d\n%s", response.Code, &s.log)
	}
	return response.Header().Get("Location"), s.shopfront.byKey[key].ID
}

// event returns Stripe's event about a session that pays a checkout.
func event(kind, paymentStatus, checkout string) string {
	return fmt.Sprintf(`{"id":"evt_1","object":"event","api_version":%q,"type":%q,"data":{"object":{"id":"cs_test_0",`+
		`"object":"checkout.session","client_reference_id":"HCAXP-K92P9","metadata":{"shopfront_checkout":%q},`+
		`"payment_status":%q,"amount_total":499,"currency":"eur",`+
		`"payment_intent":%q}}}`, stripe.APIVersion, kind, checkout, paymentStatus, paymentID)
}

func paid(checkout string) string { return event("checkout.session.completed", "paid", checkout) }

func sign(body, secret string, at time.Time) string {
	payload := webhook.UnsignedPayload{Payload: []byte(body), Secret: secret, Timestamp: at}
	return webhook.GenerateTestSignedPayload(&payload).Header
}

// report sends an event as Stripe does, and fails the test unless the response has the status want.
func (s *fixture) report(t *testing.T, body string, want int) {
	t.Helper()
	header := http.Header{"Stripe-Signature": {sign(body, webhookSecret, time.Now())}}
	if status := s.post(t, "/webhook", body, header).Code; status != want {
		t.Errorf("the event gets %d, want %d\n%s", status, want, &s.log)
	}
}

// wantSold fails the test unless the checkout was ordered with the payment, delivered once, and fulfilled.
func (s *fixture) wantSold(t *testing.T, checkout string, payment client.Payment) {
	t.Helper()
	order := s.shopfront.orders[checkout]
	if len(s.shopfront.orders) != 1 || order.Status != client.OrderFulfilled || order.Payment != payment {
		t.Errorf("orders are %+v, want one that is fulfilled and paid with %+v", s.shopfront.orders, payment)
	}
	if !slices.Equal(s.delivered, []string{checkout}) {
		t.Errorf("delivered %q, want %q once", s.delivered, checkout)
	}
}

func (s *fixture) wantNothingSold(t *testing.T) {
	t.Helper()
	if len(s.shopfront.orders) > 0 || len(s.delivered) > 0 {
		t.Errorf("orders are %+v and delivered %q, want none", s.shopfront.orders, s.delivered)
	}
}

// wantLine fails the test unless the log has one line, which contains what an operator needs to settle the payment by
// hand.
func (s *fixture) wantLine(t *testing.T, begin, checkout, reason string) {
	t.Helper()
	log := s.log.String()
	for _, want := range []string{begin, "checkout=" + checkout, "payment=" + paymentID, reason} {
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, want) {
			t.Errorf("logged %q, want one line with %s", log, want)
		}
	}
}

func stripePayment() client.Payment {
	return client.Payment{Provider: "stripe", Reference: paymentID, Amount: 499, Currency: "EUR"}
}

func TestTill_PaidSession_BecomesAFulfilledOrder(t *testing.T) {
	s := open(t)
	next, checkout := s.buy(t, "Alder-1")
	if next != "https://checkout.stripe.com/c/pay/cs_test_0" {
		t.Errorf("the shopper is sent to %s", next)
	}
	s.wantNothingSold(t)
	ends := s.shopfront.byKey["Alder-1"].ExpiresAt.Add(31 * time.Minute).Unix()
	want := url.Values{
		"mode": {"payment"}, "client_reference_id": {"HCAXP-K92P9"}, "metadata[shopfront_checkout]": {checkout},
		"expires_at":  {fmt.Sprint(ends)},
		"success_url": {"https://coins.example/thanks"}, "cancel_url": {"https://coins.example/"},
		"line_items[0][quantity]":             {"1"},
		"line_items[0][price_data][currency]": {"eur"}, "line_items[0][price_data][unit_amount]": {"499"},
		"line_items[0][price_data][product_data][name]": {"1 × coins, 500"},
	}
	if got := s.stripeAPI.sessions[0]; got.Encode() != want.Encode() {
		t.Errorf("the session has %v, want %v", got, want)
	}
	s.report(t, paid(checkout), http.StatusOK)
	s.wantSold(t, checkout, stripePayment())
}

func TestBuy_WithACode_OpensASessionWithTheDiscountedTotal(t *testing.T) {
	s := open(t)
	s.nick = func(*http.Request) string { return "Alder" }
	_, checkout := s.buy(t, "Alder-1&code=+SUMMER-20+")
	if c := s.shopfront.byKey["Alder-1"]; c.Code != "SUMMER-20" || c.Nick != "Alder" {
		t.Errorf("the checkout is %+v, want one with code SUMMER-20 for Alder", c)
	}
	if got := s.stripeAPI.sessions[0].Get("line_items[0][price_data][unit_amount]"); got != "400" {
		t.Errorf("Stripe got %s, want 400", got)
	}
	s.report(t, paid(checkout), http.StatusOK)
	s.wantSold(t, checkout, stripePayment())
}

func TestBuy_ClickedTwice_OpensOneSession(t *testing.T) {
	s := open(t)
	first, _ := s.buy(t, "Alder-1")
	again, _ := s.buy(t, "Alder-1")
	other, _ := s.buy(t, "Alder-2")
	if first != again || first == other || len(s.stripeAPI.sessions) != 2 {
		t.Errorf("the shopper is sent to %s, then %s, and with another attempt to %s", first, again, other)
	}
}

func TestBuy_CurrencyThatStripeCountsDifferently_IsNotSold(t *testing.T) {
	for currency, isSold := range map[string]bool{
		"EUR": true, "HUF": true, "JPY": true, "XOF": true, "ISK": false, "UGX": false, "MGA": false, "KWD": false,
		"TND": false,
	} {
		t.Run(currency, func(t *testing.T) {
			s := open(t)
			s.shopfront.price = client.Money{Minor: 500, Currency: currency, Display: "500 " + currency}
			status := s.post(t, "/buy?product=coins&variant=500", "", nil).Code
			if !isSold {
				if status != http.StatusServiceUnavailable || len(s.stripeAPI.sessions) > 0 {
					t.Errorf("buying gets %d, and Stripe got %v", status, s.stripeAPI.sessions)
				}
				return
			}
			if got := s.stripeAPI.sessions[0].Get("line_items[0][price_data][unit_amount]"); got != "500" {
				t.Errorf("Stripe got %s, want 500", got)
			}
		})
	}
}

func TestBuy_TotalOfZero_IsOrderedAtOnce(t *testing.T) {
	s := open(t)
	s.shopfront.price = client.Money{Minor: 0, Currency: "EUR", Display: "0.00 EUR"}
	if next, checkout := s.buy(t, "Alder-1"); next != "https://coins.example/thanks" {
		t.Errorf("the shopper is sent to %s", next)
	} else {
		s.wantSold(t, checkout, client.Payment{})
	}
	if len(s.stripeAPI.sessions) > 0 {
		t.Errorf("Stripe got %v", s.stripeAPI.sessions)
	}
}

func TestBuy_Refusals(t *testing.T) {
	for name, test := range map[string]struct {
		form string
		want int
	}{
		"an unknown product":          {"product=cape&variant=red", http.StatusUnprocessableEntity},
		"a malformed product":         {"product=..&variant=500", http.StatusUnprocessableEntity},
		"a malformed attempt":         {"product=coins&variant=500&attempt=Alder,1", http.StatusUnprocessableEntity},
		"a code that is refused":      {"product=coins&variant=500&attempt=Alder-2&code=WINTER-10", http.StatusConflict},
		"the form of a paid checkout": {"product=coins&variant=500&attempt=Alder-1", http.StatusConflict},
		"Stripe fails":                {"product=coins&variant=500&attempt=Alder-2", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			_, checkout := s.buy(t, "Alder-1")
			s.report(t, paid(checkout), http.StatusOK)
			s.stripeAPI.fails = true
			if status := s.post(t, "/buy?"+test.form, "", nil).Code; status != test.want {
				t.Errorf("buying gets %d, want %d", status, test.want)
			}
		})
	}
}

// Shopfront limits what it can tell apart: without their address, all shoppers of this server were one.
func TestBuy_Guesses_AreLimitedByTheAddressOfTheConnection(t *testing.T) {
	s := open(t)
	guess := func() int {
		return s.post(t, "/buy?product=coins&variant=500&code=WINTER-10", "",
			http.Header{"Shopper-Address": {"203.0.113.8"}, "X-Forwarded-For": {"203.0.113.8"}}).Code
	}
	for i, want := range []int{http.StatusConflict, http.StatusConflict, http.StatusTooManyRequests} {
		if status := guess(); status != want {
			t.Errorf("guess %d gets %d, want %d", i, status, want)
		}
	}
	if s.shopfront.guesses["192.0.2.1"] != 2 { // the address of httptest's requests
		t.Errorf("the guesses are counted for %v, want 2 for 192.0.2.1", s.shopfront.guesses)
	}
	s.address = func(*http.Request) netip.Addr { return netip.MustParseAddr("2001:db8::7") }
	if status := guess(); status != http.StatusConflict {
		t.Errorf("a guess from another address gets %d, want 409", status)
	}
}

func TestBuy_PostOfAnotherSite_IsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		header http.Header
		want   int
	}{
		"another site":             {http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"an older browser":         {http.Header{"Origin": {"https://prizes.example"}}, http.StatusForbidden},
		"the shop's own page":      {http.Header{"Sec-Fetch-Site": {"same-origin"}}, http.StatusSeeOther},
		"its page in an older one": {http.Header{"Origin": {"https://example.com"}}, http.StatusSeeOther},
	} {
		s := open(t)
		if status := s.post(t, "/buy?product=coins&variant=500", "", test.header).Code; status != test.want {
			t.Errorf("%s: buying gets %d, want %d", name, status, test.want)
		}
		if isSold := len(s.shopfront.byKey) > 0; isSold != (test.want == http.StatusSeeOther) {
			t.Errorf("%s: checked out: %t", name, isSold)
		}
	}
}

func TestWebhook_LostResponseOfShopfront_IsRetried(t *testing.T) {
	for name, lost := range map[string]string{"placing": "/orders", "fulfilling": "/fulfil"} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			_, checkout := s.buy(t, "Alder-1")
			s.shopfront.loses = lost
			for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
				s.report(t, paid(checkout), want)
			}
			s.wantSold(t, checkout, stripePayment())
		})
	}
}

func TestWebhook_FailedDelivery_IsRetried(t *testing.T) {
	s := open(t)
	_, checkout := s.buy(t, "Alder-1")
	deliver := s.deliver
	s.deliver = func(context.Context, client.PlacedOrder) error { return io.ErrUnexpectedEOF }
	s.report(t, paid(checkout), http.StatusServiceUnavailable)
	s.deliver = deliver
	s.report(t, paid(checkout), http.StatusOK)
	s.wantSold(t, checkout, stripePayment())
}

func TestWebhook_ForgedEvent_Is400(t *testing.T) {
	for name, signature := range map[string]func(body string) string{
		"no signature":             func(string) string { return "" },
		"not a signature":          func(string) string { return "t=1,v1=Alder" },
		"signed by somebody else":  func(body string) string { return sign(body, "whsec_Alder", time.Now()) },
		"signed for another event": func(string) string { return sign(paid("coins"), webhookSecret, time.Now()) },
		"an old event, replayed":   func(body string) string { return sign(body, webhookSecret, time.Now().Add(-time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			_, checkout := s.buy(t, "Alder-1")
			body := paid(checkout)
			if status := s.post(t, "/webhook", body,
				http.Header{"Stripe-Signature": {signature(body)}}).Code; status != http.StatusBadRequest {
				t.Errorf("the event gets %d, want 400", status)
			}
			s.wantNothingSold(t)
		})
	}
}

func TestWebhook_LargeBody_Is413(t *testing.T) {
	s := open(t)
	s.report(t, strings.Repeat(" ", 64<<10)+paid("coins"), http.StatusRequestEntityTooLarge)
}

func TestWebhook_OnlyAPaidSessionOfACheckout_BecomesAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		kind, status string
		isSold       bool
	}{
		"paid by card":             {"checkout.session.completed", "paid", true},
		"a bank transfer begins":   {"checkout.session.completed", "unpaid", false},
		"a bank transfer arrives":  {"checkout.session.async_payment_succeeded", "paid", true},
		"a bank transfer fails":    {"checkout.session.async_payment_failed", "unpaid", false},
		"nothing was to be paid":   {"checkout.session.completed", "no_payment_required", false},
		"an event of another kind": {"checkout.session.expired", "paid", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			_, checkout := s.buy(t, "Alder-1")
			s.report(t, event(test.kind, test.status, checkout), http.StatusOK)
			if !test.isSold {
				s.wantNothingSold(t)
				return
			}
			s.wantSold(t, checkout, stripePayment())
		})
	}
}

// A shopper can choose the client_reference_id of a payment link, so a till that trusts it sells an expensive checkout
// for little.
func TestWebhook_ReferenceThatAShopperChose_BuysNothing(t *testing.T) {
	s := open(t)
	_, checkout := s.buy(t, "Alder-1")
	body := strings.Replace(paid(checkout), "shopfront_checkout", "campaign", 1)
	s.report(t, body, http.StatusOK)
	s.wantNothingSold(t)
}

func TestWebhook_EventOfAnotherAPIVersion_IsRead(t *testing.T) {
	s := open(t)
	_, checkout := s.buy(t, "Alder-1")
	s.report(t, strings.Replace(paid(checkout), stripe.APIVersion, "2022-11-15", 1), http.StatusOK)
	s.wantSold(t, checkout, stripePayment())
}

func TestWebhook_Refusals(t *testing.T) {
	const (
		refund    = "level=ERROR msg=\"refund a payment\""
		cannot    = "level=ERROR msg=\"cannot settle a payment\""
		wait      = "level=WARN msg=\"a payment is not settled yet\""
		cancelled = "level=WARN msg=\"the order is cancelled\""
	)
	for name, test := range map[string]struct {
		status, want int
		logged       string
	}{
		"checkout-expired":  {http.StatusConflict, http.StatusOK, refund},
		"checkout-replaced": {http.StatusConflict, http.StatusOK, refund},
		"checkout-released": {http.StatusConflict, http.StatusOK, refund},
		"payment-mismatch":  {http.StatusConflict, http.StatusOK, refund},
		"order-cancelled":   {http.StatusConflict, http.StatusOK, cancelled},
		"not-found":         {http.StatusNotFound, http.StatusOK, refund},
		"unauthorized":      {http.StatusUnauthorized, http.StatusServiceUnavailable, cannot},
		"invalid":           {http.StatusUnprocessableEntity, http.StatusServiceUnavailable, cannot},
		"the gateway":       {http.StatusNotFound, http.StatusServiceUnavailable, cannot},
		"unavailable":       {http.StatusServiceUnavailable, http.StatusServiceUnavailable, wait},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			_, checkout := s.buy(t, "Alder-1")
			s.shopfront.refuses = &client.ProblemError{Type: name, Status: test.status}
			s.report(t, paid(checkout), test.want)
			s.wantLine(t, test.logged, checkout, name)
			s.wantNothingSold(t)
			if test.want != http.StatusOK { // Stripe sends the event again, perhaps once the key is replaced
				s.shopfront.refuses = nil
				s.report(t, paid(checkout), http.StatusOK)
				s.wantSold(t, checkout, stripePayment())
			}
		})
	}
}

func TestWebhook_MalformedCheckoutID_CallsTheOperator(t *testing.T) {
	s := open(t)
	s.report(t, paid("coins/500"), http.StatusServiceUnavailable)
	s.wantLine(t, "level=ERROR msg=\"cannot settle a payment\"", "coins/500", "malformed ID")
	s.wantNothingSold(t)
}

func TestWebhook_OrderCancelledDuringDelivery_LogsWhatToTakeBack(t *testing.T) {
	s := open(t)
	_, checkout := s.buy(t, "Alder-1")
	s.deliver = func(_ context.Context, order client.PlacedOrder) error {
		order.Status = client.OrderCancelled
		s.shopfront.orders[order.ID] = order
		return nil
	}
	s.report(t, paid(checkout), http.StatusOK)
	s.wantLine(t, "level=ERROR msg=\"take back what was delivered\"", checkout, "")
}

func TestNewTill_WrongConfiguration_NamesTheVariables(t *testing.T) {
	whole := environment("https://shop.example/shop/emberforge", "")
	all := "SHOP_URL, SHOP_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET"
	for _, without := range append(strings.Split(all, ", "), all) {
		getenv := func(name string) string {
			if strings.Contains(without, name) {
				return ""
			}
			return whole(name)
		}
		want := "set the environment variables " + without
		if _, err := newTill(getenv, slog.New(slog.DiscardHandler)); err == nil || err.Error() != want {
			t.Errorf("without %s the error is %v, want %q", without, err, want)
		}
	}
	if _, err := newTill(environment("https://shop.example", ""), slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "SHOP_URL must look like") || strings.Contains(err.Error(), shopKey) {
		t.Errorf("without a shop the error is %v", err)
	}
}
