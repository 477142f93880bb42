package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

const voucherPath = "/shop/emberforge/voucher"

// wantUnasked sends requests with these headers to every endpoint that holds, counts or stores something for strangers.
// If want is 200, each must be accepted. Otherwise each must be rejected before anything is looked up or counted.
func wantUnasked(t *testing.T, allowed []string, want int, headers ...string) {
	t.Helper()
	const body = `{"code":"SUMMER-20"}`
	for _, r := range []*http.Request{
		get(coinsPath, headers...), get(codePath, headers...), get(coinsPath+"?code=%2A", headers...),
		get(coinsPath+"?amount=0", headers...),
		request(http.MethodHead, codePath, "", headers...), get(olderPath+"?code=SUMMER-20", headers...),
		post(voucherPath, body, headers...), post(voucherPath+"?check=true", body, headers...),
		post(voucherPath, `{"code":"*"}`, headers...),
	} {
		s, store := limited(t)
		s.AllowedOrigins = allowed
		checkOut, redeemer := discounting(new(int)), knows(new(int))
		if want != http.StatusOK {
			s.Guard, s.Refusals, s.SourceAddress = nil, nil, nil // calling one would panic
			checkOut, redeemer = unusedOpener(t), unusedRedeemer(t)
		}
		endpoint := s.RedeemVoucher(redeemer)
		if strings.HasPrefix(r.URL.Path, coinsPath) {
			endpoint = s.Checkout(checkOut)
		} else if strings.HasPrefix(r.URL.Path, olderPath) {
			endpoint = s.CheckoutVariant(checkOut)
		}
		a := s.send(endpoint, r)
		if wasJudged := a.status != http.StatusForbidden && a.status != http.StatusServiceUnavailable; a.status != want &&
			(want != http.StatusOK || !wasJudged) {
			t.Errorf("%s %s with %q: got %d %s, want %d", r.Method, r.URL, headers, a.status, a.body, want)
		}
		if want != http.StatusOK && store.total() != 0 {
			t.Errorf("%s %s with %q is counted", r.Method, r.URL, headers)
		}
	}
}

func TestUnasked_Prefetch_IsRejectedBeforeAnyLookup(t *testing.T) {
	for _, headers := range [][]string{
		{"Sec-Purpose", "prefetch"},
		{"Sec-Purpose", "prefetch;prerender"},
		{"Sec-Purpose", "prefetch; anonymous-client-ip"},
		{"Sec-Purpose", "speculation, prefetch"},
		{"Sec-Purpose", "speculation", "Sec-Purpose", " prefetch"},
		{"Purpose", "prefetch"},
		{"Purpose", "preview"},
		{"X-Purpose", "preview"},
		{"X-Purpose", "instant"},
		{"X-Moz", "prefetch"},
		{"X-Moz", "Prefetch"},
		{"Purpose", "prerender"},
	} {
		wantUnasked(t, []string{"*"}, http.StatusServiceUnavailable, headers...)
		s := newService(t)
		a := s.send(s.Checkout(unusedOpener(t)), get(coinsPath, headers...))
		a.wantHeader(t, "Cache-Control", "no-store")
		if line := s.logged(t); line["Reason"] != "prefetch" || line["StoreErrors"] != nil || line["level"] != "INFO" {
			t.Errorf("logged %v", line)
		}
	}
	for _, purpose := range []string{"", "prefetched", "navigate", "x;prefetch"} {
		wantUnasked(t, nil, http.StatusOK, "Sec-Purpose", purpose)
	}
}

// https://www.w3.org/TR/fetch-metadata/ has the values that browsers send.
func TestUnasked_RequestOfAnotherSite_IsRejectedBeforeAnyLookup(t *testing.T) {
	const (
		site, dest, origin = "Sec-Fetch-Site", "Sec-Fetch-Dest", "Origin"
		shop, other        = "https://shop.example", "https://prizes.example"
	)
	shops := []string{shop, "http://localhost:5173"}
	for what, test := range map[string]struct {
		allowed []string
		want    int
		headers []string
	}{
		"a server or a game client":          {nil, 200, nil},
		"the deployment's own page":          {nil, 200, []string{site, "same-origin", dest, "empty"}},
		"typed or a bookmark":                {nil, 200, []string{site, "none", dest, "document"}},
		"another host of the same site":      {nil, 200, []string{site, "same-site", origin, other, dest, "empty"}},
		"an image on the same site":          {shops, 403, []string{site, "same-site", dest, "image"}},
		"an image on the deployment's page":  {shops, 403, []string{site, "same-origin", dest, "image"}},
		"a preloaded script":                 {shops, 403, []string{site, "same-origin", dest, "script"}},
		"a frame":                            {shops, 403, []string{site, "same-site", dest, "iframe"}},
		"an image of another site":           {shops, 403, []string{site, "cross-site", dest, "image"}},
		"an image of an allowed origin":      {shops, 403, []string{site, "cross-site", dest, "image", origin, shop}},
		"a link of another site":             {shops, 403, []string{site, "cross-site", dest, "document"}},
		"another origin":                     {shops, 403, []string{site, "cross-site", dest, "empty", origin, other}},
		"an allowed origin":                  {shops, 200, []string{site, "cross-site", dest, "empty", origin, shop}},
		"the other allowed origin":           {shops, 200, []string{site, "cross-site", origin, shops[1]}},
		"an origin that begins as allowed":   {shops, 403, []string{site, "cross-site", origin, shop + ".example"}},
		"an allowed host by http":            {shops, 403, []string{site, "cross-site", origin, "http://shop.example"}},
		"an opaque origin":                   {shops, 403, []string{site, "cross-site", origin, "null"}},
		"a value of the future":              {shops, 403, []string{site, "same-planet"}},
		"two values":                         {shops, 403, []string{site, "same-origin", site, "cross-site"}},
		"older browser, another origin":      {shops, 403, []string{origin, other}},
		"older browser, an opaque origin":    {shops, 403, []string{origin, "null"}},
		"older browser, an allowed origin":   {shops, 200, []string{origin, shop}},
		"older browser, the page's own host": {nil, 200, []string{origin, "https://example.com"}},
		"older browser, another port":        {nil, 403, []string{origin, "https://example.com:8443"}},
		"any origin, another site":           {[]string{"*"}, 200, []string{site, "cross-site", dest, "image", origin, other}},
		"any origin, older browser":          {[]string{"*"}, 200, []string{origin, "null"}},
	} {
		t.Run(what, func(t *testing.T) { wantUnasked(t, test.allowed, test.want, test.headers...) })
	}
}

func TestUnasked_RequestOfAnotherSite_IsAProblem(t *testing.T) {
	s := newService(t)
	s.send(s.Checkout(unusedOpener(t)), get(codePath, "Sec-Fetch-Site", "cross-site")).want(t, http.StatusForbidden,
		`{"type":"urn:problem:shopfront:cross-site-request","title":"Cross-site request","status":403,`+
			`"detail":"A page of another site made a browser send this request, or used it as an image or another `+
			`part of the page. Call it from a page whose origin the deployment allows."}`)
	if line := s.logged(t); line["outcome"] != "cross-site-request" || line["level"] != "INFO" {
		t.Errorf("logged %v", line)
	}
}
