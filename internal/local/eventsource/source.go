// Package eventsource invokes functions for the local run. It invokes them with the records of DynamoDB streams, as Lambda's event
// source mappings do, and on schedules, as EventBridge's rules do.
//
// It passes on the records that DynamoDB Local returns from GetRecords. They have the form of the records in Lambda's event, except that
// eventSourceARN is missing. The package does not emulate parallelization factors, filters or tumbling windows.
//
// The package knows nothing about templates or the shop, and imports no other package of this module. No Lambda function may import it.
// References: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html,
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html.
package eventsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// pollInterval is the time between two reads of a shard, as in Lambda.
	pollInterval = 250 * time.Millisecond
	// idleInterval replaces pollInterval while no records arrive, because DynamoDB Local is slow at reading a stream with many records.
	idleInterval = time.Second
	// listInterval is how long a list of shards is used. The list is renewed earlier if a shard closes.
	listInterval = 5 * time.Second
	// maxEvent is the largest total size of a batch's records, in bytes. It is Lambda's limit of 6 MB, minus some room for the rest of
	// the event's JSON.
	maxEvent = 6<<20 - 1<<10
)

// Invoker invokes functions and returns their responses.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) ([]byte, error)
}

// Mapping says which table's stream invokes which function, and how. The fields mean the same as in Lambda's event source mappings.
type Mapping struct {
	Function, Table            string
	BatchSize                  int
	MaximumBatchingWindow      time.Duration
	MaximumRetryAttempts       int           // a negative value means no limit
	MaximumRecordAge           time.Duration // a negative value means no limit
	BisectBatchOnFunctionError bool
	ReportBatchItemFailures    bool
}

// Config configures a Source.
type Config struct {
	Mapping

	Endpoint  string // the URL of DynamoDB Local
	Functions Invoker
	Positions *Positions
	Now       func() time.Time
	// Report receives an error each time that records are discarded. It also receives the error of a poll, unless
	// the poll before had the same error.
	Report func(error)
}

// Source reads a stream and delivers each record at least once, or reports that it discards the record. It begins with the oldest record,
// or continues where an earlier Source with the same positions stopped. A shard's records are delivered in order, and after the records of
// the shard's parent.
type Source struct {
	Config

	arn      string // the stream's ARN; empty until it is known
	listed   []description
	listedAt time.Time // if it is zero, the next poll lists the shards again
	shards   map[string]*shard
	reported string // the last reported error
}

// New returns a source. It reads nothing before Run or Poll.
func New(config Config) *Source { return &Source{Config: config} }

// Run polls until the context ends. If the context ends while the function processes a batch, the next run delivers the batch again.
func (s *Source) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-time.After(s.Poll(ctx)):
		case <-ctx.Done():
		}
	}
}

// Poll reads each shard once and delivers what is due. It returns how long to wait before the next poll.
func (s *Source) Poll(ctx context.Context) time.Duration {
	err := s.poll(ctx)
	switch {
	case ctx.Err() != nil: // the run ends
	case err == nil:
		s.reported = ""
	case err.Error() != s.reported:
		s.reported = err.Error()
		s.Report(err)
	}
	for _, sh := range s.shards {
		if err != nil || !sh.isIdle() {
			return pollInterval
		}
	}
	return idleInterval
}

func (s *Source) poll(ctx context.Context) error {
	err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, each := range s.listed {
		if parent := s.shards[each.ParentShardID]; parent == nil || parent.isDone() { // a parent that is not listed no longer exists
			err = errors.Join(err, s.advance(ctx, s.shards[each.ShardID]))
		}
	}
	return err
}

// list lists the shards if the last list is too old, a shard has closed since then, or no shard is open.
func (s *Source) list(ctx context.Context) error {
	isOpen := func(each description) bool { return !s.shards[each.ShardID].closed }
	if s.Now().Sub(s.listedAt) < listInterval && slices.ContainsFunc(s.listed, isOpen) {
		return nil
	}
	listed, err := s.describe(ctx)
	if err != nil {
		return err
	}
	known := s.shards
	s.listed, s.listedAt, s.shards = listed, s.Now(), make(map[string]*shard)
	for _, each := range listed {
		if s.shards[each.ShardID] = known[each.ShardID]; s.shards[each.ShardID] == nil {
			s.shards[each.ShardID] = &shard{id: each.ShardID, position: s.Positions.get(s.key(), each.ShardID)}
		}
	}
	return nil
}

// shard is a shard of the stream.
type shard struct {
	id       string
	position string // sequence number of the last processed or discarded record; may be empty
	iterator string // if it is empty, the next read needs a new iterator
	trimmed  bool   // the last read failed because the position is before the stream's oldest record
	closed   bool   // there are no more records to read
	busy     bool   // the last read returned records

	records []record   // records that were read and are not in a batch yet
	since   time.Time  // when the first of records was read, or an earlier time
	batches [][]record // what to deliver, in this order: one batch, or the parts of a failed batch
	retries int        // retries of the first batch so far
}

// record is a record of the stream.
type record struct {
	json     jsontext.Value // as Lambda sends it
	sequence string
	at       time.Time
}

func (sh *shard) isDone() bool { return sh.closed && len(sh.records) == 0 && len(sh.batches) == 0 }

func (sh *shard) isIdle() bool {
	return sh.isDone() || !sh.busy && sh.iterator != "" && len(sh.records) == 0 && len(sh.batches) == 0
}

// advance reads a shard and delivers the batches that are due. It stops at the first batch that fails.
func (s *Source) advance(ctx context.Context, sh *shard) error {
	if len(sh.batches) == 0 && !sh.closed {
		if err := s.read(ctx, sh); err != nil {
			return err
		}
	}
	for {
		s.cut(sh)
		if len(sh.batches) == 0 {
			return nil
		}
		if err := s.deliver(ctx, sh); err != nil {
			return err
		}
	}
}

// cut makes the next batch from the records that were read. It makes one only if the batch is full, its window has passed, or the shard
// has ended.
func (s *Source) cut(sh *shard) {
	if len(sh.batches) > 0 || len(sh.records) == 0 {
		return
	}
	count, size := 0, 0
	for _, each := range sh.records[:min(s.BatchSize, len(sh.records))] {
		if size += len(each.json) + len(","); size > maxEvent && count > 0 {
			break
		}
		count++
	}
	isFull := count == s.BatchSize || count < len(sh.records)
	if isFull || sh.closed || s.Now().Sub(sh.since) >= s.MaximumBatchingWindow {
		sh.batches = [][]record{sh.records[:count]}
		sh.records = sh.records[count:]
	}
}

// deliver invokes the function with the first batch.
func (s *Source) deliver(ctx context.Context, sh *shard) error {
	batch := sh.batches[0]
	if old := s.tooOld(batch); old > 0 {
		return s.discard(sh, old, fmt.Errorf("they are older than %s", s.MaximumRecordAge))
	}
	processed, err := s.invoke(ctx, batch)
	switch {
	case processed > 0:
		return errors.Join(err, s.finish(sh, processed))
	case ctx.Err() != nil: // the run ends; the function itself may not have failed
		return ctx.Err()
	case s.BisectBatchOnFunctionError && len(batch) > 1:
		middle := len(batch) / 2                                                      //nolint:mnd // two halves
		sh.batches = slices.Insert(sh.batches[1:], 0, batch[:middle], batch[middle:]) // Lambda does not count this retry
	case s.MaximumRetryAttempts >= 0 && sh.retries >= s.MaximumRetryAttempts:
		return s.discard(sh, len(batch), err)
	default:
		sh.retries++
	}
	return err
}

// tooOld returns how many records at the start of a batch are too old to deliver.
func (s *Source) tooOld(batch []record) int {
	young := slices.IndexFunc(batch, func(r record) bool { return s.MaximumRecordAge < 0 || s.Now().Sub(r.at) <= s.MaximumRecordAge })
	if young < 0 {
		return len(batch)
	}
	return young
}

// discard skips the first records of the first batch, and reports that they are discarded.
func (s *Source) discard(sh *shard, count int, why error) error {
	discarded := sh.batches[0][:count]
	s.Report(fmt.Errorf("discarded %d records that %s never processed: %w (%s, %s, sequence numbers %s to %s)",
		count, s.Function, why, s.arn, sh.id, discarded[0].sequence, discarded[count-1].sequence))
	return s.finish(sh, count)
}

// finish removes the first records of the first batch, and stores the position after them.
func (s *Source) finish(sh *shard, count int) error {
	batch := sh.batches[0]
	sh.position, sh.retries = batch[count-1].sequence, 0
	if sh.batches[0] = batch[count:]; count == len(batch) {
		sh.batches = sh.batches[1:]
	}
	positions := make(map[string]string)
	for id, each := range s.shards {
		if each.position != "" {
			positions[id] = each.position
		}
	}
	return s.Positions.set(s.key(), positions)
}

// invoke sends a batch to the function. It returns how many records the function processed, counted from the start of the batch. The
// number may be -1, which means the same as 0.
func (s *Source) invoke(ctx context.Context, batch []record) (processed int, err error) {
	var event bytes.Buffer
	event.WriteString(`{"Records":[`)
	for i, each := range batch {
		if i > 0 {
			event.WriteByte(',')
		}
		event.Write(each.json)
	}
	event.WriteString("]}")
	response, err := s.Functions.Invoke(ctx, s.Function, event.Bytes())
	if err != nil {
		return 0, err
	}
	if !s.ReportBatchItemFailures || len(response) == 0 {
		return len(batch), nil
	}
	return s.processed(batch, response)
}

// processed returns how many records the function processed. These are the records before the first one that the response names.
func (s *Source) processed(batch []record, response []byte) (int, error) {
	var reported struct {
		Failures []struct {
			Sequence string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(response, &reported); err != nil {
		return 0, fmt.Errorf("function %s: its response does not have the form of batchItemFailures", s.Function)
	}
	first := len(batch)
	for _, failure := range reported.Failures {
		// If an identifier is not valid (index -1), Lambda treats the whole batch as failed.
		first = min(first, slices.IndexFunc(batch, func(r record) bool { return r.sequence == failure.Sequence }))
	}
	if first == len(batch) {
		return first, nil
	}
	return first, fmt.Errorf("function %s did not process every record of a batch", s.Function)
}

func (s *Source) key() string { return s.Function + " " + s.arn }
