package httpapi

import "net/http"

// RemovedPayment serves the five removed paths of payment providers (docs/interface.md, Versioning). A client that still calls
// such a path learns when it was removed and what to call instead. All paths that the gateway routes here were removed, so the
// response is 410 even if an escaped slash has split a segment in two.
func (s Service) RemovedPayment() http.Handler {
	return s.handler(endpoint{
		path: "/checkout/{provider}", methods: []string{http.MethodGet, http.MethodHead, http.MethodPost}, notFound: gone,
		answer: func(*call) (answer, error) { return answer{}, gone() },
	})
}

func gone() *problemError {
	return problemGone.because("This path was removed on 19 September 2023. " +
		"Check out with GET /shop/{customer}/checkout/{product}/{variant} instead; GET /shop/{customer}/checkout lists what is on sale.")
}
