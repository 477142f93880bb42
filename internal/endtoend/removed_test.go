package endtoend_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestRemovedPaymentPaths_AreGone(t *testing.T) {
	address := baseURL(t)
	unchanged(t, func(t *testing.T) {
		for _, r := range []request{
			{target: "/checkout/paybylink/prepaid"},
			{target: "/checkout/paybylink/any-card"},
			{target: "/checkout/paybylink/transfer"},
			{target: "/checkout/any-processor"},
			{target: "/checkout/any-processor?amount=1&amount=2"},
			{target: "/checkout/paybylink"},
			{method: http.MethodPost, target: "/checkout/paybylink/sms"},
			{method: http.MethodPost, target: "/checkout/any-processor"},
			{
				method: http.MethodPost, target: "/checkout/any-processor",
				header: []string{"Content-Type: text/plain"},
				body:   "amount=1",
			},
			{target: "/checkout/%252F"},
			{target: "/checkout/%00"},
			{target: "/checkout/paybylink/%ff"},
			{target: "/checkout/paybylink/a%252Fb"},
			{target: "/checkout/paybylink%2Fprepaid"},
			{target: "/checkout/.."},
		} {
			a := send(t, address, r)
			p := a.wantProblem(t, http.StatusGone, "gone")
			if !strings.Contains(p.Detail, "19 September 2023") ||
				!strings.Contains(p.Detail, "GET /shop/{customer}/checkout/{product}/{variant}") {
				t.Errorf("%s %s: %s, want the date of removal and the path to call", r.method, r.target, a.body)
			}
		}
		for _, target := range []string{
			"/checkout/paybylink/prepaid", "/checkout/paybylink/transfer",
			"/checkout/any-processor",
		} {
			a := send(t, address, request{method: http.MethodHead, target: target})
			a.wantStatus(t, http.StatusGone)
			if a.body != "" {
				t.Errorf("HEAD %s has a body: %s", target, a.body)
			}
		}
		for _, r := range []request{
			{method: http.MethodPost, target: "/checkout/paybylink/transfer"},
			{method: http.MethodPut, target: "/checkout/any-processor"},
			{target: "/checkout/paybylink/"},
			{target: "/checkout/paybylink/a/b"},
			{target: "/checkout/paybylink/a%2Fb"},
			{target: "/checkout/"},
		} {
			send(t, address, r).wantMessage(t, http.StatusNotFound)
		}
	})
}
