package httpapi

import "net/http"

// RemovedPayment responds 410 to the five removed paths of payment providers (docs/interface.md, The removed payment
// paths). The response says when the path was removed and what to call instead. The gateway routes only removed paths
// here. So a path that does not match, because an escaped slash splits a segment in two, also gets 410.
func (s Service) RemovedPayment() http.Handler {
	return s.handler(endpoint{
		path: "/checkout/{provider}", methods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		notFound: gone,
		respond:  func(*call) (response, error) { return response{}, gone() },
	})
}

func gone() *problemError {
	return problemGone.because("This path was removed on 19 September 2023. " +
		"Check out with GET /shop/{customer}/checkout/{product}/{variant} instead; GET /shop/{customer}/checkout " +
		"lists what is on sale.")
}
