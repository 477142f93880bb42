package endtoend_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"shopfront/api"
)

func TestPages_AreServedAsRendered(t *testing.T) {
	address := baseURL(t)
	unchanged(t, func(t *testing.T) {
		for target, want := range map[string]struct{ contentType, content string }{
			"/openapi.json":  {"application/json", api.OpenAPI()},
			"/docs":          {"text/html; charset=utf-8", api.DocsPage()},
			"/changelog":     {"text/html; charset=utf-8", api.ChangelogPage()},
			"/changelog.rss": {"application/rss+xml; charset=utf-8", strings.ReplaceAll(api.Feed(), api.Origin, "http://shop.example")},
		} {
			t.Run(target, func(t *testing.T) {
				a := send(t, address, request{target: target})
				a.wantStatus(t, http.StatusOK)
				if a.body != want.content {
					t.Errorf("%d bytes differ from the %d bytes of the page", len(a.body), len(want.content))
				}
				header := map[string]string{
					"Content-Type": want.contentType, "Cache-Control": "no-cache", "Content-Security-Policy": api.Policy(),
					"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Encoding": "",
				}
				wantHeaders(t, a, header)
				head := send(t, address, request{method: http.MethodHead, target: target})
				head.wantStatus(t, http.StatusOK)
				header["ETag"] = a.header.Get("ETag")
				wantHeaders(t, head, header)

				compressed := send(t, address, request{target: target, header: []string{"Accept-Encoding: gzip, deflate, br, zstd"}})
				if content := decompress(t, compressed); content != want.content {
					t.Errorf("decompressed, %d bytes differ from the %d bytes of the page", len(content), len(want.content))
				}
				for _, known := range []answer{a, compressed} {
					same := send(t, address, request{target: target, header: []string{
						"Accept-Encoding: " + known.header.Get("Content-Encoding"), "If-None-Match: W/\"old\", " + known.header.Get("ETag"),
					}})
					same.wantStatus(t, http.StatusNotModified)
					wantHeaders(t, same, map[string]string{"ETag": known.header.Get("ETag"), "Cache-Control": "no-cache"})
				}
				send(t, address, request{target: target + "?utm_source=feed"}).wantProblem(t, http.StatusBadRequest, "malformed-request")
				send(t, address, request{target: target + "?a=%zz"}).wantProblem(t, http.StatusBadRequest, "malformed-request")
				send(t, address, request{method: http.MethodPost, target: target}).wantMessage(t, http.StatusNotFound)
				send(t, address, request{target: target + "/"}).wantMessage(t, http.StatusNotFound)
			})
		}
	})
}

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
