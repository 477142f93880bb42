package eventsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
)

// run is a source that reads the stream of a table, and the function that it invokes.
type run struct {
	*eventsource.Source

	config   eventsource.Config
	client   *dynamodb.Client
	fail     func(operation string) (kind string) // returns the error of an operation of DynamoDB, or ""
	function func(codes []string) (response string)
	batches  []string // the codes of each batch, separated by spaces
	reports  []error
}

// newRun returns a run whose table is in memory, and whose function succeeds.
func newRun(t *testing.T) *run {
	t.Helper()
	r := &run{fail: func(string) string { return "" }}
	memory := memdynamo.New().Endpoint(memdynamo.Dials{})
	r.open(t, dynamotest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
		kind := r.fail(operation)
		if kind == "" {
			memory.ServeHTTP(w, request)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"the test's error"}`, kind)
	})))
	return r
}

// open creates the table and starts the source.
func (r *run) open(t *testing.T, endpoint string) {
	t.Helper()
	r.client = dynamolocal.NewClient(endpoint)
	r.config = eventsource.Config{
		Mapping:  eventsource.Mapping{Function: "record-events", Table: "vouchers", BatchSize: 4},
		Endpoint: endpoint, Functions: r, Path: filepath.Join(t.TempDir(), "stream"),
		Report: func(err error) { r.reports = append(r.reports, err) },
	}
	table := samtemplate.Table{
		Attributes: []types.AttributeDefinition{{AttributeName: aws.String("code"), AttributeType: "S"}},
		Keys:       []types.KeySchemaElement{{AttributeName: aws.String("code"), KeyType: types.KeyTypeHash}},
		Stream:     types.StreamViewTypeNewAndOldImages,
	}
	if err := table.Create(t.Context(), r.client, r.config.Table); err != nil {
		t.Fatal(err)
	}
	r.start(t)
}

// start replaces the source with a new one, which continues at the stored position.
func (r *run) start(t *testing.T) {
	t.Helper()
	r.function = func([]string) string { return "" }
	source, err := eventsource.New(r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.Source = source
}

func (r *run) Invoke(_ context.Context, function string, event []byte) ([]byte, error) {
	var batch events.DynamoDBEvent
	if err := json.Unmarshal(event, &batch); err != nil {
		return nil, err
	}
	var codes []string
	for _, each := range batch.Records {
		if function != "record-events" || each.EventSource != "aws:dynamodb" || each.EventSourceArn == "" ||
			each.EventName != "INSERT" || each.Change.SequenceNumber == "" {
			return nil, fmt.Errorf("%s got the record %+v", function, each)
		}
		codes = append(codes, each.Change.NewImage["code"].String())
	}
	r.batches = append(r.batches, strings.Join(codes, " "))
	response := r.function(codes)
	if response == "crash" {
		return nil, errors.New("the function crashed")
	}
	for i, each := range batch.Records { // a number stands for the sequence number of a record
		response = strings.Replace(response, fmt.Sprintf(`"%d"`, i), `"`+each.Change.SequenceNumber+`"`, 1)
	}
	return []byte(response), nil
}

func (r *run) put(t *testing.T, codes ...string) {
	t.Helper()
	for _, code := range codes {
		if _, err := r.client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(r.config.Table),
			Item:      map[string]types.AttributeValue{"code": &types.AttributeValueMemberS{Value: code}},
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// poll polls once and checks the batches that the function received.
func (r *run) poll(t *testing.T, want ...string) {
	t.Helper()
	r.batches = nil
	r.Poll(t.Context())
	if !slices.Equal(r.batches, want) {
		t.Fatalf("the function received the batches %q, want %q; reported: %v", r.batches, want, r.reports)
	}
}

// wantReports checks the errors that were reported since the last call of wantReports. Each must contain the wanted
// text.
func (r *run) wantReports(t *testing.T, want ...string) {
	t.Helper()
	var texts []string
	for _, err := range r.reports {
		texts = append(texts, err.Error())
	}
	r.reports = nil
	if !slices.EqualFunc(texts, want, strings.Contains) {
		t.Errorf("the reported errors are %q, want %q", texts, want)
	}
}

// failNext makes the next calls of an operation fail.
func (r *run) failNext(operation, kind string, times int) {
	r.fail = func(called string) string {
		if called != operation || times == 0 {
			return ""
		}
		times--
		return kind
	}
}

func TestSource_DynamoDBLocal_DeliversEachChangeOnce(t *testing.T) {
	r := &run{}
	r.open(t, localtest.Endpoint(t))
	for _, codes := range [][]string{{"SUMMER20", "ALDER-1", "ALDER-2"}, {"WELCOME-COINS"}} {
		r.put(t, codes...)
		for r.batches = nil; len(strings.Fields(strings.Join(r.batches, " "))) < len(codes); {
			r.Poll(t.Context())
		}
		if got := strings.Fields(strings.Join(r.batches, " ")); !slices.Equal(got, codes) {
			t.Errorf("the function got %q, want %q", got, codes)
		}
		r.start(t)
	}
}

func TestSource_Batch_HasAtMostItsSize(t *testing.T) {
	r := newRun(t)
	r.put(t, "A", "B", "C", "D", "E")
	r.poll(t, "A B C D", "E")
	r.poll(t)
	r.wantReports(t)
}

// DynamoDB Local sometimes responds with TrimmedDataAccessException once although nothing is trimmed. So only the
// second in a row counts.
func TestSource_TrimmedDataErrorTwiceInARow_BeginsWithTheOldestRecord(t *testing.T) {
	r := newRun(t)
	r.put(t, "A")
	r.poll(t, "A")
	for range 2 {
		r.failNext("GetRecords", "TrimmedDataAccessException", 1)
		r.poll(t)
		r.poll(t)
	}
	for _, operation := range []string{"GetRecords", "GetShardIterator"} {
		r.start(t)
		r.failNext(operation, "TrimmedDataAccessException", 2)
		r.poll(t)
		r.poll(t)
		r.poll(t, "A")
	}
	r.wantReports(t)
}

func TestSource_ErrorOfDynamoDB_IsReportedOnceAndRetried(t *testing.T) {
	for _, operation := range []string{"DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"} {
		r := newRun(t)
		r.put(t, "A")
		r.failNext(operation, "InternalServerError", 2)
		r.poll(t)
		r.poll(t)
		r.wantReports(t, operation+": InternalServerError: the test's error")
		r.poll(t, "A")
		r.wantReports(t)
	}
}

func TestSource_IdleStream_IsPolledEachSecondUntilARecordArrives(t *testing.T) {
	r := newRun(t)
	const busy, idle = 250 * time.Millisecond, time.Second
	wantWait := func(want time.Duration) {
		t.Helper()
		if wait := r.Poll(t.Context()); wait != want {
			t.Errorf("the next poll is in %s, want %s", wait, want)
		}
	}
	wantWait(idle)
	r.put(t, "A")
	r.function = func([]string) string { return "crash" }
	wantWait(busy)
	r.function = func([]string) string { return "" }
	wantWait(busy) // more records may follow
	wantWait(idle)
}

func TestSource_Response_DecidesWhatIsDeliveredAgain(t *testing.T) {
	for response, again := range map[string][]string{
		"":                           nil,
		`{"batchItemFailures":null}`: nil,
		`{"batchItemFailures":[]}`:   nil,
		`{"batchItemFailures":[{"itemIdentifier":"3"},{"itemIdentifier":"2"}]}`: {"C D"},
		`{"batchItemFailures":[{"itemIdentifier":"0"}]}`:                        {"A B C D"},
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:                         {"A B C D"},
		`"done"`: {"A B C D"},
		"crash":  {"A B C D"},
	} {
		t.Run(response, func(t *testing.T) {
			r := newRun(t)
			r.function = func([]string) string { return response }
			r.put(t, "A", "B", "C", "D")
			r.poll(t, "A B C D")
			if again != nil {
				r.wantReports(t, "function")
				r.start(t) // a new run delivers the same records
			}
			r.poll(t, again...)
			r.wantReports(t)
		})
	}
}

func TestSource_RunEndsDuringABatch_NextRunDeliversItAgain(t *testing.T) {
	r := newRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.function = func([]string) string {
		cancel()
		return "crash"
	}
	r.put(t, "A")
	r.Run(ctx)
	r.wantReports(t)
	r.start(t)
	r.poll(t, "A")
}

func TestSource_ExpiredIterator_IsReplacedWithoutRepeatingRecords(t *testing.T) {
	r := newRun(t)
	r.put(t, "A")
	r.poll(t, "A")
	r.failNext("GetRecords", "ExpiredIteratorException", 1)
	r.poll(t)
	r.put(t, "B")
	r.poll(t, "B")
	r.wantReports(t)
}
