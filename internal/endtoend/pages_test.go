package endtoend_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"shopfront/api"
)

func TestPages_AreServedAsRendered(t *testing.T) {
	address := baseURL(t)
	unchanged(t, func(t *testing.T) {
		for target, want := range map[string]struct{ contentType, content string }{
			"/openapi.json": {"application/json", api.OpenAPI()},
			"/docs":         {"text/html; charset=utf-8", api.DocsPage()},
			"/changelog":    {"text/html; charset=utf-8", api.ChangelogPage()},
			"/changelog.rss": {
				"application/rss+xml; charset=utf-8",
				strings.ReplaceAll(api.Feed(), api.Origin, "http://shop.example"),
			},
		} {
			t.Run(target, func(t *testing.T) {
				a := send(t, address, request{target: target})
				a.wantStatus(t, http.StatusOK)
				if a.body != want.content {
					t.Errorf("the %d bytes of the response differ from the %d bytes of the page", len(a.body),
						len(want.content))
				}
				wantHeaders(t, a, map[string]string{
					"Content-Type": want.contentType, "Content-Security-Policy": api.Policy(), "Content-Encoding": "",
				})
				compressed := send(t, address, request{target: target, header: []string{"Accept-Encoding: br, gzip"}})
				if content := decompress(t, compressed); content != want.content {
					t.Errorf("the %d bytes of the decompressed response differ from the %d bytes of the page",
						len(content), len(want.content))
				}
			})
		}
	})
}

func TestShopPage_LoadsItsAssets(t *testing.T) {
	s, address := newShop(t), baseURL(t)
	html := send(t, address, request{target: "/shop/" + s.id + "?utm_source=feed"})
	html.wantStatus(t, http.StatusOK)
	wantHeaders(t, html, map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache",
		"Referrer-Policy": "no-referrer",
	})
	if policy := html.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy,
		"default-src 'none'; script-src 'self'; ") {
		t.Errorf("the Content-Security-Policy is %s, want only scripts of the page's own host", policy)
	}
	contentTypes := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
	assets := regexp.MustCompile(`"(/assets/shop-[0-9a-f]+\.(js|css))"`).FindAllStringSubmatch(html.body, -1)
	if len(assets) != len(contentTypes) {
		t.Errorf("the page loads %q, want a script and a stylesheet", assets)
	}
	for _, asset := range assets {
		a := send(t, address, request{target: asset[1], header: []string{"Accept-Encoding: gzip"}})
		a.wantStatus(t, http.StatusOK)
		header := map[string]string{
			"Content-Type": contentTypes[asset[2]], "Content-Encoding": "gzip",
			"Cache-Control": "public, max-age=31536000, immutable",
		}
		wantHeaders(t, a, header)
		head := send(t, address, request{
			method: http.MethodHead, target: asset[1],
			header: []string{"Accept-Encoding: gzip"},
		})
		head.wantStatus(t, http.StatusOK)
		wantHeaders(t, head, header)
	}
	send(t, address, request{target: "/assets/shop-0.js"}).wantProblem(t, http.StatusNotFound, "not-found")
	send(t, address, request{target: "/shop/" + s.id + "-2"}).wantApology(t, http.StatusNotFound)
	send(t, address, request{method: http.MethodPost, target: "/shop/" + s.id}).wantMessage(t, http.StatusNotFound)
}

// wantApology checks that the response is an HTML page that explains a failure to a shopper, and that it reveals
// nothing internal.
func (a answer) wantApology(t *testing.T, status int) {
	t.Helper()
	a.wantStatus(t, status)
	wantHeaders(t, a, map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"})
	if !strings.Contains(a.body, `<main class="apology">`) {
		t.Errorf("the page is not an apology: %s", a.body)
	}
	// the "0x" in "%20xmlns", which the icon contains, is not an address
	wantNothingInternal(t, strings.ReplaceAll(a.body, "%20", " "))
}

// decompress returns the body, decompressed if it is compressed with gzip.
func decompress(t *testing.T, a answer) string {
	t.Helper()
	if a.header.Get("Content-Encoding") != "gzip" {
		return a.body
	}
	reader, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
