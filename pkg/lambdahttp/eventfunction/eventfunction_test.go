package eventfunction_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/eventfunction"
	"shopfront/pkg/voucher"
)

const emberforge catalog.ShopID = "emberforge"

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

var errAway = errors.New("the table is away")

// desk is a stream, an event.Log and an event.Parking in memory. A record is the ID of a redemption; the record 0
// cannot be read.
type desk struct {
	ids      []string // the IDs of the first changes; any other change has the ID seq-N, where N is its record
	recorded []event.ID
	parked   []event.Parked
	fails    error // of the log and of the parking
}

func (d *desk) Changes(records []json.RawMessage) []event.Change {
	changes := make([]event.Change, len(records))
	for i, text := range records {
		changes[i] = d.change(string(text))
		if i < len(d.ids) {
			changes[i].ID = d.ids[i]
		}
	}
	return changes
}

func (*desk) change(record string) event.Change {
	c := event.Change{
		ID: "seq-" + record, Shop: emberforge,
		Place: event.Place{Table: event.Vouchers, Partition: "emberforge#07", Sort: record},
	}
	if record == "0" {
		c.Err = errors.New("malformed record of a redemption")
		return c
	}
	c.Facts = event.OfRedemption(emberforge,
		voucher.Redemption{ID: record, Code: "SUMMER20", Nick: "Alder", At: noon()})
	return c
}

func (d *desk) Append(_ context.Context, _ catalog.ShopID, events []event.Event) (int, error) {
	if d.fails != nil {
		return 0, d.fails
	}
	for _, e := range events {
		d.recorded = append(d.recorded, e.ID)
	}
	return len(events), nil
}

func (d *desk) Announce(context.Context, catalog.ShopID) error { return d.fails }

func (d *desk) Park(_ context.Context, _ catalog.ShopID, changes ...event.Parked) error {
	if d.fails == nil {
		d.parked = append(d.parked, changes...)
	}
	return d.fails
}

func (d *desk) Shops(context.Context) ([]catalog.ShopID, error) {
	return []catalog.ShopID{emberforge}, d.fails
}

func (d *desk) Parked(context.Context, catalog.ShopID) ([]event.Parked, error) {
	return slices.Clone(d.parked), d.fails
}

func (d *desk) Release(_ context.Context, changes ...event.Parked) (int, error) {
	d.parked = slices.DeleteFunc(d.parked, func(p event.Parked) bool { return slices.Contains(changes, p) })
	return 0, nil
}

func (d *desk) Reread(_ context.Context, places []event.Place) (changes []event.Change) {
	for _, place := range places {
		changes = append(changes, d.change(place.Sort))
	}
	return changes
}

// handle runs the function. It returns the response as Lambda gets it, and the log.
func (d *desk) handle(t *testing.T, payload string) (response, logged string, err error) {
	t.Helper()
	var log bytes.Buffer
	f := eventfunction.Function{
		Source: d, Recorder: event.Recorder{Log: d, Parking: d, Now: noon}, Now: noon,
		Log: slog.New(slog.NewJSONHandler(&log, nil)), Stack: "shopfront",
	}
	var batch eventfunction.Batch
	if err := json.Unmarshal([]byte(payload), &batch); err != nil {
		t.Fatal(err)
	}
	result, err := f.Handle(t.Context(), batch)
	text, jsonErr := json.Marshal(result)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return string(text), log.String(), err
}

// line parses a log of exactly one line. It returns the line's members and the names of its metrics.
func line(t *testing.T, logged string) (members map[string]any, metrics []string) {
	t.Helper()
	if strings.Count(logged, "\n") != 1 {
		t.Fatalf("not one line: %q", logged)
	}
	var embedded struct {
		AWS struct {
			CloudWatchMetrics []struct{ Metrics []struct{ Name string } }
		} `json:"_aws"`
	}
	if err := errors.Join(json.Unmarshal([]byte(logged), &members),
		json.Unmarshal([]byte(logged), &embedded)); err != nil {
		t.Fatal(err)
	}
	for _, directive := range embedded.AWS.CloudWatchMetrics {
		for _, m := range directive.Metrics {
			metrics = append(metrics, m.Name)
		}
	}
	return members, metrics
}

func TestHandle_Batch_IsRecordedAndLoggedInOneLine(t *testing.T) {
	t.Parallel()
	d := &desk{}
	response, logged, err := d.handle(t, `{"Records":[1047,1048]}`)
	if err != nil || response != `{"batchItemFailures":[]}` || len(d.recorded) != 2 {
		t.Errorf("Handle = %s, %v, with %d recorded events; want 2", response, err, len(d.recorded))
	}
	members, metrics := line(t, logged)
	for name, want := range map[string]any{
		"level": "INFO", "records": 2.0, "RecordedEvents": 2.0, "ParkedRecords": 0.0,
		"Stack": "shopfront", "durationMs": 0.0,
	} {
		if members[name] != want {
			t.Errorf("%s is %v, want %v", name, members[name], want)
		}
	}
	if !slices.Equal(metrics, []string{"RecordedEvents"}) || members["error"] != nil {
		t.Errorf("metrics %s, want RecordedEvents only: %s", metrics, logged)
	}
	// AWS bills a metric for each hour with data
	if _, logged, _ := d.handle(t, `{}`); strings.Contains(logged, "_aws") {
		t.Errorf("a scheduled run that finds nothing has metrics: %s", logged)
	}
}

func TestHandle_UnreadableRecord_IsCountedAndNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	d := &desk{}
	response, logged, err := d.handle(t, `{"Records":[1047,0,1048]}`)
	members, metrics := line(t, logged)
	if err != nil || response != `{"batchItemFailures":[]}` || members["RecordedEvents"] != 2.0 ||
		members["ParkedRecords"] != 1.0 || len(d.parked) != 1 {
		t.Errorf("Handle = %s, %v; want 2 recorded events and 1 parked change: %s", response, err, logged)
	}
	if members["level"] != "ERROR" || !slices.Equal(metrics, []string{"RecordedEvents", "ParkedRecords"}) {
		t.Errorf("want an error line that does not count the batch as failed: %s", logged)
	}
}

func TestHandle_NothingCanBeStored_LambdaDeliversTheRecordsAgain(t *testing.T) {
	t.Parallel()
	d := &desk{fails: errAway}
	response, logged, err := d.handle(t, `{"Records":[1047,1048]}`)
	want := `{"batchItemFailures":[{"itemIdentifier":"seq-1047"},{"itemIdentifier":"seq-1048"}]}`
	if err != nil || response != want {
		t.Errorf("Handle = %s, %v; want %s", response, err, want)
	}
	members, metrics := line(t, logged)
	if members["level"] != "ERROR" || members["Errors"] != 1.0 || !slices.Contains(metrics, "Errors") ||
		!strings.Contains(fmt.Sprint(members["error"]), errAway.Error()) {
		t.Errorf("logged %s; want an error that is counted", logged)
	}
}

// Lambda treats an empty identifier as a failure of the whole batch. An error has the same effect, and is counted.
func TestHandle_RecordWithoutASequenceNumberCannotBeStored_BatchFails(t *testing.T) {
	t.Parallel()
	d := &desk{fails: errAway, ids: []string{"seq-1047", ""}}
	if response, logged, err := d.handle(t, `{"Records":[1047,1048]}`); err == nil ||
		!strings.Contains(logged, `"Errors":1`) {
		t.Errorf("Handle = %s, %v; want an error that is counted: %s", response, err, logged)
	}
}

func TestHandle_Schedule_RetriesWhatWasSetAside(t *testing.T) {
	t.Parallel()
	d := &desk{}
	for _, record := range []string{"1047", "0"} {
		d.parked = append(d.parked, event.Parked{Place: d.change(record).Place, Shop: emberforge})
	}
	response, logged, err := d.handle(t,
		`{"version":"0","detail-type":"Scheduled Event","source":"aws.events",`+
			`"resources":["arn:aws:events:eu-central-1:1:rule/r"],"detail":{}}`)
	members, _ := line(t, logged)
	if err != nil || response != `{"batchItemFailures":[]}` || len(d.recorded) != 1 ||
		members["ParkedRecords"] != 1.0 || members["RecordedEvents"] != 1.0 {
		t.Errorf("Handle = %s, %v, with %d recorded events: %s", response, err, len(d.recorded), logged)
	}
}

// Without the metric, no alarm would report that the parked changes cannot be read.
func TestHandle_ParkedChangesCannotBeRead_IsAnErrorAndCounted(t *testing.T) {
	t.Parallel()
	d := &desk{fails: errAway}
	_, logged, err := d.handle(t, `{}`)
	members, metrics := line(t, logged)
	if err == nil || members["Errors"] != 1.0 || !slices.Equal(metrics, []string{"Errors"}) ||
		!strings.Contains(logged, errAway.Error()) {
		t.Errorf("Handle = %v, want an error that is counted: %s", err, logged)
	}
}

// settings returns the environment of the function. The names of tables are those that dynamotest.Table takes.
func settings() map[string]string {
	return map[string]string{
		"EVENTS_TABLE": "EventsTable", "VOUCHERS_TABLE": "VouchersTable", "CHECKOUTS_TABLE": "CheckoutsTable",
		"EVENT_RETENTION_DAYS": "90",
		"STACK_NAME":           "shopfront",
	}
}

// image returns the items of a table as a stream shows them.
func image(t *testing.T, client *dynamodb.Client, name string) (images []map[string]any) {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		shown := make(map[string]any)
		for attribute, value := range it {
			kind := strings.TrimPrefix(fmt.Sprintf("%T", value), "*types.AttributeValueMember")
			shown[attribute] = map[string]any{kind: reflect.ValueOf(value).Elem().FieldByName("Value").Interface()}
		}
		images = append(images, shown)
	}
	return images
}

// redeemed creates tables and the voucher SUMMER20, which Alder redeems. It returns settings that name the tables, and
// the redemption.
func redeemed(t *testing.T, client *dynamodb.Client) (set map[string]string, r voucher.Redemption) {
	t.Helper()
	set = settings()
	for variable, name := range settings() {
		if strings.HasSuffix(variable, "_TABLE") {
			set[variable] = dynamotest.Table(t, name)
		}
	}
	v, err := shopIn(client, set).CreateVoucher(t.Context(), voucher.Terms{
		Written: "SUMMER20",
		Reward:  voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}, noon())
	if err != nil {
		t.Fatal(err)
	}
	nick, badNick := voucher.ParseNick("Alder")
	redeemer := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(client, dynamo.Tables{Vouchers: set["VOUCHERS_TABLE"]}, mathrand.Int64N),
		Random: zeros{},
	}
	r, _, err = redeemer.Redeem(t.Context(),
		voucher.Request{Shop: emberforge, Code: v.Code, Nick: nick, At: noon()})
	if err := errors.Join(badNick, err); err != nil {
		t.Fatal(err)
	}
	return set, r
}

// batchOf returns the records of new items of a table.
func batchOf(t *testing.T, name string, items ...map[string]any) (batch eventfunction.Batch) {
	t.Helper()
	for i, it := range items {
		text, err := json.Marshal(map[string]any{
			"eventSourceARN": "arn:aws:dynamodb:ddblocal:000000000000:table/" + name +
				"/stream/2026-11-22T12:00:00.000",
			"dynamodb": map[string]any{
				"SequenceNumber": fmt.Sprint(i), "Keys": map[string]any{"customer": it["customer"], "sk": it["sk"]},
				"NewImage": it,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		batch.Records = append(batch.Records, text)
	}
	return batch
}

// The wired function puts a redemption into the feed and into the index of nicks. It logs no data of a redemption, even
// if the redemption cannot be read.
func TestNew_RedemptionInATable_IsInTheFeedButNotInTheLogLine(t *testing.T) {
	t.Parallel()
	client := dynamotest.Client(t)
	set, r := redeemed(t, client)
	var log bytes.Buffer
	f := eventfunction.New(lambdahttp.Environment{
		Lookup: func(name string) string { return set[name] }, Now: noon,
		Log: &log,
	}, client)
	good := image(t, client, set["VOUCHERS_TABLE"])[0]
	bad := maps.Clone(good)
	bad["redeemed"], bad["sk"] = map[string]any{"N": "0"}, map[string]any{"S": "SUMMER20#x#1"}
	key := table.Key{Partition: table.VoucherKey(emberforge, "SUMMER20").Partition, Sort: "SUMMER20#x#1"}
	put := &dynamodb.PutItemInput{TableName: aws.String(set["VOUCHERS_TABLE"]), Item: key.Attributes()}
	if _, err := client.PutItem(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	response, err := f.Handle(t.Context(), batchOf(t, set["VOUCHERS_TABLE"], good, bad, good))
	members, _ := line(t, log.String())
	if err != nil || len(response.BatchItemFailures) != 0 || members["RecordedEvents"] != 1.0 ||
		members["ParkedRecords"] != 1.0 {
		t.Errorf("Handle = %+v, %v; want 1 recorded event and 1 parked change: %s", response, err, log.String())
	}
	for _, secret := range []string{"SUMMER", "Alder", r.ID, "emberforge"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log shows %s: %s", secret, log.String())
		}
	}
	store := dynamo.NewEventLog(client, set["EVENTS_TABLE"], 90*24*time.Hour, noon, mathrand.Int64N, zeros{})
	page, err := event.Feed{Store: store}.Read(t.Context(), emberforge, event.Cursor{After: event.FromOldest}, 100)
	want := event.Event{
		ID: event.OfRedemption(emberforge, r)[0].ID(), Type: event.RedemptionCreated, Shop: emberforge, At: noon(),
		Sequence: 1,
		Data: []byte(`{"id":"` + r.ID +
			`","status":"redeemed","code":"SUMMER20","nick":"Alder","redeemedAt":"2026-11-22T12:00:00.000Z",` +
			`"reward":{"kind":"percent_off","percentOff":20}}`),
	}
	if err != nil || len(page.Events) != 1 || !reflect.DeepEqual(page.Events[0], want) {
		t.Errorf("Read = %+v, %v; want the event %+v", page, err, want)
	}
	nick, err := voucher.ParseNick("ALDER")
	if err != nil {
		t.Fatal(err)
	}
	indexed := 0
	r.Attempt = "" // the index does not have it
	for got, err := range shopIn(client, set).RedemptionsOfNick(t.Context(), backoffice.RedemptionFilter{Nick: nick}) {
		if indexed++; err != nil || got.Redemption != r {
			t.Errorf("the index of nicks has %+v, %v; want %+v", got, err, r)
		}
	}
	if indexed != 1 {
		t.Errorf("%d redemptions are indexed, want 1", indexed)
	}
	log.Reset()
	if _, err := f.Handle(t.Context(), eventfunction.Batch{}); err != nil ||
		!strings.Contains(log.String(), `"ParkedRecords":1`) {
		t.Errorf("Handle = %v, want a parked change: %s", err, log.String())
	}
}

// shopIn returns emberforge's shop as its owner works on it.
func shopIn(client *dynamodb.Client, set map[string]string) *backoffice.Shop {
	tables := backoffice.Tables{Vouchers: set["VOUCHERS_TABLE"], Events: set["EVENTS_TABLE"]}
	return backoffice.NewDeployment(client, tables, mathrand.Int64N).Open(catalog.Profile{ID: emberforge})
}

// zeros is a source of random bytes that returns only zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
