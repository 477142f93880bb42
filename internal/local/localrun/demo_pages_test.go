package localrun_test

import (
	"cmp"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/pkg/client"
	"shopfront/pkg/voucher"
)

// response is a response whose body was read and HTML-unescaped.
type response struct {
	status int
	header http.Header
	body   string
}

// send sends a request as a browser does, but does not follow redirects. A body must be a form. In header, names and
// values alternate.
func send(t *testing.T, method, address, body string, header ...string) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for pair := range slices.Chunk(header, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	request.Host = cmp.Or(request.Header.Get("Host"), request.Host)
	received, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer received.Body.Close()
	text, err := io.ReadAll(received.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{received.StatusCode, received.Header, html.UnescapeString(string(text))}
}

func testIndex(t *testing.T, run *localruntest.Run) {
	base := run.State.BaseURL
	announced, requests, _ := strings.Cut(run.Output(), "/changelog.rss'")
	if !strings.Contains(announced, "Shopfront is at "+base+". Open it in a browser") ||
		!strings.Contains(requests, "The demo shops: "+base) {
		t.Error("the run does not show its address before and after the requests to try")
	}
	got := send(t, http.MethodGet, base+"/?utm_source=forum", "")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("the list of shops is %d %s, want an HTML page", got.status, got.body)
	}
	for _, want := range []string{
		`href="` + base + `/shop/emberforge" dir="auto">Emberforge<`,
		`href="` + base + `/shop/sakura-goods" dir="auto">Sakura Goods<`,
		"<code>SUMMER-20</code> gives 20% off", "<code>FIVE-OFF</code> gives 5.00 EUR off",
		"(five euros off, 50 uses, once for every nick)",
		"<code>STARTER-PACK</code> gives 1 × Ember coins, 1,200 coins; 2 × Crate key, One key; 1 × VIP rank, 30 days",
		"<code>YEN-500</code> gives 500 JPY off",
		`href="/docs"`, `href="/changelog"`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the list of shops has no %s: %s", want, got.body)
		}
	}
	for _, code := range []string{"KESTREL-CAPE", "SPRING-10", "CENTURY-VIP", "LEAKED-50"} {
		if strings.Contains(got.body, code) {
			t.Errorf("the list of shops shows the code %s, which some people cannot redeem now", code)
		}
	}
	policy := got.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		t.Errorf("the Content-Security-Policy is %q", policy)
	}
	wantLine(t, run, " 200 GET / ")
	if strings.Contains(run.Output(), "utm_source") {
		t.Error("the run printed the query of a request")
	}
}

// wantLine waits until the run has printed the text. The run may print a request's line after the response.
func wantLine(t *testing.T, run *localruntest.Run, text string) {
	t.Helper()
	for until := time.Now().Add(patience); !strings.Contains(run.Output(),
		text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the run did not print %q: %s", text, run.Output())
		}
	}
}

// shopClient returns a client of the demo shop Emberforge.
func shopClient(t *testing.T, run *localruntest.Run, options ...client.Option) *client.Client {
	t.Helper()
	shop, err := client.New(run.State.BaseURL, "emberforge", options...)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

// checkOut checks out in the demo shop. It returns the checkout's ID and the address of the page that takes its
// payment.
func checkOut(t *testing.T, run *localruntest.Run, order client.Order) (id, address string) {
	t.Helper()
	checkout, err := shopClient(t, run).Checkout(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	return checkout.ID, run.State.BaseURL + "/demo/payment?" + paymentForm(run, checkout.ID, "")
}

// paymentForm returns the query of the demo payment page. With an action, it returns the page's form.
func paymentForm(run *localruntest.Run, checkout, action string) string {
	values := url.Values{"checkout": {checkout}, "return": {run.State.BaseURL + "/shop/emberforge?lang=de#paid"}}
	if action != "" {
		values.Set("action", action)
	}
	return values.Encode()
}

func status(t *testing.T, run *localruntest.Run, checkout string) client.CheckoutStatus {
	t.Helper()
	shown, err := shopClient(t, run).ShowCheckout(t.Context(), checkout)
	if err != nil {
		t.Fatal(err)
	}
	return shown.Status
}

func testPayment(t *testing.T, run *localruntest.Run) {
	payments := run.State.BaseURL + "/demo/payment"
	wantPage(t, run.State.BaseURL+"/shop/emberforge", http.StatusOK, payments+"?checkout={checkout}&return={return}")
	back := run.State.BaseURL + "/shop/emberforge?lang=de#paid"
	id, address := checkOut(t, run, client.Order{Product: "coins", Variant: "500", Amount: 2, Code: "SUMMER-20"})
	wantPage(t, address, http.StatusOK, "Emberforge", "Ember coins", "500 coins", "SUMMER-20, 1.99 EUR off",
		"<strong>7.99 EUR", `value="pay"`, back)

	byName := strings.Replace(back, "127.0.0.1", "localhost", 1)
	wantPage(t, payments+"?"+url.Values{"checkout": {id}, "return": {byName}}.Encode(), http.StatusOK, byName)

	got := send(t, http.MethodPost, payments, paymentForm(run, id, "cancel"), "Sec-Fetch-Site", "same-origin", "Origin",
		"null")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != back ||
		status(t, run, id) != client.CheckoutOpen {
		t.Errorf("the response to cancelling is %d %s, want a redirect to the shop and an open checkout", got.status,
			got.body)
	}

	var clicks sync.WaitGroup // two clicks at once
	for range 2 {
		clicks.Go(func() {
			got := send(t, http.MethodPost, payments, paymentForm(run, id, "pay"), "Origin", run.State.BaseURL)
			if got.status != http.StatusSeeOther || got.header.Get("Location") != back {
				t.Errorf("the response to paying is %d to %q, want a redirect to the shop: %s", got.status,
					got.header.Get("Location"), got.body)
			}
		})
	}
	clicks.Wait()
	if got := status(t, run, id); got != client.CheckoutOrdered {
		t.Errorf("the checkout's status is %s, want ordered", got)
	}
	if page := wantPage(t, address, http.StatusOK, "This checkout is paid.", back); strings.Contains(page, "<button") {
		t.Error("the page of a paid checkout still has a button")
	}

	shop, err := run.State.Deployment(rand.Int64N).Shop(t.Context(), "emberforge")
	if err != nil {
		t.Fatal(err)
	}
	live := 0
	records, err := shop.Keys(t.Context())
	for _, record := range records {
		if record.Name == "demo payment page" && record.Revoked.IsZero() {
			live++
		}
	}
	if err != nil || live != 1 {
		t.Errorf("the demo payment page has %d live keys, want 1 (%v)", live, err)
	}
	log, err := os.ReadFile(filepath.Join(run.Root(), ".shopfront", "functions.log"))
	if err != nil || regexp.MustCompile(`sf_\w{10}_`).MatchString(run.Output()+string(log)) {
		t.Errorf("the run printed or logged a key, or its log cannot be read: %v", err)
	}
	wantLine(t, run, " 303 POST /demo/payment ")
}

// wantPage gets a page, checks that it has the status and contains the texts, and returns it.
func wantPage(t *testing.T, address string, status int, texts ...string) string {
	t.Helper()
	got := send(t, http.MethodGet, address, "")
	if got.status != status {
		t.Errorf("the status of %s is %d, want %d", address, got.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(got.body, text) {
			t.Errorf("the page has no %q: %s", text, got.body)
		}
	}
	return got.body
}

func testRefusedPayments(t *testing.T, run *localruntest.Run) {
	base := run.State.BaseURL
	payments, back := base+"/demo/payment", base+"/shop/emberforge?lang=de#paid"
	id, _ := checkOut(t, run, client.Order{Product: "coins", Variant: "500"})
	for _, address := range []string{
		"", "/shop/emberforge", "https://alder.example/shop/emberforge", base + "@alder.example/shop/emberforge",
		base + "/docs", base + "/shop/%zz",
	} {
		form := url.Values{"checkout": {id}, "return": {address}, "action": {"pay"}}.Encode()
		if got := send(t, http.MethodPost, payments, form); got.status != http.StatusBadRequest ||
			got.header.Get("Location") != "" {
			t.Errorf("a form with the return address %q: status %d, want 400", address, got.status)
		}
	}
	for _, test := range []struct {
		header []string
		status int
	}{
		{[]string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{[]string{"Origin", "https://alder.example"}, http.StatusForbidden},
		// If another site's name points to this machine, a browser sends that site's forms as forms of the same origin.
		{[]string{"Host", "alder.example", "Sec-Fetch-Site", "same-origin"}, http.StatusBadRequest},
		{
			[]string{"Host", strings.Replace(base[len("http://"):], "127.0.0.1", "127.0.0.1.alder.example", 1)},
			http.StatusBadRequest,
		},
	} {
		got := send(t, http.MethodPost, payments, paymentForm(run, id, "pay"), test.header...)
		if got.status != test.status {
			t.Errorf("a form with the header %q: status %d, want %d", test.header, got.status, test.status)
		}
	}
	if got := status(t, run, id); got != client.CheckoutOpen {
		t.Errorf("the checkout's status is %s, want open", got)
	}

	for _, unknown := range []string{"no such checkout", strings.Repeat("A", 44)} {
		wantPage(t, payments+"?"+paymentForm(run, unknown, ""), http.StatusNotFound, "No such checkout", back)
	}
	query := url.Values{"checkout": {id}, "return": {base + "/shop/alder-and-sons"}}
	wantPage(t, payments+"?"+query.Encode(), http.StatusNotFound, "No such checkout")

	newer, _ := checkOut(t, run, client.Order{Product: "coins", Variant: "500", Replaces: id})
	wantPage(t, payments+"?"+paymentForm(run, id, ""), http.StatusOK, "If another one replaced it, pay that one.", back)
	wantRefused(t, run, id, "Checkout replaced")

	server := shopClient(t, run, client.WithServerKey(newServer(t, run).key))
	if _, err := server.PlaceOrder(t.Context(), newer,
		client.Payment{Provider: "stripe", Reference: "pi_3NtT9zLkdIwHu7ix0JqYbV2d"}); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, run, newer, "Ordered with another payment")
}

// wantRefused checks that paying a checkout is refused, with these words as the heading and with a link back.
func wantRefused(t *testing.T, run *localruntest.Run, checkout, words string) {
	t.Helper()
	got := send(t, http.MethodPost, run.State.BaseURL+"/demo/payment", paymentForm(run, checkout, "pay"))
	if got.status != http.StatusConflict || !strings.Contains(got.body, "<h1>"+words) ||
		!strings.Contains(got.body, "/shop/emberforge?lang=de#paid") {
		t.Errorf("the response to paying is %d %s, want 409 with the heading %q and a link back", got.status, got.body,
			words)
	}
}

func testFreeOrder(t *testing.T, run *localruntest.Run) {
	shop, err := run.State.Deployment(rand.Int64N).Shop(t.Context(), "emberforge")
	if err != nil {
		t.Fatal(err)
	}
	terms := voucher.Terms{Written: "FREE-DAY", Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 100}}
	if _, err := shop.CreateVoucher(t.Context(), terms, time.Now()); err != nil {
		t.Fatal(err)
	}
	id, address := checkOut(t, run, client.Order{Product: "coins", Variant: "500", Code: "FREE-DAY"})
	wantPage(t, address, http.StatusOK, "<strong>0.00 EUR")
	got := send(t, http.MethodPost, run.State.BaseURL+"/demo/payment", paymentForm(run, id, "pay"))
	if got.status != http.StatusSeeOther {
		t.Errorf("the response to paying is %d %s, want a redirect", got.status, got.body)
	}
	server := shopClient(t, run, client.WithServerKey(newServer(t, run).key))
	if order, err := server.ShowOrder(t.Context(), id); err != nil || order.Payment != (client.Payment{}) {
		t.Errorf("the order is %+v, %v, want one without a payment", order, err)
	}
}
