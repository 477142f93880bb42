package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/gateway"
)

// invoker is a fake Invoker.
type invoker func(ctx context.Context, function string, event []byte) ([]byte, error)

func (f invoker) Invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	return f(ctx, function, event)
}

func answers(answer string) invoker {
	return func(context.Context, string, []byte) ([]byte, error) { return []byte(answer), nil }
}

// echo returns its event as the body of a response.
func echo(_ context.Context, _ string, event []byte) ([]byte, error) {
	return json.Marshal(map[string]any{"statusCode": 200, "body": string(event)})
}

// shop returns the configuration of most tests.
func shop() gateway.Config {
	return gateway.Config{
		Routes: []gateway.Route{
			{Method: "POST", Path: "/shop/{customer}/voucher", Function: "redeem-voucher"},
			{Method: "GET", Path: "/shop/{customer}/checkout", Function: "checkout-area"},
			{Method: "HEAD", Path: "/shop/{customer}/checkout", Function: "checkout-area"},
		},
		Invoker: invoker(echo), Clock: time.Now,
	}
}

const area = "/shop/pixelcraft/checkout"

func serve(t *testing.T, config gateway.Config) *httptest.Server {
	t.Helper()
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return server
}

type reply struct {
	status int
	header http.Header
	body   string
}

// send writes raw to the server unchanged and reads one response.
func send(t *testing.T, server *httptest.Server, method, raw string) reply {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, raw) }() // the server may respond before it has read everything
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.80q: %v", raw, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%.80q: %v", raw, err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

// get sends a GET for the target with more header lines. Each line ends with CRLF.
func get(t *testing.T, server *httptest.Server, target, lines string) reply {
	t.Helper()
	return send(t, server, "GET", "GET "+target+" HTTP/1.1\r\nHost: shop.example\r\n"+lines+"\r\n")
}

// post posts a body with more header lines.
func post(t *testing.T, server *httptest.Server, lines, body string) reply {
	t.Helper()
	return send(t, server, "POST",
		fmt.Sprintf("POST /shop/pixelcraft/voucher HTTP/1.1\r\nHost: shop.example\r\n%sContent-Length: %d\r\n\r\n%s",
			lines, len(body), body))
}

// event decodes the event that echo returned.
func event(t *testing.T, r reply) events.APIGatewayV2HTTPRequest {
	t.Helper()
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal([]byte(r.body), &e); err != nil || r.status != 200 {
		t.Fatalf("status %d, %v: %.200s", r.status, err, r.body)
	}
	return e
}

func wantMessage(t *testing.T, r reply, status int) {
	t.Helper()
	want := fmt.Sprintf(`{"message":%q}`, http.StatusText(status))
	if r.status != status || r.body != want || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s %.200s, want %d %s", r.status, r.header.Get("Content-Type"), r.body, status, want)
	}
	if r.header.Get("Apigw-Requestid") == "" {
		t.Error("the response has no request ID")
	}
}

func TestRoutes_SeveralMatch_MostSpecificWins(t *testing.T) {
	config := shop()
	config.Routes = []gateway.Route{
		{Method: "GET", Path: "/shop/{customer}/checkout/{product}/{variant}", Function: "checkout"},
		{Method: "GET", Path: "/shop/{customer}/checkout/{product}/variant/{variant}", Function: "checkout-variant"},
		{Method: "GET", Path: "/shop/{customer}/checkout", Function: "checkout-area"},
		{Method: "GET", Path: "/shop/arcade/checkout", Function: "arcade"},
		{Method: "GET", Path: "/checkout/paybylink/{card}", Function: "paybylink"},
		{Method: "GET", Path: "/checkout/{processor}/transfer", Function: "transfer"},
		{Method: "GET", Path: "/", Function: "root"},
	}
	config.Invoker = invoker(func(_ context.Context, function string, e []byte) ([]byte, error) {
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(e, &event); err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"statusCode": 200, "body": fmt.Sprint(function, event.PathParameters)})
	})
	server := serve(t, config)
	for request, want := range map[string]string{
		"GET /":                         "rootmap[]",
		"GET /shop/arcade/checkout":     "arcademap[]",
		"GET /shop/pixelcraft/checkout": "checkout-areamap[customer:pixelcraft]",
		"GET /shop/pixelcraft/checkout/coins/500": "checkoutmap[customer:pixelcraft product:coins " +
			"variant:500]",
		"GET /shop/pixelcraft/checkout/coins/variant/500": "checkout-variantmap[customer:pixelcraft " +
			"product:coins variant:500]",
		"GET /shop/pixelcraft/checkout/coins%252F500/a%3Fb": "checkoutmap[customer:pixelcraft product:coins/500 " +
			"variant:a?b]",
		"GET /shop/pixelcraft/checkout%2Fcoins/500": "checkoutmap[customer:pixelcraft product:coins " +
			"variant:500]",
		"GET /shop/p%C3%A9/checkout":       "checkout-areamap[customer:pé]",
		"GET /checkout/paybylink/transfer": "paybylinkmap[card:transfer]",
	} {
		method, _, _ := strings.Cut(request, " ")
		r := send(t, server, method, request+" HTTP/1.1\r\nHost: shop.example\r\n\r\n")
		if r.status != 200 || r.body != want {
			t.Errorf("%s: got %d %s, want %s", request, r.status, r.body, want)
		}
	}
}

func TestEvent_Request_BecomesFormat2(t *testing.T) {
	config := shop()
	config.Clock = func() time.Time { return time.Date(2026, 3, 12, 21, 3, 58, 390e6, time.FixedZone("CET", 3600)) }
	r := send(t, serve(t, config), "POST", "POST /shop/caf%C3%A9/voucher?check=true&a=2%2C3&b+b=%zz HTTP/1.1\r\n"+
		"Host: shop.example:3000\r\nUser-Agent: storefront/1.0\r\nContent-Type: application/json\r\n"+
		"Idempotency-Key: a\r\nidempotency-key: b\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: gopher\r\n"+
		"X-Nick: J\xf6rg\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cod\r\n8\r\ne\":\"é\"}\r\n0\r\n\r\n")
	got := event(t, r)
	want := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "POST /shop/{customer}/voucher", RawPath: "/shop/café/voucher",
		RawQueryString: "check=true&a=2%2C3&b+b=%zz",
		Headers: map[string]string{
			"host": "shop.example:3000", "user-agent": "storefront/1.0", "content-type": "application/json",
			"idempotency-key": "a,b", "x-nick": "J\ufffdrg", "x-forwarded-for": "127.0.0.1",
			"x-forwarded-proto": "http",
		},
		PathParameters: map[string]string{"customer": "café"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: "POST /shop/{customer}/voucher", Stage: "$default", RequestID: r.header.Get("Apigw-Requestid"),
			DomainName: "localhost", TimeEpoch: 1773345838390,
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: "POST", Path: "/shop/café/voucher", Protocol: "HTTP/1.1", SourceIP: "127.0.0.1",
				UserAgent: "storefront/1.0",
			},
		},
		Body: `{"code":"é"}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEvent_BodyThatIsNotText_IsBase64(t *testing.T) {
	server := serve(t, shop())
	for contentType, isBase64 := range map[string]bool{
		"application/json": false, "Application/JSON; charset=utf-8": false, "text/plain": false,
		"application/problem+json": false, "application/octet-stream": true, "application/x-www-form-urlencoded": true,
		"": true,
	} {
		lines := "Content-Type: " + contentType + "\r\n"
		if contentType == "" {
			lines = ""
		}
		want := `{"code":"A"}`
		if isBase64 {
			want = "eyJjb2RlIjoiQSJ9"
		}
		if e := event(t, post(t, server, lines, `{"code":"A"}`)); e.IsBase64Encoded != isBase64 || e.Body != want {
			t.Errorf("Content-Type %q: isBase64Encoded %t and body %s, want %t and %s", contentType, e.IsBase64Encoded,
				e.Body, isBase64, want)
		}
	}
	if e := event(t, post(t, server, "Content-Type: application/json\r\n",
		"\"\xff\x00\"")); e.Body != "\"\ufffd\x00\"" {
		t.Errorf("bytes that are not UTF-8 became %q", e.Body)
	}
}

// Real HTTP APIs delivered these paths to a $default route (hotsock/voker, vokerhttp/testdata/ingress-paths.json).
func TestEvent_Path_IsDecodedTwiceAndCut(t *testing.T) {
	config := shop()
	config.Routes = []gateway.Route{{Method: "GET", Path: "/{rest}", Function: "rest"}}
	server := serve(t, config)
	for sent, want := range map[string]struct{ path, rest string }{
		"/caf%C3%A9-%E4%B8%96": {"/café-世", "café-世"},
		"/coins%252F500":       {"/coins/500", "coins/500"},
		"/coins%253F500":       {"/coins?500", "coins?500"},
		"/coins%2525":          {"/coins%", "coins%"},
		// The captures have no path parameters. It is unknown whether AWS cuts path parameters, too.
		"/coins%3Famount=5": {"/coins", "coins?amount=5"},
	} {
		e := event(t, get(t, server, sent+"?data=a%3Fb%25c", ""))
		if e.RawPath != want.path || e.RequestContext.HTTP.Path != want.path || e.PathParameters["rest"] != want.rest {
			t.Errorf("%s: rawPath %q, http.path %q, rest %q; want %q", sent, e.RawPath, e.RequestContext.HTTP.Path,
				e.PathParameters["rest"], want)
		}
		if e.RawQueryString != "data=a%3Fb%25c" {
			t.Errorf("%s: rawQueryString %q is not as it was sent", sent, e.RawQueryString)
		}
	}
}

func TestResponse_OfAFunction_BecomesTheHTTPResponse(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		status int
		header map[string]string // empty means absent
		body   string
	}{
		"complete": {
			`{"statusCode":201,"headers":{"content-type":"text/csv","ETag":"\"7\"","x-empty":""},"body":"a,b",` +
				`"isBase64Encoded":false}`,
			201,
			map[string]string{"Content-Type": "text/csv", "ETag": `"7"`, "Content-Length": "3"},
			"a,b",
		},
		"no content type": {
			`{"statusCode":200,"body":"<b>"}`, 200,
			map[string]string{"Content-Type": "text/plain; charset=utf-8"},
			"<b>",
		},
		"base64": {
			`{"statusCode":200,"body":"AP8=","isBase64Encoded":true}`, 200,
			map[string]string{"Content-Length": "2"},
			"\x00\xff",
		},
		"204 has no body": {
			`{"statusCode":204}`, 204,
			map[string]string{"Content-Length": "", "Content-Type": ""},
			"",
		},
		"304 has no body": {
			`{"statusCode":304,"headers":{"ETag":"\"7\""},"body":"x"}`, 304,
			map[string]string{"ETag": `"7"`, "Content-Length": "", "Content-Type": ""},
			"",
		},
		"cookies": {
			`{"statusCode":200,"cookies":["cart=7; Path=/"]}`, 200,
			map[string]string{"Set-Cookie": "cart=7; Path=/"},
			"",
		},
		"not JSON":       {`<html>`, 500, nil, ""},
		"no status":      {`{"errorMessage":"x","errorType":"y"}`, 500, nil, ""},
		"invalid base64": {`{"statusCode":200,"body":"%%%","isBase64Encoded":true}`, 500, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := shop()
			config.Invoker = answers(tc.answer)
			r := get(t, serve(t, config), area, "")
			if tc.status == 500 {
				wantMessage(t, r, 500)
				return
			}
			if r.status != tc.status || r.body != tc.body {
				t.Errorf("got %d %q, want %d %q", r.status, r.body, tc.status, tc.body)
			}
			for header, want := range tc.header {
				if got := r.header.Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
			if len(r.header["Apigw-Requestid"]) != 1 || len(r.header["Date"]) != 1 || r.header.Get("Date") == "1" {
				t.Errorf("the gateway's own headers are %v", r.header)
			}
		})
	}
}

func TestInvoke_Failure_BecomesAStatus(t *testing.T) {
	config := shop()
	for err, status := range map[error]int{
		fmt.Errorf("checkout: %w", context.DeadlineExceeded): 503,
		errors.New("died"): 500,
	} {
		config.Invoker = invoker(func(context.Context, string, []byte) ([]byte, error) { return nil, err })
		wantMessage(t, get(t, serve(t, config), area, ""), status)
	}
}

func TestInvoke_IntegrationTimeoutPasses_Is503(t *testing.T) {
	config := shop()
	config.Invoker = invoker(func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, errors.New("gave up")
	})
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began, recorder := time.Now(), httptest.NewRecorder()
		g.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, area, http.NoBody))
		if took := time.Since(began); recorder.Code != http.StatusServiceUnavailable || took != 30*time.Second {
			t.Errorf("status %d after %s, want 503 after 30s", recorder.Code, took)
		}
	})
}

func TestLog_EachRequest_HasARecord(t *testing.T) {
	ticks := 0 // needs no lock, like records: this test sends one request at a time
	var records []gateway.Record
	config := shop()
	config.Clock = func() time.Time {
		ticks++
		return time.Unix(0, int64(ticks)*int64(time.Millisecond))
	}
	config.Log = func(r gateway.Record) { records = append(records, r) }
	died := errors.New("died")
	config.Invoker = invoker(func(_ context.Context, _ string, e []byte) ([]byte, error) {
		if bytes.Contains(e, []byte("die=")) {
			return nil, died
		}
		return []byte(`{"statusCode":201}`), nil
	})
	server := serve(t, config)
	for _, target := range []string{area + "?die=now", area + "?data=secret", "/caf%C3%A9/%00%0A/\xff\x9b2J/é?q=1"} {
		get(t, server, target, "Connection: close\r\n")
	}
	server.Close() // waits for the last record
	want := []gateway.Record{
		{Method: "GET", Path: area, Status: 500, Duration: time.Millisecond, Err: died},
		{Method: "GET", Path: area, Status: 201, Duration: time.Millisecond},
		{Method: "GET", Path: "/caf%C3%A9/%00%0A/%FF%9B2J/%C3%A9", Status: 404, Duration: time.Millisecond},
	}
	for i := range records {
		if records[i].RequestID == "" {
			t.Errorf("record %d has no request ID", i)
		}
		records[i].RequestID = ""
	}
	if !slices.Equal(records, want) {
		t.Errorf("got  %+v\nwant %+v", records, want)
	}
}
