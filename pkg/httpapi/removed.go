package httpapi

import (
	"net/http"
	"strings"
)

// RemovedPayment is the five paths of payment providers that were removed (docs/interface.md, Versioning), whatever stands
// in the segment that the document leaves open: a client that still calls one learns since when it is gone and what to call
// instead.
func (s Service) RemovedPayment() http.Handler {
	gone := func(path string) http.Handler {
		return s.handler(endpoint{
			path: path, methods: []string{http.MethodGet, http.MethodHead, http.MethodPost}, notFound: problemGone,
			answer: func(*call) (answer, error) {
				return answer{}, problemGone.because("This path was removed on 19 September 2023. " +
					"Check out with GET /shop/{customer}/checkout/{product}/{variant} instead; GET /shop/{customer}/checkout lists what is on sale.")
			},
		})
	}
	payByLink, processor := gone("/checkout/paybylink/{provider}"), gone("/checkout/{provider}")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/checkout/paybylink/") {
			payByLink.ServeHTTP(w, r)
		} else {
			processor.ServeHTTP(w, r)
		}
	})
}
