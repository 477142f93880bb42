package gateway_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/gateway"
)

const (
	origin    = "Origin: https://shop.example\r\n"
	stranger  = "Origin: https://evil.example\r\n"
	preflight = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n"
)

func listed() *gateway.CORS {
	return &gateway.CORS{
		AllowOrigins: []string{"https://shop.example", "https://www.shop.example"},
		AllowMethods: []string{"GET", "POST"}, AllowHeaders: []string{"Content-Type", "Idempotency-Key"},
		ExposeHeaders: []string{"ETag", "Retry-After"}, MaxAge: 5 * time.Minute,
	}
}

func anyOrigin() *gateway.CORS {
	c := listed()
	c.AllowOrigins = []string{"*"}
	return c
}

func TestCORS(t *testing.T) {
	allowed := func(origin string) map[string]string {
		return map[string]string{"Allow-Origin": origin, "Expose-Headers": "ETag,Retry-After"}
	}
	preflighted := func(origin string) map[string]string {
		return map[string]string{
			"Allow-Origin": origin, "Allow-Methods": "GET,POST", "Allow-Headers": "Content-Type,Idempotency-Key",
			"Max-Age": "300",
		}
	}
	const page, unknown = "GET " + area, "GET /terms"
	for name, tc := range map[string]struct {
		cors    *gateway.CORS
		request string
		lines   string
		status  int
		want    map[string]string // all CORS headers of the response, named without "Access-Control-"
		vary    string
	}{
		"preflight from any origin": {anyOrigin(), "OPTIONS " + area, origin + preflight, 204, preflighted("*"), ""},
		"preflight from a listed origin": {
			listed(), "OPTIONS " + area, origin + preflight, 204,
			preflighted("https://shop.example"), "Origin",
		},
		"preflight from another origin": {listed(), "OPTIONS " + area, stranger + preflight, 204, nil, "Origin"},
		"preflight for a path without a route": {
			anyOrigin(), "OPTIONS /terms", origin + preflight, 204,
			preflighted("*"), "",
		},
		"OPTIONS without a requested method": {anyOrigin(), "OPTIONS " + area, origin, 204, nil, ""},
		"request from any origin":            {anyOrigin(), page, origin, 200, allowed("*"), "Accept"},
		"request from a listed origin": {
			listed(), page, origin, 200, allowed("https://shop.example"),
			"Accept,Origin",
		},
		"request from another origin": {listed(), page, stranger, 200, nil, "Accept,Origin"},
		"request without an origin":   {anyOrigin(), page, "", 200, nil, "Accept"},
		"the gateway's own error":     {anyOrigin(), unknown, origin, 404, allowed("*"), ""},
		"CORS not set up": {
			nil, page, origin, 200,
			map[string]string{"Allow-Origin": "https://from.function"},
			"Accept",
		},
		"preflight, CORS not set up": {nil, "OPTIONS " + area, origin + preflight, 404, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := shop()
			config.CORS = tc.cors
			config.Invoker = answers(`{"statusCode":200,` +
				`"headers":{"access-control-allow-origin":"https://from.function","Vary":"Accept"},"body":"x"}`)
			method, path, _ := strings.Cut(tc.request, " ")
			r := send(t, serve(t, config), method, method+" "+path+" HTTP/1.1\r\nHost: a\r\n"+tc.lines+"\r\n")
			if r.status != tc.status {
				t.Errorf("status %d, want %d", r.status, tc.status)
			}
			wantCORS(t, r.header, tc.want)
			if got := strings.Join(r.header["Vary"], ","); got != tc.vary {
				t.Errorf("Vary: %q, want %q", got, tc.vary)
			}
			if method == http.MethodOptions && tc.status == 204 && r.body != "" {
				t.Errorf("body %q, want none", r.body)
			}
		})
	}
}

// wantCORS checks that a response has exactly these CORS headers. They are named without "Access-Control-".
func wantCORS(t *testing.T, header http.Header, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name, values := range header {
		if name, isCORS := strings.CutPrefix(name, "Access-Control-"); isCORS {
			got[name] = strings.Join(values, " and ")
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("CORS headers %v, want %v", got, want)
	}
}
