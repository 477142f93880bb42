package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"shopfront/pkg/idempotency"
)

// parseQuery reads a query strictly: what the endpoint does not know, what is there twice and what cannot be decoded is
// malformed, for a typing error must not change what a request means.
func parseQuery(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problemMalformedRequest.because("The query string cannot be decoded.")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, problemMalformedRequest.because("The query has a parameter that is not known here. Known: %s.", knownNames(known))
		}
		if len(given) > 1 {
			return nil, problemMalformedRequest.because("The query has the parameter twice.").of(name)
		}
	}
	return values, nil
}

func knownNames(known []string) string {
	if len(known) == 0 {
		return "none"
	}
	return strings.Join(known, ", ")
}

// idempotencyKey reads the request's key; none is the empty key. The adapter in front of the endpoints splits a header at
// its commas, as the gateway joins repeated ones: any number of values but one is malformed.
func idempotencyKey(r *http.Request) (idempotency.Key, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", problemMalformedRequest.because("The Idempotency-Key is there twice, or has a comma.")
	}
	key, err := idempotency.ParseKey(values[0])
	if err != nil {
		return "", problemMalformedRequest.because("The Idempotency-Key must be 1 to 255 visible ASCII characters without comma.")
	}
	return key, nil
}
