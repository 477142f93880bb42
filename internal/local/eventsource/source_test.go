package eventsource_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSource_Batch_IsDeliveredWhenFullOrAfterItsWindowOrAtTheShardsEnd(t *testing.T) {
	settings := mapping()
	settings.MaximumBatchingWindow = time.Second
	r := newRun(t, settings)
	r.stream.put(0, r.now, "A", "B", "C", "D", "E")
	r.poll(t, "A B C D")
	r.poll(t)
	r.now = r.now.Add(time.Second)
	r.poll(t, "E")
	r.stream.put(0, r.now, "F")
	r.poll(t)
	r.stream.shards[0].isClosed = true
	r.poll(t, "F")
	r.wantReports(t)
}

func TestSource_RecordsTooLargeForOneEvent_AreSentInSeveral(t *testing.T) {
	r := newRun(t, mapping())
	large := []string{strings.Repeat("A", 3<<20), strings.Repeat("B", 3<<20), "C"}
	r.stream.put(0, r.now, large...)
	r.poll(t, large[0], large[1]+" C")
}

func TestSource_Child_IsReadAfterItsParent(t *testing.T) {
	r := newRun(t, mapping())
	r.stream.shards = []shard{
		{id: "shard-3", parent: "shard-1"}, {id: "shard-2", parent: "trimmed"}, {id: "shard-1"},
	}
	r.stream.put(0, r.now, "CHILD")
	r.stream.put(1, r.now, "ORPHAN")
	r.stream.put(2, r.now, "PARENT")
	r.poll(t, "ORPHAN", "PARENT")
	r.function = func([]string) string { return "crash" }
	r.stream.put(2, r.now, "LAST")
	r.stream.shards[2].isClosed = true
	r.poll(t, "LAST")
	r.poll(t, "LAST") // the parent was read to its end but is not processed yet
	r.function = func([]string) string { return "" }
	r.poll(t, "LAST")
	r.poll(t, "CHILD")
	r.stream.shards = r.stream.shards[:2] // DynamoDB deletes the parent
	r.now = r.now.Add(5 * time.Second)
	r.stream.put(0, r.now, "SECOND-CHILD")
	r.poll(t, "SECOND-CHILD")
}

func TestSource_Shards_AreListedAgainAfterFiveSecondsOrWhenOneCloses(t *testing.T) {
	r := newRun(t, mapping())
	wantLists := func(want int) {
		t.Helper()
		count := 0
		for _, call := range r.stream.calls {
			if call == "DescribeStream" {
				count++
			}
		}
		if count != want {
			t.Errorf("the shards were listed %d times, want %d", count, want)
		}
	}
	r.poll(t)
	r.now = r.now.Add(5*time.Second - 1)
	r.poll(t)
	wantLists(1)
	r.stream.shards = append(r.stream.shards, shard{id: "shard-2"})
	r.stream.put(1, r.now, "A")
	r.now = r.now.Add(1)
	r.poll(t, "A")
	wantLists(2)
	r.stream.shards[0].isClosed = true
	r.stream.shards = append(r.stream.shards, shard{id: "shard-3", parent: "shard-1"})
	r.stream.put(2, r.now, "CHILD")
	r.poll(t)
	r.poll(t, "CHILD")
	r.poll(t)
	wantLists(3)
	r.stream.shards[1].isClosed, r.stream.shards[2].isClosed = true, true
	r.poll(t)
	r.poll(t)
	r.poll(t) // no shard is open
	wantLists(5)
}

func TestSource_IdleStream_IsPolledEachSecondUntilARecordArrives(t *testing.T) {
	settings := mapping()
	settings.MaximumBatchingWindow = time.Second
	r := newRun(t, settings)
	const busy, idle = 250 * time.Millisecond, time.Second
	wantWait := func(want time.Duration) {
		t.Helper()
		if wait := r.Poll(t.Context()); wait != want {
			t.Errorf("the next poll is in %s, want %s", wait, want)
		}
	}
	wantWait(idle)
	r.stream.put(0, r.now, "A")
	wantWait(busy)
	wantWait(busy) // A waits until its window has passed
	r.now = r.now.Add(time.Second)
	r.function = func([]string) string { return "crash" }
	wantWait(busy)
	r.function = func([]string) string { return "" }
	wantWait(idle)
	r.stream.put(0, r.now, "B", "C", "D", "E")
	wantWait(busy) // more records may follow
	wantWait(idle)
	r.failNext("GetRecords", "ExpiredIteratorException", 1)
	wantWait(busy)
	wantWait(idle)
	r.failNext("GetRecords", "InternalServerError", 1)
	wantWait(busy)
	wantWait(idle)
}

func TestSource_Response_DecidesWhatIsDeliveredAgain(t *testing.T) {
	for response, again := range map[string]string{
		"":                           "",
		"null":                       "",
		"{}":                         "",
		`{"batchItemFailures":null}`: "",
		`{"batchItemFailures":[]}`:   "",
		`{"batchItemFailures":[{"itemIdentifier":"100003"},{"itemIdentifier":"100002"}]}`: "C D",
		`{"batchItemFailures":[{"itemIdentifier":"100002"},{"itemIdentifier":"100003"}]}`: "C D",
		`{"batchItemFailures":[{"itemIdentifier":"100003"}]}`:                             "D",
		`{"batchItemFailures":[{"itemIdentifier":"100000"}]}`:                             "A B C D",
		`{"batchItemFailures":[{"itemIdentifier":"900000"}]}`:                             "A B C D",
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:                                   "A B C D",
		`{"batchItemFailures":[{"itemIdentifier":null}]}`:                                 "A B C D",
		`{"batchItemFailures":[{"ItemIdentifier":"100002"}]}`:                             "A B C D",
		`{"batchItemFailures":[{"itemIdentifier":"100002"},{}]}`:                          "A B C D",
		`"done"`: "A B C D",
		"crash":  "A B C D",
	} {
		t.Run(response, func(t *testing.T) {
			settings := mapping()
			settings.BisectBatchOnFunctionError = false
			r := newRun(t, settings)
			r.function = func([]string) string { return response }
			r.stream.put(0, r.now, "A", "B", "C", "D")
			r.poll(t, "A B C D")
			r.function = func([]string) string { return "" }
			if again == "" {
				r.wantReports(t)
				r.poll(t)
				return
			}
			r.wantReports(t, "function")
			r.poll(t, again)
		})
	}
}

func TestSource_WithoutReportBatchItemFailures_ResponseIsIgnored(t *testing.T) {
	settings := mapping()
	settings.ReportBatchItemFailures = false
	r := newRun(t, settings)
	r.function = func([]string) string { return `{"batchItemFailures":[{"itemIdentifier":"100000"}]}` }
	r.stream.put(0, r.now, "A")
	r.poll(t, "A")
	r.poll(t)
}

func TestSource_RecordThatAlwaysFails_IsIsolatedByBisectionAndDiscarded(t *testing.T) {
	settings := mapping()
	settings.MaximumRetryAttempts = 1
	r := newRun(t, settings)
	r.function = func(codes []string) string {
		if slices.Contains(codes, "POISON") {
			return "crash"
		}
		return ""
	}
	r.stream.put(0, r.now, "A", "B", "POISON", "D", "E")
	r.poll(t, "A B POISON D")
	r.poll(t, "A B", "POISON D")
	r.poll(t, "POISON")
	r.wantReports(t, "the function crashed") // reported once, although the function crashed three times
	r.poll(t, "POISON", "D", "E")
	r.wantReports(t, "discarded 1 records that record-redemptions never processed: the function crashed "+
		"("+arn+", shard-1, sequence numbers 100002 to 100002)")
	r.stream.put(0, r.now, "POISON")
	r.poll(t, "POISON")
	r.poll(t, "POISON") // the retries of the first POISON do not count for this one
	r.poll(t)
}

func TestSource_RetriesUsedUpWithoutBisection_BatchIsDiscarded(t *testing.T) {
	settings := mapping()
	settings.MaximumRetryAttempts, settings.BisectBatchOnFunctionError = 0, false
	r := newRun(t, settings)
	r.function = func(codes []string) string {
		if codes[0] == "A" {
			return "crash"
		}
		return ""
	}
	r.stream.put(0, r.now, "A", "B", "C", "D", "E")
	r.poll(t, "A B C D", "E")
	r.wantReports(t, "discarded 4 records that record-redemptions never processed: the function crashed")
}

func TestSource_OldRecords_AreDiscarded(t *testing.T) {
	r := newRun(t, mapping())
	r.function = func([]string) string { return "crash" }
	r.stream.put(0, r.now.Add(-12*time.Hour-time.Second), "A", "B")
	r.stream.put(0, r.now.Add(-12*time.Hour), "C")
	r.poll(t, "C")
	r.wantReports(t, "discarded 2 records that record-redemptions never processed: they are older than 12h0m0s", "the function crashed")
	r.now = r.now.Add(time.Second)
	r.poll(t)
	r.wantReports(t, "discarded 1 records")

	settings := mapping()
	settings.MaximumRecordAge = -1
	unlimited := newRun(t, settings)
	unlimited.stream.put(0, r.now.Add(-23*time.Hour), "A")
	unlimited.poll(t, "A")
}

func TestSource_Restart_ContinuesAfterTheLastProcessedRecord(t *testing.T) {
	r := newRun(t, mapping())
	r.stream.shards = []shard{{id: "shard-1", isClosed: true}, {id: "shard-2", parent: "shard-1"}}
	r.stream.put(0, r.now, "A", "B")
	r.stream.put(1, r.now, "C")
	r.poll(t, "A B", "C")
	r.function = func([]string) string { return `{"batchItemFailures":[{"itemIdentifier":"200002"}]}` }
	r.stream.put(1, r.now, "D", "E", "F")
	r.poll(t, "D E F")
	r.function = func([]string) string { return "" }
	r.start(t, mapping())
	r.poll(t, "E F")

	other := mapping()
	other.Function = "publish-redemptions" // this function has its own positions
	r.start(t, other)
	r.poll(t)
	r.wantReports(t, "did not process every record", "publish-redemptions got the record")
}

func TestSource_RunEndsDuringABatch_NextRunDeliversItAgain(t *testing.T) {
	settings := mapping()
	settings.MaximumRetryAttempts = 0
	r := newRun(t, settings)
	ctx, cancel := context.WithCancel(t.Context())
	r.function = func([]string) string {
		cancel()
		return "crash"
	}
	r.stream.put(0, r.now, "A")
	r.Poll(ctx)
	r.wantReports(t)
	r.function = func([]string) string { return "" }
	r.start(t, settings)
	r.poll(t, "A")
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

func TestSource_ExpiredIterator_IsReplacedWithoutRepeatingRecords(t *testing.T) {
	settings := mapping()
	settings.MaximumBatchingWindow = time.Minute
	r := newRun(t, settings)
	r.stream.put(0, r.now, "A", "B", "C", "D", "E")
	r.poll(t, "A B C D") // E waits until its window has passed
	r.failNext("GetRecords", "ExpiredIteratorException", 1)
	r.poll(t)
	r.stream.put(0, r.now, "F")
	r.now = r.now.Add(time.Minute)
	r.poll(t, "E F")
	r.wantReports(t)
	wantIterators(t, r, "TRIM_HORIZON", "AFTER_SEQUENCE_NUMBER")
}

// DynamoDB Local sometimes responds with TrimmedDataAccessException once although nothing is trimmed. So only the second in a row counts.
func TestSource_TrimmedDataErrorTwiceInARow_BeginsWithTheOldestRecord(t *testing.T) {
	r := newRun(t, mapping())
	r.stream.put(0, r.now, "A")
	r.poll(t, "A")
	for range 2 {
		r.failNext("GetRecords", "TrimmedDataAccessException", 1)
		r.poll(t)
		r.poll(t)
	}
	for _, operation := range []string{"GetRecords", "GetShardIterator"} {
		r.start(t, mapping())
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
		r := newRun(t, mapping())
		r.stream.put(0, r.now, "A")
		r.failNext(operation, "InternalServerError", 2)
		r.poll(t)
		r.poll(t)
		r.wantReports(t, operation+": InternalServerError: the test's error")
		r.poll(t, "A")
		r.wantReports(t)
	}
}

func TestSource_ErrorAfterASuccess_IsReportedAgain(t *testing.T) {
	r := newRun(t, mapping())
	for range 2 {
		r.failNext("DescribeStream", "InternalServerError", 1)
		r.poll(t)
		r.poll(t)
		r.now = r.now.Add(5 * time.Second) // until the shards are listed again
	}
	r.wantReports(t, "InternalServerError", "InternalServerError")
}

func TestSource_BatchThatFails_IsRetriedBeforeTheNextRead(t *testing.T) {
	r := newRun(t, mapping())
	r.function = func([]string) string { return "crash" }
	r.stream.put(0, r.now, "A")
	r.poll(t, "A")
	r.stream.put(0, r.now, "B")
	r.poll(t, "A")
	reads := len(slices.DeleteFunc(r.stream.calls, func(call string) bool { return call != "GetRecords" }))
	if reads != 1 {
		t.Errorf("the shard was read %d times, want once", reads)
	}
}

func TestSource_ShardThatFails_DoesNotStopAnother(t *testing.T) {
	r := newRun(t, mapping())
	r.stream.shards = append(r.stream.shards, shard{id: "shard-2"})
	r.function = func(codes []string) string {
		if codes[0] == "A" {
			return "crash"
		}
		return ""
	}
	r.stream.put(0, r.now, "A")
	r.stream.put(1, r.now, "B")
	r.poll(t, "A", "B")
	r.stream.put(1, r.now, "C")
	r.poll(t, "A", "C")
	r.wantReports(t, "the function crashed")
}
