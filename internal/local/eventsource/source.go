// Package eventsource invokes functions for the local run. It invokes them with the records of DynamoDB streams, as
// Lambda's event source mappings do, and on schedules, as EventBridge's rules do.
//
// It passes on the records that DynamoDB Local returns from GetRecords. They have the form of the records in Lambda's
// event, except that eventSourceARN is missing. As the shop's mappings demand, a function may report which records of a
// batch failed, and a batch that fails is split. Unlike Lambda, the package waits for no batching window, and delivers
// a record until the function has processed it.
//
// The package knows nothing about templates or the shop, and imports no other package of this module. No Lambda
// function may import it. References: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html,
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html.
package eventsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// pollInterval is the time between two reads of a shard, as in Lambda.
	pollInterval = 250 * time.Millisecond
	// idleInterval replaces pollInterval while no records arrive, because DynamoDB Local is slow at reading a stream
	// with many records.
	idleInterval = time.Second
	// listInterval is how long a list of shards is used. The list is renewed earlier if a shard closes.
	listInterval = 5 * time.Second
)

// Invoker invokes functions and returns their responses.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) ([]byte, error)
}

// Mapping says which table's stream invokes which function.
type Mapping struct {
	Function, Table string
	BatchSize       int // the most records of an event
}

// Config configures a Source.
type Config struct {
	Mapping

	Endpoint  string // the URL of DynamoDB Local
	Functions Invoker
	// Path is the file that stores how far the source has got.
	Path string
	Now  func() time.Time
	// Report receives the error of a poll, unless the poll before had the same error.
	Report func(error)
}

// Source reads a stream and delivers each record at least once. It begins with the oldest record, or continues where an
// earlier Source with the same file stopped. A shard's records are delivered in order, and after the records of the
// shard's parent.
type Source struct {
	Config

	arn       string // the stream's ARN; empty until it is known
	listed    []description
	listedAt  time.Time // if it is zero, the next poll lists the shards again
	shards    map[string]*shard
	positions map[string]string // by shard, the sequence number of the last record that was processed
	reported  string            // the last reported error
}

// New returns a source. It reads nothing from the stream before Run or Poll.
func New(config Config) (*Source, error) {
	s := &Source{Config: config, shards: make(map[string]*shard), positions: make(map[string]string)}
	text, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.positions)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	return s, nil
}

// Run polls until the context ends. If the context ends while the function processes a batch, the next run delivers the
// batch again.
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
	delivered, err := s.poll(ctx)
	switch {
	case ctx.Err() != nil: // the run ends
	case err == nil:
		s.reported = ""
	case err.Error() != s.reported:
		s.reported = err.Error()
		s.Report(err)
	}
	if delivered || err != nil {
		return pollInterval
	}
	return idleInterval
}

// poll reports whether it delivered any record.
func (s *Source) poll(ctx context.Context) (delivered bool, err error) {
	if s.Now().Sub(s.listedAt) >= listInterval {
		if s.listed, err = s.describe(ctx); err != nil {
			return false, err
		}
		s.listedAt = s.Now()
	}
	var failures []error
	for _, each := range s.listed {
		sh := s.shards[each.ShardID]
		if sh == nil {
			sh = &shard{id: each.ShardID}
			s.shards[each.ShardID] = sh
		}
		isListed := func(d description) bool { return d.ShardID == each.ParentShardID }
		if parent := s.shards[each.ParentShardID]; slices.ContainsFunc(s.listed, isListed) &&
			(parent == nil || !parent.isDone()) {
			continue // a parent that is not listed no longer exists
		}
		count, err := s.advance(ctx, sh)
		delivered = delivered || count > 0
		failures = append(failures, err)
	}
	return delivered, errors.Join(failures...)
}

// shard is a shard of the stream.
type shard struct {
	id       string
	iterator string   // if it is empty, the next read needs a new iterator
	trimmed  bool     // the last read failed because the position is before the stream's oldest record
	closed   bool     // there are no more records to read
	records  []record // records that were read and are not processed yet
	half     int      // the size of the next batch after a batch failed, or 0
}

// record is a record of the stream.
type record struct {
	json     jsontext.Value // as Lambda sends it
	sequence string
}

func (sh *shard) isDone() bool { return sh.closed && len(sh.records) == 0 }

// advance reads a shard, unless it has records, and delivers its records. It stops at the first batch that fails, and
// returns how many records it delivered.
func (s *Source) advance(ctx context.Context, sh *shard) (delivered int, err error) {
	if len(sh.records) == 0 && !sh.closed {
		if err := s.read(ctx, sh); err != nil {
			return 0, err
		}
	}
	for len(sh.records) > 0 {
		batch := sh.records[:min(s.BatchSize, len(sh.records))]
		if sh.half > 0 {
			batch = batch[:min(sh.half, len(batch))]
		}
		processed, err := s.invoke(ctx, batch)
		if processed > 0 {
			delivered += processed
			err = errors.Join(err, s.finish(sh, processed))
		} else {
			sh.half = max(1, len(batch)/2) //nolint:mnd // the first half, to find the record that fails
		}
		if err != nil {
			return delivered, err
		}
	}
	return delivered, nil
}

// finish removes the first records of the shard, and stores the position after them. If the process is killed
// meanwhile, the file contains either the old or the new positions.
func (s *Source) finish(sh *shard, count int) error {
	s.positions[sh.id] = sh.records[count-1].sequence
	sh.records, sh.half = sh.records[count:], 0
	text, err := json.Marshal(s.positions)
	if err != nil {
		return err
	}
	unfinished := s.Path + ".new"
	if err := os.WriteFile(unfinished, text, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, s.Path)
}

// invoke sends a batch to the function. It returns how many records the function processed, counted from the start of
// the batch. The number may be -1, which means the same as 0.
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
	var reported struct {
		Failures []struct {
			Sequence string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(response) > 0 && json.Unmarshal(response, &reported) != nil {
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
