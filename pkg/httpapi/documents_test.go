package httpapi_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"shopfront/pkg/httpapi"
)

const (
	documentsPolicy = "default-src 'none'; frame-ancestors 'none'"
	docsPage        = "<!DOCTYPE html><title>Vouchers and checkout</title>"
)

func documents(s service) http.Handler {
	return s.Documents(
		documentsPolicy,
		httpapi.Document{Path: "/docs", ContentType: "text/html; charset=utf-8", Content: docsPage},
		httpapi.Document{
			Path: "/changelog.rss", ContentType: "application/rss+xml; charset=utf-8",
			Origin:  "https://deployment.invalid",
			Content: "<rss><link>https://deployment.invalid/changelog</link><link>https://deployment.invalid/docs</link></rss>",
		},
	)
}

func TestDocuments_Document_IsServedUnchanged(t *testing.T) {
	s := newService(t)
	a := s.send(documents(s), request(http.MethodGet, "/docs", ""))
	a.want(t, http.StatusOK, docsPage)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "", "Vary": "Accept-Encoding",
		"Cache-Control":           "no-cache",
		"Content-Security-Policy": documentsPolicy, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Request-Id": "request-1",
	} {
		a.wantHeader(t, name, want)
	}
	if line := s.logged(t); line["outcome"] != "shown" || line["status"] != 200.0 {
		t.Errorf("logged %v", line)
	}
	s = newService(t)
	head := s.send(documents(s), request(http.MethodHead, "/docs", ""))
	head.want(t, http.StatusOK, "")
	head.wantHeader(t, "ETag", a.header.Get("ETag"))
}

// The cases follow RFC 9110, section 12.5.3, except that * does not select gzip: a client must name gzip.
func TestDocuments_AcceptEncodingGzip_IsCompressed(t *testing.T) {
	for acceptEncoding, want := range map[string]bool{
		"gzip": true, "gzip, deflate, br, zstd": true, "br, GZIP": true, "gzip;q=0.5": true, "gzip; q=1.0": true,
		"deflate;q=1, gzip;Q=0.1": true,
		"":                        false, "br": false, "identity": false, "gzip;q=0": false, "gzip; q=0.000": false,
		"gzip;q=x":  false,
		"x-gzipped": false, "*": false,
	} {
		s := newService(t)
		a := s.send(documents(s), request(http.MethodGet, "/docs", "", "Accept-Encoding", acceptEncoding))
		if compressed := a.header.Get("Content-Encoding") == "gzip"; compressed != want || a.status != http.StatusOK {
			t.Errorf("%q: %d, compressed %t", acceptEncoding, a.status, compressed)
			continue
		}
		if got := plain(t, a); got != docsPage {
			t.Errorf("%q: got the document %q", acceptEncoding, got)
		}
		a.wantHeader(t, "Vary", "Accept-Encoding")
	}
	// Several header lines count like one line with commas.
	s := newService(t)
	s.send(documents(s), request(http.MethodGet, "/docs", "", "Accept-Encoding", "br", "Accept-Encoding",
		"gzip")).wantHeader(t, "Content-Encoding", "gzip")
}

func plain(t *testing.T, a response) string {
	t.Helper()
	if a.header.Get("Content-Encoding") == "" {
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

func TestDocuments_MatchingETag_Is304(t *testing.T) {
	s := newService(t)
	endpoint := documents(s)
	identity := s.send(endpoint, request(http.MethodGet, "/docs", "")).header.Get("ETag")
	compressed := s.send(endpoint, request(http.MethodGet, "/docs", "", "Accept-Encoding", "gzip")).header.Get("ETag")
	if identity == compressed || identity == "" || strings.HasPrefix(identity, "W/") {
		t.Errorf("ETags %s and %s, want different strong ETags for different bytes", identity, compressed)
	}
	for _, have := range []string{compressed, "W/" + compressed, `"another", ` + compressed, "*"} {
		a := s.send(endpoint, request(http.MethodGet, "/docs", "", "Accept-Encoding", "gzip", "If-None-Match", have))
		a.want(t, http.StatusNotModified, "")
		for name, want := range map[string]string{
			"ETag": compressed, "Cache-Control": "no-cache", "Vary": "Accept-Encoding", "Content-Type": "",
			"Content-Encoding": "", "Request-Id": "request-1",
		} {
			a.wantHeader(t, name, want)
		}
	}
	s.send(endpoint, request(http.MethodGet, "/docs", "", "Accept-Encoding", "gzip", "If-None-Match",
		identity)).wantHeader(t, "Content-Encoding", "gzip")
}

func TestDocuments_Feed_NamesTheAddressItWasRequestedFrom(t *testing.T) {
	feed := func(s service, scheme, host string) response {
		r := request(http.MethodGet, "/changelog.rss", "", "Accept-Encoding", "gzip")
		r.URL.Scheme, r.Host = scheme, host
		return s.send(documents(s), r)
	}
	for _, want := range []string{
		"https://shop.example", "https://r3pmxmplak.execute-api.eu-central-1.amazonaws.com", "http://127.0.0.1:3000",
		"http://[::1]:3000",
	} {
		scheme, host, _ := strings.Cut(want, "://")
		a := feed(newService(t), scheme, host)
		a.want(t, http.StatusOK, "<rss><link>"+want+"/changelog</link><link>"+want+"/docs</link></rss>")
		a.wantHeader(t, "Content-Encoding", "")
		if a.header.Get("ETag") == "" {
			t.Error("no ETag")
		}
	}
	for _, host := range []string{
		"", "shop.example/<b>", `shop"example`, "shop example", "user@shop.example",
		"sh&p.example", "schöp.example",
	} {
		a := feed(newService(t), "https", host)
		if a.status != http.StatusBadRequest || host != "" && strings.Contains(a.body, host) {
			t.Errorf("host %q: %d %s", host, a.status, a.body)
		}
	}
}

func TestDocuments_BadRequests_AreRejected(t *testing.T) {
	for _, test := range []struct {
		method, target string
		status         int
		problem        string
	}{
		{http.MethodGet, "/docs?a=b", 400, "malformed-request"},
		{http.MethodGet, "/changelog.rss?x=%zz", 400, "malformed-request"},
		{http.MethodHead, "/docs?a", 400, ""},
		{http.MethodGet, "/", 404, "not-found"},
		{http.MethodGet, "/docs/", 404, "not-found"},
		{http.MethodGet, "/DOCS", 404, "not-found"},
		{http.MethodGet, "/policy.txt", 404, "not-found"},
		{http.MethodGet, "//docs", 404, "not-found"},
		{http.MethodPost, "/docs", 405, "method-not-allowed"},
	} {
		s := newService(t)
		a := s.send(documents(s), request(test.method, test.target, ""))
		if a.status != test.status || !strings.Contains(a.body, test.problem) ||
			a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: got %d %v %s, want %d", test.method, test.target, a.status, a.header, a.body, test.status)
		}
		a.wantHeader(t, "Request-Id", "request-1")
	}
}
