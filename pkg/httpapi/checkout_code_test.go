package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const (
	codePath    = coinsPath + "?code=summer+20&nick=%20Alder"
	codeRefused = `{"type":"urn:problem:shopfront:code-refused","title":"Code refused","status":409}`
)

// discounting returns an opener that takes 20 % off for SUMMER20 and refuses every other code. It counts the requests
// that reach it.
func discounting(reached *int) fakeOpener {
	open := func(r checkout.Request) (checkout.Checkout, bool, error) {
		*reached++
		made, _, _ := selling().open(r)
		switch r.Code {
		case "":
		case "SUMMER20":
			made.Code, made.Nick = "SUMMER-20", r.Nick.Written
			made.Discount, made.Total = money.Money{Minor: 299, Currency: "EUR"},
				money.Money{Minor: 1198, Currency: "EUR"}
		default:
			return checkout.Checkout{}, false, &voucher.RefusalError{Reason: voucher.ReasonExpired}
		}
		return made, false, nil
	}
	return fakeOpener{open: open, quote: open}
}

func discountedBody(members string) string {
	return strings.NewReplacer(
		`"unitPrice"`, members+`"unitPrice"`,
		`"discount":{"minor":0,"currency":"EUR","display":"0.00 EUR"},"total":{"minor":1497,"currency":"EUR",`+
			`"display":"14.97 EUR"}`,
		`"discount":{"minor":299,"currency":"EUR","display":"2.99 EUR"},"total":{"minor":1198,"currency":"EUR",`+
			`"display":"11.98 EUR"}`,
	).Replace(fmt.Sprintf(soldBody, `""`))
}

func TestCheckout_WithACode_RespondsWithTheDiscount(t *testing.T) {
	for _, test := range []struct {
		what, path string
		headers    []string
		members    string
	}{
		{"for a stranger", codePath, nil, `"code":"SUMMER-20","nick":"Alder",`},
		{"for the server", codePath, []string{"Authorization", serverKey}, `"code":"SUMMER-20","nick":"Alder",`},
		{"without a nick", coinsPath + "?code=SUMMER-2O", nil, `"code":"SUMMER-20",`},
		{"with an empty nick", coinsPath + "?code=SUMMER-2O&nick=", nil, `"code":"SUMMER-20",`},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			a := s.send(s.Checkout(discounting(new(int))), get(test.path, test.headers...))
			a.want(t, http.StatusOK, discountedBody(test.members))
			a.wantHeader(t, "Cache-Control", "no-store")
			if line := s.logged(t); line["outcome"] != "opened" || line["Checkouts"] != 1.0 {
				t.Errorf("logged %v", line)
			}
		})
	}
}

// Pauses come from the settings, and the source of a hold comes from the gateway. A request's own headers must not
// change either.
func TestCheckout_WithACode_AsksForAHold(t *testing.T) {
	paused := voucher.Pause{Batches: []string{"summer"}}
	nick := voucher.Nick{Written: "Alder", Compared: "alder"}
	at := now().Truncate(time.Millisecond)
	plain := checkout.Request{Shop: "emberforge", Product: "coins", Variant: "500", At: at}
	for _, test := range []struct {
		what, query string
		address     string
		headers     []string
		want        func(*checkout.Request)
	}{
		{"stranger", "?code=SUMMER-20&nick=Alder", "203.0.113.7", nil, func(r *checkout.Request) {
			r.Code, r.Nick, r.Paused, r.Source = "SUMMER20", nick, paused, access.Source{Name: "203.0.113.7"}
		}},
		{"IPv6", "?code=SUMMER-20", "2001:db8:1:2::7", nil, func(r *checkout.Request) {
			r.Code, r.Paused = "SUMMER20", paused
			r.Source = access.Source{Name: "2001:db8:1::/48", Subnet: "0002"}
		}},
		{
			"another address of the same /64", "?code=SUMMER-20", "2001:db8:1:2::8",
			[]string{"X-Forwarded-For", "203.0.113.8"},
			func(r *checkout.Request) {
				r.Code, r.Paused = "SUMMER20", paused
				r.Source = access.Source{Name: "2001:db8:1::/48", Subnet: "0002"}
			},
		},
		{
			"server", "?code=SUMMER-20&nick=Alder", "203.0.113.7",
			[]string{"Authorization", serverKey},
			func(r *checkout.Request) {
				r.Code, r.Nick, r.Paused, r.ByServer = "SUMMER20", nick, paused, true
			},
		},
		{
			"server without a nick", "?code=SUMMER-20", "203.0.113.7",
			[]string{"Authorization", serverKey},
			func(r *checkout.Request) {
				r.Code, r.Paused, r.ByServer = "SUMMER20", paused, true
			},
		},
		{"replacing", "?code=SUMMER-20&replaces=" + string(rankID), "203.0.113.7", nil, func(r *checkout.Request) {
			r.Code, r.Replaces, r.Paused = "SUMMER20", rankID, paused
			r.Source = access.Source{Name: "203.0.113.7"}
		}},
		{"no code", "?nick=Alder&replaces=" + string(rankID), "203.0.113.7", nil, func(r *checkout.Request) {
			r.Nick, r.Replaces = nick, rankID
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				var asked checkout.Request
				ask := func(r checkout.Request) (checkout.Checkout, bool, error) {
					asked = r
					return selling().open(r)
				}
				opener := unusedOpener(t)
				if method == http.MethodHead {
					opener.quote = ask
				} else {
					opener.open = ask
				}
				s, _ := limited(t)
				s.Guard = guard{access.Settings{Redeem: access.Anyone, CheckOut: access.Anyone, Paused: paused}}
				if a := s.send(s.Checkout(opener),
					from(test.address, request(method, coinsPath+test.query, "",
						test.headers...))); a.status != http.StatusOK {
					t.Fatalf("got %d %s, want 200", a.status, a.body)
				}
				want := plain
				test.want(&want)
				if !reflect.DeepEqual(asked, want) {
					t.Errorf("%s asked for %+v; want %+v", method, asked, want)
				}
			}
		})
	}
}

// The order of a checkout with a code redeems the code, so both policies must admit a stranger.
func TestCheckout_WithACode_NeedsBothPolicies(t *testing.T) {
	for _, test := range []struct {
		redeem, checkOut access.Policy
		query            string
		stranger         int
	}{
		{access.Anyone, access.Anyone, "?code=SUMMER-20", 200},
		{access.ServerOnly, access.Anyone, "?code=SUMMER-20", 401},
		{access.Anyone, access.ServerOnly, "?code=SUMMER-20", 401},
		{access.ServerOnly, access.ServerOnly, "?code=SUMMER-20", 401},
		{"a policy of a later version", access.Anyone, "?code=SUMMER-20", 401},
		{access.ServerOnly, access.Anyone, "?code=%2A", 401},
		{access.ServerOnly, access.Anyone, "?code=", 401},
		{access.ServerOnly, access.Anyone, "", 200},
		{access.ServerOnly, access.Anyone, "?nick=Alder&replaces=" + string(rankID), 200},
		{access.Anyone, access.ServerOnly, "?nick=Alder&replaces=" + string(rankID), 401},
	} {
		s := newService(t)
		s.Guard = guard{access.Settings{Redeem: test.redeem, CheckOut: test.checkOut}}
		opener := selling()
		if test.stranger == http.StatusUnauthorized {
			opener = unusedOpener(t)
		}
		if a := s.send(s.Checkout(opener), get(coinsPath+test.query)); a.status != test.stranger {
			t.Errorf("redeem %s, check out %s: a stranger's %q is %d %s", test.redeem, test.checkOut, test.query,
				a.status, a.body)
		}
		a := s.send(s.Checkout(selling()), get(coinsPath+test.query, "Authorization", serverKey))
		if isRefused := strings.Contains(test.query, "%2A") ||
			test.query == "?code="; (a.status == http.StatusOK) == isRefused {
			t.Errorf("redeem %s, check out %s: the server's %q is %d %s", test.redeem, test.checkOut, test.query,
				a.status, a.body)
		}
	}
}

// A stranger must not be able to tell refusals apart, or to tell a code that no voucher can have from an unknown code.
func TestCheckout_RefusedCodes_LookTheSame(t *testing.T) {
	refusing := func(reason voucher.Reason) fakeOpener {
		refuse := func(checkout.Request) (checkout.Checkout, bool, error) {
			return checkout.Checkout{}, false, fmt.Errorf("open: %w", &voucher.RefusalError{Reason: reason})
		}
		return fakeOpener{open: refuse, quote: refuse}
	}
	type refusal struct {
		opener fakeOpener
		path   string
		reason voucher.Reason
	}
	var refusals []refusal
	for _, reason := range []voucher.Reason{
		voucher.ReasonUnknown, voucher.ReasonDisabled, voucher.ReasonNotStarted, voucher.ReasonExpired,
		voucher.ReasonNickMissing,
		voucher.ReasonOtherNick, voucher.ReasonUsedUp, voucher.ReasonNickLimit, voucher.ReasonPaused,
		voucher.ReasonNoDiscount,
	} {
		refusals = append(refusals, refusal{refusing(reason), codePath, reason})
	}
	for _, code := range []string{"", "%2A", "S%C3%9CMMER", "-%20", "%FF", strings.Repeat("S", 65)} {
		refusals = append(refusals, refusal{unusedOpener(t), coinsPath + "?code=" + code, voucher.ReasonUnknown})
	}
	for _, test := range refusals {
		t.Run(test.path+" "+string(test.reason), func(t *testing.T) {
			s := newService(t)
			a := s.send(s.Checkout(test.opener), get(test.path))
			a.want(t, http.StatusConflict, codeRefused)
			if len(a.header) != 3 || a.header.Get("Content-Type") != "application/problem+json" ||
				a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", a.header)
			}
			if line := s.logged(t); line["outcome"] != "refused" || line["Reason"] != string(test.reason) ||
				line["Refused"] != 1.0 || line["Checkouts"] != nil {
				t.Errorf("logged %v", line)
			}
			s.send(s.Checkout(test.opener), request(http.MethodHead, test.path, "")).want(t, http.StatusConflict, "")
			s.send(s.Checkout(test.opener), get(test.path, "Authorization", serverKey)).
				want(t, http.StatusConflict, strings.Replace(codeRefused, "}", `,"reason":"`+string(test.reason)+`"}`,
					1))
		})
	}
}

func TestCheckout_RefusedCode_CountsOnce(t *testing.T) {
	s, store := limited(t)
	reached := 0
	checkOut, redeem := s.Checkout(discounting(&reached)), s.RedeemVoucher(knows(new(int)))
	s.send(checkOut, from("203.0.113.7", get(coinsPath+"?code=SUMMER-21"))).want(t, http.StatusConflict, codeRefused)
	s.send(s.CheckoutVariant(discounting(&reached)),
		from("203.0.113.7", request(http.MethodHead, olderPath+"?code=%2A", ""))).want(t, http.StatusConflict, "")
	if store.total() != 2 {
		t.Fatalf("%d refusals are counted, want 2", store.total())
	}
	s.log.Reset()
	s.send(checkOut, from("203.0.113.7", get(coinsPath+"?code=SUMMER-21"))).wantTooManyRefusals(t)
	if line := s.logged(t); line["outcome"] != "too-many-refusals" || line["Reason"] != "expired" ||
		line["Refused"] != 1.0 || line["TooManyRefusals"] != 1.0 {
		t.Errorf("logged %v", line)
	}
	// Now even a valid code is rejected, at the checkout and when it is redeemed. The limit does not apply to checkouts
	// without a code.
	reached = 0
	s.send(checkOut, from("203.0.113.7", get(codePath, "Idempotency-Key", "till-1047"))).wantTooManyRefusals(t)
	s.send(checkOut, from("203.0.113.7", get(coinsPath+"?code="))).wantTooManyRefusals(t)
	s.send(redeem, from("203.0.113.7", post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`))).wantTooManyRefusals(t)
	if reached != 0 || store.total() != 3 {
		t.Errorf("%d requests of the blocked source reached the opener, and %d refusals are counted, want 0 and 3",
			reached, store.total())
	}
	for what, r := range map[string]*http.Request{
		"no code":           from("203.0.113.7", get(coinsPath+"?nick=Alder")),
		"another source":    from("203.0.113.8", get(codePath)),
		"the shop's server": from("203.0.113.7", get(codePath, "Authorization", serverKey)),
		"another shop":      from("203.0.113.7", get("/shop/brambleshop/checkout/coins/500?code=SUMMER20")),
	} {
		if a := s.send(checkOut, r); a.status != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", what, a.status, a.body)
		}
	}
}

func TestCheckout_RefusedCodeWithAKeyInUse_IsCountedAndNotShown(t *testing.T) {
	fail := func(checkout.Request) (checkout.Checkout, bool, error) {
		return checkout.Checkout{}, false,
			errors.Join(checkout.ErrKeyInUse, &voucher.RefusalError{Reason: voucher.ReasonUnknown})
	}
	s, store := limited(t)
	for what, key := range map[string][]string{"a stranger": nil, "the server": {"Authorization", serverKey}} {
		a := s.send(s.Checkout(fakeOpener{open: fail, quote: fail}), from("203.0.113.7", get(codePath, key...)))
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "idempotency-key-in-use") ||
			strings.Contains(a.body, "reason") {
			t.Errorf("%s: got %d %s, want 422 idempotency-key-in-use", what, a.status, a.body)
		}
	}
	if store.total() != 2 {
		t.Errorf("%d refusals are counted, want 2", store.total())
	}
}

func TestCheckout_OnlyRefusedCodes_AreCounted(t *testing.T) {
	failing := func(err error) fakeOpener {
		fail := func(checkout.Request) (checkout.Checkout, bool, error) { return checkout.Checkout{}, false, err }
		return fakeOpener{open: fail, quote: fail}
	}
	s, store := limited(t)
	for what, test := range map[string]struct {
		opener  fakeOpener
		request *http.Request
		status  int
	}{
		"checked out":         {discounting(new(int)), get(codePath), 200},
		"quoted":              {discounting(new(int)), request(http.MethodHead, codePath, ""), 200},
		"prefetch":            {unusedOpener(t), get(coinsPath+"?code=SUMMER-21", "Sec-Purpose", "prefetch"), 503},
		"prefetch, malformed": {unusedOpener(t), get(coinsPath+"?code=%2A", "Sec-Purpose", "prefetch"), 503},
		"wrong amount":        {unusedOpener(t), get(coinsPath + "?code=%2A&amount=0"), 422},
		"malformed ID":        {unusedOpener(t), get("/shop/emberforge/checkout/c%C3%B6ins/500?code=%2A"), 404},
		"nothing to replace": {
			failing(checkout.ErrNotReplaceable), get(codePath + "&replaces=" + string(rankID)),
			400,
		},
		"unauthorized": {
			unusedOpener(t), get(coinsPath+"?code=%2A", "Authorization", "Basic YWxkZXI6YWxkZXI="),
			401,
		},
		"key in use": {failing(checkout.ErrKeyInUse), get(codePath, "Idempotency-Key", "till-1047"), 422},
		"too many holds": {
			failing(&checkout.TooManyHoldsError{Until: now().Add(time.Minute)}), get(codePath),
			429,
		},
		"the store is down": {failing(throttled{}), get(codePath), 503},
	} {
		if a := s.send(s.Checkout(test.opener), from("203.0.113.7", test.request)); a.status != test.status {
			t.Errorf("%s: got %d %s, want %d", what, a.status, a.body, test.status)
		}
	}
	if store.total() != 0 {
		t.Errorf("%d refusals are counted, want none", store.total())
	}
}

func TestCheckout_TooManyHolds_SaysWhenTheFirstLapses(t *testing.T) {
	const detail = `{"type":"urn:problem:shopfront:too-many-holds","title":"Too many holds","status":429,` +
		`"detail":"Too many checkouts of this source hold a use of a code. Wait until one has ended."}`
	at := now().Truncate(time.Millisecond)
	for _, test := range []struct {
		wait time.Duration
		want string
	}{
		{time.Minute, "60"},
		{time.Minute + time.Millisecond, "61"},
		{30*time.Minute + 20*time.Second, "1820"},
		{time.Millisecond, "1"},
		{0, "1"},
		{-time.Minute, "1"},
	} {
		opener := fakeOpener{open: func(checkout.Request) (checkout.Checkout, bool, error) {
			return checkout.Checkout{}, false,
				fmt.Errorf("open: %w", &checkout.TooManyHoldsError{Until: at.Add(test.wait)})
		}}
		s := newService(t)
		a := s.send(s.Checkout(opener), get(codePath))
		a.want(t, http.StatusTooManyRequests, detail)
		a.wantHeader(t, "Retry-After", test.want)
		if line := s.logged(t); line["outcome"] != "too-many-holds" || line["Refused"] != nil ||
			line["level"] != "INFO" {
			t.Errorf("logged %v", line)
		}
	}
}

// A checkout without a code needs neither the source address nor the counts of refusals, so it must not use them.
func TestCheckout_WithoutACode_CountsNothing(t *testing.T) {
	for _, query := range []string{"", "?amount=3", "?nick=Alder", "?replaces=" + string(rankID)} {
		s := newService(t)
		s.Refusals, s.SourceAddress = nil, nil // calling either would panic
		if a := s.send(s.Checkout(selling()), get(coinsPath+query)); a.status != http.StatusOK {
			t.Errorf("%q: got %d %s, want 200", query, a.status, a.body)
		}
	}
}
