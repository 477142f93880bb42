package infra_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the string constants in a file of the repository whose names have the prefix.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for n := range ast.Preorder(parsed) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			continue
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			unquoted, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, unquoted)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("%s has no constant %s…", file, prefix)
	}
	return texts
}

// metric is a metric that an alarm or the dashboard reads.
type metric struct {
	namespace, name string
	dimensions      map[string]string
}

// indexOf is the dimension that separates an index's metrics from those of its table.
const indexOf = "GlobalSecondaryIndexName"

// of returns what the metric is about: the values of its dimensions, such as ${Checkouts}/orders for an index.
func (m metric) of() string {
	var values []string
	for _, dimension := range slices.Sorted(maps.Keys(m.dimensions)) {
		if dimension != indexOf {
			values = append(values, m.dimensions[dimension])
		}
	}
	if index := m.dimensions[indexOf]; index != "" {
		values = append(values, index)
	}
	return strings.Join(values, "/")
}

// series describes AWS's metrics in a namespace: their dimension, the values that it can have in this stack, and the
// names of the metrics: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html,
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html,
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html.
func series(t *testing.T, s stack, namespace string) (dimension string, values, names []string) {
	t.Helper()
	switch namespace {
	case "AWS/ApiGateway":
		return "ApiId", []string{"${Api}"},
			[]string{"Count", "4xx", "5xx", "Latency", "IntegrationLatency", "DataProcessed"}
	case "AWS/Lambda":
		for _, f := range s.byType[typeFunction] {
			values = append(values, "${"+f+"}")
		}
		return "FunctionName", values,
			[]string{"Invocations", "Errors", "Throttles", "Duration", "ConcurrentExecutions", "IteratorAge"}
	case "AWS/SQS":
		return "QueueName", []string{"${DiscardedRecords.QueueName}"}, []string{"ApproximateNumberOfMessagesVisible"}
	case "AWS/DynamoDB":
		tables := []string{
			"${Catalogue}", "${Vouchers}", "${Checkouts}", "${Checkouts}/orders", "${Refusals}", "${EventLog}",
		}
		return "TableName", tables, []string{
			"ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents", "WriteThrottleEvents",
		}
	default:
		t.Fatalf("no resource of this stack has metrics in the namespace %q", namespace)
		return "", nil, nil
	}
}

// counted returns the names of the metrics that the functions emit.
func counted(t *testing.T) []string {
	t.Helper()
	return append(constants(t, "pkg/httpapi/record.go", "metric"),
		constants(t, "pkg/lambdahttp/eventfunction/eventfunction.go", "metric")...)
}

// checkMetric fails unless the functions emit the metric, or AWS emits it for a resource of the stack named market.
func checkMetric(t *testing.T, s stack, m metric) {
	t.Helper()
	if m.namespace != "Shopfront" {
		dimension, values, names := series(t, s, m.namespace)
		if !slices.Contains(names, m.name) {
			t.Errorf("%s has no metric %s", m.namespace, m.name)
		}
		if m.dimensions[dimension] == "" || !slices.Contains(values, m.of()) {
			t.Errorf("%s of %s has the dimensions %v, want %s with one of %v", m.name, m.namespace, m.dimensions,
				dimension, values)
		}
		return
	}
	if !slices.Contains(counted(t), m.name) {
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
		t.Errorf("%s has the dimensions %v, want %v", m.name, m.dimensions, want)
	}
}

// The body of a dashboard:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
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

func TestDashboard_ShowsEveryMetricAndResource(t *testing.T) {
	s := deploy(t, map[string]string{"Dashboard": "on", "EventBus": "default"})
	decoder := json.NewDecoder(strings.NewReader(text(s.properties["View.Dashboard"], "DashboardBody")))
	decoder.DisallowUnknownFields()
	var body dashboard
	if err := decoder.Decode(&body); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, widget := range body.Widgets {
		if widget.Type != "metric" || widget.Properties.Region != "eu-central-1" || widget.X+widget.Width > 24 {
			t.Errorf("the widget %q has the type %s, the region %s and ends in column %d", widget.Properties.Title,
				widget.Type,
				widget.Properties.Region, widget.X+widget.Width)
		}
		for _, row := range widget.Properties.Metrics {
			m := readRow(t, row)
			checkMetric(t, s, m)
			shown[m.namespace+" "+m.name+" "+m.dimensions["Reason"]] = true
			shown[m.namespace+" "+m.of()] = true
		}
	}
	var want []string
	for _, name := range counted(t) {
		want = append(want, "Shopfront "+name+" ")
	}
	for _, reason := range constants(t, "pkg/voucher/voucher.go", "Reason") {
		want = append(want, "Shopfront Refused "+reason)
	}
	for _, namespace := range []string{"AWS/ApiGateway", "AWS/Lambda", "AWS/DynamoDB", "AWS/SQS"} {
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
			t.Fatalf("%v is not a string", item)
		}
		texts = append(texts, text)
	}
	if options, ok := row[len(row)-1].(map[string]any); !ok || options["label"] == "" || len(texts)%2 != 0 ||
		len(texts) < 4 {
		t.Fatalf("%v is not a metric with a label", row)
	}
	m := metric{texts[0], texts[1], make(map[string]string)}
	for pair := range slices.Chunk(texts[2:], 2) {
		m.dimensions[pair[0]] = pair[1]
	}
	return m
}
