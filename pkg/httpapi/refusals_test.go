package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

const tooManyRefusals = `{"type":"urn:problem:shopfront:too-many-refusals","title":"Too many refused codes",` +
	`"status":429}`

// counts is an access.RefusalStore in memory.
type counts struct {
	refusals map[string]int
	err      error
}

func (c *counts) Count(
	_ context.Context, shop catalog.ShopID, source access.Source, window access.Window,
) (access.RefusalCount, error) {
	key := fmt.Sprint(shop, source, window)
	c.refusals[key]++
	return access.RefusalCount{Source: c.refusals[key]}, c.err
}

func (c *counts) total() (total int) {
	for _, count := range c.refusals {
		total += count
	}
	return total
}

// limited returns a service whose shop allows two refused codes in ten minutes. Requests come from the address in
// RemoteAddr.
func limited(t *testing.T) (service, *counts) {
	t.Helper()
	store := &counts{refusals: make(map[string]int)}
	s := newService(t)
	settings := access.DefaultSettings()
	settings.Refusals = access.SourceLimit{Limit: 2, Per: 10 * time.Minute}
	s.Guard, s.Refusals = guard{settings}, access.NewRefusals(store)
	s.SourceAddress = func(r *http.Request) string { return r.RemoteAddr }
	return s, store
}

// from sets the address that a request comes from.
func from(address string, r *http.Request) *http.Request {
	r.RemoteAddr = address
	return r
}

// knows returns a redeemer that redeems SUMMER-20 and refuses all other codes. It counts the requests that reach it.
func knows(reached *int) fakeRedeemer {
	return fakeRedeemer{
		redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
			*reached++
			if r.Code == "SUMMER20" {
				return voucher.Redemption{ID: "a", Code: "SUMMER-20", At: r.At, Reward: coins()}, false, nil
			}
			return voucher.Redemption{}, false, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
		},
		check: func(r voucher.Request) (voucher.Voucher, error) {
			*reached++
			if r.Code == "SUMMER20" {
				return voucher.Voucher{Written: "SUMMER-20", Reward: coins()}, nil
			}
			return voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonExpired}
		},
	}
}

func (a response) wantTooManyRefusals(t *testing.T) {
	t.Helper()
	a.want(t, http.StatusTooManyRequests, tooManyRefusals)
	a.wantHeader(t, "Retry-After", "600") // the window ends in 599.877 seconds
	if len(a.header) != 4 || a.header.Get("Content-Type") != "application/problem+json" ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.header)
	}
}

// Once a source is above the limit, even a valid code is rejected, and the response says nothing about the code.
func TestRedeemVoucher_AboveTheRefusalLimit_SourceIsBlocked(t *testing.T) {
	s, store := limited(t)
	reached := 0
	endpoint := s.RedeemVoucher(knows(&reached))
	const path = "/shop/emberforge/voucher"
	s.send(endpoint, from("203.0.113.7", post(path, `{"code":"SUMMER-21"}`))).wantVoucherNotFound(t)
	s.send(endpoint, from("203.0.113.7", post(path+"?check=true", `{"code":"SUMMER-21"}`))).wantVoucherNotFound(t)
	s.log.Reset()
	s.send(endpoint, from("203.0.113.7", post(path, `{"code":"no code has a *"}`))).wantTooManyRefusals(t)
	if line := s.logged(t); line["outcome"] != "too-many-refusals" || line["Reason"] != "unknown" ||
		line["Refused"] != 1.0 || line["TooManyRefusals"] != 1.0 {
		t.Errorf("logged %v", line)
	}
	reached = 0
	for _, r := range []*http.Request{
		post(path, `{"code":"SUMMER-20"}`), post(path, `{"code":"SUMMER-21"}`),
		post(path+"?check=true", `{"code":"SUMMER-20"}`),
		post(path, `{"code":"no code has a *"}`), post(path, `{"code":"SUMMER-20"}`, "Idempotency-Key", "order-1047"),
		post(path, `{"code":"SUMMER-20"}`, "X-Forwarded-For", "203.0.113.8"),
	} {
		s.log.Reset()
		s.send(endpoint, from("203.0.113.7", r)).wantTooManyRefusals(t)
		if line := s.logged(t); line["outcome"] != "too-many-refusals" || line["Refused"] != nil ||
			line["TooManyRefusals"] != 1.0 {
			t.Errorf("logged %v", line)
		}
		if strings.Contains(s.log.String(), "203.0.113") {
			t.Errorf("the address is in the log: %s", s.log)
		}
	}
	if reached != 0 || store.total() != 3 {
		t.Errorf("%d requests of the blocked source reached the redeemer, and %d refusals are counted, want 0 and 3",
			reached, store.total())
	}
	for name, r := range map[string]*http.Request{
		"another source": from("203.0.113.8", post(path, `{"code":"SUMMER-20"}`)),
		"the shop's server": from("203.0.113.7",
			post(path, `{"code":"SUMMER-20","nick":"Alder"}`, "Authorization", serverKey)),
		"another shop": from("203.0.113.7", post("/shop/brambleshop/voucher", `{"code":"SUMMER-20"}`)),
	} {
		if a := s.send(endpoint, r); a.status != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", name, a.status, a.body)
		}
	}
}

// The nicks Alder and ALDER are equal. Requests without a nick are neither counted nor limited.
func TestRedeemVoucher_RequestsOfTheServer_AreLimitedByNick(t *testing.T) {
	s, store := limited(t)
	reached := 0
	endpoint := s.RedeemVoucher(knows(&reached))
	guess := func(nick string) response {
		body := fmt.Sprintf(`{"code":"SUMMER-21","nick":%q}`, nick)
		return s.send(endpoint, from("203.0.113.7", post("/shop/emberforge/voucher", body, "Authorization", serverKey)))
	}
	for _, nick := range []string{"Alder", "ALDER", "Rowan", "", "", "", ""} {
		if a := guess(nick); a.status != http.StatusNotFound {
			t.Errorf("%q: got %d %s, want 404", nick, a.status, a.body)
		}
	}
	guess("Alder").wantTooManyRefusals(t)
	if a := guess("Rowan"); a.status != http.StatusNotFound || store.total() != 5 {
		t.Errorf("%d %s after %d counted refusals, want 404 after 5", a.status, a.body, store.total())
	}
}

func TestRedeemVoucher_OnlyRefusalsAreCounted(t *testing.T) {
	s, store := limited(t)
	unavailable := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
		return voucher.Redemption{}, false, throttled{}
	}}
	reached := 0
	const path = "/shop/emberforge/voucher"
	for name, c := range map[string]struct {
		redeemer fakeRedeemer
		request  *http.Request
		status   int
	}{
		"redeemed":        {knows(&reached), post(path, `{"code":"SUMMER-20"}`), 200},
		"redeemable":      {knows(&reached), post(path+"?check=true", `{"code":"SUMMER-20"}`), 200},
		"malformed body":  {knows(&reached), post(path, `{"code":1}`), 400},
		"malformed query": {knows(&reached), post(path+"?chek=true", `{"code":"SUMMER-21"}`), 400},
		"code too long":   {knows(&reached), post(path, `{"code":"`+strings.Repeat("S", 65)+`"}`), 422},
		"unauthorized": {
			knows(&reached),
			post(path, `{"code":"SUMMER-21"}`, "Authorization", "Basic YWxkZXI6YWxkZXI="), 401,
		},
		"malformed shop":       {knows(&reached), post("/shop/-ember/voucher", `{"code":"SUMMER-21"}`), 404},
		"the store is down":    {unavailable, post(path, `{"code":"SUMMER-20"}`), 503},
		"another content type": {knows(&reached), post(path, `{"code":"SUMMER-21"}`, "Content-Type", "text/json"), 415},
	} {
		if a := s.send(s.RedeemVoucher(c.redeemer), from("203.0.113.7", c.request)); a.status != c.status {
			t.Errorf("%s: got %d %s, want %d", name, a.status, a.body, c.status)
		}
	}
	if store.total() != 0 {
		t.Errorf("%d refusals are counted, want none", store.total())
	}
}

// A shop without stored settings has no limit. An unknown shop has no limit either, so that nobody can fill the table
// with refusals.
func TestRedeemVoucher_ShopWithoutALimit_CountsNothing(t *testing.T) {
	s, store := limited(t)
	s.Guard = guard{access.DefaultSettings()}
	reached := 0
	for range 5 {
		s.send(s.RedeemVoucher(knows(&reached)),
			from("203.0.113.7", post("/shop/emberforge/voucher", `{"code":"SUMMER-21"}`))).wantVoucherNotFound(t)
	}
	if store.total() != 0 {
		t.Errorf("%d refusals are counted, want none", store.total())
	}
}

// The form of a request and its Authorization are validated before the limit, so that a blocked source learns what is
// wrong with its requests.
func TestRedeemVoucher_BlockedSource_FormAndAuthorizationAreValidatedFirst(t *testing.T) {
	s, _ := limited(t)
	reached := 0
	endpoint := s.RedeemVoucher(knows(&reached))
	const path = "/shop/emberforge/voucher"
	for range 3 {
		s.send(endpoint, from("203.0.113.7", post(path, `{"code":"SUMMER-21"}`)))
	}
	if a := s.send(endpoint, from("203.0.113.7", post(path, `{"code":1}`))); a.status != http.StatusBadRequest {
		t.Errorf("malformed: %d %s", a.status, a.body)
	}
	if a := s.send(endpoint, from("203.0.113.7",
		post(path, `{"code":"SUMMER-20"}`, "Authorization", "Bearer x"))); a.status != http.StatusUnauthorized {
		t.Errorf("unauthorized: %d %s", a.status, a.body)
	}
	s.send(endpoint, from("203.0.113.7", post(path, `{"code":"SUMMER-20"}`))).wantTooManyRefusals(t)
}

func TestRedeemVoucher_CountFails_RefusalStands(t *testing.T) {
	s, store := limited(t)
	store.err = errors.New("the refusals table is out of reach")
	reached := 0
	endpoint := s.RedeemVoucher(knows(&reached))
	for range 2 {
		s.log.Reset()
		s.send(endpoint, from("203.0.113.7",
			post("/shop/emberforge/voucher", `{"code":"SUMMER-21"}`))).wantVoucherNotFound(t)
		line := s.logged(t)
		if line["outcome"] != "refused" || line["Refused"] != 1.0 || line["UncountedRefusals"] != 1.0 ||
			line["level"] != "ERROR" || line["error"] != store.err.Error() {
			t.Errorf("logged %v", line)
		}
		// only Refused has a series for each reason
		if text := s.log.String(); strings.Count(text, `["Stack","Reason"]`) != 1 {
			t.Errorf("logged %s", text)
		}
	}
	s.send(endpoint, from("203.0.113.7",
		post("/shop/emberforge/voucher", `{"code":"SUMMER-21"}`))).wantTooManyRefusals(t)
	s.send(endpoint, from("203.0.113.7",
		post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`))).wantTooManyRefusals(t)
}

// The shop's server names the shopper, whose guesses and holds then count as if the shopper had called. From anybody
// else the header says nothing, because anybody can send it.
func TestShopperAddress_WithAKey_IsTheSource(t *testing.T) {
	s, store := limited(t)
	redeem, checkOut := s.RedeemVoucher(knows(new(int))), s.Checkout(discounting(new(int)))
	named := []string{"Authorization", serverKey, "Shopper-Address", "198.51.100.9"}
	guess := func(headers ...string) response {
		return s.send(redeem, from("203.0.113.7", post(voucherPath, `{"code":"SUMMER-21","nick":"Alder"}`, headers...)))
	}
	for range 2 {
		if a := guess(named...); a.status != http.StatusNotFound {
			t.Errorf("got %d %s, want 404", a.status, a.body)
		}
	}
	s.send(redeem, from("198.51.100.9", post(voucherPath, `{"code":"SUMMER-21"}`))).wantTooManyRefusals(t)
	guess(named...).wantTooManyRefusals(t)
	s.send(checkOut, from("203.0.113.7", get(codePath, named...))).wantTooManyRefusals(t)
	s.send(redeem, from("198.51.100.9", post(voucherPath, `{"code":"SUMMER-20"}`))).wantTooManyRefusals(t)
	for what, headers := range map[string][]string{
		"another shopper":        {"Authorization", serverKey, "Shopper-Address", "2001:db8::7"},
		"no shopper is named":    {"Authorization", serverKey},
		"a stranger":             {"Shopper-Address", "198.51.100.9"},
		"a stranger, no address": {"Shopper-Address", "Alder"},
	} {
		if a := guess(headers...); a.status != http.StatusNotFound {
			t.Errorf("%s: got %d %s, want 404", what, a.status, a.body)
		}
	}
	if got := store.total(); got != 7 {
		t.Errorf("%d refusals are counted, want 7", got)
	}
}

func TestShopperAddress_Malformed_Is400BeforeAnythingIsCounted(t *testing.T) {
	for _, addresses := range [][]string{
		{""},
		{"Alder"},
		{"203.0.113.7:443"},
		{"203.0.113.07"},
		{"203.0.113"},
		{"fe80::1%eth0"},
		{"203.0.113.0/24"},
		{" 203.0.113.7"},
		{"203.0.113.7, 198.51.100.9"},
		{"203.0.113.7", "198.51.100.9"},
		{"[2001:db8::7]"},
	} {
		s, store := limited(t)
		for _, r := range []*http.Request{
			post(voucherPath, `{"code":"SUMMER-21"}`), post(voucherPath, `{"code":"*"}`), get(codePath), get(coinsPath),
		} {
			r.Header["Shopper-Address"], r.Header["Authorization"] = addresses, []string{serverKey}
			endpoint := s.Checkout(unusedOpener(t))
			if r.Method == http.MethodPost {
				endpoint = s.RedeemVoucher(unusedRedeemer(t))
			}
			if a := s.send(endpoint, r); a.status != http.StatusBadRequest || store.total() != 0 {
				t.Errorf("%s with %q: got %d %s, want 400", r.URL, addresses, a.status, a.body)
			}
		}
	}
}
