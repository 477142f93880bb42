package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// fakeOpener is an httpapi.CheckoutOpener.
type fakeOpener struct {
	open  func(checkout.Request) (checkout.Checkout, bool, error)
	quote func(checkout.Request) (checkout.Checkout, bool, error)
}

func (d fakeOpener) Open(_ context.Context, r checkout.Request) (checkout.Checkout, bool, error) {
	return d.open(r)
}

func (d fakeOpener) Quote(_ context.Context, r checkout.Request) (checkout.Checkout, bool, error) {
	return d.quote(r)
}

// unusedOpener fails the test when a request reaches it.
func unusedOpener(t *testing.T) fakeOpener {
	closed := func(checkout.Request) (checkout.Checkout, bool, error) {
		t.Error("the request reached the opener")
		return checkout.Checkout{}, false, nil
	}
	return fakeOpener{open: closed, quote: closed}
}

// selling returns an opener that sells three of the requested variant, at 4.99 EUR each.
func selling() fakeOpener {
	eur := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }
	sell := func(r checkout.Request) (checkout.Checkout, bool, error) {
		return checkout.Checkout{
			ID: "q83vEjRWeJASNFZ4kBI0Vg5ZHo9V0Hk3RmKUL0dT2g_-", Product: r.Product, Variant: r.Variant, Amount: 3,
			UnitPrice: eur(499), Subtotal: eur(1497), Discount: eur(0), Total: eur(1497),
			Created: r.At, Expires: r.At.Add(checkout.Lifetime),
		}, false, nil
	}
	return fakeOpener{open: sell, quote: sell}
}

func get(target string, headers ...string) *http.Request {
	return request(http.MethodGet, target, "", headers...)
}

const (
	coinsPath = "/shop/emberforge/checkout/coins/500"
	olderPath = "/shop/emberforge/checkout/coins/variant/500"
)

const soldBody = `{"id":"q83vEjRWeJASNFZ4kBI0Vg5ZHo9V0Hk3RmKUL0dT2g_-","number":"G5A2H-MEMY0","status":"open",` +
	`"product":"coins","variant":"500","amount":3,"data":%s,` +
	`"unitPrice":{"minor":499,"currency":"EUR","display":"4.99 EUR"},"subtotal":{"minor":1497,"currency":"EUR",` +
	`"display":"14.97 EUR"},` +
	`"discount":{"minor":0,"currency":"EUR","display":"0.00 EUR"},"total":{"minor":1497,"currency":"EUR",` +
	`"display":"14.97 EUR"},` +
	`"createdAt":"2026-11-21T12:00:00.123Z","expiresAt":"2026-11-21T12:30:00.123Z"}`

func TestCheckout_RespondsWithTheCheckout(t *testing.T) {
	data, err := checkout.ParseData(`{"player":"Alder"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := checkout.Request{
		Shop: "emberforge", Product: "coins", Variant: "500", Amount: 3, Data: data, Key: "till-1047",
		At: now().Truncate(time.Millisecond),
	}
	opener := selling()
	opener.open = func(r checkout.Request) (checkout.Checkout, bool, error) {
		if !reflect.DeepEqual(r, want) {
			t.Errorf("asked for %+v; want %+v", r, want)
		}
		return selling().open(r)
	}
	s := newService(t)
	a := s.send(s.Checkout(opener),
		get(coinsPath+"?amount=3&data=%7B%22player%22%3A%22Alder%22%7D", "Idempotency-Key", "till-1047"))
	a.want(t, http.StatusOK, fmt.Sprintf(soldBody, `""`))
	a.wantHeader(t, "Content-Type", "application/json")
	a.wantHeader(t, "Cache-Control", "no-store")
	a.wantHeader(t, "Request-Id", "request-1")
	for _, absent := range []string{"Idempotency-Replayed", "Deprecation", "Sunset", "Link"} {
		a.wantHeader(t, absent, "")
	}
	if line := s.logged(t); line["outcome"] != "opened" || line["Checkouts"] != 1.0 ||
		line["customer"] != "emberforge" {
		t.Errorf("logged %v", line)
	}
}

func TestCheckout_SameKey_IsReplayed(t *testing.T) {
	opener := fakeOpener{open: func(r checkout.Request) (checkout.Checkout, bool, error) {
		c, _, _ := selling().open(r)
		return c, true, nil
	}}
	s := newService(t)
	a := s.send(s.Checkout(opener), get(coinsPath, "Idempotency-Key", "till-1047"))
	a.want(t, http.StatusOK, fmt.Sprintf(soldBody, `""`))
	a.wantHeader(t, "Idempotency-Replayed", "true")
	if line := s.logged(t); line["outcome"] != "replayed" || line["Checkouts"] != nil {
		t.Errorf("logged %v", line)
	}
}

func TestCheckout_Data_IsAnObjectIfTheVariantHasASchema(t *testing.T) {
	tests := []struct {
		data   string
		object bool
		want   string
	}{
		{`{"player":"Alder"}`, true, `{"player":"Alder"}`},
		{` { "player" : "<Alder> & co" , "n":1.50e2 }`, true, `{"player":"<Alder> & co","n":1.50e2}`},
		{`{}`, true, `{}`},
		{`{"player":"Alder"}`, false, `"{\"player\":\"Alder\"}"`},
		{"For <Ida> & \x00", false, `"For <Ida> & \u0000"`},
		{"", false, `""`},
	}
	for _, test := range tests {
		opener := fakeOpener{open: func(r checkout.Request) (checkout.Checkout, bool, error) {
			c, _, _ := selling().open(r)
			c.Data, c.DataIsObject = test.data, test.object
			return c, false, nil
		}}
		s := newService(t)
		s.send(s.Checkout(opener), get(coinsPath)).want(t, http.StatusOK, fmt.Sprintf(soldBody, test.want))
	}
}

func TestCheckout_HEAD_RespondsLikeGETAndStoresNothing(t *testing.T) {
	opener := selling()
	opener.open = unusedOpener(t).open
	s := newService(t)
	a := s.send(s.Checkout(opener), request(http.MethodHead, coinsPath+"?amount=3", ""))
	a.want(t, http.StatusOK, "")
	a.wantHeader(t, "Content-Type", "application/json")
	a.wantHeader(t, "Cache-Control", "no-store")
	if line := s.logged(t); line["outcome"] != "quoted" || line["Checkouts"] != nil {
		t.Errorf("logged %v", line)
	}
	opener.quote = func(checkout.Request) (checkout.Checkout, bool, error) {
		return checkout.Checkout{}, false, catalog.ErrNotFound
	}
	s = newService(t)
	s.send(s.Checkout(opener), request(http.MethodHead, coinsPath, "")).want(t, http.StatusNotFound, "")
}

func TestCheckout_MalformedRequests_AreRejectedBeforeAnyLookup(t *testing.T) {
	tests := []rejected{
		{"malformed shop", get("/shop/-ember/checkout/coins/500"), "not-found"},
		{"malformed product", get("/shop/emberforge/checkout/c%C3%B6ins/500"), "not-found"},
		{"product is a space", get("/shop/emberforge/checkout/%20/500"), "not-found"},
		{"long product", get("/shop/emberforge/checkout/" + strings.Repeat("c", 65) + "/500"), "not-found"},
		{"malformed variant", get("/shop/emberforge/checkout/coins/500%00"), "not-found"},
		{"dots", get("/shop/emberforge/checkout/coins/.."), "not-found"},
		{"slash in a segment", get("/shop/emberforge/checkout/coins/5%2F00"), "not-found"},
		{"empty segment", get("/shop/emberforge/checkout//500"), "not-found"},
		{"question mark in a segment", get("/shop/emberforge/checkout/coins/500%3Famount=2"), "not-found"},
		{"percent in a segment", get("/shop/emberforge/checkout/coins/500%25"), "not-found"},
		{"malformed ID before a bad query", get("/shop/emberforge/checkout/coins/~?amuont=2"), "not-found"},
		{"misspelt parameter", get(coinsPath + "?amuont=2"), "malformed-request"},
		{"amount twice", get(coinsPath + "?amount=2&amount=2"), "malformed-request"},
		{"semicolon", get(coinsPath + "?amount=5;data=x"), "malformed-request"},
		{"bad escape", get(coinsPath + "?amount=5%zz"), "malformed-request"},
		{"replacement character", get(coinsPath + "?data=\uFFFD"), "malformed-request"},
		{"empty amount", get(coinsPath + "?amount="), "invalid"},
		{"amount 0", get(coinsPath + "?amount=0"), "invalid"},
		{"data above 2 KiB", get(coinsPath + "?data=" + strings.Repeat("%78", 2049)), "invalid"},
		{"data that is not UTF-8", get(coinsPath + "?data=%FF"), "invalid"},
		{"nick above 64 characters", get(coinsPath + "?nick=" + strings.Repeat("a", 65)), "invalid"},
		{"nick that is not UTF-8", get(coinsPath + "?nick=%FF"), "invalid"},
		{"replaces nothing", get(coinsPath + "?replaces="), "malformed-request"},
		{"replaces a number", get(coinsPath + "?replaces=HCAXP-K92P9"), "malformed-request"},
		{"malformed code with a wrong amount", get(coinsPath + "?code=%2A&amount=0"), "invalid"},
		{"malformed code with a malformed key", get(coinsPath+"?code=%2A", "Idempotency-Key", ""), "malformed-request"},
		{"malformed key", get(coinsPath, "Idempotency-Key", "till 1047"), "malformed-request"},
		{"two keys", get(coinsPath, "Idempotency-Key", "a", "Idempotency-Key", "b"), "malformed-request"},
		{"POST", post(coinsPath, `{}`), "method-not-allowed"},
	}
	wantRejected(t, tests, func(s service) http.Handler { return s.Checkout(unusedOpener(t)) })
}

func TestCheckout_Errors_BecomeProblems(t *testing.T) {
	tests := []struct {
		what string
		err  error
		want string
	}{
		{
			"not sold", catalog.ErrNotFound,
			`{"type":"urn:problem:shopfront:not-found","title":"Not found","status":404}`,
		},
		{
			"amount", &checkout.ParameterError{Parameter: "amount", Reason: "must be at most 64"},
			`{"type":"urn:problem:shopfront:invalid","title":"Invalid request","status":422,"detail":"amount must ` +
				`be at most 64.","parameter":"amount"}`,
		},
		{
			"data", &checkout.ParameterError{Parameter: "data", Pointer: "/player", Reason: "is required"},
			`{"type":"urn:problem:shopfront:invalid","title":"Invalid request","status":422,"detail":"data /player ` +
				`is required.",` +
				`"parameter":"data","pointer":"/player"}`,
		},
		{
			"data as a whole", &checkout.ParameterError{Parameter: "data", Reason: "must be an object"},
			`{"type":"urn:problem:shopfront:invalid","title":"Invalid request","status":422,"detail":"data must be ` +
				`an object.",` +
				`"parameter":"data","pointer":""}`,
		},
		{
			"nothing to replace", fmt.Errorf("open: %w", checkout.ErrNotReplaceable),
			`{"type":"urn:problem:shopfront:malformed-request","title":"Malformed request","status":400,` +
				`"detail":"replaces must be the ID of a checkout that was neither ordered nor released.",` +
				`"parameter":"replaces"}`,
		},
		{
			"key in use", fmt.Errorf("open: %w", checkout.ErrKeyInUse),
			`{"type":"urn:problem:shopfront:idempotency-key-in-use","title":"Idempotency-Key in use","status":422,` +
				`"detail":"This key made another checkout, or one that was ordered or released. Send a new key."}`,
		},
		{
			"internal", errors.New("SECRET-DETAIL"),
			`{"type":"urn:problem:shopfront:internal","title":"Internal error","status":500}`,
		},
		{
			"store unavailable",
			throttled{},
			`{"type":"urn:problem:shopfront:unavailable","title":"Temporarily unavailable","status":503,` +
				`"detail":"Send the same request again, with its Idempotency-Key if it has one. Without a key, a ` +
				`redemption or a checkout may already be made."}`,
		},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			opener := fakeOpener{open: func(checkout.Request) (checkout.Checkout, bool,
				error,
			) {
				return checkout.Checkout{}, false, test.err
			}}
			s := newService(t)
			a := s.send(s.Checkout(opener), get(coinsPath))
			a.want(t, a.status, test.want)
			if !strings.Contains(test.want, fmt.Sprintf(`"status":%d`, a.status)) {
				t.Errorf("status %d", a.status)
			}
			if retry := a.header.Get("Retry-After"); (retry == "1") != (a.status == 503) {
				t.Errorf("Retry-After %q", retry)
			}
		})
	}
}

func TestCheckout_Log_HoldsNothingPersonal(t *testing.T) {
	for _, target := range []string{
		coinsPath + "?amount=3&data=%7B%22player%22%3A%22Alder%22%7D", coinsPath + "?data=Alder&data=Alder",
		coinsPath + "?Alder=1", coinsPath + "?amount=Alder",
		coinsPath + "?code=SUMMER20&nick=Alder&replaces=" + string(rankID), coinsPath + "?code=Alder*",
		coinsPath + "?nick=Alder" + strings.Repeat("r", 64),
		coinsPath + "?replaces=Alder",
	} {
		s := newService(t)
		opener := selling()
		opener.open = func(checkout.Request) (checkout.Checkout, bool, error) {
			return checkout.Checkout{}, false,
				&checkout.ParameterError{Parameter: "data", Pointer: "/Alder", Reason: "is not allowed"}
		}
		s.send(s.Checkout(opener), get(target, "Idempotency-Key", "till-1047"))
		line, err := json.Marshal(s.logged(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"Alder", "till-1047", "amount=", "SUMMER", "ySBDAj"} {
			if strings.Contains(string(line), secret) {
				t.Errorf("the log holds %q: %s", secret, line)
			}
		}
	}
}

const (
	rankCheckoutPath = "/shop/emberforge/checkouts/" + string(rankID)
	numberPath       = "/shop/emberforge/checkouts/HCAXP-K92P9"
)

// rankCheckout returns a checkout of a VIP rank that was not ordered.
func rankCheckout() checkout.Checkout {
	c := rankOrder()
	c.Order = nil
	return c
}

// Whoever knows the ID may read a checkout. Its data and its nick may be personal, so only the shop's server gets them.
func TestShowCheckout_DataAndNick_AreForTheServerOnly(t *testing.T) {
	expired := rankCheckout()
	expired.Expires = now().Truncate(time.Millisecond)
	replaced, withCode := rankCheckout(), rankCheckout()
	replaced.Replaced = true
	withCode.Code, withCode.Nick = "SUMMER-20", "Alder"
	for _, test := range []struct {
		status, expires     string
		stored              checkout.Checkout
		toAnyone, toServers string // the members before the unit price
	}{
		{"open", "12:30:00.123", rankCheckout(), "", rankData},
		{"open", "12:30:00.123", withCode, `"code":"SUMMER-20",`, rankData + `"code":"SUMMER-20","nick":"Alder",`},
		{"expired", "12:00:00.123", expired, "", rankData},
		{"released", "12:30:00.123", replaced, "", rankData},
		{"ordered", "12:30:00.123", rankOrder(), "", rankData},
		{"ordered", "12:30:00.123", cancelled(rankOrder()), "", rankData},
	} {
		for _, caller := range []struct {
			headers []string
			members string
		}{{nil, test.toAnyone}, {[]string{"Authorization", serverKey}, test.toServers}} {
			s := newService(t)
			reader := fakeOrders{order: test.stored, asked: func(arguments ...any) {
				if arguments[0] != catalog.ShopID("emberforge") || arguments[1] != rankID {
					t.Errorf("asked for %v", arguments)
				}
			}}
			a := s.send(s.ShowCheckout(reader), get(rankCheckoutPath, caller.headers...))
			a.want(t, http.StatusOK, fmt.Sprintf(rankBody, test.status, caller.members,
				`"expiresAt":"2026-11-21T`+test.expires+`Z"`))
			a.wantHeader(t, "Content-Type", "application/json")
			a.wantHeader(t, "Cache-Control", "no-store")
			if line := s.logged(t); line["outcome"] != "shown" || line["Checkouts"] != nil {
				t.Errorf("logged %v", line)
			}
		}
	}
}

// A response without data means that the caller may not see the data. So empty data must be in the response.
func TestShowCheckout_EmptyData_IsShownToTheServer(t *testing.T) {
	stored := rankCheckout()
	stored.Data, stored.DataIsObject = "", false
	s := newService(t)
	a := s.send(s.ShowCheckout(fakeOrders{order: stored}), get(rankCheckoutPath, "Authorization", serverKey))
	a.want(t, http.StatusOK, fmt.Sprintf(rankBody, "open", `"data":"",`, `"expiresAt":"2026-11-21T12:30:00.123Z"`))
}

// The policies say who may redeem and check out. Reading a checkout grants nothing.
func TestShowCheckout_ServerOnlyPolicies_StrangersStillSeeCheckouts(t *testing.T) {
	s := newService(t)
	s.Guard = guard{access.Settings{Redeem: access.ServerOnly, CheckOut: access.ServerOnly}}
	if a := s.send(s.ShowCheckout(fakeOrders{order: rankCheckout()}),
		get(rankCheckoutPath)); a.status != http.StatusOK {
		t.Errorf("got %d %s, want 200", a.status, a.body)
	}
}

// serverEndpoints has the same request by a stranger.
func TestShowCheckout_Number_FindsTheCheckoutForTheServer(t *testing.T) {
	for _, typed := range []string{"HCAXP-K92P9", "hcaxpk92p9", "HCAXP%20K92P9"} {
		s := newService(t)
		reader := fakeOrders{order: rankCheckout(), asked: func(arguments ...any) {
			if arguments[0] != catalog.ShopID("emberforge") || arguments[1] != checkout.Number("HCAXP-K92P9") {
				t.Errorf("%s: asked for %v", typed, arguments)
			}
		}}
		a := s.send(s.ShowCheckout(reader), get("/shop/emberforge/checkouts/"+typed, "Authorization", serverKey))
		a.want(t, http.StatusOK, fmt.Sprintf(rankBody, "open", rankData, `"expiresAt":"2026-11-21T12:30:00.123Z"`))
	}
	s := newService(t)
	anID := "/shop/emberforge/checkouts/" + strings.Repeat("-", 34) + "HCAXPK92P9"
	if a := s.send(s.ShowCheckout(fakeOrders{err: checkout.ErrNotFound}), get(anID)); a.status != http.StatusNotFound {
		t.Errorf("%s: %d %s", anID, a.status, a.body)
	}
}

func TestShowCheckout_MalformedRequests_AreRejectedBeforeAnyLookup(t *testing.T) {
	tests := []rejected{
		{"customer", get("/shop/-ember/checkouts/" + string(rankID)), "not-found"},
		{"short ID", get(rankCheckoutPath[:len(rankCheckoutPath)-1]), "not-found"},
		{"long ID", get(rankCheckoutPath + "A"), "not-found"},
		{"encoded slash", get(rankCheckoutPath[:len(rankCheckoutPath)-1] + "%2F"), "not-found"},
		{"parameter", get(rankCheckoutPath + "?data=true"), "malformed-request"},
		{"bad escape", get(rankCheckoutPath + "?%zz"), "malformed-request"},
		{"POST", post(rankCheckoutPath, `{}`), "method-not-allowed"},
	}
	wantRejected(t, tests, func(s service) http.Handler { return s.ShowCheckout(unusedOrders(t)) })
}

func TestShowCheckout_Errors_BecomeProblems(t *testing.T) {
	for err, status := range map[error]int{checkout.ErrNotFound: 404, throttled{}: 503} {
		s := newService(t)
		if a := s.send(s.ShowCheckout(fakeOrders{err: err}), get(rankCheckoutPath)); a.status != status {
			t.Errorf("%v: %d %s", err, a.status, a.body)
		}
		if log := s.log.String(); strings.Contains(log, "ySBDAj") || strings.Contains(log, "Alder") {
			t.Errorf("the log holds the ID or the data: %s", log)
		}
	}
}

func TestReleaseCheckout(t *testing.T) {
	released := rankCheckout()
	released.Released = true
	body := func(members string) string {
		return fmt.Sprintf(rankBody, "released", members, `"expiresAt":"2026-11-21T12:30:00.123Z"`)
	}
	for what, test := range map[string]struct {
		headers          []string
		result           fakeOrders
		status           int
		body             string
		replayed, logged string
	}{
		"a stranger": {nil, fakeOrders{order: released}, 200, body(""), "", "released"},
		"the server": {[]string{"Authorization", serverKey}, fakeOrders{order: released}, 200, body(rankData), "", "released"},
		"again":      {nil, fakeOrders{order: released, replayed: true}, 200, body(""), "true", "replayed"},
		"unknown":    {nil, fakeOrders{err: checkout.ErrNotFound}, 404, problemFormat + `not-found","title":"Not found","status":404}`, "", "not-found"},
		"ordered": {nil, fakeOrders{err: checkout.ErrOrdered}, 409, problemFormat + `checkout-ordered","title":"Checkout ordered",` +
			`"status":409,"detail":"This checkout was ordered. To end it, cancel the order."}`, "", "checkout-ordered"},
	} {
		s := newService(t)
		test.result.asked = func(arguments ...any) {
			if want := []any{catalog.ShopID("emberforge"), rankID, test.headers != nil}; !slices.Equal(arguments, want) {
				t.Errorf("%s: asked for %v, want %v", what, arguments, want)
			}
		}
		a := s.send(s.ReleaseCheckout(test.result), post(rankCheckoutPath+"/release", "", test.headers...))
		a.want(t, test.status, test.body)
		a.wantHeader(t, "Idempotency-Replayed", test.replayed)
		if line := s.logged(t); line["outcome"] != test.logged {
			t.Errorf("%s: logged %v", what, line)
		}
	}
	wantRejected(t, []rejected{
		{"number", post(numberPath+"/release", ""), "not-found"},
		{"parameter", post(rankCheckoutPath+"/release?data=true", ""), "malformed-request"},
		{"body", post(rankCheckoutPath+"/release", `{}`), "malformed-request"},
		{"GET", get(rankCheckoutPath + "/release"), "method-not-allowed"},
	}, func(s service) http.Handler { return s.ReleaseCheckout(unusedOrders(t)) })
}

func FuzzCheckoutQuery(f *testing.F) {
	for _, query := range []string{
		"code=SUMMER20&nick=Alder", "code=%2A", "code=", "replaces=" + string(rankID), "nick=%FF",
		"amount=1", "amount=1&data=%7B%7D", "amount=5;data=x", "amount=5%zz", "data=%FF", "data=\uFFFD", "amount=01",
		"a=1", "&&", "=", "amount=1&amount=1", "data=+%2B",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		var asked *checkout.Request
		opener := fakeOpener{open: func(r checkout.Request) (checkout.Checkout, bool, error) {
			asked = &r
			return selling().open(r)
		}}
		s := newService(t)
		r := get(coinsPath)
		r.URL.RawQuery = query
		a := s.send(s.Checkout(opener), r)
		if (a.status == http.StatusOK) != (asked != nil) || a.status != http.StatusOK && a.status != 400 &&
			a.status != 409 && a.status != 422 {
			t.Fatalf("%q: got %d %s; only an accepted query may reach the opener", query, a.status, a.body)
		}
		if asked == nil {
			return
		}
		// The endpoint must have read the query as a strict parser does.
		values, err := url.ParseQuery(query)
		if err != nil || len(values["amount"]) > 1 || len(values["data"]) > 1 {
			t.Fatalf("%q was accepted: %v, %v", query, values, err)
		}
		if want := values.Get("amount"); want != "" && want != fmt.Sprint(asked.Amount) || asked.Amount < 0 {
			t.Errorf("%q asks for %d", query, asked.Amount)
		}
		data, err := checkout.ParseData(values.Get("data"))
		if err != nil || values.Has("data") != (asked.Data != checkout.Data{}) || values.Has("data") &&
			data != asked.Data {
			t.Errorf("%q has data %+v, %v", query, asked.Data, err)
		}
		wantCode(t, *asked, values)
	})
}

// wantCode checks that a request has the code, the nick and the checkout to replace of a query.
func wantCode(t *testing.T, asked checkout.Request, query url.Values) {
	t.Helper()
	code, err := voucher.ParseCode(query.Get("code"))
	if query.Has("code") && err != nil || code != asked.Code {
		t.Errorf("%v has the code %q, %v", query, asked.Code, err)
	}
	nick, err := voucher.ParseNick(query.Get("nick"))
	if err != nil || nick != asked.Nick || query.Get("replaces") != string(asked.Replaces) {
		t.Errorf("%v has the nick %+v, %v, and replaces %q", query, asked.Nick, err, asked.Replaces)
	}
}
