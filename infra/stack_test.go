package infra_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/samtemplate"
)

func TestRoutes(t *testing.T) {
	want := []string{
		"GET /changelog → api-docs",
		"GET /changelog.rss → api-docs",
		"GET /checkout/paybylink/transfer → removed-payment",
		"GET /checkout/paybylink/{prepaid_card} → removed-payment",
		"GET /checkout/{card_processor} → removed-payment",
		"GET /docs → api-docs",
		"GET /openapi.json → api-docs",
		"GET /shop/{customer}/checkout → checkout-area",
		"GET /shop/{customer}/checkout/{product}/variant/{variant} → checkout-variant",
		"GET /shop/{customer}/checkout/{product}/{variant} → checkout",
		"HEAD /changelog → api-docs",
		"HEAD /changelog.rss → api-docs",
		"HEAD /checkout/paybylink/transfer → removed-payment",
		"HEAD /checkout/paybylink/{prepaid_card} → removed-payment",
		"HEAD /checkout/{card_processor} → removed-payment",
		"HEAD /docs → api-docs",
		"HEAD /openapi.json → api-docs",
		"HEAD /shop/{customer}/checkout → checkout-area",
		"HEAD /shop/{customer}/checkout/{product}/variant/{variant} → checkout-variant",
		"HEAD /shop/{customer}/checkout/{product}/{variant} → checkout",
		"POST /checkout/paybylink/sms → removed-payment",
		"POST /checkout/{card_processor} → removed-payment",
		"POST /shop/{customer}/voucher → redeem-voucher",
	}
	var got []string
	for _, r := range load(t, nil).Routes {
		got = append(got, r.Method+" "+r.Path+" → "+r.Function)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("routes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFunctions(t *testing.T) {
	const endpoint = "http://127.0.0.1:8000"
	want := []struct {
		id, name string
		env      map[string]string
	}{
		{"RedeemVoucher", "redeem-voucher", map[string]string{
			"STACK_NAME": "market", "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "VOUCHERS_TABLE": "VouchersTable",
		}},
		{"CheckoutArea", "checkout-area", map[string]string{
			"STACK_NAME": "market", "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "CATALOGUE_TABLE": "CatalogueTable",
		}},
		{"Checkout", "checkout", map[string]string{
			"STACK_NAME": "market", "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "CATALOGUE_TABLE": "CatalogueTable",
			"CHECKOUTS_TABLE": "CheckoutsTable",
		}},
		{"CheckoutVariant", "checkout-variant", map[string]string{
			"STACK_NAME": "market", "AWS_ENDPOINT_URL_DYNAMODB": endpoint, "CATALOGUE_TABLE": "CatalogueTable",
			"CHECKOUTS_TABLE": "CheckoutsTable",
		}},
		{"RemovedPayment", "removed-payment", map[string]string{"STACK_NAME": "market"}},
		{"ApiDocs", "api-docs", map[string]string{"STACK_NAME": "market"}},
	}
	got := load(t, map[string]string{
		"DynamoDBEndpoint": endpoint, "AWS::StackName": "market", "Architecture": "x86_64",
	}).Functions
	if len(got) != len(want) {
		t.Fatalf("%d functions, want %d", len(got), len(want))
	}
	for i, f := range got {
		if f.LogicalID != want[i].id || f.Name != want[i].name || f.Package != "functions/"+want[i].name {
			t.Errorf("function %s in %s, want %s in functions/%s", f.LogicalID, f.Package, want[i].id, want[i].name)
		}
		if f.Timeout != 10*time.Second || f.MemorySize != 256 || f.Architecture != "x86_64" || f.Handler != "bootstrap" {
			t.Errorf("%s: timeout %s, %d MB, %s, %s", f.Name, f.Timeout, f.MemorySize, f.Architecture, f.Handler)
		}
		if !maps.Equal(f.Environment, want[i].env) {
			t.Errorf("%s: environment %v, want %v", f.Name, f.Environment, want[i].env)
		}
	}
}

func TestCORS_WithoutOrigins_IsOff(t *testing.T) {
	if cors := load(t, nil).CORS; cors != nil {
		t.Errorf("CORS %+v without AllowedOrigins", *cors)
	}
}

func TestCORS(t *testing.T) {
	for origins, want := range map[string][]string{
		"*":                    {"*"},
		"https://shop.example": {"https://shop.example"},
		"https://shop.example,http://localhost:5173": {"https://shop.example", "http://localhost:5173"},
	} {
		cors := load(t, map[string]string{"AllowedOrigins": origins}).CORS
		if cors == nil {
			t.Fatalf("no CORS for %s", origins)
		}
		for _, list := range []struct {
			name      string
			got, want []string
		}{
			{"origins", cors.AllowOrigins, want},
			{"methods", cors.AllowMethods, []string{"GET", "HEAD", "POST", "OPTIONS"}},
			{"headers", cors.AllowHeaders, []string{"Content-Type", "Idempotency-Key", "If-None-Match"}},
			{"exposed headers", cors.ExposeHeaders, []string{
				"ETag", "Retry-After", "Idempotency-Replayed", "Deprecation", "Sunset", "Link", "Request-Id",
			}},
		} {
			if !slices.Equal(list.got, list.want) {
				t.Errorf("%s: %s %v, want %v", origins, list.name, list.got, list.want)
			}
		}
		if cors.AllowCredentials {
			t.Errorf("%s: credentials are allowed", origins)
		}
	}
}

func TestParameters_BadValues_AreRejected(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"AllowedOrigins", "shop.example", "a scheme, a host"},
		{"AllowedOrigins", "https://shop.example/", "a scheme, a host"},
		{"AllowedOrigins", "https://shop.example, https://game.example", "without spaces"},
		{"AllowedOrigins", "*,https://shop.example", "* alone"},
		{"Architecture", "amd64", `"amd64" is not one of arm64, x86_64`},
		{"LogRetentionDays", "31", `"31" is not one of 1, 3`},
		{"ThrottleRate", "many", `"many" is not a number`},
		{"ThrottleBurst", "0", "0 is less than 1"},
		{"VouchersWarmReadUnits", "-1", "at least 12000"},
		{"VouchersWarmReadUnits", "1", "at least 12000"},
		{"VouchersWarmReadUnits", "11999", "at least 12000"},
		{"VouchersWarmWriteUnits", "3999", "at least 4000"},
		{"CheckoutsWarmWriteUnits", "3999", "at least 4000"},
		{"CheckoutsWarmWriteUnits", "04000", "at least 4000"},
		{"TableMaxReadUnits", "-1", "-1 is less than 0"},
		{"TableMaxWriteUnits", "-1", "-1 is less than 0"},
		{"VouchersTable", "arn:aws:dynamodb:eu-central-1:123456789012:table/vouchers", "not its ARN"},
		{"DynamoDBEndpoint", "127.0.0.1:8000", "A scheme, a host"},
		{"Tracing", "Active", `"Active" is not one of on, off`},
		{"Alarms", "yes", `"yes" is not one of on, off`},
		{"Dashboard", "true", `"true" is not one of on, off`},
		{"AlarmEmail", "owner@shop", "One e-mail address"},
		{"AlarmEmail", "owner@shop.example,till@shop.example", "One e-mail address"},
		{"AlarmEmail", "owner@shop.example", "AlarmEmail needs alarms"},
		{"AlarmRefusals", "0", "0 is less than 1"},
		{"RedeemVoucherConcurrency", "-1", "A whole number, or empty"},
		{"RedeemVoucherConcurrency", "many", "A whole number, or empty"},
		{"AWS::NoValue", "", "has no parameter AWS::NoValue"},
		{"Currency", "EUR", "template.yaml has no parameter Currency"},
	} {
		_, err := resources(filepath.Join(root, samtemplate.File), "", map[string]string{test.name: test.text})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.name) {
			t.Errorf("%s=%s: %v, want %q", test.name, test.text, err, test.want)
		}
	}
}

func TestThrottle(t *testing.T) {
	for _, test := range []struct {
		parameters  map[string]string
		rate, burst string
	}{
		{nil, "500", "1000"},
		{map[string]string{"ThrottleRate": "20", "ThrottleBurst": "40"}, "20", "40"},
	} {
		settings := under(deploy(t, test.parameters).properties["Api"], "DefaultRouteSettings")
		if rate, burst := text(settings, "ThrottlingRateLimit"), text(settings, "ThrottlingBurstLimit"); rate != test.rate || burst != test.burst {
			t.Errorf("the throttle is %s requests a second with bursts of %s, want %s and %s", rate, burst, test.rate, test.burst)
		}
	}
}

func TestVersion_OfTheSource_IsDevelopment(t *testing.T) {
	if got := load(t, nil).Version; got != "development" {
		t.Errorf("the version is %q, want development, which `make build` replaces", got)
	}
}

func TestLogs_ExpireAndBelongToOneFunction(t *testing.T) {
	s := deploy(t, map[string]string{"LogRetentionDays": "90"})
	for _, f := range s.byType[typeFunction] {
		if got, want := text(s.properties[f], "LoggingConfig", "LogGroup"), "${"+f+"Logs}"; got != want {
			t.Errorf("%s logs to %s, want %s", f, got, want)
		}
		logs := s.properties[f+"Logs"]
		if got, want := text(logs, "LogGroupName"), "/shopfront/market/"+kebab(f); got != want {
			t.Errorf("the log group of %s is %s, want %s", f, got, want)
		}
		if got := text(logs, "RetentionInDays"); got != "90" {
			t.Errorf("the logs of %s expire after %s days, want 90", f, got)
		}
	}
}

func TestDefaults_OptionalCostsAreOff(t *testing.T) {
	s := deploy(t, nil)
	if nested := s.byType[typeStack]; nested != nil {
		t.Errorf("the nested stacks %q are created by default", nested)
	}
	for _, f := range s.byType[typeFunction] {
		if v := under(s.properties[f], "ReservedConcurrentExecutions"); v != nil {
			t.Errorf("%s reserves %v instances", f, v)
		}
		// PassThrough is Lambda's default: the function starts no traces itself.
		if got := text(s.properties[f], "Tracing"); got != "PassThrough" {
			t.Errorf("the tracing mode of %s is %q", f, got)
		}
	}
}

func TestReservedConcurrency(t *testing.T) {
	for _, want := range []string{"40", "0"} {
		s := deploy(t, map[string]string{"RedeemVoucherConcurrency": want})
		for _, f := range s.byType[typeFunction] {
			if got := text(s.properties[f], "ReservedConcurrentExecutions"); got != want && (f == "RedeemVoucher" || got != "") {
				t.Errorf("%s reserves %q instances with RedeemVoucherConcurrency %s", f, got, want)
			}
		}
	}
}

func TestParameters_WarmThroughput_HasAMinimum(t *testing.T) {
	for _, units := range []string{"0", "12000", "19999", "20000", "99999", "100000", "12000000"} {
		deploy(t, map[string]string{"VouchersWarmReadUnits": units})
	}
	for _, units := range []string{"0", "4000", "9999", "10000", "40000", "100000"} {
		deploy(t, map[string]string{"VouchersWarmWriteUnits": units, "CheckoutsWarmWriteUnits": units})
	}
}
