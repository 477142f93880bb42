package endtoend_test

import (
	"net/http"
	"testing"
)

const shopOrigin = "Origin: https://shop.example"

func TestCORS_AllowedOrigin_MayReadResponses(t *testing.T) {
	s := newShop(t)
	address := baseURL(t)
	preflight := send(t, address, request{
		method: http.MethodOptions, target: "/shop/" + s.id + "/voucher",
		header: []string{
			shopOrigin, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: content-type,idempotency-key",
		},
	})
	wantHeaders(t, preflight, map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET,HEAD,POST,OPTIONS",
		"Access-Control-Allow-Headers": "Content-Type,Idempotency-Key,If-None-Match", "Access-Control-Max-Age": "600",
	})
	if preflight.status != http.StatusNoContent || preflight.body != "" {
		t.Errorf("the preflight's response is %d %s, want 204 without a body", preflight.status, preflight.body)
	}
	const exposed = "ETag,Retry-After,Idempotency-Replayed,Deprecation,Sunset,Link,Request-Id"
	for name, a := range map[string]answer{
		"a page":                s.get(t, "/checkout", shopOrigin),
		"a refusal":             s.redeem(t, body("UNKNOWN", ""), shopOrigin),
		"a malformed body":      s.redeem(t, "", shopOrigin),
		"the gateway's own 404": s.get(t, "/none", shopOrigin),
		"a removed payment path": send(t, address,
			request{target: "/checkout/any-processor", header: []string{shopOrigin}}),
	} {
		t.Run(name, func(t *testing.T) {
			wantHeaders(t, a, map[string]string{
				"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposed,
				"Access-Control-Allow-Methods": "",
			})
		})
	}
	// A client that is not a browser sends no Origin.
	wantHeaders(t, s.get(t, "/checkout"),
		map[string]string{"Access-Control-Allow-Origin": "", "Access-Control-Expose-Headers": ""})
}

func wantHeaders(t *testing.T, a answer, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := a.header.Get(name); got != value {
			t.Errorf("%s %q, want %q", name, got, value)
		}
	}
}
