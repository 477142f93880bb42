package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/samtemplate"
)

func TestFunctions_HaveTheirSettingsAndTables(t *testing.T) {
	const endpoint, origins = "http://127.0.0.1:8000", "https://shop.example,http://localhost:5173"
	// dataTables returns the environment of a function that uses these tables.
	dataTables := func(tables ...string) map[string]string {
		env := map[string]string{"STACK_NAME": "market", "AWS_ENDPOINT_URL_DYNAMODB": endpoint}
		for _, table := range tables {
			env[strings.ToUpper(table)+"_TABLE"] = table + "Table"
		}
		return env
	}
	// withTables returns the environment of a function that uses the catalogue and these tables.
	withTables := func(tables ...string) map[string]string { return dataTables(append(tables, "Catalogue")...) }
	with := func(env map[string]string, name, value string) map[string]string {
		env[name] = value
		return env
	}
	want := []struct {
		id, name string
		env      map[string]string
	}{
		{"RedeemVoucher", "redeem-voucher", with(withTables("Vouchers", "Refusals"), "ALLOWED_ORIGINS", origins)},
		{"CheckoutArea", "checkout-area", withTables()},
		{"Storefront", "storefront", withTables()},
		{"Checkout", "checkout", with(withTables("Checkouts", "Vouchers", "Refusals"), "ALLOWED_ORIGINS", origins)},
		{
			"CheckoutVariant", "checkout-variant",
			with(withTables("Checkouts", "Vouchers", "Refusals"), "ALLOWED_ORIGINS", origins),
		},
		{"ShowCheckout", "show-checkout", withTables("Checkouts")},
		{"ReleaseCheckout", "release-checkout", withTables("Checkouts", "Vouchers")},
		{"PlaceOrder", "place-order", withTables("Checkouts", "Vouchers")},
		{"ListOrders", "list-orders", withTables("Checkouts")},
		{"ShowOrder", "show-order", withTables("Checkouts")},
		{"FulfilOrder", "fulfil-order", withTables("Checkouts")},
		{"CancelOrder", "cancel-order", withTables("Checkouts", "Vouchers")},
		{"ListRedemptions", "list-redemptions", withTables("Vouchers")},
		{"UndoRedemption", "undo-redemption", withTables("Checkouts", "Vouchers")},
		{"ListEvents", "list-events", with(withTables("Events"), "EVENT_RETENTION_DAYS", "120")},
		{
			"RecordEvents", "record-events",
			with(dataTables("Vouchers", "Checkouts", "Events"), "EVENT_RETENTION_DAYS", "120"),
		},
		{"PublishEvents", "publish-events", with(dataTables("Events"), "EVENT_BUS", "shops")},
		{"RemovedPayment", "removed-payment", map[string]string{"STACK_NAME": "market"}},
		{"ApiDocs", "api-docs", map[string]string{"STACK_NAME": "market"}},
	}
	got := load(t, map[string]string{
		"DynamoDBEndpoint": endpoint, "AWS::StackName": "market", "Architecture": "x86_64",
		"EventRetentionDays": "120", "EventBus": "shops", "AllowedOrigins": origins,
	}).Functions
	if len(got) != len(want) {
		t.Fatalf("%d functions, want %d", len(got), len(want))
	}
	for i, f := range got {
		if f.LogicalID != want[i].id || f.Name != want[i].name || f.Package != "functions/"+want[i].name {
			t.Errorf("function %s in %s, want %s in functions/%s", f.LogicalID, f.Package, want[i].id, want[i].name)
		}
		timeout := 10 * time.Second
		if f.Name == "record-events" || f.Name == "publish-events" {
			timeout = time.Minute
		}
		if f.Timeout != timeout || f.MemorySize != 256 || f.Architecture != "x86_64" || f.Handler != "bootstrap" {
			t.Errorf("%s: timeout %s, %d MB, %s, %s; want %s, 256 MB, x86_64, bootstrap",
				f.Name, f.Timeout, f.MemorySize, f.Architecture, f.Handler, timeout)
		}
		if !maps.Equal(f.Environment, want[i].env) {
			t.Errorf("%s: environment %v, want %v", f.Name, f.Environment, want[i].env)
		}
	}
}

func TestCORS_WithoutOrigins_IsOff(t *testing.T) {
	if cors := load(t, nil).CORS; cors != nil {
		t.Errorf("without AllowedOrigins, CORS is %+v, want none", *cors)
	}
}

func TestCORS_WithOrigins_AllowsThem(t *testing.T) {
	for origins, want := range map[string][]string{
		"*":                    {"*"},
		"https://shop.example": {"https://shop.example"},
		"https://shop.example,http://localhost:5173": {"https://shop.example", "http://localhost:5173"},
	} {
		cors := load(t, map[string]string{"AllowedOrigins": origins}).CORS
		if cors == nil {
			t.Fatalf("with AllowedOrigins %s, CORS is off", origins)
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
		{"AlarmEmail", "owner@shop.example", "AlarmEmail and AlarmTopicArn need alarms"},
		{"AlarmTopicArn", "arn:aws:sns:eu-central-1:123456789012:alarms", "AlarmEmail and AlarmTopicArn need alarms"},
		{"AlarmTopicArn", "alarms", "The ARN of a topic"},
		{"AccessLogs", "yes", `"yes" is not one of on, off`},
		{"AccessLogRetentionDays", "31", `"31" is not one of 1, 3`},
		{"DomainName", "api.shop.example", "DomainName and CertificateArn go together"},
		{"CertificateArn", certificate, "DomainName and CertificateArn go together"},
		{"HostedZoneId", "Z1D633PJN98FT9", "HostedZoneId needs DomainName"},
		{"DomainName", "https://api.shop.example", "One domain name"},
		{"DomainName", "Api.shop.example", "One domain name"},
		{"DomainName", "*.shop.example", "One domain name"},
		{"DomainName", "api", "One domain name"},
		{"CertificateArn", "api.shop.example", "The ARN of a certificate"},
		{"HostedZoneId", "/hostedzone/Z1D633PJN98FT9", "The ID of a hosted zone"},
		{"AlarmRefusals", "0", "0 is less than 1"},
		{"Events", "yes", `"yes" is not one of on, off`},
		{"EventRetentionDays", "89", "89 is less than 90"},
		{"EventRetentionDays", "3651", "3651 is more than 3650"},
		{"EventBus", "arn:aws:events:eu-central-1:123456789012:rule/shops", "The name or the ARN of a bus"},
		{"VouchersStream", "vouchers", "The ARN of a table's stream"},
		{"VouchersStream", "arn:aws:dynamodb:eu-central-1:123456789012:table/vouchers", "The ARN of a table's stream"},
		{"VouchersStream", vouchersStream, "VouchersStream is the stream of a named table"},
		{"CheckoutsStream", vouchersStream, "CheckoutsStream is the stream of a named table"},
		{"EventsStream", vouchersStream, "EventsStream is the stream of a named table"},
		{"VouchersTable", "vouchers-restored", "VouchersTable needs VouchersStream"},
		{"CheckoutsTable", "checkouts-restored", "CheckoutsTable needs CheckoutsStream"},
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

// The local run and the other tests ignore unknown properties. An authorizer, or credentials in CORS, must not go
// unnoticed, be it in the resource or in Globals.
func TestProperties_OfAPIAndFunctions_AreKnown(t *testing.T) {
	s := deploy(t, map[string]string{
		"AllowedOrigins": "*", "AccessLogs": "on", "EventBus": "shops", "RedeemVoucherConcurrency": "40",
	})
	checkKeys(t, s.properties["Api"], "StageName", "DefaultRouteSettings", "CorsConfiguration",
		"DisableExecuteApiEndpoint", "AccessLogSettings")
	checkKeys(t, under(s.properties["Api"], "CorsConfiguration"), "AllowOrigins", "AllowMethods", "AllowHeaders",
		"ExposeHeaders", "MaxAge")
	for _, f := range s.byType[typeFunction] {
		checkKeys(t, s.properties[f], "Description", "Role", "LoggingConfig", "ReservedConcurrentExecutions", "Runtime",
			"Handler", "CodeUri", "Architectures", "MemorySize", "Timeout", "Tracing", "Environment", "Events")
		events, _ := under(s.properties[f], "Events").(map[string]any)
		for name, event := range events {
			if text(event, "Type") == "HttpApi" {
				checkKeys(t, under(events, name, "Properties"), "ApiId", "Method", "Path")
			}
		}
	}
}

func TestThrottle_FollowsTheParameters(t *testing.T) {
	for _, test := range []struct {
		parameters  map[string]string
		rate, burst string
	}{
		{nil, "500", "1000"},
		{map[string]string{"ThrottleRate": "20", "ThrottleBurst": "40"}, "20", "40"},
	} {
		settings := under(deploy(t, test.parameters).properties["Api"], "DefaultRouteSettings")
		if rate, burst := text(settings, "ThrottlingRateLimit"),
			text(settings, "ThrottlingBurstLimit"); rate != test.rate || burst != test.burst {
			t.Errorf("the throttle is %s requests a second with bursts of %s, want %s and %s", rate, burst, test.rate,
				test.burst)
		}
	}
}

func TestVersion_BeforeABuild_IsDevelopment(t *testing.T) {
	if got := load(t, nil).Version; got != "development" {
		t.Errorf("the version is %q, want development, which `make build` replaces", got)
	}
}

func TestLogs_EachFunction_HasALogGroupThatExpires(t *testing.T) {
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

const certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/2f1c6f0e-6d0b-4c39-9a3e-7d1f5b0c8a44"

func TestDomain_ReplacesTheAddressOfTheAPI(t *testing.T) {
	s := deploy(t, map[string]string{
		"DomainName": "api.shop.example", "CertificateArn": certificate,
		"HostedZoneId": "Z1D633PJN98FT9",
	})
	for resource, want := range map[string]map[string]any{
		"Domain": {
			"DomainName": "api.shop.example",
			"DomainNameConfigurations": []any{map[string]any{
				"CertificateArn": certificate, "EndpointType": "REGIONAL", "SecurityPolicy": "TLS_1_2",
			}},
		},
		// No ApiMappingKey: it would prefix every path, and the paths in responses would lack that prefix.
		"DomainMapping": {"ApiId": "${Api}", "DomainName": "${Domain}", "Stage": "${Api.Stage}"},
		"DomainRecord": {
			"HostedZoneId": "Z1D633PJN98FT9", "Name": "api.shop.example", "Type": "A",
			"AliasTarget": map[string]any{
				"DNSName":      "${Domain.RegionalDomainName}",
				"HostedZoneId": "${Domain.RegionalHostedZoneId}",
			},
		},
	} {
		if got := s.properties[resource]; !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%s is %v, want %v", resource, got, want)
		}
	}
	closed := func(s stack) string { return text(s.properties["Api"], "DisableExecuteApiEndpoint") }
	if got := closed(s); got != "true" {
		t.Errorf("with a domain, DisableExecuteApiEndpoint is %q, want true", got)
	}
	without := deploy(t, map[string]string{"DomainName": "api.shop.example", "CertificateArn": certificate})
	if without.properties["Domain"] == nil || without.properties["DomainRecord"] != nil {
		t.Error("without a hosted zone, the stack must create the domain but no DNS record")
	}
	none := deploy(t, nil)
	if none.properties["Domain"] != nil || none.properties["DomainMapping"] != nil || closed(none) != "false" {
		t.Error("without a domain, the API must have its own address only")
	}
	address := list(source(t, "template.yaml"), "Outputs", "BaseUrl", "Value")
	if want := []any{"HasDomain", "https://${DomainName}", "Api.ApiEndpoint"}; !reflect.DeepEqual(address, want) {
		t.Errorf("the address of the stack is %v, want %v", address, want)
	}
}

func TestAccessLogs_NameTheSourceButNoPathOrQuery(t *testing.T) {
	s := deploy(t, map[string]string{"AccessLogs": "on", "LogRetentionDays": "90"})
	logs := under(s.properties["Api"], "AccessLogSettings")
	if got := text(logs, "DestinationArn"); got != "${AccessLogGroup.Arn}" {
		t.Errorf("the API logs to %s, want ${AccessLogGroup.Arn}", got)
	}
	var format map[string]string
	if err := json.Unmarshal([]byte(text(logs, "Format")), &format); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{
		"time": "$context.requestTime", "requestId": "$context.requestId", "route": "$context.routeKey",
		"status": "$context.status",
		"source": "$context.identity.sourceIp", "userAgent": "$context.identity.userAgent",
		"latencyMs": "$context.responseLatency",
	}; !maps.Equal(format, want) {
		t.Errorf("a line has %v, want %v", format, want)
	}
	if !strings.HasSuffix(text(logs, "Format"), `"$context.identity.userAgent"}`) {
		t.Error("the user agent, which the caller chooses, must be last, or it could forge what follows")
	}
	group := s.properties["AccessLogGroup"]
	if name, days := text(group, "LogGroupName"),
		text(group, "RetentionInDays"); name != "/shopfront/market/access" || days != "30" {
		t.Errorf("the log group is %s and stores addresses for %s days, want /shopfront/market/access and 30", name,
			days)
	}
	if off := deploy(t, nil); off.properties["AccessLogGroup"] != nil ||
		under(off.properties["Api"], "AccessLogSettings") != nil {
		t.Error("access logs are on by default")
	}
}

func TestEnvironments_OnlyProd_HasAlarmsAndDashboard(t *testing.T) {
	for environment, want := range map[string]struct{ accessLogs, alarms, dashboard bool }{
		"dev": {}, "staging": {accessLogs: true}, "prod": {accessLogs: true, alarms: true, dashboard: true},
	} {
		parameters := make(map[string]string)
		for name, value := range source(t, "infra/parameters/"+environment+".yaml") {
			parameters[name] = fmt.Sprint(value)
		}
		s := deploy(t, parameters)
		if (s.properties["AccessLogGroup"] != nil) != want.accessLogs ||
			(s.properties["Watch"] != nil) != want.alarms || (s.properties["View"] != nil) != want.dashboard {
			t.Errorf("%s must have %+v", environment, want)
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
			t.Errorf("the tracing mode of %s is %q, want PassThrough", f, got)
		}
	}
}

func TestReservedConcurrency_IsForRedeemVoucherOnly(t *testing.T) {
	for _, want := range []string{"40", "0"} {
		s := deploy(t, map[string]string{"RedeemVoucherConcurrency": want})
		for _, f := range s.byType[typeFunction] {
			if got := text(s.properties[f], "ReservedConcurrentExecutions"); got != want &&
				(f == "RedeemVoucher" || got != "") {
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
