package endtoend_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shopfront/api"
	"shopfront/pkg/operator"
)

func TestThePages(t *testing.T) {
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
					t.Errorf("%d bytes, want %d others", len(a.body), len(want.content))
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
					t.Errorf("compressed there are %d bytes, want %d others", len(content), len(want.content))
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

// What the docs page shows of a shell works as shown: a shopper's first attempt redeems, the next is refused.
func TestTheShellExampleOfTheDocs(t *testing.T) {
	s := newShop(t)
	s.create(t, "WELCOME-COINS", nil)
	address := baseURL(t)
	script := strings.ReplaceAll(shown(t, send(t, address, request{target: "/docs"}).body, "#!/bin/sh"), "/shop/emberforge", "/shop/"+s.id)
	for _, run := range []struct{ address, want string }{
		{address, "Grant the reward, once for this id: "},
		{address, `Grant nothing: {"type":"urn:problem:shopfront:voucher-not-found",`},
		{"http://127.0.0.1:9", "Unknown: send it again later, with the key "},
	} {
		text := strings.ReplaceAll(script, "https://YOUR-DEPLOYMENT", run.address)
		text = strings.Replace(text, "sleep 10", "sleep 0", 1) // nothing here is lost
		command := exec.CommandContext(t.Context(), "sh", "-c", text)
		if out, err := command.Output(); err != nil || !strings.HasPrefix(string(out), run.want) {
			t.Errorf("%q, %v, want %q", out, err, run.want)
		}
	}
	if redemptions, err := s.Redemptions(t.Context(), operator.RedemptionFilter{}); err != nil || len(redemptions) != 1 {
		t.Errorf("redemptions %v, %v, want 1", redemptions, err)
	}
}

// shown is the block of code on a page that begins so.
func shown(t *testing.T, page, beginning string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for node := range root.Descendants() {
		if node.Data == "code" && node.FirstChild != nil && strings.HasPrefix(node.FirstChild.Data, beginning) {
			return node.FirstChild.Data
		}
	}
	t.Fatalf("the page shows no code that begins with %s", beginning)
	return ""
}
