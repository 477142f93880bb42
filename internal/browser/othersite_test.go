//go:build browser

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The deployment allows no other origin. A page of another site must not hold the only use of a code through the
// visitor's browser, whatever the page uses. The shop's own page then still gets that use.
func TestOtherSite_CannotHoldACodeThroughItsVisitor(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	s.createReward(t, "SUMMER", "20%")
	api := localRun(t).Serve(t, localRun(t).State.DynamoDBEndpoint)
	checkOut := s.pageAt(api) + "/checkout/coins/500?code=SUMMER"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><link rel="icon" href="data:,"><link rel="preload" as="fetch" href="%[1]s">`+
			`<link rel="prefetch" href="%[1]s"><img src="%[1]s"><iframe src="%[1]s"></iframe><script src="%[1]s"></script>`,
			checkOut+"&amp;data=other")
	}))
	t.Cleanup(other.Close)
	b := newTab(t, view{})
	b.open(strings.Replace(other.URL, "127.0.0.1", "localhost", 1)) // another site than the API's 127.0.0.1
	evaluate[bool](b, fmt.Sprintf(`Promise.all([
		fetch(%q, { mode: "no-cors" }),
		fetch(%q, { mode: "no-cors", method: "POST", body: "{}" }),
		fetch(%q, { mode: "no-cors", method: "HEAD" }),
	]).then(() => true)`, checkOut, s.pageAt(api)+"/voucher", checkOut))
	b.expect("403 (Forbidden)")
	b.expect("503 (Service Unavailable)") // of the prefetch
	b.waitRequest("/shop/", 8)
	for _, r := range b.requests("/shop/") {
		// The browser does not show the status of every image and script.
		if r.Status != 0 && r.Status != http.StatusForbidden && r.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: want 403 or 503", r.String())
		}
	}
	b.open(s.pageAt(api))
	b.checkOut("SUMMER")
	s.wantOpen(b)
}
