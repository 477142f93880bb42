package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// checkAsked returns a problem for a request that a browser sent although the shopper did not ask this shop for it: a
// prefetch or preview, or a request of another site's page. Anybody can put such a request on a page, for example as
// the address of an image. It would hold codes, and count as the shopper's refusals.
func (c *call) checkAsked() error {
	switch {
	case isPrefetch(c.Header):
		c.record.reason = "prefetch"
		return problemUnavailable.because("A prefetch or preview cannot hold or redeem anything.").
			with("Retry-After", "1")
	case isCrossSite(c.Request, c.origins):
		return problemCrossSite.because("A page of another site made a browser send this request, or used it as an " +
			"image or another part of the page. Call it from a page whose origin the deployment allows.")
	default:
		return nil
	}
}

// isPrefetch reports whether a browser sent the request before the shopper asked for it. Browsers say so in one of
// these headers: https://wicg.github.io/nav-speculation/prefetch.html#sec-purpose-header
func isPrefetch(header http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		for item := range strings.SplitSeq(strings.Join(header.Values(name), ","), ",") {
			purpose, _, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(purpose)) {
			case "prefetch", "prerender", "preview", "instant":
				return true
			}
		}
	}
	return false
}

// isCrossSite reports whether a page that is not allowed made a browser send the request. Browsers say where a request
// comes from in Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/), and older ones only in Origin. Servers and game
// clients send neither. The site same-site has the same owner: another host of the same registrable domain. But its
// visitors may post images there, so a request for a part of a page is never accepted.
func isCrossSite(r *http.Request, allowed []string) bool {
	value := func(name string) string { return strings.Join(r.Header.Values(name), ",") }
	if slices.Contains(allowed, "*") {
		return false
	}
	switch value("Sec-Fetch-Dest") {
	case "", "empty", "document": // a program, a script, or the shopper's own navigation
	default:
		return true
	}
	origin := value("Origin")
	if slices.Contains(allowed, origin) {
		return false
	}
	switch value("Sec-Fetch-Site") {
	case "same-origin", "same-site", "none":
		return false
	case "":
		_, host, _ := strings.Cut(origin, "://")
		return origin != "" && !strings.EqualFold(host, r.Host)
	default:
		return true
	}
}
