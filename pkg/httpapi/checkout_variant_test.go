package httpapi_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/checkout"
)

func TestCheckoutVariant_RespondsLikeCheckout(t *testing.T) {
	const query = "?amount=3&data=%7B%7D&code=SUMMER20&nick=Alder&replaces=" + string(rankID)
	var asked [2]checkout.Request
	var answers [2]response
	for i, path := range []string{coinsPath, olderPath} {
		opener := fakeOpener{open: func(r checkout.Request) (checkout.Checkout, bool, error) {
			asked[i] = r
			return selling().open(r)
		}}
		s := newService(t)
		endpoints := []http.Handler{s.Checkout(opener), s.CheckoutVariant(opener)}
		answers[i] = s.send(endpoints[i], get(path+query, "Idempotency-Key", "till-1047"))
	}
	if !reflect.DeepEqual(asked[0], asked[1]) {
		t.Errorf("asked for %+v and %+v", asked[0], asked[1])
	}
	answers[1].want(t, http.StatusOK, fmt.Sprintf(soldBody, `""`))
	if answers[0].body != answers[1].body {
		t.Errorf("the responses are %s and %s", answers[0].body, answers[1].body)
	}
}

func TestCheckoutVariant_EveryResponse_SaysItIsDeprecated(t *testing.T) {
	tests := []struct {
		what    string
		request *http.Request
		status  int
		link    string
	}{
		{"checked out", get(olderPath + "?amount=3"), 200, coinsPath},
		{"HEAD", request(http.MethodHead, olderPath, ""), 200, coinsPath},
		{"bad query", get(olderPath + "?amuont=3"), 400, coinsPath},
		{"bad amount", get(olderPath + "?amount=0"), 422, coinsPath},
		{"refused code", get(olderPath + "?code=%2A"), 409, coinsPath},
		{"prefetch", get(olderPath, "Sec-Purpose", "prefetch"), 503, coinsPath},
		{"another method", request(http.MethodDelete, olderPath, ""), 405, coinsPath},
		{
			"every ID is variant", get("/shop/variant/checkout/variant/variant/variant"), 200,
			"/shop/variant/checkout/variant/variant",
		},
		{
			"malformed ID", get("/shop/emberforge/checkout/c%C3%B6ins/variant/a%3E%22%0D%0Ab"), 404,
			"/shop/emberforge/checkout/c%C3%B6ins/a%3E%22%0D%0Ab",
		},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			a := s.send(s.CheckoutVariant(selling()), test.request)
			if a.status != test.status {
				t.Errorf("%d %s; want %d", a.status, a.body, test.status)
			}
			a.wantHeader(t, "Link", "<"+test.link+`>; rel="successor-version"`)
			a.wantDeprecated(t)
		})
	}
}

// wantDeprecated checks the headers Deprecation (RFC 9745) and Sunset (RFC 8594), which must be a year apart.
func (a response) wantDeprecated(t *testing.T) {
	t.Helper()
	var seconds int64
	if _, err := fmt.Sscanf(a.header.Get("Deprecation"), "@%d", &seconds); err != nil {
		t.Fatalf("Deprecation %q: %v", a.header.Get("Deprecation"), err)
	}
	since := time.Unix(seconds, 0).UTC()
	sunset, err := http.ParseTime(a.header.Get("Sunset"))
	if err != nil || !sunset.Equal(since.AddDate(1, 0, 0)) || since.After(now()) {
		t.Errorf("deprecated since %v, sunset %v, %v", since, sunset, err)
	}
}

func TestCheckoutVariant_TooLongLink_IsLeftOut(t *testing.T) {
	s := newService(t)
	a := s.send(s.CheckoutVariant(unusedOpener(t)),
		get("/shop/emberforge/checkout/coins/variant/"+strings.Repeat("%20", 2000)))
	if a.status != http.StatusNotFound {
		t.Errorf("got %d %s, want 404", a.status, a.body)
	}
	a.wantHeader(t, "Link", "")
	a.wantDeprecated(t)
}
