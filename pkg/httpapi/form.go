package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"shopfront/pkg/idempotency"
)

// parseQuery reads a query strictly. A parameter that is unknown, repeated or cannot be decoded is an error, so that a typing
// error cannot change what a request means.
func parseQuery(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problemMalformedRequest.because("The query string cannot be decoded.")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return nil, problemMalformedRequest.because("The query has an unknown parameter. Known parameters: %s.", knownNames(known))
		}
		if len(given) > 1 {
			return nil, problemMalformedRequest.because("The query has this parameter more than once.").of(name)
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

// idempotencyKey returns the request's key, or the empty key if the request has none. The gateway joins repeated headers with
// a comma, which no key contains, so a repeated header is malformed.
func idempotencyKey(r *http.Request) (idempotency.Key, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key, err := idempotency.ParseKey(strings.Join(values, ","))
	if err != nil {
		return "", problemMalformedRequest.because("The Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters and no comma.")
	}
	return key, nil
}
