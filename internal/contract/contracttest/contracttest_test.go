package contracttest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"

	"shopfront/api"
	"shopfront/internal/contract/contracttest"
)

const (
	coins    = "/shop/emberforge/checkout/coins/500"
	redeemed = `{"id":"NkdRkXxHh81ipYGrKwPH5g","status":"redeemed","code":"FIVE",` +
		`"redeemedAt":"2026-11-21T09:22:54.893Z","reward":{"kind":"percent_off","percentOff":5}}`
	unknown = `{"type":"urn:problem:shopfront:not-found","title":"Not found","status":404}`
	gone    = `{"type":"urn:problem:shopfront:gone","title":"Gone","status":410,"detail":"This path was ` +
		`removed on 19 September 2023."}`
	refused     = `{"type":"urn:problem:shopfront:voucher-not-found","title":"Voucher not found","status":404}`
	unavailable = `{"type":"urn:problem:shopfront:unavailable","title":"Temporarily unavailable","status":503,` +
		`"detail":"Try again."}`
	opened = `{"id":"oTV3IPcc","status":"open","product":"coins","variant":"500","amount":1,` +
		`"data":{"player":"Alder"},` +
		`"unitPrice":` + price + `,"subtotal":` + price + `,"discount":` + price + `,"total":` + price +
		`,"createdAt":"2026-11-21T09:22:55.364Z","expiresAt":"2026-11-21T09:52:55.364Z"}`
	price = `{"minor":499,"currency":"EUR","display":"4.99 EUR"}`
	page  = `{"feed":"Zk3p0c8QmX1a","events":[{"id":"MTCXgwWFAhhCzmYLdegdZw","type":"redemption.created",` +
		`"timestamp":"2026-11-21T09:22:54.893Z",` +
		`"sequence":1,"customer":"emberforge","data":` + redeemed +
		`}],"next":"/shop/emberforge/events?after=1&feed=Zk3p0c8QmX1a","pollAfterSeconds":5}`
	expired = `{"type":"urn:problem:shopfront:cursor-expired","title":"Cursor expired","status":410,"earliest":40,` +
		`"feed":"Zk3p0c8QmX1a"}`
)

// exchange is a request and a response. The response has the headers of a function's response, except where header says
// otherwise.
type exchange struct {
	method, target, body string
	send                 []string // header lines of the request
	status               int
	answer               string
	header               []string // more header lines of the response; "Name:" removes one
}

func (e exchange) build(t *testing.T) (*http.Request, *http.Response) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), e.method, e.target, strings.NewReader(e.body))
	if e.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	set(request.Header, e.send)
	response := &http.Response{
		StatusCode: e.status,
		Header: http.Header{
			"Request-Id": {"r1"}, "Cache-Control": {"no-store"},
			"Content-Type": {"application/json"},
		},
	}
	if e.status >= http.StatusBadRequest {
		response.Header.Set("Content-Type", "application/problem+json")
	}
	set(response.Header, e.header)
	return request, response
}

func set(header http.Header, lines []string) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		if value == "" {
			header.Del(name)
		} else {
			header.Set(name, strings.TrimSpace(value))
		}
	}
}

func TestExchange(t *testing.T) {
	v, err := contracttest.New()
	if err != nil {
		t.Fatal(err)
	}
	const voucher, code, events = "/shop/emberforge/voucher", `{"code":"FIVE"}`, "/shop/emberforge/events"
	server, cached := []string{"Authorization: Bearer sf_key"}, []string{"Cache-Control: no-cache", `ETag: "x"`}
	// the headers of the gateway's own responses
	message := slices.Clip([]string{"Content-Type: application/json", "Request-Id:", "Cache-Control:"})
	html := slices.Clip([]string{
		"Content-Type: text/html; charset=utf-8", "Cache-Control: no-cache", `ETag: "x"`,
		"Content-Security-Policy: default-src 'none'", "Referrer-Policy: no-referrer",
		"X-Content-Type-Options: nosniff",
	})
	asset := slices.Clip(append(html, "Content-Type: text/javascript; charset=utf-8",
		"Cache-Control: public, max-age=31536000, immutable", "ETag:"))
	tests := map[string]struct {
		exchange
		want string // a part of the error; empty: no error
	}{
		"redeemed": {exchange{
			"POST", voucher, code,
			[]string{"Idempotency-Key: till-1", "User-Agent: till"},
			200, redeemed, nil,
		}, ""},
		"replayed": {exchange{
			"POST", voucher + "?check=false", code, nil, 200, redeemed,
			[]string{"Idempotency-Replayed: true"},
		}, ""},
		"refused": {exchange{"POST", voucher, code, nil, 404, refused, nil}, ""},
		"a bad request": {
			exchange{"POST", voucher + "?chek=true", `{"cod":1}`, nil, 404, refused, nil},
			"",
		},
		"checked out": {exchange{"GET", coins, "", nil, 200, opened, nil}, ""},
		"HEAD":        {exchange{"HEAD", coins, "", nil, 200, "", nil}, ""},
		"an encoded slash": {exchange{
			"GET", "/shop/a%2Fb/checkout/coins/500", "", nil, 404,
			`{"message":"Not Found"}`, message,
		}, ""},
		"a slash encoded twice": {
			exchange{"GET", "/shop/a%252Fb/checkout/coins/500", "", nil, 404, unknown, nil},
			"",
		},
		"from a browser": {exchange{
			"GET", coins, "",
			[]string{"Origin: https://shop.example"},
			200,
			opened,
			[]string{"Access-Control-Allow-Origin: *"},
		}, ""},
		"a preflight": {exchange{"OPTIONS", coins, "", nil, 204, "", nil}, ""},
		"no route": {exchange{
			"GET", "/favicon.ico", "", nil, 404, `{"message":"Not Found"}`,
			message,
		}, ""},
		"an idempotency key in use": {exchange{
			"GET", coins, "", nil, 422,
			`{"type":"urn:problem:shopfront:idempotency-key-in-use","title":"Idempotency-Key in use","status":422,` +
				`"detail":"Send a new one."}`, nil,
		}, ""},
		"too many requests": {exchange{
			"GET", coins, "", nil, 429, `{"message":"Too Many Requests"}`,
			message,
		}, ""},
		"a removed operation":         {exchange{"GET", "/checkout/card", "", nil, 410, gone, nil}, ""},
		"HEAD of a removed operation": {exchange{"HEAD", "/checkout/card", "", nil, 410, "", nil}, ""},
		"HEAD without a route":        {exchange{"HEAD", "/favicon.ico", "", nil, 404, "", message}, ""},
		"unavailable": {
			exchange{"GET", coins, "", nil, 503, unavailable, []string{"Retry-After: 1"}},
			"",
		},
		"a malformed request": {exchange{"GET", coins, "", nil, 400, `{"message":"Bad Request"}`, message}, ""},

		"events": {exchange{"GET", events + "?after=0", "", server, 200, page, cached}, ""},
		"events of new types": {exchange{
			"GET", events, "", server, 200,
			strings.NewReplacer("redemption.created", "payout.sent", redeemed, `{"net":1}`).Replace(page), cached,
		}, ""},
		"an expired cursor": {exchange{"GET", events + "?after=2&feed=a", "", server, 410, expired, nil}, ""},
		"an order's event with a redemption": {
			exchange{
				"GET", events, "", server, 200, strings.Replace(page, "redemption.created", "order.created", 1),
				cached,
			}, "payment",
		},
		"an event with an unknown member": {exchange{
			"GET", events, "", server, 200,
			strings.Replace(page, `"type"`, `"trace":"x","type"`, 1), cached,
		}, "trace"},

		"a compressed page": {exchange{
			"HEAD", "/docs", "", nil, 200, "",
			append(html, "Content-Encoding: gzip", "Vary: Accept-Encoding"),
		}, ""},
		"a page for a browser": {exchange{
			"HEAD", "/docs", "", nil, 200, "",
			append(html, "Vary: Accept-Encoding, Origin"),
		}, ""},
		"varies by origin": {exchange{"GET", coins, "", nil, 200, opened, []string{"Vary: Origin"}}, ""},

		"the shop's page": {exchange{
			"HEAD", "/shop/emberforge?lang=de&utm_source=forum", "", nil, 200, "",
			append(html, "Content-Encoding: gzip", "Vary: Accept-Encoding, Accept-Language"),
		}, ""},
		"no page for a shop": {exchange{
			"GET", "/shop/emberforge", "", nil, 404, "<h1>Not found</h1>",
			append(html, "Cache-Control: no-store", "ETag:"),
		}, ""},
		"a page that is out of reach": {exchange{
			"GET", "/shop/emberforge", "", nil, 503,
			`{"message":"Service Unavailable"}`, message,
		}, ""},
		"an asset": {exchange{"HEAD", "/assets/shop-0.js", "", nil, 200, "", asset}, ""},

		"compressed, but not a page": {exchange{
			"HEAD", coins, "", nil, 200, "",
			[]string{"Content-Encoding: gzip"},
		}, "Content-Encoding: gzip"},
		"another compression": {exchange{
			"HEAD", "/docs", "", nil, 200, "",
			append(html, "Content-Encoding: br"),
		}, "Content-Encoding: br"},
		"varies, but is not a page": {exchange{
			"GET", coins, "", nil, 200, opened,
			[]string{"Vary: Accept-Encoding"},
		}, "Vary: Accept-Encoding"},
		"a page of the interface by language": {exchange{
			"HEAD", "/docs", "", nil, 200, "",
			append(html, "Vary: Accept-Language"),
		}, "Vary: Accept-Language"},
		"no page, as JSON": {
			exchange{"GET", "/shop/emberforge", "", nil, 404, unknown, nil},
			"application/problem+json",
		},
		"no page, without a policy": {exchange{
			"GET", "/shop/emberforge", "", nil, 404, "<h1>Not found</h1>",
			append(html, "Cache-Control: no-store", "Content-Security-Policy:"),
		}, "Content-Security-Policy"},
		"an asset to revalidate": {exchange{
			"HEAD", "/assets/shop-0.js", "", nil, 200, "",
			append(asset, "Cache-Control: no-cache"),
		}, "immutable"},
		"varies by the shopper": {exchange{
			"HEAD", "/docs", "", nil, 200, "",
			append(html, "Vary: Accept-Encoding, Cookie"),
		}, "Vary: Cookie"},

		"no body from the gateway": {
			exchange{"GET", "/favicon.ico", "", nil, 404, "", message},
			"does not have",
		},
		"no body for a malformed request": {exchange{"GET", coins, "", nil, 400, "", message}, "there is a body: true"},
		"an empty 410":                    {exchange{"GET", "/checkout/card", "", nil, 410, `{}`, nil}, "type"},
		"a 410 that may be cached": {exchange{
			"GET", "/checkout/card", "", nil, 410, gone,
			[]string{"Cache-Control: max-age=60"},
		}, "no-store"},
		"a 410 from the gateway": {exchange{
			"GET", "/checkout/card", "", nil, 410, `{"message":"Gone"}`,
			message,
		}, "application/json"},
		"a 410 for another method": {
			exchange{"PUT", "/checkout/card", "", nil, 410, gone, nil},
			"does not have",
		},
		"a 410 of an existing operation": {exchange{"GET", coins, "", nil, 410, gone, nil}, "'410'"},

		"an undocumented operation": {exchange{
			"GET", "/shop/emberforge/vouchers", "", nil, 200,
			"[]", nil,
		}, "does not have"},
		"a method in lower case": {
			exchange{"get", coins, "", nil, 200, opened, nil},
			"does not have",
		},
		"an undocumented method": {
			exchange{"DELETE", coins, "", nil, 200, opened, nil},
			"does not have",
		},
		"an undocumented status": {exchange{"GET", coins, "", nil, 202, opened, nil}, "'202'"},
		"an undocumented type": {exchange{
			"GET", coins, "", nil, 404, unknown,
			[]string{"Content-Type: text/html"},
		}, "text/html"},
		"an undocumented header": {exchange{
			"GET", coins, "", nil, 200, opened,
			[]string{"X-Powered-By: magic"},
		}, "X-Powered-By"},
		"a missing header": {exchange{
			"GET", coins, "", nil, 200, opened,
			[]string{"Request-Id:"},
		}, "Request-Id"},
		"a wrong header": {exchange{
			"GET", coins, "", nil, 200, opened,
			[]string{"Cache-Control: max-age=60"},
		}, "no-store"},
		"a wrong optional header": {exchange{
			"POST", voucher, code, nil, 200, redeemed,
			[]string{"Idempotency-Replayed: 1"},
		}, "Idempotency-Replayed"},
		"a malformed Retry-After": {exchange{
			"GET", coins, "", nil, 503, unavailable,
			[]string{"Retry-After: soon"},
		}, "Retry-After"},
		"a failure that may be cached": {exchange{
			"GET", coins, "", nil, 503, unavailable,
			[]string{"Cache-Control: max-age=60"},
		}, "no-store"},
		"a cookie": {exchange{
			"GET", coins, "", nil, 200, opened,
			[]string{"Set-Cookie: shopper=alder"},
		}, "Set-Cookie"},
		"an undocumented gateway header": {exchange{
			"GET", coins, "", nil, 429,
			`{"message":"Too Many Requests"}`, append(message, "X-Powered-By: magic"),
		}, "X-Powered-By"},
		"a function's 429": {exchange{
			"GET", "/shop/emberforge/checkout", "", nil, 429,
			`{"message":"Too Many Requests"}`, message[:1],
		}, "Request-Id"},
		"a function's message": {exchange{
			"GET", "/favicon.ico", "", nil, 404,
			`{"message":"Not Found"}`, message[:1],
		}, "does not have"},
		"a body that is null": {exchange{"GET", coins, "", nil, 200, "null", nil}, "null"},
		"an undocumented field": {exchange{
			"GET", coins, "", nil, 200,
			strings.Replace(opened, "{", `{"secret":1,`, 1), nil,
		}, "secret"},
		"an undocumented field of one of two problems": {
			exchange{
				"GET", coins, "", nil, 422,
				`{"type":"urn:problem:shopfront:invalid","title":"Invalid request","status":422,"trace":"x"}`, nil,
			},
			"trace",
		},
		"a missing field": {exchange{
			"POST", voucher, code, nil, 200,
			strings.Replace(redeemed, `"redeemedAt":"2026-11-21T09:22:54.893Z",`, "", 1), nil,
		}, "redeemedAt"},
		"a reward without its members": {exchange{
			"POST", voucher, code, nil, 200,
			strings.Replace(redeemed, `,"percentOff":5`, "", 1), nil,
		}, "percentOff"},
		"the status of another problem": {
			exchange{"GET", coins, "", nil, 404, refused, nil},
			"urn:problem:shopfront:not-found",
		},
		"no body": {
			exchange{"GET", coins, "", nil, 200, "", nil},
			"there is a body: true",
		},
		"a 304 with a body": {exchange{
			"GET", "/shop/emberforge/checkout", "", nil, 304,
			opened,
			[]string{"Cache-Control: no-cache", `ETag: "x"`},
		}, "there is a body: false"},
		"an undocumented parameter": {exchange{
			"GET", coins + "?quantity=2", "", nil, 200, opened,
			nil,
		}, "quantity"},
		"an undocumented request header": {exchange{
			"GET", coins, "",
			[]string{"X-Coupon: FIVE"},
			200,
			opened, nil,
		}, "X-Coupon"},
		"an undocumented member": {exchange{
			"POST", voucher, `{"code":"FIVE","nik":"Alder"}`, nil,
			200, redeemed, nil,
		}, "nik"},
		"a malformed key": {exchange{
			"POST", voucher, code,
			[]string{"Idempotency-Key: a,b"},
			200, redeemed, nil,
		}, "Idempotency-Key"},
		"a success without a request body": {
			exchange{"POST", voucher, "", nil, 200, redeemed, nil},
			"content type",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request, response := test.build(t) //nolint:bodyclose // the response has no body yet
			err := v.Exchange(request, []byte(test.body), response, []byte(test.answer))
			if test.want == "" && err != nil {
				t.Error(err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestDocuments_AreValidOpenAPI(t *testing.T) {
	files, err := filepath.Glob("../../../api/releases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found the released documents %q, %v", files, err)
	}
	for _, file := range append(files, "../../../api/openapi.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document, err := libopenapi.NewDocument(text)
		if err != nil {
			t.Fatal(err)
		}
		if valid, violations := schema_validation.ValidateOpenAPIDocument(document); !valid {
			t.Errorf("%s is not valid OpenAPI: %v", file, violations)
		}
	}
}

func TestDocument_Examples_FitTheirSchemas(t *testing.T) {
	document, err := libopenapi.NewDocument([]byte(api.OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			if operation.RequestBody != nil {
				checkExamples(t, method+" "+path, operation.RequestBody.Content)
			}
			for status, response := range operation.Responses.Codes.FromOldest() {
				checkExamples(t, method+" "+path+" "+status, response.Content)
			}
		}
	}
}

func checkExamples(t *testing.T, place string, content *orderedmap.Map[string, *v3.MediaType]) {
	t.Helper()
	schemas := schema_validation.NewSchemaValidator(config.WithFormatAssertions())
	for name, mediaType := range content.FromOldest() {
		if mediaType.Examples.Len() == 0 && strings.Contains(place, " /shop/") && name != "text/html" {
			t.Errorf("%s has no example in %s", place, name)
		}
		for name, example := range mediaType.Examples.FromOldest() {
			var value any
			if err := example.Value.Decode(&value); err != nil {
				t.Fatal(err)
			}
			if fits, violations := schemas.ValidateSchemaObject(mediaType.Schema.Schema(), value); !fits {
				t.Errorf("%s: the example %s does not fit: %v", place, name, violations)
			}
		}
	}
}

// recorder counts the errors of a test.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Error(...any) { r.errors++ }

func TestTransport_LeavesTheExchangeUnchanged(t *testing.T) {
	v, err := contracttest.New()
	if err != nil {
		t.Fatal(err)
	}
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "r1")
		_, _ = io.WriteString(w, redeemed)
	}))
	defer server.Close()
	recorded := &recorder{TB: t}
	client := &http.Client{Transport: v.Transport(recorded, http.DefaultTransport)}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/shop/emberforge/voucher",
		strings.NewReader(`{"code":"FIVE"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != redeemed || sent != `{"code":"FIVE"}` {
		t.Errorf("the server received %s, and the client %s, %v", sent, body, err)
	}
	if recorded.errors != 1 {
		t.Errorf("%d errors, want one: Cache-Control is missing", recorded.errors)
	}
}
