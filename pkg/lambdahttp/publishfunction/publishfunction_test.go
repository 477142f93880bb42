package publishfunction_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/publishfunction"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

const (
	emberforge catalog.ShopID = "emberforge"
	lantern    catalog.ShopID = "lantern-market"
	retention                 = 90 * 24 * time.Hour
)

// bus is an EventBridge that stores the events it accepts.
type bus struct {
	calls [][]entry
	// fails returns the error code with which the bus rejects an entry; empty: the bus accepts the entry. Calls count
	// from 1. fails may be nil.
	fails func(call int, e entry) string
	// status returns the status and the error code of a call that fails as a whole; 0: the call does not fail. status
	// may be nil.
	status func(call int) (status int, code string)
}

type entry struct {
	EventBusName, Source, DetailType, Detail string
	Time                                     float64
}

func (e entry) detail(t *testing.T) (d struct {
	ID, Customer string
	Sequence     int64
},
) {
	t.Helper()
	if err := json.Unmarshal([]byte(e.Detail), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func (b *bus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Entries []entry }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" {
		http.Error(w, "not PutEvents", http.StatusBadRequest)
		return
	}
	b.calls = append(b.calls, in.Entries)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if b.status != nil {
		if status, code := b.status(len(b.calls)); status != 0 {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"__type":%q,"message":"the bus is busy"}`, code)
			return
		}
	}
	var out struct {
		FailedEntryCount int
		Entries          []map[string]string
	}
	for _, e := range in.Entries {
		result := map[string]string{"EventId": rand.Text()}
		if b.fails != nil && b.fails(len(b.calls), e) != "" {
			result = map[string]string{"ErrorCode": b.fails(len(b.calls), e), "ErrorMessage": "rejected: " + e.Detail}
			out.FailedEntryCount++
		}
		out.Entries = append(out.Entries, result)
	}
	_ = json.NewEncoder(w).Encode(out)
}

// taken returns the sequence numbers of a shop's events that the bus accepted, in order.
func (b *bus) taken(t *testing.T, shop catalog.ShopID) (sequence []int64) {
	t.Helper()
	for i, call := range b.calls {
		for _, e := range call {
			if d := e.detail(t); d.Customer == string(shop) && (b.fails == nil || b.fails(i+1, e) == "") {
				sequence = append(sequence, d.Sequence)
			}
		}
	}
	return sequence
}

// shops is a table with the logs of shops, and the function that publishes them.
type shops struct {
	client   *dynamodb.Client
	table    string
	log      *dynamo.EventLog
	records  int // how many stream records were made so far
	bus      *bus
	function publishfunction.Function
	lines    bytes.Buffer // of the function's log
}

func open(t *testing.T) *shops {
	t.Helper()
	s := &shops{client: dynamotest.Client(t), table: dynamotest.Table(t, "EventsTable"), bus: &bus{}}
	s.log = dynamo.NewEventLog(s.client, s.table, retention, time.Now, mathrand.Int64N, rand.Reader)
	server := httptest.NewServer(s.bus)
	t.Cleanup(server.Close)
	s.function = publishfunction.Function{
		Pages: dynamo.NewEventPages(s.client, s.table, time.Now, mathrand.Int64N), Name: "shops", Now: time.Now,
		Delay: func(int) time.Duration { return 0 }, Log: slog.New(slog.NewJSONHandler(&s.lines, nil)),
		Stack: "shopfront-prod",
		Bus: eventbridge.New(eventbridge.Options{
			Region: dynamotest.Region, BaseEndpoint: aws.String(server.URL),
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			}),
		}),
	}
	return s
}

// redemptions makes the events of new redemptions of SUMMER20.
func redemptions(t *testing.T, shop catalog.ShopID, count int) []event.Event {
	t.Helper()
	made := make([]event.Event, count)
	for i := range made {
		at := time.Date(2026, 11, 22, 1, 35, 52, 130e6, time.UTC)
		fact := event.OfRedemption(shop, voucher.Redemption{
			ID: rand.Text()[:22], Code: "SUMMER20", Nick: "Alder", At: at,
			Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
		})[0]
		var err error
		if made[i], err = fact.Event(); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// record appends new events to a shop's log, and returns the changes of the log's pages as the stream shows them.
func (s *shops) record(t *testing.T, shop catalog.ShopID, count int) (records []json.RawMessage) {
	t.Helper()
	before := s.pages(t, shop)
	if added, err := s.log.Append(t.Context(), shop, redemptions(t, shop, count)); added != count ||
		err != nil {
		t.Fatalf("%d of %d events were added: %v", added, count, err)
	}
	after := s.pages(t, shop)
	for _, sk := range slices.Sorted(maps.Keys(after)) {
		if old := encode(t, before[sk]); !bytes.Equal(old, encode(t, after[sk])) {
			records = append(records, s.change(t, after[sk], before[sk], after[sk]))
		}
	}
	return records
}

func (s *shops) pages(t *testing.T, shop catalog.ShopID) map[string]map[string]types.AttributeValue {
	t.Helper()
	out, err := s.client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(s.table), KeyConditionExpression: aws.String("customer = :customer"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":customer": &types.AttributeValueMemberS{Value: string(shop)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]map[string]types.AttributeValue)
	for _, it := range out.Items {
		if sk, is := it["sk"].(*types.AttributeValueMemberS); is {
			pages[sk.Value] = it
		}
	}
	return pages
}

// change returns a record of the table's stream.
func (s *shops) change(t *testing.T, keys, before, after map[string]types.AttributeValue) json.RawMessage {
	t.Helper()
	s.records++
	key := map[string]types.AttributeValue{"customer": keys["customer"], "sk": keys["sk"]}
	return fmt.Appendf(nil, `{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/%s/stream/2026-03-12T09:00:00.000",`+
		`"dynamodb":{"SequenceNumber":"%d","Keys":%s,"OldImage":%s,"NewImage":%s}}`,
		s.table, s.records, encode(t, key), encode(t, before), encode(t, after))
}

// encode encodes an item as streams do. A missing item becomes null.
func encode(t *testing.T, it map[string]types.AttributeValue) []byte {
	t.Helper()
	var image map[string]map[string]any
	for name, value := range it {
		if image == nil {
			image = make(map[string]map[string]any)
		}
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			image[name] = map[string]any{"S": v.Value}
		case *types.AttributeValueMemberN:
			image[name] = map[string]any{"N": v.Value}
		case *types.AttributeValueMemberB:
			image[name] = map[string]any{"B": v.Value}
		default:
			t.Fatalf("%s has the type %T", name, value)
		}
	}
	text, err := json.Marshal(image)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// handle runs the function. It returns the first record that Lambda must deliver again, or "".
func (s *shops) handle(t *testing.T, records ...json.RawMessage) string {
	t.Helper()
	return s.handleWithin(t.Context(), t, records...)
}

func (s *shops) handleWithin(ctx context.Context, t *testing.T, records ...json.RawMessage) string {
	t.Helper()
	response, err := s.function.Handle(ctx, publishfunction.Batch{Records: records})
	if err != nil || len(response.BatchItemFailures) > 1 {
		t.Fatal(response, err)
	}
	for _, failure := range response.BatchItemFailures {
		return failure.ItemIdentifier
	}
	return ""
}

func numbers(from, to int64) (all []int64) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func TestHandle_AddedEvents_AreSentInSequence(t *testing.T) {
	s := open(t)
	batch := slices.Concat(s.record(t, emberforge, 3), s.record(t, lantern, 48), s.record(t, emberforge, 2),
		s.record(t, lantern, 7))
	if len(batch) != 5 {
		t.Fatalf("%d pages changed; want 5, because the seven events begin another page", len(batch))
	}
	if failed := s.handle(t, batch...); failed != "" {
		t.Errorf("record %s failed, want none", failed)
	}
	for shop, count := range map[catalog.ShopID]int64{emberforge: 5, lantern: 55} {
		if got := s.bus.taken(t, shop); !slices.Equal(got, numbers(1, count)) {
			t.Errorf("the bus accepted the events %v of %s; want 1 to %d", got, shop, count)
		}
	}
	for _, call := range s.bus.calls {
		if len(call) > 10 {
			t.Errorf("a call has %d events; EventBridge accepts 10", len(call))
		}
	}
	sent := s.bus.calls[0][0]
	w, err := s.log.Window(t.Context(), emberforge, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	detail, err := wire.Encode(w.Events[0])
	if want := (entry{"shops", "shopfront", "redemption.created", string(detail), 1795311352.13}); err != nil ||
		sent != want {
		t.Errorf("sent %+v, %v; want %+v", sent, err, want)
	}
}

func TestHandle_ChangesThatAddNoEvent_SendNothing(t *testing.T) {
	s := open(t)
	s.record(t, emberforge, 1)
	page := s.pages(t, emberforge)["p#000000000000"]
	key := func(partition, sort string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"customer": &types.AttributeValueMemberS{Value: partition}, "sk": &types.AttributeValueMemberS{Value: sort},
		}
	}
	failed := s.handle(t,
		s.change(t, key("emberforge#07", "e#MTCXgwWFAhhCzmYLdegdZw"), nil,
			key("emberforge#07", "e#MTCXgwWFAhhCzmYLdegdZw")),
		s.change(t, key("#parked", "vouchers/emberforge#1/SUMMER20"), nil,
			key("#parked", "vouchers/emberforge#1/SUMMER20")),
		s.change(t, page, page, page), // the page is closed
		s.change(t, page, page, nil))  // the page has expired
	if failed != "" || len(s.bus.calls) > 0 || strings.Contains(s.lines.String(), "ERROR") {
		t.Errorf("record %q failed, sent %v, logged %s", failed, s.bus.calls, &s.lines)
	}
}

func TestHandle_RejectedEvents_AreSentAgainBeforeLaterOnes(t *testing.T) {
	s := open(t)
	batch := s.record(t, emberforge, 12)
	s.bus.fails = func(call int, e entry) string {
		if d := e.detail(t); call == 1 && (d.Sequence == 2 || d.Sequence == 5) || call == 2 && d.Sequence == 5 {
			return "ThrottlingException"
		}
		return ""
	}
	if failed := s.handle(t, batch...); failed != "" {
		t.Errorf("record %s failed, want none", failed)
	}
	if got, want := s.bus.taken(t, emberforge),
		[]int64{1, 3, 4, 6, 7, 8, 9, 10, 2, 5, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("the bus accepted %v; want %v", got, want)
	}
}

func TestHandle_EventIsRejectedAgainAndAgain_ItsRecordAndLaterOnesAreDeliveredAgain(t *testing.T) {
	s := open(t)
	batch := slices.Concat(s.record(t, emberforge, 2), s.record(t, emberforge, 3), s.record(t, lantern, 20))
	rejecting := true
	s.bus.fails = func(_ int, e entry) string {
		if d := e.detail(t); rejecting && d.Customer == string(emberforge) && d.Sequence == 4 {
			return "InternalFailure"
		}
		return ""
	}
	if failed := s.handle(t, batch...); failed != "2" {
		t.Errorf("record %q failed; want the second", failed)
	}
	if len(s.bus.calls) != 4 || len(s.bus.taken(t, lantern)) > 10 {
		t.Errorf("%d calls, want 4: the first, and three retries of the rejected event", len(s.bus.calls))
	}
	log := s.lines.String()
	if !strings.Contains(log, "InternalFailure") || !strings.Contains(log, `"Errors":1`) ||
		strings.Count(log, "\n") != 1 {
		t.Errorf("logged %s; want one line with the metric and the bus's code", log)
	}
	if strings.Contains(log, "Alder") || strings.Contains(log, "SUMMER20") {
		t.Errorf("logged %s; want nothing of the events", log)
	}
	s.bus.calls, rejecting = nil, false
	if failed := s.handle(t, batch[1:]...); failed != "" {
		t.Errorf("record %q failed, want none", failed)
	}
	if got := s.bus.taken(t, emberforge); !slices.Equal(got, numbers(3, 5)) {
		t.Errorf("the bus accepted %v; want 3 to 5", got)
	}
	if got := s.bus.taken(t, lantern); !slices.Equal(got, numbers(1, 20)) {
		t.Errorf("the bus accepted %v; want 1 to 20", got)
	}
}

func TestHandle_FailedCall_IsRetriedOrReported(t *testing.T) {
	for name, test := range map[string]struct {
		status func(call int) (int, string)
		failed string
		calls  int
	}{
		"throttled once": {func(call int) (int, string) {
			return map[int]int{1: 400}[call],
				"ThrottlingException"
		}, "", 2},
		"an error of the server": {func(call int) (int, string) {
			return map[int]int{1: 500}[call],
				"InternalException"
		}, "", 2},
		"always throttled": {func(int) (int, string) { return 400, "ThrottlingException" }, "1", 3},
		"not allowed":      {func(int) (int, string) { return 400, "AccessDeniedException" }, "1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			s.bus.status = test.status
			if failed := s.handle(t, s.record(t, emberforge, 3)...); failed != test.failed {
				t.Errorf("record %q failed, want %q", failed, test.failed)
			}
			if len(s.bus.calls) != test.calls {
				t.Errorf("%d calls, want %d", len(s.bus.calls), test.calls)
			}
			if logged := strings.Contains(s.lines.String(), `"Errors":1`); logged != (test.failed != "") {
				t.Errorf("logged %s", &s.lines)
			}
		})
	}
}

func TestHandle_BatchDeliveredAgain_SendsTheSameEvents(t *testing.T) {
	s := open(t)
	batch := s.record(t, emberforge, 3)
	s.handle(t, batch...)
	s.handle(t, append(batch, batch...)...) // a batch may contain a record twice
	if len(s.bus.calls) != 2 || len(s.bus.calls[1]) != 6 {
		t.Fatalf("sent %v; want two calls, the second with six events", s.bus.calls)
	}
	again := s.bus.calls[1]
	if !slices.Equal(again[:3], s.bus.calls[0]) || !slices.Equal(again[3:], s.bus.calls[0]) {
		t.Errorf("sent %v, then %v; want the same events twice", s.bus.calls[0], again)
	}
}

func TestHandle_EventsThatAreNoLongerKept_AreSkipped(t *testing.T) {
	s := open(t)
	batch := s.record(t, emberforge, 2)
	later := func() time.Time { return time.Now().Add(retention + 8*24*time.Hour) }
	s.function.Pages = dynamo.NewEventPages(s.client, s.table, later, mathrand.Int64N)
	if failed := s.handle(t, batch...); failed != "" || len(s.bus.calls) > 0 {
		t.Errorf("record %q failed, sent %v; want no failure and no call", failed, s.bus.calls)
	}
}

func TestHandle_UnreadablePage_DelaysNoOtherShop(t *testing.T) {
	s := open(t)
	batch := slices.Concat(s.record(t, emberforge, 1), s.record(t, lantern, 1))
	batch[0] = bytes.Replace(batch[0], []byte(`"B":"`), []byte(`"B":"AAAA`), 2)
	if failed := s.handle(t, append(batch, json.RawMessage(`"a record?"`))...); failed != "" {
		t.Errorf("record %q failed, want none", failed)
	}
	if len(s.bus.taken(t, emberforge)) != 0 || !slices.Equal(s.bus.taken(t, lantern), numbers(1, 1)) {
		t.Errorf("sent %v", s.bus.calls)
	}
	for _, part := range []string{`"Errors":1`, "the page p#000000000000 of the feed of emberforge is damaged", "malformed record"} {
		if !strings.Contains(s.lines.String(), part) {
			t.Errorf("logged %s; want %s", &s.lines, part)
		}
	}
}

func TestHandle_DamagedEvent_IsNamedAndDelaysNoOther(t *testing.T) {
	s := open(t)
	batch := s.record(t, emberforge, 2)
	out, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{
		TableName: aws.String(s.table), FilterExpression: aws.String("begins_with(sk, :event)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":event": &types.AttributeValueMemberS{Value: "e#"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	damaged := out.Items[0]
	damaged["data"] = &types.AttributeValueMemberS{Value: `{"id":`}
	put := &dynamodb.PutItemInput{TableName: aws.String(s.table), Item: damaged}
	if _, err := s.client.PutItem(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	failed := s.handle(t, batch...)
	key, _ := damaged["sk"].(*types.AttributeValueMemberS)
	id := strings.TrimPrefix(key.Value, "e#")
	if failed != "" || len(s.bus.taken(t, emberforge)) != 1 || !strings.Contains(s.lines.String(), id) {
		t.Errorf("record %q failed, sent %v; want no failure and one event; logged %s", failed, s.bus.calls, &s.lines)
	}
}

func TestHandle_NoTimeLeft_ReportsWhatWasNotSent(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // which is reserved for the report
	defer cancel()
	if failed := s.handleWithin(ctx, t, s.record(t, emberforge, 1)...); failed != "1" || len(s.bus.calls) > 0 {
		t.Errorf("record %q failed, sent %v; want the first record", failed, s.bus.calls)
	}
}

func TestHandle_LargestEvents_FitIntoACall(t *testing.T) {
	const limit = 256 << 10 // bytes
	order := checkout.Checkout{
		ID: "co_5vJ0wQm2Zt8sRk1Xf7bYcA", Product: "vip-rank", Variant: "30-days", Amount: 1,
		Data: strings.Repeat("\x01", checkout.MaxDataBytes),
		Code: strings.Repeat("é", 100), Nick: strings.Repeat("é", 100), Order: &checkout.Order{
			Payment: checkout.Payment{Provider: "stripe", Reference: strings.Repeat("p", checkout.MaxReferenceLength)},
			Placed:  time.Now(),
		},
	}
	fact := event.OfOrder(emberforge, order)[0]
	largest, err := fact.Event()
	if err != nil {
		t.Fatal(err)
	}
	largest.Sequence = 1 << 40
	detail, err := wire.Encode(largest)
	if entries := 10 * len(detail); err != nil || entries < 10*6*checkout.MaxDataBytes || entries > limit {
		t.Errorf("ten of the largest events have %d bytes, %v; EventBridge accepts %d", entries, err, limit)
	}
}

func TestNew_Delays_AreAtMostASecond(t *testing.T) {
	variables := map[string]string{"EVENT_BUS": "shops", "EVENTS_TABLE": "EventsTable"}
	function := publishfunction.New(lambdahttp.Environment{
		Lookup: func(name string) string { return variables[name] }, Now: time.Now, Log: io.Discard,
	}, dynamotest.Client(t))
	if function.Name != "shops" {
		t.Errorf("the bus is %q, want shops", function.Name)
	}
	for attempt := 1; attempt < 4; attempt++ {
		if delay := function.Delay(attempt); delay <= 0 || delay > time.Second {
			t.Errorf("the delay after attempt %d is %v, want at most a second", attempt, delay)
		}
	}
}
