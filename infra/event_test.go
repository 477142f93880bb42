package infra_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
)

// `make invoke-*` sends each function the event in its folder.
func TestEvents_MatchTheTemplate(t *testing.T) {
	template := load(t, map[string]string{"EventBus": "default"})
	var folders []string
	for _, f := range template.Functions {
		folders = append(folders, filepath.Join(root, f.Package))
		t.Run(f.Name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, f.Package, "event.json"))
			if err != nil {
				t.Fatal(err)
			}
			var routes []string
			for _, r := range template.Routes {
				if r.Function == f.Name {
					routes = append(routes, r.Method+" "+r.Path)
				}
			}
			if routes == nil {
				checkRecords(t, text, f.Environment)
			} else {
				checkRequest(t, text, routes)
			}
		})
	}
	all, err := filepath.Glob(filepath.Join(root, "functions", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(folders)
	if !slices.Equal(all, folders) {
		t.Errorf("functions/ has %q, the template %q", all, folders)
	}
}

// The records of record-events and those of publish-events are about the same redemption.
func TestEvents_Records_ReportARedemption(t *testing.T) {
	tables := dynamo.Tables{Vouchers: "VouchersTable", Checkouts: "CheckoutsTable"}
	changes := dynamo.NewEventSource(nil, tables, nil).Changes(records(t, "record-events"))
	if len(changes) != 1 || changes[0].Err != nil || changes[0].Shop != "emberforge" || len(changes[0].Facts) != 1 {
		t.Fatalf("record-events gets %+v, want one redemption of emberforge", changes)
	}
	added, err := dynamo.EventAdditions(records(t, "publish-events"))
	if fact := changes[0].Facts[0]; err != nil || len(added) != 1 || added[0].ID != fact.ID() ||
		fact.Type != event.RedemptionCreated {
		t.Errorf("publish-events gets %+v, %v, want the event %s of %+v", added, err, fact.ID(), fact)
	}
}

func records(t *testing.T, function string) []json.RawMessage {
	t.Helper()
	var batch struct{ Records []json.RawMessage }
	if err := json.Unmarshal([]byte(contents(t, filepath.Join(root, "functions", function, "event.json"))),
		&batch); err != nil {
		t.Fatal(err)
	}
	return batch.Records
}

// checkRecords checks that records come from the stream of one of the function's tables in the local run, and have
// everything that Lambda sends.
func checkRecords(t *testing.T, text []byte, environment map[string]string) {
	t.Helper()
	var batch events.DynamoDBEvent
	if err := json.Unmarshal(text, &batch); err != nil || len(batch.Records) == 0 {
		t.Fatalf("the event has %d records (%v), want at least one", len(batch.Records), err)
	}
	for _, r := range batch.Records {
		_, of, _ := strings.Cut(r.EventSourceArn, ":table/")
		table, _, isStream := strings.Cut(of, "/stream/")
		if !isStream || !slices.Contains(slices.Collect(maps.Values(environment)), table) {
			t.Errorf("the record is from %s, want a stream of a table in %v", r.EventSourceArn, environment)
		}
		change := r.Change
		if r.EventSource != "aws:dynamodb" || r.EventID == "" || change.SequenceNumber == "" ||
			change.StreamViewType != "NEW_AND_OLD_IMAGES" {
			t.Errorf("Lambda would not send such a record: %+v", r)
		}
		for _, image := range []map[string]events.DynamoDBAttributeValue{change.OldImage, change.NewImage} {
			if image["customer"].String() != change.Keys["customer"].String() ||
				image["sk"].String() != change.Keys["sk"].String() {
				t.Errorf("an image has other keys than %v", change.Keys)
			}
		}
	}
}

// checkRequest checks that an event is a request for one of the routes, and that fields with the same content, such as
// the path, agree.
func checkRequest(t *testing.T, text []byte, routes []string) {
	t.Helper()
	var request events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(text, &request); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(routes, request.RouteKey) {
		t.Errorf("routeKey %q is not one of %q", request.RouteKey, routes)
	}
	method, path, _ := strings.Cut(request.RouteKey, " ")
	for name, value := range request.PathParameters {
		path = strings.Replace(path, "{"+name+"}", value, 1)
	}
	var query []string
	for name, value := range request.QueryStringParameters {
		query = append(query, name+"="+url.QueryEscape(value))
	}
	slices.Sort(query)
	http := request.RequestContext.HTTP
	for _, test := range []struct{ what, got, want string }{
		{"version", request.Version, "2.0"},
		{"requestContext.routeKey", request.RequestContext.RouteKey, request.RouteKey},
		{"requestContext.stage", request.RequestContext.Stage, "$default"},
		{"requestContext.http.method", http.Method, method},
		{"requestContext.http.path", http.Path, path},
		{"rawPath", request.RawPath, path},
		{"rawQueryString", request.RawQueryString, strings.Join(query, "&")},
	} {
		if test.got != test.want {
			t.Errorf("%s is %q, want %q", test.what, test.got, test.want)
		}
	}
	if request.RequestContext.RequestID == "" || http.SourceIP == "" {
		t.Error("the event has no request ID or no source address")
	}
	for name := range request.Headers {
		if name != strings.ToLower(name) {
			t.Errorf("the header %s is not in lower case", name)
		}
	}
	if request.Body != "" && (request.IsBase64Encoded || !json.Valid([]byte(request.Body))) {
		t.Errorf("the body is not JSON: %s", request.Body)
	}
}
