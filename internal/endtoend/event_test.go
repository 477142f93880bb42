package endtoend_test

import (
	"encoding/json"
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
		"release-checkout": {
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
