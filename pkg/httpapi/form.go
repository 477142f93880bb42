package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"shopfront/pkg/idempotency"
)

// parseQuery reads the query strictly. A parameter that is unknown, repeated or cannot be decoded is an error, so that
// a typing error cannot change what a request means.
func (c *call) parseQuery(known ...string) (err error) {
	if c.query, err = url.ParseQuery(c.URL.RawQuery); err != nil {
		return problemMalformedRequest.because("The query string cannot be decoded.")
	}
	for name, given := range c.query {
		if !slices.Contains(known, name) {
			return problemMalformedRequest.because("The query has an unknown parameter. Known parameters: %s.",
				knownNames(known))
		}
		if len(given) > 1 {
			return problemMalformedRequest.because("The query has this parameter more than once.").of(name)
		}
	}
	return nil
}

func knownNames(known []string) string {
	if len(known) == 0 {
		return "none"
	}
	return strings.Join(known, ", ")
}

// idempotencyKey returns the request's key. If the request has no key, it returns the empty key. The gateway joins
// repeated headers with commas. A key has no comma, so a repeated header is malformed.
func idempotencyKey(r *http.Request) (idempotency.Key, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key, err := idempotency.ParseKey(strings.Join(values, ","))
	if err != nil {
		return "", problemMalformedRequest.because("The Idempotency-Key must be sent once, with 1 to 255 visible " +
			"ASCII characters and no comma.")
	}
	return key, nil
}
