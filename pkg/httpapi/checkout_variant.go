package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// CheckoutVariant is GET /shop/{customer}/checkout/{product}/variant/{variant} (docs/interface.md), the older form of
// Checkout: the same request, with the same answers, each of which says that the form is deprecated.
func (s Service) CheckoutVariant(desk CheckoutDesk) http.Handler {
	older := checkoutEndpoint("/shop/{customer}/checkout/{product}/variant/{variant}", desk)
	older.headers = deprecation
	return s.handler(older)
}

// deprecation tells since when the older form is deprecated (RFC 9745: the date of the release that marked it), from when on
// it may be gone (RFC 8594: a year later), and what takes its place.
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

// longestSuccessor bounds a Link, in bytes: no path whose IDs are well-formed comes near it, and a gateway limits what all
// headers of an answer have together.
const longestSuccessor = 1024

// successorOf is the path of the newer form, as a reference that is fit for a header.
func successorOf(path string) (string, bool) {
	const infix = "/variant/"
	at := strings.LastIndex(path, infix)
	if at < 0 {
		return "", false
	}
	successor := (&url.URL{Path: path[:at] + "/" + path[at+len(infix):]}).EscapedPath()
	return successor, len(successor) <= longestSuccessor
}
