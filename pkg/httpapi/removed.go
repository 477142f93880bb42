package httpapi

import "net/http"

// RemovedPayment is the five paths of payment providers that were removed (docs/interface.md, Versioning): a client that
// still calls one learns since when it is gone and what to call instead. Whatever leads here is one of them, also where an
// escaped slash has made two segments of the one that the document leaves open.
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
