package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// CheckoutVariant is GET /shop/{customer}/checkout/{product}/variant/{variant}, the deprecated path of Checkout. It
// responds like Checkout, and every response says that the path is deprecated.
func (s Service) CheckoutVariant(opener CheckoutOpener) http.Handler {
	older := s.checkoutEndpoint("/shop/{customer}/checkout/{product}/variant/{variant}", opener)
	older.headers = deprecation
	return s.handler(older)
}

// deprecation returns up to three headers. Deprecation is the date of the release that deprecated the path (RFC 9745).
// Sunset is the date from which the path may be removed, a year later (RFC 8594). Link is the path that replaces the
// deprecated path. It is left out if that path is longer than longestSuccessor.
func deprecation(r *http.Request) http.Header {
	since := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	header := http.Header{
		"Deprecation": {"@" + strconv.FormatInt(since.Unix(), 10)},
		"Sunset":      {since.AddDate(1, 0, 0).Format(http.TimeFormat)},
	}
	if successor, found := successorOf(r.URL.Path); found {
		header.Set("Link", "<"+successor+`>; rel="successor-version"`)
	}
	return header
}

// longestSuccessor bounds the path in a Link, in bytes, because the gateway limits the total size of a response's
// headers. A path with well-formed IDs is much shorter.
const longestSuccessor = 1024

// successorOf returns the path that replaces a deprecated path, escaped for a header.
func successorOf(path string) (string, bool) {
	const infix = "/variant/"
	at := strings.LastIndex(path, infix)
	if at < 0 {
		return "", false
	}
	successor := (&url.URL{Path: path[:at] + "/" + path[at+len(infix):]}).EscapedPath()
	return successor, len(successor) <= longestSuccessor
}
