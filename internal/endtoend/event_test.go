package endtoend_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/runtimeapi"
)

// eventAnswer is the response that a function should return for its event.json with the demo shop.
type eventAnswer struct {
	status       int
	header       string // the name of a header
	value        string // the value of that header
	bodyContains []string
}

// `make invoke-*` passes event.json to the functions in the same way.
func TestFunction_EventJSON_GetsTheExpectedResponse(t *testing.T) {
	run := localRun(t)
	runtime := run.Functions(t, run.State.DynamoDBEndpoint)
	// A file in the repository cannot contain a live key, so functions for the shop's server respond that the request
	// is unauthorized.
	unauthorized := eventAnswer{
		401, "Www-Authenticate", "Bearer",
		[]string{`"type":"urn:problem:shopfront:unauthorized"`},
	}
	answers := map[string]eventAnswer{
		"redeem-voucher": {
			200, "Content-Type", "application/json",
			[]string{`"status":"redeemed"`, `"code":"WELCOME-COINS"`, `"nick":"Alder"`},
		},
		"checkout-area": {
			200, "Cache-Control", "no-cache",
			[]string{`"customer":{"id":"sakura-goods"`, `"currency":"JPY"`, `"next":null`},
		},
		"storefront": {
			200, "Content-Type", "text/html; charset=utf-8",
			[]string{
				`<html lang="ja"`, "<h1 dir=\"auto\">Sakura Goods</h1>", `data-variant="sencha-100g"`,
				"1200 JPY",
			},
		},
		"checkout": {
			200, "Cache-Control", "no-store",
			[]string{`"product":"vip-rank","variant":"30-days","amount":1,"data":{"player":"Alder"}`},
		},
		"checkout-variant": {
			200, "Deprecation", "@1795219200",
			[]string{`"product":"coins","variant":"500","amount":2`, `"total":{"minor":998,`},
		},
		"show-checkout": {
			404, "Content-Type", "application/problem+json",
			[]string{`"type":"urn:problem:shopfront:not-found"`},
		},
		"place-order":      unauthorized,
		"list-orders":      unauthorized,
		"show-order":       unauthorized,
		"fulfil-order":     unauthorized,
		"cancel-order":     unauthorized,
		"list-redemptions": unauthorized,
		"undo-redemption":  unauthorized,
		"list-events":      unauthorized,
		"removed-payment": {
			410, "Content-Type", "application/problem+json",
			[]string{`"type":"urn:problem:shopfront:gone"`},
		},
		"api-docs": {
			200, "Content-Type", "text/html; charset=utf-8",
			[]string{"<h1>Changelog</h1>", `<time datetime="2023-09-19">19 September 2023</time>`},
		},
	}
	template, err := localrun.LoadTemplate(run.Root(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range template.Functions {
		t.Run(f.Name, func(t *testing.T) {
			event, err := os.ReadFile(filepath.Join(run.Root(), f.Package, "event.json"))
			if err != nil {
				t.Fatal(err)
			}
			if f.Name == "record-events" { // not an HTTP function
				wantNoFailedRecords(t, runtime, event)
				return
			}
			first := invoke(t, runtime, f.Name, event)
			answers[f.Name].want(t, first)
			if again := invoke(t, runtime, f.Name, event); again.StatusCode != first.StatusCode ||
				again.Body != first.Body {
				t.Errorf("the second response is %+v, want %+v", again, first)
			}
		})
	}
}

// wantNoFailedRecords delivers an event to record-events twice. It checks that the function never reports a record as
// failed.
func wantNoFailedRecords(t *testing.T, runtime *runtimeapi.Runtime, event []byte) {
	t.Helper()
	for range 2 {
		response, err := runtime.Invoke(t.Context(), "record-events", event)
		if want := `{"batchItemFailures":[]}`; err != nil || string(response) != want {
			t.Errorf("response %s, %v, want %s", response, err, want)
		}
	}
}

func (want eventAnswer) want(t *testing.T, a events.APIGatewayV2HTTPResponse) {
	t.Helper()
	if a.StatusCode != want.status || a.Headers[want.header] != want.value || a.IsBase64Encoded {
		t.Errorf("response %+v, want %+v", a, want)
	}
	for _, text := range want.bodyContains {
		if !strings.Contains(a.Body, text) {
			t.Errorf("the body does not contain %s: %s", text, a.Body)
		}
	}
}

func invoke(t *testing.T, runtime *runtimeapi.Runtime, function string, event []byte) events.APIGatewayV2HTTPResponse {
	t.Helper()
	raw, err := runtime.Invoke(t.Context(), function, event)
	if err != nil {
		t.Fatal(err)
	}
	var a events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return a
}

func TestFunction_BadEvents_DoNotEndTheProcess(t *testing.T) {
	run := localRun(t)
	s := newShop(t)
	s.create(t, "SINGLE", nil)
	runtime := run.Functions(t, run.State.DynamoDBEndpoint)
	post := func(change func(*events.APIGatewayV2HTTPRequest)) []byte {
		path := "/shop/" + s.id + "/voucher"
		event := events.APIGatewayV2HTTPRequest{
			Version: "2.0", RouteKey: "POST /shop/{customer}/voucher", RawPath: path,
			Headers: map[string]string{"content-type": "application/json"}, Body: body("SINGLE", ""),
			RequestContext: events.APIGatewayV2HTTPRequestContext{
				RequestID: "request-1",
				HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
					Method: http.MethodPost, Path: path,
					SourceIP: "203.0.113.7",
				},
			},
		}
		change(&event)
		text, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	type want struct {
		event  []byte
		status int
	}
	before := stored(t)
	// starts the process
	invoke(t, runtime, "redeem-voucher", post(func(e *events.APIGatewayV2HTTPRequest) { e.Body = "" }))
	processes := functionProcesses(t)
	for name, test := range map[string]want{
		"invalid base64": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.IsBase64Encoded = true
			e.Body = "%%%"
		}), 400},
		"base64 of invalid UTF-8": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.IsBase64Encoded = true
			e.Body = "eyJjb2RlIjoi/w=="
		}), 400},
		"no headers":   {post(func(e *events.APIGatewayV2HTTPRequest) { e.Headers = nil }), 415},
		"another path": {post(func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "/" }), 500},
		"no path":      {post(func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "" }), 500},
		"a slash in the path": {post(func(e *events.APIGatewayV2HTTPRequest) {
			e.RawPath, e.PathParameters = "/shop/a/b/voucher", map[string]string{"customer": "a/b"}
		}), 404},
		"a NUL in the path": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.RawPath = "/shop/a\x00b/voucher"
		}), 404},
		"another method": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.RequestContext.HTTP.Method = http.MethodDelete
		}), 405},
		"a query with a semicolon": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.RawQueryString = "check=true;check=false"
		}), 400},
		"a key with a comma": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.Headers["idempotency-key"] = "a,b"
		}), 400},
		"an invalid host, no body": {post(func(
			e *events.APIGatewayV2HTTPRequest,
		) {
			e.Headers["host"] = "::not a host::"
			e.Body = ""
		}), 400},
	} {
		t.Run(name, func(t *testing.T) {
			a := invoke(t, runtime, "redeem-voucher", test.event)
			if a.StatusCode != test.status || a.Headers["Content-Type"] != "application/problem+json" {
				t.Errorf("response %+v, want %d", a, test.status)
			}
			wantNothingInternal(t, a.Body)
		})
	}
	for name, event := range map[string]string{
		"an empty event": "", "not JSON": "{", "another event": `{"Records":[]}`,
		"wrong types": `{"rawPath":7}`, "null": "null", "a list": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := runtime.Invoke(t.Context(), "redeem-voucher", []byte(event))
			if err == nil && !strings.Contains(string(answer), `"statusCode":4`) {
				t.Errorf("the response is %s, want an error or a 4xx status", answer)
			}
		})
	}
	if changed := without(stored(t), before); len(changed) > 0 {
		t.Errorf("a bad event stored or changed %q", changed)
	}
	if ended := without(processes, functionProcesses(t)); len(ended) > 0 {
		t.Errorf("a bad event ended the processes %q", ended)
	}
	mapped := post(func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "/till" + e.RawPath })
	if a := invoke(t, runtime, "redeem-voucher", mapped); a.StatusCode != http.StatusOK {
		t.Errorf("with an API mapping key before the path: %+v, want the redemption", a)
	}
}
