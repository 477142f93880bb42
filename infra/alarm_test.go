package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metricsOf returns the metrics that an alarm watches. If there are several, the alarm's expression must combine all of
// them and replace missing data by 0: the sum for counts, or the maximum for percentiles, which cannot be added.
func metricsOf(t *testing.T, alarm any) []metric {
	t.Helper()
	queries := list(alarm, "Metrics")
	if queries == nil {
		return []metric{readMetric(alarm)}
	}
	var all []metric
	var terms []string
	for _, query := range queries[1:] {
		all = append(all, readMetric(under(query, "MetricStat", "Metric")))
		terms = append(terms, "FILL("+text(query, "Id")+", 0)")
		if text(query, "ReturnData") != "false" {
			t.Errorf("the term %s of the expression must have ReturnData: false", text(query, "Id"))
		}
	}
	want := strings.Join(terms, " + ")
	if shared(t, alarm, "Statistic", "Stat") == "p99" {
		want = "MAX([" + strings.Join(terms, ", ") + "])"
	}
	if got := text(queries[0], "Expression"); got != want {
		t.Errorf("the expression is %s, want %s", got, want)
	}
	if len(all) > 10 {
		t.Errorf("the alarm has %d metrics; CloudWatch accepts at most 10", len(all))
	}
	return all
}

func readMetric(v any) metric {
	m := metric{text(v, "Namespace"), text(v, "MetricName"), make(map[string]string)}
	for _, d := range list(v, "Dimensions") {
		m.dimensions[text(d, "Name")] = text(d, "Value")
	}
	return m
}

// shared returns a property of an alarm. If the alarm has an expression, its metrics have the property instead, under
// the name ofMetric, and must all have the same value.
func shared(t *testing.T, alarm any, property, ofMetric string) string {
	t.Helper()
	queries := list(alarm, "Metrics")
	if queries == nil {
		return text(alarm, property)
	}
	var all []string
	for _, query := range queries[1:] {
		all = append(all, text(query, "MetricStat", ofMetric))
	}
	if len(slices.Compact(slices.Clone(all))) != 1 {
		t.Fatalf("the alarm's metrics differ in %s: %q", ofMetric, all)
	}
	return all[0]
}

func contents(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// checkAlarm checks that an alarm has the name that follows from its logical ID, that its description names its section
// of the runbook, and that it notifies nobody if no address is given.
func checkAlarm(t *testing.T, alarm any, name, runbook string) {
	t.Helper()
	if got, want := text(alarm, "AlarmName"), "market-"+name; got != want {
		t.Errorf("its name is %s, want %s", got, want)
	}
	heading := "Alarm " + name
	if !strings.Contains(text(alarm, "AlarmDescription"), `docs/operating/runbook.md, "`+heading+`"`) ||
		!strings.Contains(runbook, "\n## "+heading+"\n") {
		t.Errorf("its description does not name the section %q of docs/operating/runbook.md", heading)
	}
	if len(list(alarm, "AlarmActions"))+len(list(alarm, "OKActions")) > 0 {
		t.Error("it notifies somebody although no address is given")
	}
}

// rule says when an alarm goes off: when the statistic of its metrics reaches the threshold in a number of consecutive
// periods.
type rule struct {
	namespace       string
	names, of       []string // names of the metrics and values of their dimension, in every combination
	statistic       string
	period, periods int // the length of a period in seconds, and the number of periods
	threshold       string
}

// rules returns the rules of the alarms, by name.
func rules(t *testing.T, s stack) map[string]rule {
	t.Helper()
	ofOrders := []string{
		"${ReleaseCheckout}", "${PlaceOrder}", "${ListOrders}", "${ShowOrder}", "${FulfilOrder}", "${CancelOrder}",
	}
	_, functions, _ := series(t, s, "AWS/Lambda")
	ofEvents := []string{"${ListEvents}", "${RecordEvents}", "${PublishEvents}"}
	functions = slices.DeleteFunc(functions,
		func(f string) bool { return slices.Contains(append(ofOrders, ofEvents...), f) })
	_, tables, _ := series(t, s, "AWS/DynamoDB")
	ofEvents = slices.DeleteFunc(ofEvents, func(f string) bool { return s.properties[strings.Trim(f, "${}")] == nil })
	tables = slices.DeleteFunc(tables, func(table string) bool { return table == "${EventLog}" })
	all := map[string]rule{
		"ServerErrors":           {"AWS/ApiGateway", []string{"5xx"}, []string{"${Api}"}, "Sum", 300, 1, "5"},
		"FunctionErrors":         {"AWS/Lambda", []string{"Errors"}, functions, "Sum", 300, 1, "3"},
		"FunctionThrottles":      {"AWS/Lambda", []string{"Throttles"}, functions, "Sum", 300, 1, "1"},
		"OrderFunctionErrors":    {"AWS/Lambda", []string{"Errors"}, ofOrders, "Sum", 300, 1, "3"},
		"OrderFunctionThrottles": {"AWS/Lambda", []string{"Throttles"}, ofOrders, "Sum", 300, 1, "1"},
		"TableThrottles": {
			"AWS/DynamoDB",
			[]string{"ReadThrottleEvents", "WriteThrottleEvents"},
			tables, "Sum",
			300, 1, "50",
		},
		"StoreErrors":       {"Shopfront", []string{"StoreErrors"}, []string{"market"}, "Sum", 300, 1, "5"},
		"UncountedRefusals": {"Shopfront", []string{"UncountedRefusals"}, []string{"market"}, "Sum", 300, 1, "5"},
		"InternalErrors":    {"Shopfront", []string{"Errors"}, []string{"market"}, "Sum", 300, 1, "1"},
		"SlowRedemptions": {
			"AWS/Lambda",
			[]string{"Duration"},
			[]string{"${RedeemVoucher}"},
			"p99", 300, 3,
			"1000",
		},
		"SlowCheckouts": {
			"AWS/Lambda",
			[]string{"Duration"},
			[]string{"${Checkout}", "${CheckoutVariant}"},
			"p99", 300, 3, "1000",
		},
		"Refusals": {"Shopfront", []string{"Refused"}, []string{"market"}, "Sum", 300, 1, "250"},
	}
	if len(ofEvents) > 0 {
		maps.Copy(all, map[string]rule{
			"EventFunctionErrors":    {"AWS/Lambda", []string{"Errors"}, ofEvents, "Sum", 300, 1, "3"},
			"EventFunctionThrottles": {"AWS/Lambda", []string{"Throttles"}, ofEvents, "Sum", 300, 1, "1"},
			"EventTableThrottles": {
				"AWS/DynamoDB",
				[]string{"ReadThrottleEvents", "WriteThrottleEvents"},
				[]string{"${EventLog}"},
				"Sum", 300, 1, "50",
			},
			"LateEvents": {
				"AWS/Lambda",
				[]string{"IteratorAge"},
				[]string{"${RecordEvents}"},
				"Maximum",
				300, 1, "3600000",
			},
			"EventsAtRisk": {
				"AWS/Lambda",
				[]string{"IteratorAge"},
				[]string{"${RecordEvents}"},
				"Maximum",
				300, 1, "39600000",
			},
			"DiscardedRecords": {
				"AWS/SQS",
				[]string{"ApproximateNumberOfMessagesVisible"},
				[]string{"${DiscardedRecords.QueueName}"},
				"Maximum", 300, 1, "1",
			},
			"ParkedRecords": {
				"Shopfront",
				[]string{"ParkedRecords"},
				[]string{"market"},
				"Maximum", 300, 1,
				"1",
			},
		})
	}
	if slices.Contains(ofEvents, "${PublishEvents}") {
		all["LateBus"] = rule{
			"AWS/Lambda",
			[]string{"IteratorAge"},
			[]string{"${PublishEvents}"},
			"Maximum", 300, 1,
			"3600000",
		}
	}
	return all
}

// check compares an alarm with its rule.
func (r rule) check(t *testing.T, alarm any, metrics []metric) {
	t.Helper()
	// Two properties must be absent. DatapointsToAlarm defaults to all periods. EvaluateLowSampleCountPercentile, set
	// to "ignore", would stop an alarm from changing its state below a thousand requests:
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/percentiles-with-low-samples.html
	checkKeys(t, alarm, "AlarmName", "AlarmDescription", "Namespace", "MetricName", "Dimensions", "Statistic",
		"ExtendedStatistic",
		"Period", "Metrics", "ComparisonOperator", "Threshold", "EvaluationPeriods", "TreatMissingData", "AlarmActions",
		"OKActions")
	for property, want := range map[string]string{
		"ComparisonOperator": "GreaterThanOrEqualToThreshold", "Threshold": r.threshold,
		"EvaluationPeriods": strconv.Itoa(r.periods), "TreatMissingData": "notBreaching",
	} {
		if got := text(alarm, property); got != want {
			t.Errorf("%s is %q, want %s", property, got, want)
		}
	}
	if got := shared(t, alarm, "Statistic", "Stat") + text(alarm, "ExtendedStatistic"); got != r.statistic {
		t.Errorf("the statistic is %q, want %s", got, r.statistic)
	}
	if got, want := shared(t, alarm, "Period", "Period"), strconv.Itoa(r.period); got != want {
		t.Errorf("a period has %q seconds, want %s", got, want)
	}
	var got, want []string
	for _, m := range metrics {
		got = append(got, fmt.Sprint(m.namespace, m.name, []string{m.of()}))
	}
	for _, name := range r.names {
		for _, of := range r.of {
			want = append(want, fmt.Sprint(r.namespace, name, []string{of}))
		}
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("it watches %q, want %q", got, want)
	}
}

func TestAlarms_FollowTheirRules(t *testing.T) {
	for name, parameters := range map[string]map[string]string{
		"with an event bus": {"EventBus": "default"}, "with events": {}, "without events": {"Events": "off"},
	} {
		t.Run(name, func(t *testing.T) {
			parameters["Alarms"], parameters["AlarmRefusals"] = "on", "250"
			checkAlarms(t, deploy(t, parameters))
		})
	}
}

// checkAlarms compares a stack's alarms with their rules. The stack must notify nobody.
func checkAlarms(t *testing.T, s stack) {
	t.Helper()
	runbook, want := contents(t, filepath.Join(root, "docs", "operating", "runbook.md")), rules(t, s)
	if got := len(s.byType[typeAlarm]); got != len(want) {
		t.Errorf("there are %d alarms, want %d", got, len(want))
	}
	for _, address := range s.byType[typeAlarm] {
		name := strings.TrimPrefix(address, "Watch.")
		t.Run(name, func(t *testing.T) {
			alarm := s.properties[address]
			checkAlarm(t, alarm, kebab(name), runbook)
			metrics := metricsOf(t, alarm)
			for _, m := range metrics {
				checkMetric(t, s, m)
			}
			want[name].check(t, alarm, metrics)
		})
	}
	for _, kind := range []string{"AWS::SNS::Topic", "AWS::SNS::Subscription", "AWS::KMS::Key"} {
		if made := s.byType[kind]; len(made) > 0 {
			t.Errorf("without an e-mail address, the stack creates %q", made)
		}
	}
}

// checkActions expects every alarm to notify these topics, and no others.
func checkActions(t *testing.T, s stack, topics ...any) {
	t.Helper()
	for _, address := range s.byType[typeAlarm] {
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			if got := list(s.properties[address], actions); !reflect.DeepEqual(got, topics) {
				t.Errorf("%s: %s are %v, want %v", address, actions, got, topics)
			}
		}
	}
}

func TestAlarms_ExistingTopic_IsNotified(t *testing.T) {
	const topic = "arn:aws:sns:eu-central-1:123456789012:on-call"
	s := deploy(t, map[string]string{"Alarms": "on", "AlarmTopicArn": topic})
	checkActions(t, s, topic)
	if made := s.byType["AWS::SNS::Topic"]; len(made) > 0 {
		t.Errorf("the stack creates %q although a topic exists", made)
	}
	checkActions(t, deploy(t, map[string]string{
		"Alarms": "on", "AlarmTopicArn": topic,
		"AlarmEmail": "owner@shop.example",
	}), "${Watch.Topic}", topic)
}

func TestAlarms_EmailAddress_IsNotified(t *testing.T) {
	s := deploy(t, map[string]string{"Alarms": "on", "AlarmEmail": "owner@shop.example"})
	checkActions(t, s, "${Watch.Topic}")
	for _, test := range []struct {
		resource, key string
		want          any
	}{
		{"Subscription", "TopicArn", "${Watch.Topic}"},
		{"Subscription", "Protocol", "email"},
		{"Subscription", "Endpoint", "owner@shop.example"},
		{"Topic", "KmsMasterKeyId", "${Watch.TopicKey}"},
		{"TopicKey", "EnableKeyRotation", "true"},
		{"TopicPolicy", "Topics", []any{"${Watch.Topic}"}},
	} {
		if got := under(s.properties["Watch."+test.resource], test.key); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %s is %v, want %v", test.resource, test.key, got, test.want)
		}
	}
	// CloudWatch may publish and encrypt only for alarms of this account.
	alarmsOnly := map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": "123456789012"}}
	for resource, want := range map[string]any{
		"TopicPolicy": "sns:Publish", "TopicKey": []any{"kms:Decrypt", "kms:GenerateDataKey*"},
	} {
		policy := map[string]string{"TopicPolicy": "PolicyDocument", "TopicKey": "KeyPolicy"}[resource]
		var let bool
		for _, statement := range list(s.properties["Watch."+resource], policy, "Statement") {
			if reflect.DeepEqual(under(statement, "Principal"), map[string]any{"Service": "cloudwatch.amazonaws.com"}) {
				let = text(statement, "Effect") == "Allow" && reflect.DeepEqual(under(statement, "Action"), want) &&
					reflect.DeepEqual(under(statement, "Condition"), alarmsOnly)
			}
		}
		if !let {
			t.Errorf("%s does not let CloudWatch do %v", resource, want)
		}
	}
}
