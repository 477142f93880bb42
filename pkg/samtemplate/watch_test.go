package samtemplate

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants gives the string constants that a file of the repository declares under names with a prefix.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for n := range ast.Preorder(source) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			continue
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("%s has no constant %s…", file, prefix)
	}
	return texts
}

// metric is one that CloudWatch is asked for.
type metric struct {
	namespace, name string
	dimensions      map[string]string
}

// series says which values of their one dimension the metrics of AWS's own have that are of this stack:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html,
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html,
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html.
func series(t *testing.T, s *stack, namespace string) (dimension string, values, names []string) {
	t.Helper()
	switch namespace {
	case "AWS/ApiGateway":
		return "ApiId", []string{"${Api}"}, []string{"Count", "4xx", "5xx", "Latency", "IntegrationLatency", "DataProcessed"}
	case "AWS/Lambda":
		functions, err := s.all(typeFunction)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range functions {
			values = append(values, "${"+f.name+"}")
		}
		return "FunctionName", values, []string{"Invocations", "Errors", "Throttles", "Duration", "ConcurrentExecutions"}
	case "AWS/DynamoDB":
		return "TableName", []string{"${Tables.Catalogue}", "${Tables.Vouchers}", "${Tables.Checkouts}"}, []string{
			"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents", "WriteThrottleEvents",
		}
	default:
		t.Fatalf("nothing of this stack is in the namespace %q", namespace)
		return "", nil, nil
	}
}

// checkMetric wants a metric that the functions emit, or AWS for a resource of the stack market.
func checkMetric(t *testing.T, s *stack, m metric) {
	t.Helper()
	if m.namespace != "Shopfront" {
		dimension, values, names := series(t, s, m.namespace)
		if !slices.Contains(names, m.name) {
			t.Errorf("%s has no metric %s", m.namespace, m.name)
		}
		if len(m.dimensions) != 1 || !slices.Contains(values, m.dimensions[dimension]) {
			t.Errorf("%s of %s is asked for by %v, want %s of %v", m.name, m.namespace, m.dimensions, dimension, values)
		}
		return
	}
	if !slices.Contains(constants(t, "pkg/httpapi/record.go", "metric"), m.name) {
		t.Errorf("no function counts %s", m.name)
	}
	want := map[string]string{"Stack": "market"}
	if reason, ok := m.dimensions["Reason"]; ok && m.name == "Refused" {
		want["Reason"] = reason
		if !slices.Contains(constants(t, "pkg/voucher/voucher.go", "Reason"), reason) {
			t.Errorf("no voucher is refused with the reason %s", reason)
		}
	}
	if !maps.Equal(m.dimensions, want) {
		t.Errorf("%s is asked for by %v, want %v", m.name, m.dimensions, want)
	}
}

func dimensionsOf(v value) map[string]string {
	all := make(map[string]string)
	for _, d := range v.list {
		all[d.dict["Name"].text], _ = plain(d.dict["Value"]).(string)
	}
	return all
}

// metricsOf lists what an alarm looks at. An expression has to name all of its terms, each filled where it is missing: counts
// are added, and of percentiles, which cannot be, the highest is taken.
func metricsOf(t *testing.T, alarm value) []metric {
	t.Helper()
	if !alarm.dict["Metrics"].exists() {
		return []metric{{alarm.dict["Namespace"].text, alarm.dict["MetricName"].text, dimensionsOf(alarm.dict["Dimensions"])}}
	}
	var all []metric
	var terms []string
	for _, query := range alarm.dict["Metrics"].list[1:] {
		m := query.dict["MetricStat"].dict["Metric"]
		all = append(all, metric{m.dict["Namespace"].text, m.dict["MetricName"].text, dimensionsOf(m.dict["Dimensions"])})
		terms = append(terms, "FILL("+query.dict["Id"].text+", 0)")
		if query.dict["ReturnData"].text != "false" {
			t.Errorf("%s: a term of the expression is an alarm of its own", query.at)
		}
	}
	want := strings.Join(terms, " + ")
	if strings.HasPrefix(statistic(t, alarm), "p") {
		want = "MAX([" + strings.Join(terms, ", ") + "])"
	}
	if got := alarm.dict["Metrics"].list[0].dict["Expression"].text; got != want {
		t.Errorf("the expression is %s, want %s", got, want)
	}
	if len(all) > 10 {
		t.Errorf("%d metrics in one alarm, and CloudWatch takes 10", len(all))
	}
	return all
}

// statistic is that of all the metrics that an alarm looks at.
func statistic(t *testing.T, alarm value) string {
	t.Helper()
	if !alarm.dict["Metrics"].exists() {
		return alarm.dict["Statistic"].text + alarm.dict["ExtendedStatistic"].text
	}
	var all []string
	for _, query := range alarm.dict["Metrics"].list[1:] {
		all = append(all, query.dict["MetricStat"].dict["Stat"].text)
	}
	if one := slices.Compact(all); len(one) != 1 {
		t.Fatalf("an expression of the statistics %q", one)
	}
	return all[0]
}

func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkAlarm wants an alarm of that name that says what to do, and does nothing by itself.
func checkAlarm(t *testing.T, alarm value, name, manual string) {
	t.Helper()
	if got, want := plain(alarm.dict["AlarmName"]), "market-"+name; got != want {
		t.Errorf("its name is %s, want %s", got, want)
	}
	heading := "Alarm " + name
	if !strings.Contains(alarm.dict["AlarmDescription"].text, `docs/operations.md, "`+heading+`"`) ||
		!strings.Contains(manual, "\n#### "+heading+"\n") {
		t.Errorf("its description does not lead to what to do: docs/operations.md, %q", heading)
	}
	if got := alarm.dict["TreatMissingData"].text; got != "notBreaching" {
		t.Errorf("missing data are %q", got)
	}
	// With ignore, a percentile of fewer than a thousand requests or so neither sets the alarm off nor ends it:
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/percentiles-with-low-samples.html
	if got := alarm.dict["EvaluateLowSampleCountPercentile"]; got.exists() && got.text != "evaluate" {
		t.Errorf("percentiles of few requests: %s", got.describe())
	}
	if alarm.dict["AlarmActions"].exists() || alarm.dict["OKActions"].exists() {
		t.Error("it acts without an address")
	}
}

func TestAlarms(t *testing.T) {
	s := loadReal(t, map[string]string{"Alarms": "on", "AlarmRefusals": "250"})
	watch := s.stacks["Watch"]
	alarms, err := watch.all(typeAlarm)
	if err != nil {
		t.Fatal(err)
	}
	manual := operations(t)
	watched := make(map[string]int)
	for _, a := range alarms {
		t.Run(a.name, func(t *testing.T) {
			alarm := watch.under(t, a.name)
			checkAlarm(t, alarm, kebab(a.name), manual)
			for _, m := range metricsOf(t, alarm) {
				checkMetric(t, s, m)
				watched[m.namespace+" "+m.name]++
			}
		})
	}
	want := map[string]int{
		"AWS/ApiGateway 5xx": 1, "AWS/Lambda Errors": 6, "AWS/Lambda Throttles": 6, "AWS/Lambda Duration": 3,
		"AWS/DynamoDB ReadThrottleEvents": 3, "AWS/DynamoDB WriteThrottleEvents": 3,
		"Shopfront StoreErrors": 1, "Shopfront Errors": 1, "Shopfront Refused": 1,
	}
	if !maps.Equal(watched, want) {
		t.Errorf("watched are %v, want %v", watched, want)
	}
	if got := watch.under(t, "Refusals", "Threshold").text; got != "250" {
		t.Errorf("refusals above %s are too many, want 250", got)
	}
	for _, kind := range []string{typeTopic, typeSubscription, typeKey} {
		if made, err := watch.all(kind); err != nil || len(made) > 0 {
			t.Errorf("without an address there is %v, %v", made, err)
		}
	}
}

func TestAlarmsWriteToAnAddress(t *testing.T) {
	watch := loadReal(t, map[string]string{"Alarms": "on", "AlarmEmail": "owner@shop.example"}).stacks["Watch"]
	alarms, err := watch.all(typeAlarm)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alarms {
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			if got := plain(watch.under(t, a.name, actions)); !reflect.DeepEqual(got, []any{"${Watch.Topic}"}) {
				t.Errorf("%s: %s are %v", a.name, actions, got)
			}
		}
	}
	for _, test := range []struct {
		resource string
		keys     []string
		want     any
	}{
		{"Subscription", []string{"TopicArn"}, "${Watch.Topic}"},
		{"Subscription", []string{"Protocol"}, "email"},
		{"Subscription", []string{"Endpoint"}, "owner@shop.example"},
		{"Topic", []string{"KmsMasterKeyId"}, "${Watch.TopicKey}"},
		{"TopicKey", []string{"EnableKeyRotation"}, "true"},
		{"TopicPolicy", []string{"Topics"}, []any{"${Watch.Topic}"}},
	} {
		if got := plain(watch.under(t, test.resource, test.keys...)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v is %v, want %v", test.resource, test.keys, got, test.want)
		}
	}
	// CloudWatch has to be let to both, for this account's alarms only.
	alarmsOnly := map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": "123456789012"}}
	for resource, want := range map[string]any{
		"TopicPolicy": "sns:Publish", "TopicKey": []any{"kms:Decrypt", "kms:GenerateDataKey*"},
	} {
		policy := watch.under(t, resource, map[string]string{"TopicPolicy": "PolicyDocument", "TopicKey": "KeyPolicy"}[resource])
		var let bool
		for _, statement := range policy.dict["Statement"].list {
			got, _ := plain(statement).(map[string]any)
			if !reflect.DeepEqual(got["Principal"], map[string]any{"Service": "cloudwatch.amazonaws.com"}) {
				continue
			}
			let = got["Effect"] == "Allow" && reflect.DeepEqual(got["Action"], want) && reflect.DeepEqual(got["Condition"], alarmsOnly)
		}
		if !let {
			t.Errorf("%s does not let CloudWatch do %v", resource, want)
		}
	}
}

// The body of a dashboard: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
type dashboard struct {
	Widgets []struct {
		Type                string
		X, Y, Width, Height int
		Properties          struct {
			Title, Region, View, Stat string
			Stacked                   bool
			Period                    int
			YAxis                     map[string]struct {
				Min       float64
				Label     string
				ShowUnits bool
			}
			Metrics [][]any
		}
	} `json:"widgets"`
}

func TestDashboard(t *testing.T) {
	s := loadReal(t, map[string]string{"Dashboard": "on"})
	text, _ := plain(s.stacks["View"].under(t, "Dashboard", "DashboardBody")).(string)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var body dashboard
	if err := decoder.Decode(&body); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, widget := range body.Widgets {
		if widget.Type != "metric" || widget.Properties.Region != "eu-central-1" || widget.X+widget.Width > 24 {
			t.Errorf("the widget %q is a %s of %s that ends in column %d", widget.Properties.Title, widget.Type,
				widget.Properties.Region, widget.X+widget.Width)
		}
		for _, row := range widget.Properties.Metrics {
			m := readRow(t, row)
			checkMetric(t, s, m)
			shown[m.namespace+" "+m.name+" "+m.dimensions["Reason"]] = true
			for _, value := range m.dimensions {
				shown[m.namespace+" "+value] = true
			}
		}
	}
	var want []string
	for _, name := range constants(t, "pkg/httpapi/record.go", "metric") {
		want = append(want, "Shopfront "+name+" ")
	}
	for _, reason := range constants(t, "pkg/voucher/voucher.go", "Reason") {
		want = append(want, "Shopfront Refused "+reason)
	}
	for _, namespace := range []string{"AWS/ApiGateway", "AWS/Lambda", "AWS/DynamoDB"} {
		_, values, _ := series(t, s, namespace)
		for _, value := range values {
			want = append(want, namespace+" "+value)
		}
	}
	for _, what := range want {
		if !shown[what] {
			t.Errorf("the dashboard does not show %s", what)
		}
	}
}

// readRow reads a row of a widget's metrics: namespace, name, pairs of dimension and value, options.
func readRow(t *testing.T, row []any) metric {
	t.Helper()
	var texts []string
	for _, item := range row[:len(row)-1] {
		text, ok := item.(string)
		if !ok {
			t.Fatalf("%v is not a text", item)
		}
		texts = append(texts, text)
	}
	if options, ok := row[len(row)-1].(map[string]any); !ok || options["label"] == "" || len(texts)%2 != 0 || len(texts) < 4 {
		t.Fatalf("%v is not a metric with a label", row)
	}
	m := metric{texts[0], texts[1], make(map[string]string)}
	for pair := range slices.Chunk(texts[2:], 2) {
		m.dimensions[pair[0]] = pair[1]
	}
	return m
}

func TestNothingThatCostsUnlessAskedFor(t *testing.T) {
	s := loadReal(t, nil)
	if nested := slices.Sorted(maps.Keys(s.stacks)); !slices.Equal(nested, []string{"Tables"}) {
		t.Errorf("nested are %q, want the tables alone", nested)
	}
	functions, err := s.all(typeFunction)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		if v := s.under(t, f.name, "ReservedConcurrentExecutions"); v.exists() {
			t.Errorf("%s keeps %s instances", f.name, v.describe())
		}
		// Lambda's own default: it samples nothing itself.
		if got := s.under(t, f.name, "Tracing").text; got != "PassThrough" {
			t.Errorf("%s is traced %q", f.name, got)
		}
	}
}

func TestReservedConcurrency(t *testing.T) {
	s := loadReal(t, map[string]string{"RedeemVoucherConcurrency": "40", "ContractConcurrency": "0"})
	for function, want := range map[string]string{"RedeemVoucher": "40", "Contract": "0", "Checkout": ""} {
		if got := s.under(t, function, "ReservedConcurrentExecutions").text; got != want {
			t.Errorf("%s keeps %q instances, want %q", function, got, want)
		}
	}
}
