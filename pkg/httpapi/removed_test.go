package httpapi_test

import (
	"net/http"
	"testing"
)

func TestRemovedPayment_Is410(t *testing.T) {
	tests := []struct{ method, path string }{
		{http.MethodGet, "/checkout/paybylink/prepaid"},
		{http.MethodGet, "/checkout/paybylink/%C3%A4ny%20segment"},
		{http.MethodGet, "/checkout/paybylink/transfer"},
		{http.MethodGet, "/checkout/card"},
		{http.MethodGet, "/checkout/paybylink"},
		// A segment with an escaped slash reaches the function as two segments.
		{http.MethodGet, "/checkout/car%2Fd"},
		{http.MethodGet, "/checkout/paybylink/pre%2Fpaid"},
		{http.MethodPost, "/checkout/paybylink/sms"},
		{http.MethodPost, "/checkout/card"},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			s := newService(t)
			a := s.send(s.RemovedPayment(), request(test.method, test.path+"?order=1047", "any body"))
			a.want(t, http.StatusGone, `{"type":"urn:problem:shopfront:gone","title":"Gone","status":410,`+
				`"detail":"This path was removed on 19 September 2023. `+
				`Check out with GET /shop/{customer}/checkout/{product}/{variant} instead; GET `+
				`/shop/{customer}/checkout lists what is on sale."}`)
			a.wantHeader(t, "Content-Type", "application/problem+json")
			a.wantHeader(t, "Request-Id", "request-1")
			if line := s.logged(t); line["outcome"] != "gone" || line["level"] != "INFO" {
				t.Errorf("logged %v", line)
			}
		})
	}
	s := newService(t)
	s.send(s.RemovedPayment(), request(http.MethodHead, "/checkout/card", "")).want(t, http.StatusGone, "")
}
