package lambdahttp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/pkg/lambdahttp"
)

func now() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func event(method, path, query, body string) events.APIGatewayV2HTTPRequest {
	return events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: path, RawQueryString: query, Body: body,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RequestID: "request-1", DomainName: "api.example.com",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: path},
		},
	}
}

// handle handles one event and returns the request that the endpoint got.
func handle(t *testing.T, e events.APIGatewayV2HTTPRequest) (asked *http.Request, body string, bodyErr error) {
	t.Helper()
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		read, err := io.ReadAll(r.Body)
		body, bodyErr = string(read), err
		w.WriteHeader(http.StatusNoContent)
	})
	response, err := lambdahttp.NewHandler(endpoint, time.Now).Handle(t.Context(), e)
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("Handle = %d, %v", response.StatusCode, err)
	}
	return asked, body, bodyErr
}

// The gateway has decoded the path, so a % or ? in it is not URL syntax.
func TestHandler_PathAndQuery_ReachTheEndpointUnchanged(t *testing.T) {
	for _, path := range []string{
		"/shop/emberforge/voucher", "/shop/100%/voucher", "/shop/%zz/voucher", "/shop/a?b/voucher", "/shop/a#b/voucher",
		"/shop/a b/voucher",
		"/shop/a\x00b/voucher", "/shop/\xff/voucher", "//shop/../voucher", "/shop/ä/voucher", "/shop/a\nb", "",
	} {
		if r, _, _ := handle(t, event(http.MethodGet, path, "", "")); r.URL.Path != path {
			t.Errorf("path %q reached the endpoint as %q", path, r.URL.Path)
		}
	}
	for _, query := range []string{
		"", "amount=5", "amount=5&amount=6", "amount=5;data=x", "amount=5%zz", "data=%7B%7D",
		"a=#b", "a=\x00", "a= b",
	} {
		e := event(http.MethodGet, "/shop/emberforge/checkout", query, "")
		e.QueryStringParameters = map[string]string{"amount": "as the gateway read it"}
		if r, _, _ := handle(t, e); r.URL.RawQuery != query {
			t.Errorf("query %q reached the endpoint as %q", query, r.URL.RawQuery)
		}
	}
}

// routed returns an event whose path the gateway matched with a route.
func routed(route, path string, parameters map[string]string) events.APIGatewayV2HTTPRequest {
	method, _, _ := strings.Cut(route, " ")
	e := event(method, path, "", "")
	e.RouteKey, e.PathParameters = route, parameters
	return e
}

func TestHandler_PathOfTheRoute_ReachesTheEndpoint(t *testing.T) {
	const (
		redeem     = "POST /shop/{customer}/voucher"
		checkout   = "GET /shop/{customer}/checkout/{product}/{variant}"
		deprecated = "GET /shop/{customer}/checkout/{product}/variant/{variant}"
		removed    = "GET /checkout/paybylink/{prepaid_card}"
	)
	is := func(shop string) map[string]string { return map[string]string{"customer": shop} }
	variant := func(name string) map[string]string {
		return map[string]string{"customer": "emberforge", "product": "coins", "variant": name}
	}
	for name, test := range map[string]struct {
		event events.APIGatewayV2HTTPRequest
		want  string
	}{
		"no mapping key": {
			routed(redeem, "/shop/emberforge/voucher", is("emberforge")),
			"/shop/emberforge/voucher",
		},
		"a mapping key": {
			routed(redeem, "/till/shop/emberforge/voucher", is("emberforge")),
			"/shop/emberforge/voucher",
		},
		"a mapping key of several levels": {
			routed(redeem, "/eu/v1/till/shop/emberforge/voucher", is("emberforge")),
			"/shop/emberforge/voucher",
		},
		"a mapping key like a route": {
			routed(redeem, "/shop/eu/shop/emberforge/voucher", is("emberforge")),
			"/shop/emberforge/voucher",
		},
		"a mapping key, no parameters": {
			routed(redeem, "/till/shop/emberforge/voucher", nil),
			"/shop/emberforge/voucher",
		},
		"a mapping key, an encoded ID": {
			routed(redeem, "/till/shop/ember-forge/voucher", is("ember%2Dforge")),
			"/shop/ember-forge/voucher",
		},
		"a mapping key, a page": {routed("GET /docs", "/till/docs", nil), "/docs"},
		"a mapping key, a deprecated path": {routed(deprecated, "/till/shop/emberforge/checkout/coins/variant/500",
			variant("500")), "/shop/emberforge/checkout/coins/variant/500"},
		"a mapping key, a removed path": {routed(removed, "/till/checkout/paybylink/prepaid",
			map[string]string{"prepaid_card": "prepaid"}), "/checkout/paybylink/prepaid"},
		"a slash in a parameter": {routed(redeem, "/shop/a/b/voucher", is("a/b")), "/shop/a/b/voucher"},
		"a route in a parameter": {
			routed(redeem, "/shop/a/shop/emberforge/voucher", is("a/shop/emberforge")),
			"/shop/a/shop/emberforge/voucher",
		},
		"a slash in an encoded parameter": {routed(redeem, "/shop/a/b/voucher", is("a%2Fb")), "/shop/a%2Fb/voucher"},
		"a mapping key, a slash in an ID": {routed(redeem, "/till/shop/a/b/voucher", is("a/b")), "/shop/a/b/voucher"},
		"a question mark in a parameter": {routed(checkout, "/shop/emberforge/checkout/coins/500?amount=5",
			variant("500?amount=5")), "/shop/emberforge/checkout/coins/500?amount=5"},
		"a path cut at its question mark": {routed(checkout, "/shop/emberforge/checkout/coins/500",
			variant("500?amount=5")), "/shop/emberforge/checkout/coins/500?amount=5"},
		"a NUL in a parameter": {
			routed(redeem, "/shop/a\x00b/voucher", is("a\x00b")),
			"/shop/a\x00b/voucher",
		},
		"a route that matches any path": {
			routed("$default", "/till/shop/emberforge/voucher", nil),
			"/till/shop/emberforge/voucher",
		},
		"a route with a greedy variable": {routed("GET /{page+}", "/legal/terms",
			map[string]string{"page": "legal/terms"}), "/legal/terms"},
	} {
		if r, _, _ := handle(t, test.event); r.URL.Path != test.want {
			t.Errorf("%s: the path reached the endpoint as %q, want %q", name, r.URL.Path, test.want)
		}
	}
}

// With a 404, a storefront would believe that the voucher is refused for good.
func TestHandler_PathThatDoesNotMatchItsRoute_Is500(t *testing.T) {
	const redeem = "POST /shop/{customer}/voucher"
	for name, e := range map[string]events.APIGatewayV2HTTPRequest{
		"another path":         routed(redeem, "/", map[string]string{"customer": "emberforge"}),
		"no path":              routed(redeem, "", map[string]string{"customer": "emberforge"}),
		"a path cut short":     routed(redeem, "/shop/emberforge", map[string]string{"customer": "emberforge"}),
		"an empty parameter":   routed(redeem, "/shop//voucher", nil),
		"an unexplained slash": routed(redeem, "/shop/a/b/voucher", nil),
	} {
		var log bytes.Buffer
		env := lambdahttp.Environment{Lookup: func(string) string { return "" }, Now: now, Log: &log}
		response, err := lambdahttp.NewHandler(env.Service().RedeemVoucher(nil), now).Handle(t.Context(), e)
		if err != nil || response.StatusCode != http.StatusInternalServerError ||
			!strings.Contains(response.Body, "urn:problem:shopfront:internal") {
			t.Errorf("%s: %d %s, %v; want a problem with status 500", name, response.StatusCode, response.Body, err)
		}
		if !strings.Contains(log.String(), redeem) || strings.Contains(log.String(), "emberforge") {
			t.Errorf("%s: logged %s; want the route without the path", name, &log)
		}
	}
}

// The adapter would split each value at its commas.
func TestHandler_Headers_ReachTheEndpointUnchanged(t *testing.T) {
	e := event(http.MethodGet, "/changelog.rss", "", "")
	e.Headers = map[string]string{
		"host": "shop.example", "date": "Sun, 22 Nov 2026 09:00:00 GMT", "idempotency-key": "till-1047,till-1048",
		"accept-encoding": "br, gzip",
	}
	r, _, _ := handle(t, e)
	if r.Host != "shop.example" || len(r.Header) != len(e.Headers) {
		t.Errorf("Host %q, headers %v", r.Host, r.Header)
	}
	for name, sent := range e.Headers {
		if values := r.Header.Values(name); len(values) != 1 || values[0] != sent {
			t.Errorf("%s: %q reached the endpoint as %q", name, sent, values)
		}
	}
}

func TestHandler_Scheme_IsTheOneTheGatewayForwards(t *testing.T) {
	for proto, want := range map[string]string{"https": "https", "http": "http", "": "https", "javascript": "https"} {
		e := event(http.MethodGet, "/changelog.rss", "", "")
		e.Headers = map[string]string{"x-forwarded-proto": proto}
		if r, _, _ := handle(t, e); r.URL.Scheme != want {
			t.Errorf("forwarded %q: scheme %q, want %q", proto, r.URL.Scheme, want)
		}
	}
}

func TestHandler_Body_IsDecodedOrFailsToRead(t *testing.T) {
	plain := event(http.MethodPost, "/shop/emberforge/voucher", "", `{"code":"SUMMER-20"}`)
	if _, body, err := handle(t, plain); err != nil || body != `{"code":"SUMMER-20"}` {
		t.Errorf("body %q, %v", body, err)
	}
	encoded := event(http.MethodPost, "/shop/emberforge/voucher", "", "eyJjb2RlIjoiU1VNTUVSLTIwIn0=")
	encoded.IsBase64Encoded = true
	if _, body, err := handle(t, encoded); err != nil || body != `{"code":"SUMMER-20"}` {
		t.Errorf("body %q, %v", body, err)
	}
	damaged := event(http.MethodPost, "/shop/emberforge/voucher", "", "{not base64}")
	damaged.IsBase64Encoded = true
	if _, body, err := handle(t, damaged); err == nil {
		t.Errorf("a body that is not base64 was read as %q", body)
	}
}

func TestRequestID_ForgedHeaders_AreIgnored(t *testing.T) {
	e := event(http.MethodGet, "/shop/emberforge/checkout", "", "")
	e.Headers = map[string]string{
		"x-golambdaproxy-apigw-context": `{"requestId":"forged"}`,
		"x-amzn-requestid":              "forged", "request-id": "forged",
	}
	r, _, _ := handle(t, e)
	env := lambdahttp.Environment{Lookup: func(string) string { return "" }, Now: now, Log: io.Discard}
	if id := env.Service().RequestID(r); id != "request-1" {
		t.Errorf("request ID %q; want the gateway's", id)
	}
}

func TestSourceAddress_ForgedHeaders_AreIgnored(t *testing.T) {
	e := event(http.MethodGet, "/shop/emberforge/checkout", "", "")
	e.RequestContext.HTTP.SourceIP = "203.0.113.7"
	e.Headers = map[string]string{
		"x-forwarded-for": "198.51.100.1", "forwarded": "for=198.51.100.1", "x-real-ip": "198.51.100.1",
		"x-golambdaproxy-apigw-context": `{"http":{"sourceIp":"198.51.100.1"}}`,
	}
	r, _, _ := handle(t, e)
	env := lambdahttp.Environment{Lookup: func(string) string { return "" }, Now: now, Log: io.Discard}
	if address := env.Service().SourceAddress(r); address != "203.0.113.7" {
		t.Errorf("source address %q; want the gateway's", address)
	}
}

func TestHandler_Deadline_IsWithinTheBudgetAndBeforeTheFunctionsTimeout(t *testing.T) {
	clock := time.Now()
	for what, test := range map[string]struct{ timeout, want time.Duration }{
		"short timeout": {2 * time.Second, 1500 * time.Millisecond},
		"long timeout":  {time.Minute, 5 * time.Second},
	} {
		var deadline time.Time
		endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			deadline, _ = r.Context().Deadline()
			w.WriteHeader(http.StatusNoContent)
		})
		ctx, cancel := context.WithDeadline(t.Context(), clock.Add(test.timeout))
		_, err := lambdahttp.NewHandler(endpoint, func() time.Time { return clock }).Handle(ctx,
			event(http.MethodGet, "/", "", ""))
		cancel()
		if err != nil || !deadline.Equal(clock.Add(test.want)) {
			t.Errorf("%s: the endpoint's deadline is in %v, %v; want %v", what, deadline.Sub(clock), err, test.want)
		}
	}
}

func TestHandler_EventThatNoGatewaySends_IsAnError(t *testing.T) {
	endpoint := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the event reached the endpoint") })
	if _, err := lambdahttp.NewHandler(endpoint, now).Handle(t.Context(), event("GET /", "/", "", "")); err == nil {
		t.Error("an event whose method is not a token got a response")
	}
}

func TestEnvironment_MissingVariable_PanicsWithItsName(t *testing.T) {
	env := lambdahttp.Environment{Lookup: func(string) string { return "" }}
	for name, read := range map[string]func(){
		"CATALOGUE_TABLE":      func() { env.CatalogueTable() },
		"VOUCHERS_TABLE":       func() { env.VouchersTable() },
		"CHECKOUTS_TABLE":      func() { env.CheckoutsTable() },
		"REFUSALS_TABLE":       func() { env.RefusalsTable() },
		"EVENTS_TABLE":         func() { env.EventsTable() },
		"EVENT_RETENTION_DAYS": func() { env.EventRetention() },
		"EVENT_BUS":            func() { env.EventBus() },
	} {
		if got, want := panicOf(read), "start function: environment variable "+name+" is not set"; got != want {
			t.Errorf("panics with %v; want %s", got, want)
		}
	}
}

func TestEnvironment_AllowedOrigins_ReachTheService(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, "*": {"*"}, "https://shop.example": {"https://shop.example"},
		"https://shop.example,http://localhost:5173": {"https://shop.example", "http://localhost:5173"},
	} {
		env := lambdahttp.Environment{Log: io.Discard, Lookup: func(name string) string {
			return map[string]string{"ALLOWED_ORIGINS": text}[name]
		}}
		if got := env.Service().AllowedOrigins; !slices.Equal(got, want) {
			t.Errorf("%q: the service allows %q, want %q", text, got, want)
		}
	}
}

func panicOf(call func()) (cause any) {
	defer func() { cause = recover() }()
	call()
	return nil
}

func TestEnvironment_EventRetention_IsANumberOfDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * 24 * time.Hour, "1": 24 * time.Hour, "0": 0, "-1": 0,
		"90d": 0, "1.5": 0,
	} {
		env := lambdahttp.Environment{Lookup: func(string) string { return text }}
		var got time.Duration
		cause := panicOf(func() { got = env.EventRetention() })
		if got != want || (cause == nil) != (want > 0) {
			t.Errorf("%s: %s, panics with %v; want %s", text, got, cause, want)
		}
	}
}
