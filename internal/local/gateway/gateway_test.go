package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
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

func fails(err error) invoker {
	return func(context.Context, string, []byte) ([]byte, error) { return nil, err }
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
		Invoker: invoker(echo), Clock: time.Now, Status: func(error) int { return http.StatusInternalServerError },
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

// dial opens a connection that is closed at the end of the test.
func dial(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// send writes raw to the server unchanged and reads one response.
func send(t *testing.T, server *httptest.Server, method, raw string) reply {
	t.Helper()
	conn := dial(t, server)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
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
	return send(t, server, "POST", fmt.Sprintf("POST /shop/pixelcraft/voucher HTTP/1.1\r\nHost: shop.example\r\n%sContent-Length: %d\r\n\r\n%s", lines, len(body), body))
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
		{Method: "ANY", Path: "/{proxy+}", Function: "rest"},
		{Method: "GET", Path: "/shop/{customer}/{greedy+}", Function: "greedy"},
		{Method: "GET", Path: "/shop/{customer}/checkout/{product}/{variant}", Function: "checkout"},
		{Method: "GET", Path: "/shop/{customer}/checkout/{product}/variant/{variant}", Function: "checkout-variant"},
		{Method: "GET", Path: "/shop/{customer}/checkout", Function: "checkout-area"},
		{Method: "ANY", Path: "/shop/{customer}/checkout", Function: "any-area"},
		{Method: "GET", Path: "/shop/arcade/checkout", Function: "arcade"},
		{Method: "GET", Path: "/checkout/paybylink/{card}", Function: "paybylink"},
		{Method: "GET", Path: "/checkout/{processor}/transfer", Function: "transfer"},
		{Method: "GET", Path: "/checkout/{processor}", Function: "processor"},
		{Method: "GET", Path: "/", Function: "root"},
		{Method: "GET", Path: "/{page}/terms/print", Function: "print"},
		{Method: "GET", Path: "/legal/{page+}", Function: "legal"},
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
		"GET /":                                             "rootmap[]",
		"GET /shop/arcade/checkout":                         "arcademap[]",
		"GET /shop/pixelcraft/checkout":                     "checkout-areamap[customer:pixelcraft]",
		"PUT /shop/arcade/checkout":                         "any-areamap[customer:arcade]",
		"GET /shop/pixelcraft/checkout/coins/500":           "checkoutmap[customer:pixelcraft product:coins variant:500]",
		"GET /shop/pixelcraft/checkout/coins/variant/500":   "checkout-variantmap[customer:pixelcraft product:coins variant:500]",
		"GET /shop/pixelcraft/checkout/":                    "greedymap[customer:pixelcraft greedy:checkout/]",
		"GET /shop/pixelcraft/checkout/coins/":              "greedymap[customer:pixelcraft greedy:checkout/coins/]",
		"GET /shop/pixelcraft//":                            "greedymap[customer:pixelcraft greedy:/]",
		"GET /shop/pixelcraft/":                             "restmap[proxy:shop/pixelcraft/]",
		"GET /shop/pixelcraft/checkout/coins%252F500/a%3Fb": "checkoutmap[customer:pixelcraft product:coins/500 variant:a?b]",
		"GET /shop/pixelcraft/checkout%2Fcoins/500":         "checkoutmap[customer:pixelcraft product:coins variant:500]",
		"GET /shop/pixelcraft/checkout/coins%2F500/variant": "greedymap[customer:pixelcraft greedy:checkout/coins/500/variant]",
		"GET /shop/p%C3%A9/checkout":                        "checkout-areamap[customer:pé]",
		"GET /shop/a+b/checkout":                            "checkout-areamap[customer:a+b]",
		"GET /shop/../checkout":                             "checkout-areamap[customer:..]",
		"GET /shop/./checkout":                              "checkout-areamap[customer:.]",
		"GET //shop/pixelcraft/checkout":                    "restmap[proxy:/shop/pixelcraft/checkout]",
		"GET /%73hop/pixelcraft/checkout":                   "checkout-areamap[customer:pixelcraft]",
		"POST /shop/pixelcraft/voucher":                     "restmap[proxy:shop/pixelcraft/voucher]",
		"GET /checkout/paybylink/transfer":                  "paybylinkmap[card:transfer]",
		"GET /checkout/other/transfer":                      "transfermap[processor:other]",
		"GET /checkout/paybylink":                           "processormap[processor:paybylink]",
		"GET /legal/terms/print":                            "printmap[page:legal]", // a full match comes before a greedy match
		"GET /legal/terms":                                  "legalmap[page:terms]",
		"GET http://shop.example/shop/arcade/checkout?a=b":  "arcademap[]",
		"GET http://shop.example?a=b":                       "rootmap[]",
		"POST /":                                            "404",
		"get /":                                             "404",
		"GET *":                                             "404",
	} {
		method, target, _ := strings.Cut(request, " ")
		r := send(t, server, method, request+" HTTP/1.1\r\nHost: shop.example\r\n\r\n")
		if want == "404" {
			if r.status != 404 {
				t.Errorf("%s: status %d %s, want 404", request, r.status, r.body)
			}
			continue
		}
		if r.status != 200 || r.body != want {
			t.Errorf("%s %s: got %d %s, want %s", method, target, r.status, r.body, want)
		}
	}
}

func TestRoutes_NoMatch_Is404(t *testing.T) {
	server := serve(t, shop())
	for _, request := range []string{
		"GET / HTTP/1.1", "GET /shop/pixelcraft/voucher HTTP/1.1", "POST " + area + " HTTP/1.1", "PUT " + area + " HTTP/1.1",
		"OPTIONS " + area + " HTTP/1.1", "GET " + area + "/ HTTP/1.1", "GET /shop//checkout HTTP/1.1", "GET /Shop/pixelcraft/checkout HTTP/1.1",
		"GET /shop/pixel%2Fcraft/checkout HTTP/1.1", "CONNECT shop.example:443 HTTP/1.1", "BREW /shop/pixelcraft/voucher HTTP/1.1",
	} {
		method, _, _ := strings.Cut(request, " ")
		wantMessage(t, send(t, server, method, request+"\r\nHost: shop.example\r\n\r\n"), http.StatusNotFound)
	}
}

func TestNew_RoutesThatAnHTTPAPIRejects_AreAnError(t *testing.T) {
	route := func(method, path string) gateway.Route {
		return gateway.Route{Method: method, Path: path, Function: "checkout"}
	}
	for name, tc := range map[string]struct {
		routes []gateway.Route
		want   string
	}{
		"no routes":             {nil, "needs routes"},
		"same route twice":      {[]gateway.Route{route("GET", "/a"), route("ANY", "/a"), route("GET", "/a")}, "match the same requests"},
		"other variable names":  {[]gateway.Route{route("GET", "/a/{b}"), route("GET", "/a/{c}")}, "match the same requests"},
		"two greedy routes":     {[]gateway.Route{route("ANY", "/{a+}"), route("ANY", "/{b+}")}, "match the same requests"},
		"no slash":              {[]gateway.Route{route("GET", "a")}, "start with a slash"},
		"$default route":        {[]gateway.Route{route("ANY", "$default")}, "start with a slash"},
		"trailing slash":        {[]gateway.Route{route("GET", "/a/")}, "not a segment"},
		"empty segment":         {[]gateway.Route{route("GET", "/a//b")}, "not a segment"},
		"unclosed variable":     {[]gateway.Route{route("GET", "/{a")}, "not a segment"},
		"variable in a segment": {[]gateway.Route{route("GET", "/a{b}")}, "not a segment"},
		"variable has no name":  {[]gateway.Route{route("GET", "/{}")}, "not a segment"},
		"greedy, but not last":  {[]gateway.Route{route("GET", "/{a+}/b")}, "not its last segment"},
		"same variable twice":   {[]gateway.Route{route("GET", "/{a}/{a}")}, "occurs twice"},
		"method in lower case":  {[]gateway.Route{route("get", "/a")}, "upper case"},
		"no method":             {[]gateway.Route{route("", "/a")}, "upper case"},
		"no function":           {[]gateway.Route{{Method: "GET", Path: "/a"}}, "no function"},
	} {
		_, err := gateway.New(gateway.Config{Routes: tc.routes, Invoker: invoker(echo)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error that says %q", name, err, tc.want)
		}
	}
}

func TestEvent_Request_BecomesFormat2(t *testing.T) {
	config := shop()
	config.Clock = func() time.Time { return time.Date(2026, 3, 12, 21, 3, 58, 390e6, time.FixedZone("CET", 3600)) }
	server := serve(t, config)

	r := send(t, server, "POST", "POST /shop/caf%C3%A9/voucher?check=true&a=1&a=2%2C3&b+b=%20&c HTTP/1.1\r\n"+
		"Host: shop.example:3000\r\nUser-Agent: storefront/1.0\r\nContent-Type: application/json\r\nAccept: text/html\r\nACCEPT: */*\r\n"+
		"Cookie: theme=dark; lang=de\r\nCookie: cart=7\r\nConnection: close\r\nX-Forwarded-For: 192.0.2.1\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"cod\r\n8\r\ne\":\"é\"}\r\n0\r\n\r\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatal(err)
	}
	headers, ok := got["headers"].(map[string]any)
	if !ok {
		t.Fatalf("headers are %v", got["headers"])
	}
	if trace := fmt.Sprint(headers["x-amzn-trace-id"]); !regexp.MustCompile(`^Root=1-69b31c2e-[0-9a-f]{24}$`).MatchString(trace) {
		t.Errorf("unexpected trace ID %s", trace)
	}
	delete(headers, "x-amzn-trace-id")
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	want := map[string]any{
		"version": "2.0", "routeKey": "POST /shop/{customer}/voucher", "rawPath": "/shop/café/voucher",
		"rawQueryString": "check=true&a=1&a=2%2C3&b+b=%20&c",
		"cookies":        []any{"theme=dark", "lang=de", "cart=7"},
		"headers": map[string]any{
			"host": "shop.example:3000", "user-agent": "storefront/1.0", "content-type": "application/json", "accept": "text/html,*/*",
			"content-length": "13", "x-forwarded-for": "192.0.2.1, 127.0.0.1", "x-forwarded-port": port, "x-forwarded-proto": "http",
		},
		"queryStringParameters": map[string]any{"check": "true", "a": "1,2,3", "b b": " ", "c": ""},
		"pathParameters":        map[string]any{"customer": "café"},
		"requestContext": map[string]any{
			"accountId": "123456789012", "apiId": "local", "domainName": "localhost", "domainPrefix": "localhost",
			"http": map[string]any{
				"method": "POST", "path": "/shop/café/voucher", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "storefront/1.0",
			},
			"requestId": r.header.Get("Apigw-Requestid"), "routeKey": "POST /shop/{customer}/voucher", "stage": "$default",
			"time": "12/Mar/2026:20:03:58 +0000", "timeEpoch": 1773345838390.0,
		},
		"body": `{"code":"é"}`, "isBase64Encoded": false,
	}
	requestContext, ok := got["requestContext"].(map[string]any)
	if !ok {
		t.Fatalf("requestContext is %v", got["requestContext"])
	}
	delete(requestContext, "authentication") // the library's type always adds this field; it is null
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestEvent_BodyThatIsNotText_IsBase64(t *testing.T) {
	server := serve(t, shop())
	for contentType, isBase64 := range map[string]bool{
		"application/json": false, "Application/JSON; charset=utf-8": false, "application/json; charset": false, "application/xml": false,
		"application/javascript": false, "text/plain": false, "text/csv; header=present": false, "application/problem+json": false,
		"application/atom+xml": false, "application/octet-stream": true, "application/x-www-form-urlencoded": true, "image/png": true,
		"multipart/form-data; boundary=x": true, "": true, ";": true, "json": true,
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
			t.Errorf("Content-Type %q: isBase64Encoded %t and body %s, want %t and %s", contentType, e.IsBase64Encoded, e.Body, isBase64, want)
		}
		if e := event(t, post(t, server, lines, "")); e.IsBase64Encoded || e.Body != "" {
			t.Errorf("Content-Type %q without a body: isBase64Encoded %t and body %s, want false and no body", contentType, e.IsBase64Encoded, e.Body)
		}
	}
	if e := event(t, post(t, server, "Content-Type: application/json\r\n", "\"\xff\x00\"")); e.Body != "\"\ufffd\x00\"" {
		t.Errorf("bytes that are not UTF-8 became %q", e.Body)
	}
}

func TestEvent_Headers_AreLowerCaseAndJoined(t *testing.T) {
	server := serve(t, shop())
	for name, tc := range map[string]struct {
		lines string
		want  map[string]string // empty means absent
	}{
		"repeated":      {"Idempotency-Key: a\r\nidempotency-key: b\r\n", map[string]string{"idempotency-key": "a,b"}},
		"empty":         {"If-None-Match:\r\n", map[string]string{"if-none-match": ""}},
		"hop by hop":    {"Keep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nConnection: upgrade\r\nProxy-Authorization: x\r\n", map[string]string{"keep-alive": "", "te": "", "upgrade": "", "connection": "", "proxy-authorization": ""}},
		"no body":       {"", map[string]string{"content-length": "0", "cookie": ""}},
		"forged":        {"X-Amzn-Trace-Id: Root=forged\r\nX-Forwarded-Proto: gopher\r\nX-Forwarded-Port: 1\r\n", map[string]string{"x-forwarded-proto": "http"}},
		"not UTF-8":     {"X-Nick: J\xf6rg\r\n", map[string]string{"x-nick": "J\ufffdrg"}},
		"no user agent": {"", map[string]string{"user-agent": ""}},
		"cookies":       {"Cookie: ;; a=1 ;b=2;\r\n", map[string]string{"cookie": ""}},
	} {
		e := event(t, get(t, server, area, tc.lines))
		for header, want := range tc.want {
			if got := e.Headers[header]; got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		if name == "forged" && (strings.Contains(e.Headers["x-amzn-trace-id"], "forged") || e.Headers["x-forwarded-port"] == "1") {
			t.Errorf("forged headers passed: %v", e.Headers)
		}
		if name == "cookies" && !reflect.DeepEqual(e.Cookies, []string{"a=1", "b=2"}) {
			t.Errorf("unexpected cookies %q", e.Cookies)
		}
	}
}

func TestEvent_QueryString_IsPassedRawAndDecoded(t *testing.T) {
	server := serve(t, shop())
	for query, want := range map[string]map[string]string{
		"":                       nil,
		"&&":                     nil,
		"amount=5%zz":            {"amount": "5%zz"},
		"amount=5;data=x":        {"amount": "5;data=x"},
		"=1&=2":                  {"": "1,2"},
		"data=%7B%22a%22%3A1%7D": {"data": `{"a":1}`},
		"a=b=c?d#e":              {"a": "b=c?d#e"},
		"n=%00%ff":               {"n": "\x00\ufffd"},
		"n=\xff":                 {"n": "\ufffd"},
	} {
		e := event(t, get(t, server, area+"?"+query, ""))
		if e.RawQueryString != strings.ToValidUTF8(query, "\ufffd") || !maps.Equal(e.QueryStringParameters, want) {
			t.Errorf("%q: got %q %q, want %q", query, e.RawQueryString, e.QueryStringParameters, want)
		}
	}
}

func TestGateway_OddRequests_AreRejectedOrReachTheFunction(t *testing.T) {
	server := serve(t, shop())
	for raw, want := range map[string]int{
		"GET /shop/%zz/checkout HTTP/1.1\r\nHost: a\r\n\r\n":              400,
		"GET /shop/%/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                400,
		"GET /shop/\x00/checkout HTTP/1.1\r\nHost: a\r\n\r\n":             400,
		"GET /shop/a b/checkout HTTP/1.1\r\nHost: a\r\n\r\n":              400,
		"GET /shop/a/checkout HTTP/1.1\r\n\r\n":                           400,
		"GET /shop/a/checkout HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":     400,
		"GET /shop/a/checkout HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n": 400,
		"GET /shop/a/checkout HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n":     400,
		"GET /shop/a/checkout HTTP/9.9\r\nHost: a\r\n\r\n":                505,
		"rubbish\r\n\r\n": 400,
		"POST /shop/a/voucher HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n":                400,
		"POST /shop/a/voucher HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n":               400,
		"POST /shop/a/voucher HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n": 400,
		"GET /shop/%00/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                                   200,
		"GET /shop/%ff%FE/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                                200,
		"GET /shop/\xff/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                                  200,
		"GET /shop/%25/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                                   400,
		"GET /shop/%252F..%252F%3F%23%2525/checkout HTTP/1.1\r\nHost: a\r\n\r\n":               200,
		"GET /shop/a#b/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                                   200,
		"GET /shop/a|\"<>^`{}/checkout HTTP/1.1\r\nHost: a\r\n\r\n":                            200,
		"GET /shop/a/checkout?%zz&;&\xff HTTP/1.1\r\nHost: a\r\n\r\n":                          200,
		"GET /shop/a/checkout HTTP/1.1\r\nHost: a%zz\r\n\r\n":                                  200,
		"GET /shop/a/checkout HTTP/1.1\r\nHost: [::1]:3000\r\n\r\n":                            200,
		"GET /shop/a/checkout HTTP/1.0\r\n\r\n":                                                200,
	} {
		if r := send(t, server, "GET", raw); r.status != want {
			t.Errorf("%q: status %d %.100s, want %d", raw, r.status, r.body, want)
		}
	}
	for _, path := range []string{"%00", "%FF", "a|\"<>^`{}", "a#b"} {
		e := event(t, get(t, server, "/shop/"+path+"/checkout", ""))
		want := map[string]string{"%00": "\x00", "%FF": "\ufffd"}[path]
		if want == "" {
			want = path
		}
		if e.RawPath != "/shop/"+want+"/checkout" || e.PathParameters["customer"] != want {
			t.Errorf("%s: rawPath %q, customer %q, want %q", path, e.RawPath, e.PathParameters["customer"], want)
		}
	}
	if e := event(t, get(t, server, area, "")); e.RequestContext.DomainName != "localhost" {
		t.Errorf("domain name %q, want localhost, not the client's Host", e.RequestContext.DomainName)
	}
}

// Real HTTP APIs delivered these paths to a $default route (hotsock/voker, vokerhttp/testdata/ingress-paths.json).
func TestEvent_Path_IsDecodedTwiceAndCut(t *testing.T) {
	config := shop()
	config.Routes = []gateway.Route{{Method: "GET", Path: "/{rest+}", Function: "rest"}}
	server := serve(t, config)
	for sent, want := range map[string]struct{ path, rest string }{
		"/coins/500":           {"/coins/500", "coins/500"},
		"/vip%20rank":          {"/vip rank", "vip rank"},
		"/caf%C3%A9-%E4%B8%96": {"/café-世", "café-世"},
		"/coins%23500":         {"/coins#500", "coins#500"},
		"/coins%2F500":         {"/coins/500", "coins/500"},
		"/coins%252F500":       {"/coins/500", "coins/500"},
		"/coins%253F500":       {"/coins?500", "coins?500"},
		"/coins%2525":          {"/coins%", "coins%"},
		// The captures have no path parameters. It is unknown whether AWS cuts path parameters, too.
		"/coins%3Famount=5": {"/coins", "coins?amount=5"},
	} {
		e := event(t, get(t, server, sent+"?data=a%3Fb%25c", ""))
		if e.RawPath != want.path || e.RequestContext.HTTP.Path != want.path || e.PathParameters["rest"] != want.rest {
			t.Errorf("%s: rawPath %q, http.path %q, rest %q; want %q", sent, e.RawPath, e.RequestContext.HTTP.Path, e.PathParameters["rest"], want)
		}
		if e.RawQueryString != "data=a%3Fb%25c" {
			t.Errorf("%s: rawQueryString %q is not as it was sent", sent, e.RawQueryString)
		}
	}
	for _, sent := range []string{"/coins%25off", "/coins%25", "/%253F%25"} {
		wantMessage(t, get(t, server, sent, ""), http.StatusBadRequest)
	}
}

func TestLimits_RequestAboveALimit_IsRejected(t *testing.T) {
	config := shop()
	config.Invoker = answers(`{"statusCode":200}`)
	server := serve(t, config)
	const fixed = len("GET " + area + "? HTTP/1.1" + "shop.example")
	fill := func(n int) string { return strings.Repeat("a", n) }

	if r := get(t, server, area+"?"+fill(gateway.MaxHead-fixed), ""); r.status != 200 {
		t.Errorf("the longest allowed request line gets %d %s, want 200", r.status, r.body)
	}
	wantMessage(t, get(t, server, area+"?"+fill(gateway.MaxHead-fixed+1), ""), http.StatusRequestHeaderFieldsTooLarge)
	wantMessage(t, get(t, server, area+"?"+fill(gateway.MaxHead), ""), http.StatusRequestURITooLong)
	if r := get(t, server, area+"?", "X-A: "+fill(5000)+"\r\nX-B: "+fill(gateway.MaxHead-fixed-5000)+"\r\n"); r.status != 200 {
		t.Errorf("the largest allowed header gets %d %s, want 200", r.status, r.body)
	}
	wantMessage(t, get(t, server, area+"?", "X-A: "+fill(5000)+"\r\nX-B: "+fill(gateway.MaxHead-fixed-4999)+"\r\n"), http.StatusRequestHeaderFieldsTooLarge)

	if r := post(t, server, "", fill(gateway.MaxBody)); r.status != 200 {
		t.Errorf("the largest allowed body gets %d %s, want 200", r.status, r.body)
	}
	wantMessage(t, post(t, server, "", fill(gateway.MaxBody+1)), http.StatusRequestEntityTooLarge)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, fill(1<<20))
	wantMessage(t, send(t, server, "POST", "POST /shop/a/voucher HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat(chunk, 11)), http.StatusRequestEntityTooLarge)
}

func TestResponse_OfAFunction_BecomesTheHTTPResponse(t *testing.T) {
	const text, plain = "application/json", "text/plain; charset=utf-8"
	for name, tc := range map[string]struct {
		answer string
		status int
		header map[string]string // empty means absent
		body   string
	}{
		"complete": {
			`{"statusCode":201,"headers":{"content-type":"text/csv","ETag":"\"7\"","x-empty":""},"body":"a,b","isBase64Encoded":false}`,
			201,
			map[string]string{"Content-Type": "text/csv", "ETag": `"7"`, "Content-Length": "3"},
			"a,b",
		},
		"as aws-lambda-go writes it": {
			`{"statusCode":404,"headers":null,"multiValueHeaders":{"X-A":["1","2"]},"body":"","cookies":null}`,
			404,
			map[string]string{"X-A": "", "Content-Type": "", "Content-Length": "0"},
			"",
		},
		"no content type":             {`{"statusCode":200,"body":"<b>"}`, 200, map[string]string{"Content-Type": plain}, "<b>"},
		"base64":                      {`{"statusCode":200,"body":"AP8=","isBase64Encoded":true}`, 200, map[string]string{"Content-Length": "2"}, "\x00\xff"},
		"no body":                     {`{"statusCode":200}`, 200, map[string]string{"Content-Length": "0"}, ""},
		"204 has no body":             {`{"statusCode":204,"body":"x"}`, 204, map[string]string{"Content-Length": "", "Content-Type": ""}, ""},
		"304 has no body":             {`{"statusCode":304,"headers":{"ETag":"\"7\""},"body":"x"}`, 304, map[string]string{"ETag": `"7"`, "Content-Length": "", "Content-Type": ""}, ""},
		"an object without a status":  {` {"message": "hello"} `, 200, map[string]string{"Content-Type": text}, `{"message": "hello"}`},
		"only a string":               {`"Hello from \u004cambda!"`, 200, map[string]string{"Content-Type": text}, "Hello from Lambda!"},
		"only a number":               {`5`, 200, map[string]string{"Content-Type": text}, `5`},
		"only a list":                 {`[{"statusCode":404}]`, 200, map[string]string{"Content-Type": text}, `[{"statusCode":404}]`},
		"only null":                   {`null`, 200, map[string]string{"Content-Type": text}, `null`},
		"case matters in names":       {`{"StatusCode":404}`, 200, map[string]string{"Content-Type": text}, `{"StatusCode":404}`},
		"unknown members are ignored": {`{"statusCode":200,"statusDescription":"OK","body":"x"}`, 200, nil, "x"},
		"headers that a function cannot set": {
			`{"statusCode":200,"headers":{"date":"1","Server":"2","Connection":"close","Keep-Alive":"3","transfer-encoding":"4","Content-Length":"99","apigw-requestid":"5","Upgrade":"6","via":"7","Trailer":"X"},"body":"x"}`,
			200,
			map[string]string{"Server": "", "Connection": "", "Keep-Alive": "", "Transfer-Encoding": "", "Content-Length": "1", "Upgrade": "", "Via": "", "Trailer": ""},
			"x",
		},
		"not JSON":                    {`<html>`, 500, nil, ""},
		"truncated JSON":              {`{"statusCode":200`, 500, nil, ""},
		"two JSON values":             {`{"statusCode":200} {}`, 500, nil, ""},
		"empty response":              {``, 500, nil, ""},
		"status is a string":          {`{"statusCode":"200"}`, 500, nil, ""},
		"status is null":              {`{"statusCode":null}`, 500, nil, ""},
		"status is a fraction":        {`{"statusCode":200.5}`, 500, nil, ""},
		"status too low":              {`{"statusCode":199}`, 500, nil, ""},
		"status too high":             {`{"statusCode":600}`, 500, nil, ""},
		"headers are a list":          {`{"statusCode":200,"headers":[]}`, 500, nil, ""},
		"header is a number":          {`{"statusCode":200,"headers":{"X-A":1}}`, 500, nil, ""},
		"header name with a space":    {`{"statusCode":200,"headers":{"X A":"1"}}`, 500, nil, ""},
		"header name is empty":        {`{"statusCode":200,"headers":{"":"1"}}`, 500, nil, ""},
		"header value with CRLF":      {`{"statusCode":200,"headers":{"X-A":"1\r\nX-B: 2"}}`, 500, nil, ""},
		"cookie with CRLF":            {`{"statusCode":200,"cookies":["a\r\nX-B: 2"]}`, 500, nil, ""},
		"cookies are a string":        {`{"statusCode":200,"cookies":"a=b"}`, 500, nil, ""},
		"body is an object":           {`{"statusCode":200,"body":{}}`, 500, nil, ""},
		"isBase64Encoded is a string": {`{"statusCode":200,"isBase64Encoded":"true"}`, 500, nil, ""},
		"invalid base64":              {`{"statusCode":200,"body":"%%%","isBase64Encoded":true}`, 500, nil, ""},
		"a function's error object":   {`{"errorMessage":"x","errorType":"y"}`, 200, nil, `{"errorMessage":"x","errorType":"y"}`},
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

func TestResponse_EachCookie_IsAHeader(t *testing.T) {
	config := shop()
	config.Invoker = answers(`{"statusCode":200,"cookies":["cart=7; Path=/","theme=dark"]}`)
	if got := get(t, serve(t, config), area, "").header["Set-Cookie"]; !reflect.DeepEqual(got, []string{"cart=7; Path=/", "theme=dark"}) {
		t.Errorf("the Set-Cookie headers are %q", got)
	}
}

func TestResponse_ToHead_HasNoBody(t *testing.T) {
	for answer, length := range map[string]string{
		`{"statusCode":200,"body":"{}","headers":{"Content-Type":"application/json"}}`: "2",
		`{"statusCode":200}`: "", // the length of the GET's body is unknown
		`rubbish`:            "35",
	} {
		config := shop()
		config.Invoker = answers(answer)
		r := send(t, serve(t, config), "HEAD", "HEAD "+area+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		if r.body != "" || r.header.Get("Content-Length") != length {
			t.Errorf("%s: Content-Length %q, want %q; body %q, want none", answer, r.header.Get("Content-Length"), length, r.body)
		}
	}
	// A body after the header would garble the next response on the connection.
	conn := dial(t, serve(t, shop()))
	_, _ = fmt.Fprintf(conn, "HEAD %s HTTP/1.1\r\nHost: a\r\n\r\nGET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", area, area)
	all, err := io.ReadAll(conn)
	if _, after, _ := bytes.Cut(all, []byte("\r\n\r\n")); err != nil || !bytes.HasPrefix(after, []byte("HTTP/1.1 200")) {
		t.Errorf("%v: want a second response right after the first header, got %.300s", err, all)
	}
}

func TestInvoke_Failure_BecomesAStatus(t *testing.T) {
	errTimeout, errTooLarge := errors.New("timed out"), errors.New("too large")
	config := shop()
	config.Status = func(err error) int {
		switch {
		case errors.Is(err, errTimeout):
			return http.StatusServiceUnavailable
		case errors.Is(err, errTooLarge):
			return http.StatusRequestEntityTooLarge
		default:
			return http.StatusInternalServerError
		}
	}
	for err, status := range map[error]int{
		errTimeout:                             503,
		fmt.Errorf("checkout: %w", errTimeout): 503,
		errTooLarge:                            413,
		errors.New("died"):                     500,
	} {
		config.Invoker = fails(err)
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

func TestInvoke_ClientDisconnects_EndsTheContext(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan error, 1)
	config := shop()
	config.Invoker = invoker(func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		close(arrived)
		<-ctx.Done()
		gone <- ctx.Err()
		return nil, ctx.Err()
	})
	conn := dial(t, serve(t, config))
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", area)
	<-arrived
	_ = conn.Close()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended with %v, want context.Canceled", err)
	}
}

func TestLog_EachRequest_HasARecord(t *testing.T) {
	var (
		mu      sync.Mutex
		records []gateway.Record
		ticks   int
	)
	config := shop()
	config.Clock = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		ticks++
		return time.Unix(0, int64(ticks)*int64(time.Millisecond))
	}
	config.Log = func(r gateway.Record) { records = append(records, r) } // this test sends one request at a time
	died := errors.New("died")
	config.Invoker = invoker(func(_ context.Context, _ string, e []byte) ([]byte, error) {
		if bytes.Contains(e, []byte("die=")) {
			return nil, died
		}
		return []byte(`{"statusCode":201}`), nil
	})
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{area + "?die=now", area + "?data=secret", "/caf%C3%A9/%00%0A/\xff\x9b2J/é?q=1"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RequestURI = target
		g.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []gateway.Record{
		{Method: "GET", Path: area, Status: 500, Duration: time.Millisecond, Function: "checkout-area", Err: died},
		{Method: "GET", Path: area, Status: 201, Duration: time.Millisecond, Function: "checkout-area"},
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

func TestRequestID_EachRequest_HasItsOwn(t *testing.T) {
	server := serve(t, shop())
	seen := map[string]bool{}
	for range 20 {
		r := get(t, server, area, "")
		id := r.header.Get("Apigw-Requestid")
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{15}=$`).MatchString(id) || seen[id] || event(t, r).RequestContext.RequestID != id {
			t.Errorf("the request ID %q is malformed, repeated, or differs from the event's", id)
		}
		seen[id] = true
	}
}

func FuzzFunctionResponse(f *testing.F) {
	for _, seed := range []string{`{"statusCode":200,"headers":{"a":"b"},"cookies":["c"],"body":"d"}`, `"x"`, `{}`, `[`, "\xff", `{"statusCode":1e2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		config := shop()
		config.Invoker = answers(string(answer))
		g, err := gateway.New(config)
		if err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, area, http.NoBody))
		if recorder.Code < 200 || recorder.Code > 599 {
			t.Errorf("status %d, want 200 to 599", recorder.Code)
		}
	})
}

func FuzzRequestTarget(f *testing.F) {
	for _, seed := range []string{area, "/", "*", "//", "/%", "/shop/%2F/checkout?a;b", "http://a/b", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		g, err := gateway.New(shop())
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RequestURI = target
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, r)
		if recorder.Code >= 500 {
			t.Errorf("%q: status %d, want less than 500", target, recorder.Code)
		}
	})
}
