package infra_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const (
	vouchersStream  = "arn:aws:dynamodb:eu-central-1:123456789012:table/vouchers-restored/stream/2026-11-22T01:35:52.130"
	checkoutsStream = "arn:aws:dynamodb:eu-central-1:123456789012:table/checkouts-restored/stream/2026-11-22T01:35:52.130"
	eventsStream    = "arn:aws:dynamodb:eu-central-1:123456789012:table/events-restored/stream/2026-11-22T01:35:52.130"
)

func TestEvents_ResourcesFollowTheParameters(t *testing.T) {
	withEvents := []string{
		"ListEvents", "ListEventsRole", "ListEventsLogs", "RecordEvents", "RecordEventsRole",
		"RecordEventsLogs", "DiscardedRecords",
	}
	withBus := []string{"PublishEvents", "PublishEventsRole", "PublishEventsLogs"}
	const images = "NEW_AND_OLD_IMAGES" // another type would make a new stream, and lose the unread records
	for name, test := range map[string]struct {
		parameters map[string]string
		created    []string
		streams    map[string]string // the view types, by table
	}{
		"on":  {nil, withEvents, map[string]string{"Vouchers": images, "Checkouts": images}},
		"off": {map[string]string{"Events": "off"}, nil, nil},
		"with a bus": {
			map[string]string{"EventBus": "shops"},
			slices.Concat(withEvents, withBus),
			map[string]string{"Vouchers": images, "Checkouts": images, "EventLog": images},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := deploy(t, test.parameters)
			// exist even without events
			tables := []string{"Catalogue", "Vouchers", "Checkouts", "Refusals", "EventLog"}
			for _, id := range slices.Concat(withEvents, withBus, tables) {
				if got, want := s.properties[id] != nil,
					slices.Contains(slices.Concat(test.created, tables), id); got != want {
					t.Errorf("%s is created: %t, want %t", id, got, want)
				}
			}
			for _, id := range tables {
				if got := text(s.properties[id], "StreamSpecification", "StreamViewType"); got != test.streams[id] {
					t.Errorf("the stream of %s has %q, want %q", id, got, test.streams[id])
				}
			}
		})
	}
}

// Without the output EventsTable, shopctl assumes that the deployment has no events. With events, it needs the other
// outputs.
func TestOutputs_OfEvents_ExistOnlyWithEvents(t *testing.T) {
	outputs := source(t, "template.yaml")["Outputs"]
	for _, name := range []string{"EventsTable", "EventRetentionDays", "VouchersStream", "CheckoutsStream"} {
		if got := text(outputs, name, "Condition"); got != "HasEvents" {
			t.Errorf("the output %s has the condition %q, want HasEvents", name, got)
		}
	}
}

// mapping returns the properties of an event source mapping that must be the same for all streams.
func mapping(stream string) map[string]any {
	return map[string]any{
		"Stream": stream, "StartingPosition": "TRIM_HORIZON", "BatchSize": "100", "MaximumBatchingWindowInSeconds": "1",
		"ParallelizationFactor": "1", "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"BisectBatchOnFunctionError": "true",
		"MaximumRetryAttempts":       "-1", "MaximumRecordAgeInSeconds": "43200",
		"DestinationConfig": map[string]any{"OnFailure": map[string]any{"Destination": "${DiscardedRecords.Arn}"}},
	}
}

func TestStreams_RecordsAreRetriedForHalfADay(t *testing.T) {
	for _, test := range []struct {
		parameters                  map[string]string
		vouchers, checkouts, events string
	}{
		{
			map[string]string{"EventBus": "shops"},
			"${Vouchers.StreamArn}", "${Checkouts.StreamArn}",
			"${EventLog.StreamArn}",
		},
		{
			map[string]string{
				"EventBus": "shops", "VouchersTable": "vouchers-restored", "VouchersStream": vouchersStream,
				"CheckoutsTable": "checkouts-restored", "CheckoutsStream": checkoutsStream,
				"EventsTable": "events-restored", "EventsStream": eventsStream,
			},
			vouchersStream, checkoutsStream, eventsStream,
		},
	} {
		s := deploy(t, test.parameters)
		pages := mapping(test.events)
		prefix := constants(t, "pkg/dynamo/table/event.go", "pagePrefix")[0]
		pages["FilterCriteria"] = map[string]any{"Filters": []any{map[string]any{
			"Pattern": `{"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "` + prefix + `"}]}}}}`,
		}}}
		for function, want := range map[string]map[string]any{
			"RecordEvents": {
				"Vouchers":  map[string]any{"Type": "DynamoDB", "Properties": mapping(test.vouchers)},
				"Checkouts": map[string]any{"Type": "DynamoDB", "Properties": mapping(test.checkouts)},
				"Retry": map[string]any{
					"Type":       "Schedule",
					"Properties": map[string]any{"Schedule": "rate(1 minute)"},
				},
			},
			"PublishEvents": {"Pages": map[string]any{"Type": "DynamoDB", "Properties": pages}},
		} {
			if got := under(s.properties[function], "Events"); !reflect.DeepEqual(got, any(want)) {
				t.Errorf("%s is invoked by %v, want %v", function, got, want)
			}
		}
		queue := map[string]any{"MessageRetentionPeriod": "1209600", "SqsManagedSseEnabled": "true"}
		if got := s.properties["DiscardedRecords"]; !reflect.DeepEqual(got, any(queue)) {
			t.Errorf("the queue is %v, want %v", got, queue)
		}
	}
}

func TestEventBus_WithoutAStreamOfEvents_IsRejected(t *testing.T) {
	parameters := map[string]string{"AWS::StackName": "market", "EventsTable": "events-restored"}
	if _, err := resources(filepath.Join(root, "template.yaml"), "", parameters); err != nil {
		t.Errorf("without a bus, a stack must not need the stream of the events table: %v", err)
	}
	parameters["EventBus"] = "shops"
	for want, parameters := range map[string]map[string]string{
		"EventsTable needs EventsStream": parameters, "EventBus needs events": {"Events": "off", "EventBus": "shops"},
	} {
		if _, err := resources(filepath.Join(root, "template.yaml"), "", parameters); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestEventBusWebhook_PostsEventsOfTheShop(t *testing.T) {
	created, err := resources(filepath.Join(root, "examples", "event-bus-webhook.yaml"), "", map[string]string{
		"EventBus": "shops", "Shop": "emberforge", "Endpoint": "https://game.example/events",
		"Key": "a-secret-of-the-game-server",
	})
	if err != nil {
		t.Fatal(err)
	}
	properties := make(map[string]any)
	for _, r := range created {
		properties[r.Name] = r.Properties
	}
	target := list(properties["Rule"], "Targets")[0]
	for _, test := range []struct {
		what      string
		got, want any
	}{
		{"bus", under(properties["Rule"], "EventBusName"), "shops"},
		{"pattern", under(properties["Rule"], "EventPattern"), map[string]any{
			"source": []any{"shopfront"}, "detail": map[string]any{"customer": []any{"emberforge"}},
		}},
		{"target", text(target, "Arn"), "${Webhook.Arn}"},
		{"body", text(target, "InputPath"), "$.detail"},
		{"dead-letter queue", text(target, "DeadLetterConfig", "Arn"), "${Undelivered.Arn}"},
		{"queue with a policy", list(properties["UndeliveredPolicy"], "Queues"), []any{"${Undelivered}"}},
		{"address", text(properties["Webhook"], "InvocationEndpoint"), "https://game.example/events"},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("the %s is %v, want %v", test.what, test.got, test.want)
		}
	}
	if under(source(t, "examples/event-bus-webhook.yaml"), "Parameters", "Key", "NoEcho") != true {
		t.Error("the parameter Key must have NoEcho: true, or CloudFormation shows the key")
	}
}
