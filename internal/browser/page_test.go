//go:build browser

package browser_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

func TestPage_FirstPaint_TakesAtMostThreeRequests(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.wait(".buy") // wait until the script has run
	sent := b.requests(strings.TrimSuffix(s.page(t), "/shop/"+s.id))
	if len(sent) > 3 {
		t.Errorf("%d requests, want at most 3: %v", len(sent), sent)
	}
	for _, r := range sent {
		if r.Status != http.StatusOK || r.Type == network.ResourceTypeFetch {
			t.Errorf("%v has the type %s, want a successful request that is not a fetch", &r, r.Type)
		}
	}
}

func TestPage_SecondVisit_LoadsNoAssetAndLeavesNoCookieOrStorage(t *testing.T) {
	s, first := visit(t, view{phone: true}, emberforge)
	first.wait(".buy")
	second := first.another(s.page(t))
	second.wait(".buy")
	for _, r := range second.requests("GET .*/assets/") {
		if !r.Cached {
			t.Errorf("%v is loaded again, want it from the cache", &r)
		}
	}
	if got := evaluate[string](second, "document.cookie"); got != "" {
		t.Errorf("the page has the cookies %q", got)
	}
	for _, r := range second.requests("127.0.0.1") {
		if r.Header.Get("Cookie") != "" {
			t.Errorf("%v has a cookie", &r)
		}
	}
	second.wantNothingKept()
}

// If something moves while the page loads, a shopper may hit the wrong button.
func TestPage_Load_MovesNothing(t *testing.T) {
	for _, v := range []view{{}, {phone: true}} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			b := newTab(t, v)
			runScript := b.hold(`GET .*\.js$`)
			call(b, page.Navigate, page.NavigateParams{URL: newShop(t, emberforge).page(t)})
			b.until("the page is painted", `performance.getEntriesByName("first-contentful-paint").length > 0`)
			runScript()
			b.until("the script has run", `document.readyState === "complete"`)
			moved := evaluate[[]string](b, `(() => {
				document.body.getBoundingClientRect(); // lays the page out
				const observer = new PerformanceObserver(() => {});
				observer.observe({type: "layout-shift", buffered: true});
				return observer.takeRecords().flatMap(({value, sources}) =>
					sources.map(({node}) => value + " " + (node?.outerHTML ?? node?.textContent ?? "").slice(0, 80)));
			})()`)
			for _, what := range moved {
				t.Errorf("moved: %s", what)
			}
		})
	}
}

func TestPage_NoScript_ListsProductsWithoutButtons(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	b := newTab(t, view{phone: true, noScript: true})
	if status := b.open(s.page(t)); status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
	for _, text := range []string{
		"Emberforge", "Ember coins", "1,200 coins", "9.99 EUR", "Ranks", "A golden name & <two> more homes.",
		"please allow JavaScript", "About us",
	} {
		b.waitText("body", text)
	}
	for _, hidden := range []string{"form", "button", "dialog"} {
		b.waitGone(hidden)
	}
}
