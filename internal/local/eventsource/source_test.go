package eventsource_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSource_Batch_HasAtMostItsSize(t *testing.T) {
	r := newRun(t)
	r.stream.put(0, "A", "B", "C", "D", "E")
	r.poll(t, "A B C D", "E")
	r.poll(t)
	r.wantReports(t)
}

func TestSource_Child_IsReadAfterItsParent(t *testing.T) {
	r := newRun(t)
	r.stream.shards = []shard{
		{id: "shard-3", parent: "shard-1"}, {id: "shard-2", parent: "trimmed"}, {id: "shard-1"},
	}
	r.stream.put(0, "CHILD")
	r.stream.put(1, "ORPHAN")
	r.stream.put(2, "PARENT")
	r.poll(t, "ORPHAN", "PARENT")
	r.function = func([]string) string { return "crash" }
	r.stream.put(2, "LAST")
	r.stream.shards[2].isClosed = true
	r.poll(t, "LAST")
	r.poll(t, "LAST") // the parent was read to its end but is not processed yet
	r.function = func([]string) string { return "" }
	r.poll(t, "LAST")
	r.poll(t, "CHILD")
	r.stream.shards = r.stream.shards[:2] // DynamoDB deletes the parent
	r.now = r.now.Add(5 * time.Second)
	r.stream.put(0, "SECOND-CHILD")
	r.poll(t, "SECOND-CHILD")
}

// failNext makes the stream respond to the next calls of an operation with an error.
func (r *run) failNext(operation, kind string, times int) {
	r.stream.fail = func(called string) string {
		if called != operation || times == 0 {
			return ""
		}
		times--
		return kind
	}
}

// DynamoDB Local sometimes responds with TrimmedDataAccessException once although nothing is trimmed. So only the
// second in a row counts.
func TestSource_TrimmedDataErrorTwiceInARow_BeginsWithTheOldestRecord(t *testing.T) {
	r := newRun(t)
	r.stream.put(0, "A")
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
	after := "AFTER_SEQUENCE_NUMBER"
	wantIterators(t, r, "TRIM_HORIZON", after, after, after, after, "TRIM_HORIZON", after, after, "TRIM_HORIZON")
}

func wantIterators(t *testing.T, r *run, want ...string) {
	t.Helper()
	var kinds []string
	for _, call := range r.stream.calls {
		if kind, is := strings.CutPrefix(call, "GetShardIterator "); is {
			kinds = append(kinds, kind)
		}
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("the iterators have the types %q, want %q", kinds, want)
	}
}

func TestSource_ErrorOfDynamoDB_IsReportedOnceAndRetried(t *testing.T) {
	for _, operation := range []string{"DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords"} {
		r := newRun(t)
		r.stream.put(0, "A")
		r.failNext(operation, "InternalServerError", 2)
		r.poll(t)
		r.poll(t)
		r.wantReports(t, operation+": InternalServerError: the test's error")
		r.poll(t, "A")
		r.wantReports(t)
	}
}

func TestSource_ShardThatFails_DoesNotStopAnother(t *testing.T) {
	r := newRun(t)
	r.stream.shards = append(r.stream.shards, shard{id: "shard-2"})
	r.function = func(codes []string) string {
		if codes[0] == "A" {
			return "crash"
		}
		return ""
	}
	r.stream.put(0, "A")
	r.stream.put(1, "B")
	r.poll(t, "A", "B")
	r.stream.put(1, "C")
	r.poll(t, "A", "C")
	r.wantReports(t, "the function crashed")
}

func TestSource_Shards_AreListedAgainAfterFiveSecondsOrWhenOneCloses(t *testing.T) {
	r := newRun(t)
	r.poll(t)
	r.stream.shards = append(r.stream.shards, shard{id: "shard-2"})
	r.stream.put(1, "A")
	r.poll(t)
	r.now = r.now.Add(5 * time.Second)
	r.poll(t, "A")
	r.stream.shards[0].isClosed = true
	r.stream.shards = append(r.stream.shards, shard{id: "shard-3", parent: "shard-1"})
	r.stream.put(2, "CHILD")
	r.poll(t)
	r.poll(t, "CHILD")
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
	r.stream.put(0, "A")
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
		`{"batchItemFailures":[{"itemIdentifier":"100003"},{"itemIdentifier":"100002"}]}`: {"C D"},
		`{"batchItemFailures":[{"itemIdentifier":"100003"}]}`:                             {"D"},
		// half of the batch, and then the rest
		`{"batchItemFailures":[{"itemIdentifier":"100000"}]}`: {"A B", "C D"},
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:       {"A B", "C D"},
		`"done"`: {"A B", "C D"},
		"crash":  {"A B", "C D"},
	} {
		t.Run(response, func(t *testing.T) {
			r := newRun(t)
			r.function = func([]string) string { return response }
			r.stream.put(0, "A", "B", "C", "D")
			r.poll(t, "A B C D")
			r.function = func([]string) string { return "" }
			if again != nil {
				r.wantReports(t, "function")
			}
			r.poll(t, again...)
			r.wantReports(t)
		})
	}
}

func TestSource_RecordThatAlwaysFails_IsIsolatedAndRetried(t *testing.T) {
	r := newRun(t)
	r.function = func(codes []string) string {
		if slices.Contains(codes, "POISON") {
			return "crash"
		}
		return ""
	}
	r.stream.put(0, "A", "B", "POISON", "D", "E")
	r.poll(t, "A B POISON D")
	r.poll(t, "A B", "POISON D E")
	r.poll(t, "POISON")
	r.poll(t, "POISON")
	r.wantReports(t, "the function crashed") // reported once
	r.function = func([]string) string { return "" }
	r.poll(t, "POISON", "D E")
}

func TestSource_Restart_ContinuesAfterTheLastProcessedRecord(t *testing.T) {
	r := newRun(t)
	r.stream.shards = []shard{{id: "shard-1", isClosed: true}, {id: "shard-2", parent: "shard-1"}}
	r.stream.put(0, "A", "B")
	r.stream.put(1, "C")
	r.poll(t, "A B", "C")
	r.function = func([]string) string { return `{"batchItemFailures":[{"itemIdentifier":"200002"}]}` }
	r.stream.put(1, "D", "E", "F")
	r.poll(t, "D E F")
	r.function = func([]string) string { return "" }
	r.start(t)
	r.poll(t, "E F")
}

func TestSource_RunEndsDuringABatch_NextRunDeliversItAgain(t *testing.T) {
	r := newRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.function = func([]string) string {
		cancel()
		return "crash"
	}
	r.stream.put(0, "A")
	r.Poll(ctx)
	r.wantReports(t)
	r.function = func([]string) string { return "" }
	r.start(t)
	r.poll(t, "A")
}

func TestSource_ExpiredIterator_IsReplacedWithoutRepeatingRecords(t *testing.T) {
	r := newRun(t)
	r.stream.put(0, "A")
	r.poll(t, "A")
	r.failNext("GetRecords", "ExpiredIteratorException", 1)
	r.poll(t)
	r.stream.put(0, "B")
	r.poll(t, "B")
	r.wantReports(t)
}
