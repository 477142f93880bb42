package lambdahttp_test

import (
	"context"
	"io"
	"net/http"
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
		"/shop/emberforge/voucher", "/shop/100%/voucher", "/shop/%zz/voucher", "/shop/a?b/voucher", "/shop/a#b/voucher", "/shop/a b/voucher",
		"/shop/a\x00b/voucher", "/shop/\xff/voucher", "//shop/../voucher", "/shop/ä/voucher", "/shop/a\nb", "",
	} {
		if r, _, _ := handle(t, event(http.MethodGet, path, "", "")); r.URL.Path != path {
			t.Errorf("path %q reached the endpoint as %q", path, r.URL.Path)
		}
	}
	for _, query := range []string{"", "amount=5", "amount=5&amount=6", "amount=5;data=x", "amount=5%zz", "data=%7B%7D", "a=#b", "a=\x00", "a= b"} {
		e := event(http.MethodGet, "/shop/emberforge/checkout", query, "")
		e.QueryStringParameters = map[string]string{"amount": "as the gateway read it"}
		if r, _, _ := handle(t, e); r.URL.RawQuery != query {
			t.Errorf("query %q reached the endpoint as %q", query, r.URL.RawQuery)
		}
	}
}

// The adapter would split each value at its commas.
func TestHandler_Headers_ReachTheEndpointUnchanged(t *testing.T) {
	e := event(http.MethodGet, "/changelog.rss", "", "")
	e.Headers = map[string]string{
		"host": "shop.example", "date": "Sun, 22 Nov 2026 09:00:00 GMT", "idempotency-key": "till-1047,till-1048", "accept-encoding": "br, gzip",
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
	e.Headers = map[string]string{"x-golambdaproxy-apigw-context": `{"requestId":"forged"}`, "x-amzn-requestid": "forged", "request-id": "forged"}
	r, _, _ := handle(t, e)
	env := lambdahttp.Environment{Lookup: func(string) string { return "" }, Now: now, Log: io.Discard}
	if id := env.Service().RequestID(r); id != "request-1" {
		t.Errorf("request ID %q; want the gateway's", id)
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
		_, err := lambdahttp.NewHandler(endpoint, func() time.Time { return clock }).Handle(ctx, event(http.MethodGet, "/", "", ""))
		cancel()
		if err != nil || !deadline.Equal(clock.Add(test.want)) {
			t.Errorf("%s: the endpoint has %v, %v; want %v", what, deadline.Sub(clock), err, test.want)
		}
	}
}

func TestHandler_EventThatNoGatewaySends_IsAnError(t *testing.T) {
	endpoint := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it reached the endpoint") })
	if _, err := lambdahttp.NewHandler(endpoint, now).Handle(t.Context(), event("GET /", "/", "", "")); err == nil {
		t.Error("an event whose method is not a token got a response")
	}
}

func TestEnvironment_MissingVariable_IsNamed(t *testing.T) {
	env := lambdahttp.Environment{Lookup: func(string) string { return "" }, Now: now, Log: io.Discard}
	for want, err := range map[string]error{
		"environment variable CATALOGUE_TABLE is not set": second(env.CatalogueTable()),
		"environment variable VOUCHERS_TABLE is not set":  second(env.VouchersTable()),
		"environment variable CHECKOUTS_TABLE is not set": second(env.CheckoutsTable()),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
