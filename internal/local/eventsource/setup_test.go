package eventsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"shopfront/internal/local/eventsource"
)

const arn = "arn:aws:dynamodb:ddblocal:000000000000:table/VouchersTable/stream/2026-11-22T01:35:52.130"

// stream is a fake DynamoDB with one stream. Its shards can end and split, unlike the shards of DynamoDB Local.
type stream struct {
	mu     sync.Mutex
	shards []shard
	// fail returns the type of the error with which an operation should respond, or "" if it should succeed.
	fail  func(operation string) string
	calls []string // the operations so far; for a new iterator, also its type
}

type shard struct {
	id, parent string
	records    []record
	isClosed   bool
}

type record struct {
	code     string // the voucher's code
	sequence string
}

// respond serves an operation of DynamoDB. An iterator consists of the shard's ID and the sequence number after which
// to read.
func (s *stream) respond(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct{ StreamArn, ShardID, ShardIteratorType, SequenceNumber, ShardIterator string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.calls = append(s.calls, strings.TrimSpace(operation+" "+in.ShardIteratorType))
	if s.fail != nil {
		if kind := s.fail(operation); kind != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"the test's error"}`, kind)
			return
		}
	}
	var out any
	switch operation {
	case "DescribeTable":
		out = map[string]any{"Table": map[string]string{"LatestStreamArn": arn}}
	case "DescribeStream":
		var list []map[string]string
		for _, each := range s.shards {
			list = append(list, map[string]string{"ShardId": each.id, "ParentShardId": each.parent})
		}
		out = map[string]any{"StreamDescription": map[string]any{"Shards": list}}
	case "GetShardIterator":
		out = map[string]string{"ShardIterator": in.ShardID + " " + in.SequenceNumber}
	case "GetRecords":
		out = s.page(in.ShardIterator)
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}

func (s *stream) page(iterator string) any {
	id, after, _ := strings.Cut(iterator, " ")
	read := s.shards[slices.IndexFunc(s.shards, func(each shard) bool { return each.id == id })]
	list := []any{}
	for _, each := range read.records {
		if each.sequence > after {
			after = each.sequence
			list = append(list, map[string]any{
				"eventID": "e" + each.sequence, "eventName": "INSERT", "eventSource": "aws:dynamodb",
				"dynamodb": map[string]any{
					"SequenceNumber": each.sequence,
					"Keys": map[string]any{
						"customer": map[string]string{"S": "emberforge"},
						"sk":       map[string]string{"S": each.code},
					},
				},
			})
		}
	}
	page := map[string]any{"Records": list}
	if !read.isClosed {
		page["NextShardIterator"] = id + " " + after
	}
	return page
}

// put adds a record for each voucher code to a shard.
func (s *stream) put(shard int, codes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, code := range codes {
		read := &s.shards[shard]
		read.records = append(read.records, record{code, fmt.Sprintf("%d%05d", shard+1, len(read.records))})
	}
}

// run is a source that reads a fake stream, and the function that it invokes.
type run struct {
	*eventsource.Source

	stream   *stream
	now      time.Time
	path     string                                 // the file of the positions
	function func(codes []string) (response string) // returns "crash" to fail
	batches  []string                               // the codes of each batch, separated by spaces
	reports  []error
}

func (r *run) Invoke(_ context.Context, function string, event []byte) ([]byte, error) {
	var batch events.DynamoDBEvent
	if err := json.Unmarshal(event, &batch); err != nil {
		return nil, err
	}
	var codes []string
	for _, each := range batch.Records {
		if function != "record-redemptions" || each.EventSourceArn != arn ||
			each.EventID != "e"+each.Change.SequenceNumber {
			return nil, fmt.Errorf("%s got the record %+v", function, each)
		}
		codes = append(codes, each.Change.Keys["sk"].String())
	}
	r.batches = append(r.batches, strings.Join(codes, " "))
	if response := r.function(codes); response != "crash" {
		return []byte(response), nil
	}
	return nil, errors.New("the function crashed")
}

// mapping returns a mapping like the ones in the shop's template.
func mapping() eventsource.Mapping {
	return eventsource.Mapping{
		Function: "record-redemptions", Table: "VouchersTable", BatchSize: 4,
	}
}

// newRun returns a run with a stream of one open shard, and with a function that succeeds.
func newRun(t *testing.T) *run {
	t.Helper()
	r := &run{
		stream: &stream{shards: []shard{{id: "shard-1"}}}, now: time.Date(2026, 11, 22, 1, 35, 52, 0, time.UTC),
		path: filepath.Join(t.TempDir(), "streams.json"), function: func([]string) string { return "" },
	}
	r.start(t)
	return r
}

// start replaces the source with a new one, which continues at the stored positions.
func (r *run) start(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(r.stream.respond))
	t.Cleanup(server.Close)
	source, err := eventsource.New(eventsource.Config{
		Mapping: mapping(), Endpoint: server.URL, Functions: r, Path: r.path,
		Now: func() time.Time { return r.now }, Report: func(err error) { r.reports = append(r.reports, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Source = source
}

// poll polls once and checks the batches that the function received.
func (r *run) poll(t *testing.T, want ...string) {
	t.Helper()
	r.batches = nil
	r.Poll(t.Context())
	if !slices.Equal(r.batches, want) {
		t.Fatalf("the function received the batches %q, want %q", r.batches, want)
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
