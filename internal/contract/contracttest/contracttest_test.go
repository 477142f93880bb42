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
	keyInUse = `{"type":"urn:problem:shopfront:idempotency-key-in-use","title":"Idempotency-Key in use","status":422,` +
		`"detail":"Send a new one."}`
	refused     = `{"type":"urn:problem:shopfront:voucher-not-found","title":"Voucher not found","status":404}`
	unavailable = `{"type":"urn:problem:shopfront:unavailable","title":"Temporarily unavailable","status":503,` +
		`"detail":"Try again."}`
	opened = `{"id":"oTV3IPcc","status":"open","product":"coins","variant":"500","amount":1,` +
		`"data":{"player":"Alder"},` +
		`"unitPrice":` + price + `,"subtotal":` + price + `,"discount":` + price + `,"total":` + price +
		`,"createdAt":"2026-11-21T09:22:55.364Z","expiresAt":"2026-11-21T09:52:55.364Z"}`
	price = `{"minor":499,"currency":"EUR","display":"4.99 EUR"}`
	feed  = `{"feed":"Zk3p0c8QmX1a","events":[{"id":"MTCXgwWFAhhCzmYLdegdZw","type":"redemption.created",` +
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

func get(target string, status int, answer string, header ...string) exchange {
	return exchange{method: "GET", target: target, status: status, answer: answer, header: header}
}

// head returns a HEAD request that succeeds.
func head(target string, header ...string) exchange {
	return exchange{method: "HEAD", target: target, status: http.StatusOK, header: header}
}

// redeem returns a request to redeem a code, which succeeds.
func redeem(answer string, header ...string) exchange {
	return exchange{
		method: "POST", target: "/shop/emberforge/voucher", body: `{"code":"FIVE"}`,
		status: http.StatusOK, answer: answer, header: header,
	}
}

// by returns the exchange with another method.
func (e exchange) by(method string) exchange {
	e.method = method
	return e
}

// with returns the exchange with header lines of the request.
func (e exchange) with(lines ...string) exchange {
	e.send = lines
	return e
}

// about returns the exchange with another query and body of the request.
func (e exchange) about(query, body string) exchange {
	e.target, e.body = e.target+query, body
	return e
}

func TestExchange(t *testing.T) {
	v, err := contracttest.New()
	if err != nil {
		t.Fatal(err)
	}
	const (
		area, events, page = "/shop/emberforge/checkout", "/shop/emberforge/events", "/shop/emberforge"
		script             = "/assets/shop-0.js"
		key                = "Authorization: Bearer sf_key"
	)
	cached := []string{"Cache-Control: no-cache", `ETag: "x"`}
	html := slices.Clip(append(cached, "Content-Type: text/html; charset=utf-8",
		"Content-Security-Policy: default-src 'none'", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff"))
	asset := slices.Clip(append(html, "Content-Type: text/javascript; charset=utf-8",
		"Cache-Control: public, max-age=31536000, immutable", "ETag:"))
	unknownPage := slices.Clip(append(html, "Cache-Control: no-store", "ETag:"))
	// the headers of the gateway's own responses
	gateway := slices.Clip([]string{"Content-Type: application/json", "Request-Id:", "Cache-Control:"})
	message := func(target string, status int, more ...string) exchange {
		return get(target, status, `{"message":"`+http.StatusText(status)+`"}`, append(gateway, more...)...)
	}
	changed := func(body, old, replacement string) string { return strings.Replace(body, old, replacement, 1) }
	for name, test := range map[string]struct {
		exchange
		want string // a part of the error; empty: no error
	}{
		"events of new types": {
			get(events, 200, strings.NewReplacer("redemption.created", "payout.sent", redeemed, `{"net":1}`).Replace(feed),
				cached...).with(key), "",
		},

		"an order's event with a redemption": {
			get(events, 200, changed(feed, "redemption.created", "order.created"), cached...).with(key), "payment",
		},
		"an event with an unknown member": {
			get(events, 200, changed(feed, `"type"`, `"trace":"x","type"`), cached...).with(key), "trace",
		},

		"compressed, but not a page": {head(coins, "Content-Encoding: gzip"), "Content-Encoding: gzip"},
		"another compression":        {head("/docs", append(html, "Content-Encoding: br")...), "Content-Encoding: br"},
		"varies, but is not a page":  {get(coins, 200, opened, "Vary: Accept-Encoding"), "Vary: Accept-Encoding"},
		"varies by the shopper":      {head("/docs", append(html, "Vary: Accept-Encoding, Cookie")...), "Vary: Cookie"},
		"a page of the interface by language": {
			head("/docs", append(html, "Vary: Accept-Language")...), "Vary: Accept-Language",
		},
		"no page, as JSON": {get(page, 404, unknown), "application/problem+json"},
		"no page, without a policy": {
			get(page, 404, "<h1>Not found</h1>", append(unknownPage, "Content-Security-Policy:")...), "Content-Security-Policy",
		},
		"an asset to revalidate": {head(script, append(asset, "Cache-Control: no-cache")...), "immutable"},

		"no body from the gateway":        {get("/favicon.ico", 404, "", gateway...), "does not have"},
		"no body for a malformed request": {get(coins, 400, "", gateway...), "there is a body: true"},
		"an empty 410":                    {get("/checkout/card", 410, `{}`), "type"},
		"a 410 that may be cached":        {get("/checkout/card", 410, gone, "Cache-Control: max-age=60"), "no-store"},
		"a 410 from the gateway":          {message("/checkout/card", 410), "application/json"},
		"a 410 for another method":        {get("/checkout/card", 410, gone).by("PUT"), "does not have"},
		"a 410 of an existing operation":  {get(coins, 410, gone), "'410'"},

		"an undocumented operation": {get("/shop/emberforge/vouchers", 200, "[]"), "does not have"},
		"a method in lower case":    {get(coins, 200, opened).by("get"), "does not have"},
		"an undocumented method":    {get(coins, 200, opened).by("DELETE"), "does not have"},
		"an undocumented status":    {get(coins, 202, opened), "'202'"},
		"an undocumented type":      {get(coins, 404, unknown, "Content-Type: text/html"), "text/html"},
		"an undocumented header":    {get(coins, 200, opened, "X-Powered-By: magic"), "X-Powered-By"},
		"a missing header":          {get(coins, 200, opened, "Request-Id:"), "Request-Id"},
		"a wrong header":            {get(coins, 200, opened, "Cache-Control: max-age=60"), "no-store"},
		"a wrong optional header":   {redeem(redeemed, "Idempotency-Replayed: 1"), "Idempotency-Replayed"},
		"a malformed Retry-After":   {get(coins, 503, unavailable, "Retry-After: soon"), "Retry-After"},
		"a failure that may be cached": {
			get(coins, 503, unavailable, "Cache-Control: max-age=60"), "no-store",
		},
		"a cookie":                       {get(coins, 200, opened, "Set-Cookie: shopper=alder"), "Set-Cookie"},
		"an undocumented gateway header": {message(coins, 429, "X-Powered-By: magic"), "X-Powered-By"},
		"a function's 429":               {get(area, 429, `{"message":"Too Many Requests"}`, gateway[0]), "Request-Id"},
		"a function's message":           {get("/favicon.ico", 404, `{"message":"Not Found"}`, gateway[0]), "does not have"},

		"a body that is null":           {get(coins, 200, "null"), "null"},
		"no body":                       {get(coins, 200, ""), "there is a body: true"},
		"a 304 with a body":             {get(area, 304, opened, cached...), "there is a body: false"},
		"an undocumented field":         {get(coins, 200, changed(opened, "{", `{"secret":1,`)), "secret"},
		"an undocumented problem":       {get(coins, 422, changed(keyInUse, "{", `{"trace":"x",`)), "trace"},
		"a missing field":               {redeem(changed(redeemed, `"redeemedAt"`, `"at"`)), "redeemedAt"},
		"a reward without its members":  {redeem(changed(redeemed, `,"percentOff":5`, "")), "percentOff"},
		"the status of another problem": {get(coins, 404, refused), "urn:problem:shopfront:not-found"},

		"an undocumented parameter":        {get(coins+"?quantity=2", 200, opened), "quantity"},
		"an undocumented request header":   {get(coins, 200, opened).with("X-Coupon: FIVE"), "X-Coupon"},
		"an undocumented member":           {redeem(redeemed).about("", `{"code":"FIVE","nik":"Alder"}`), "nik"},
		"a malformed key":                  {redeem(redeemed).with("Idempotency-Key: a,b"), "Idempotency-Key"},
		"a success without a request body": {redeem(redeemed).about("", ""), "content type"},
	} {
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
