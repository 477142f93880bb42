// Package eventsource invokes functions for the local run. It invokes them with the records of DynamoDB streams, as
// Lambda's event source mappings do, and on schedules, as EventBridge's rules do.
//
// It passes on the records that DynamoDB Local returns from GetRecords. They have the form of the records in Lambda's
// event, except that eventSourceARN is missing. As the shop's mappings demand, a function may report which records of a
// batch failed. Unlike Lambda, the package waits for no batching window, and delivers a batch until the function has
// processed it.
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
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// pollInterval is the time between two reads of the stream, as in Lambda.
	pollInterval = 250 * time.Millisecond
	// idleInterval replaces pollInterval while no records arrive, because DynamoDB Local is slow at reading a stream
	// with many records.
	idleInterval = time.Second
	// callTimeout bounds a call to DynamoDB Local.
	callTimeout = time.Minute
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
	// Report receives the error of a poll, unless the poll before had the same error.
	Report func(error)
}

// Source reads a stream and delivers each record at least once, in order. It begins with the oldest record, or
// continues where an earlier Source with the same file stopped. It reads one shard: a stream of DynamoDB Local has only
// one, which never closes.
type Source struct {
	Config

	arn, shard string // of the stream; empty until they are known
	iterator   string // if it is empty, the next read needs a new iterator
	trimmed    bool   // the last read failed because the position is before the stream's oldest record
	position   string // the sequence number of the last record that was processed; empty before the first
	records    []record
	reported   string // the last reported error
}

// record is a record that was read and is not processed yet.
type record struct {
	json     jsontext.Value // as Lambda sends it
	sequence string
}

// New returns a source. It reads nothing from the stream before Run or Poll.
func New(config Config) (*Source, error) {
	position, err := os.ReadFile(config.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Source{Config: config, position: string(position)}, nil
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

// Poll reads the stream once and delivers what is due. It returns how long to wait before the next poll.
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

// poll reports whether it delivered any record. It stops at the first batch that fails.
func (s *Source) poll(ctx context.Context) (delivered bool, err error) {
	if len(s.records) == 0 {
		if err := s.read(ctx); err != nil {
			return false, err
		}
	}
	for len(s.records) > 0 {
		processed, err := s.invoke(ctx, s.records[:min(s.BatchSize, len(s.records))])
		if processed > 0 {
			delivered = true
			err = errors.Join(err, s.finish(processed))
		}
		if err != nil {
			return delivered, err
		}
	}
	return delivered, nil
}

// finish removes the first records, and stores the position after them. If the process is killed meanwhile, the file
// contains either the old or the new position.
func (s *Source) finish(count int) error {
	s.position, s.records = s.records[count-1].sequence, s.records[count:]
	unfinished := s.Path + ".new"
	if err := os.WriteFile(unfinished, []byte(s.position), 0o600); err != nil {
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

// read reads the next page of records.
func (s *Source) read(ctx context.Context) error {
	var page struct {
		Records           []jsontext.Value
		NextShardIterator string
	}
	err := s.iterate(ctx)
	if err == nil {
		err = s.call(ctx, "DynamoDBStreams_20120810.GetRecords", map[string]string{"ShardIterator": s.iterator}, &page)
	}
	s.iterator = page.NextShardIterator
	failure, _ := errors.AsType[*apiError](err)
	isTrimmed := failure.is("TrimmedDataAccessException")
	// DynamoDB Local sometimes returns this error once although nothing is trimmed. So only the second error in a row
	// counts.
	if isTrimmed && s.trimmed {
		s.position = ""
	}
	s.trimmed = isTrimmed
	if isTrimmed || failure.is("ExpiredIteratorException") { // for example, because this machine slept
		return nil
	}
	if err != nil {
		return err
	}
	prefix := fmt.Appendf(nil, `{"eventSourceARN":%q,`, s.arn)
	for _, raw := range page.Records {
		var read struct {
			DynamoDB struct{ SequenceNumber string } `json:"dynamodb"`
		}
		if err := json.Unmarshal(raw, &read); err != nil {
			return fmt.Errorf("a record of %s: %w", s.arn, err)
		}
		s.records = append(s.records, record{
			// Only eventSourceARN is added. The rest of the record stays as it is.
			json: bytes.Replace(raw, []byte("{"), prefix, 1), sequence: read.DynamoDB.SequenceNumber,
		})
	}
	return nil
}

// iterate makes sure that the source has an iterator.
func (s *Source) iterate(ctx context.Context) error {
	if s.iterator != "" {
		return nil
	}
	if s.shard == "" {
		if err := s.describe(ctx); err != nil {
			return err
		}
	}
	in := map[string]string{"StreamArn": s.arn, "ShardId": s.shard, "ShardIteratorType": "TRIM_HORIZON"}
	if s.position != "" {
		in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", s.position
	}
	var out struct{ ShardIterator string }
	err := s.call(ctx, "DynamoDBStreams_20120810.GetShardIterator", in, &out)
	s.iterator = out.ShardIterator
	return err
}

// describe finds the table's stream and its shard.
func (s *Source) describe(ctx context.Context) error {
	var table struct {
		Table struct {
			ARN string `json:"LatestStreamArn"`
		}
	}
	if err := s.call(ctx, "DynamoDB_20120810.DescribeTable", map[string]string{"TableName": s.Table},
		&table); err != nil {
		return err
	}
	s.arn = table.Table.ARN
	var stream struct {
		StreamDescription struct {
			Shards []struct {
				ID string `json:"ShardId"`
			}
		}
	}
	if err := s.call(ctx, "DynamoDBStreams_20120810.DescribeStream", map[string]string{"StreamArn": s.arn},
		&stream); err != nil {
		return err
	}
	if shards := stream.StreamDescription.Shards; len(shards) > 0 {
		s.shard = shards[0].ID
	}
	return nil
}

// apiError is an error of DynamoDB Local.
type apiError struct {
	Kind    string `json:"__type"` // such as com.amazonaws.dynamodb.v20120810#ExpiredIteratorException
	Message string
}

// Error implements error.
func (e *apiError) Error() string {
	return e.Kind[strings.LastIndex(e.Kind, "#")+1:] + ": " + e.Message
}

func (e *apiError) is(kind string) bool { return e != nil && strings.HasSuffix(e.Kind, "#"+kind) }

// call calls an operation of DynamoDB Local, such as DynamoDBStreams_20120810.GetRecords.
func (s *Source) call(ctx context.Context, operation string, in map[string]string, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", operation)
	// DynamoDB Local requires a signature but accepts any.
	request.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host"+
			", Signature=none")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		failure := &apiError{}
		err = json.UnmarshalRead(response.Body, failure, json.MatchCaseInsensitiveNames(true)) // Message or message
		err = errors.Join(err, failure)
	} else {
		err = json.UnmarshalRead(response.Body, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}
