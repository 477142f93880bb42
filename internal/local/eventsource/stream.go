package eventsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// callTimeout bounds a call to DynamoDB Local.
const callTimeout = 10 * time.Second

// description is a shard in a response of DescribeStream.
type description struct {
	ShardID       string `json:"ShardId"`
	ParentShardID string `json:"ParentShardId"`
}

// describe lists the stream's shards. It reads only the first page, which has up to 100 shards. DynamoDB Local has one
// shard.
func (s *Source) describe(ctx context.Context) ([]description, error) {
	if s.arn == "" {
		var described struct {
			Table struct {
				ARN string `json:"LatestStreamArn"`
			}
		}
		if err := s.call(ctx, "DynamoDB_20120810.DescribeTable", map[string]string{"TableName": s.Table},
			&described); err != nil {
			return nil, err
		}
		if s.arn = described.Table.ARN; s.arn == "" {
			return nil, fmt.Errorf("table %s has no stream, so function %s cannot receive its changes", s.Table,
				s.Function)
		}
	}
	var described struct {
		StreamDescription struct{ Shards []description }
	}
	err := s.call(ctx, "DynamoDBStreams_20120810.DescribeStream", map[string]string{"StreamArn": s.arn}, &described)
	return described.StreamDescription.Shards, err
}

// read reads the next page of records.
func (s *Source) read(ctx context.Context, sh *shard) error {
	var page struct {
		Records           []jsontext.Value
		NextShardIterator string
	}
	err := s.iterate(ctx, sh)
	if err == nil {
		err = s.call(ctx, "DynamoDBStreams_20120810.GetRecords", map[string]string{"ShardIterator": sh.iterator}, &page)
	}
	if err == nil {
		sh.iterator, sh.closed, sh.trimmed = page.NextShardIterator, page.NextShardIterator == "", false
		if sh.closed {
			s.listedAt = time.Time{} // list the shards again, to find this shard's children
		}
		return s.append(sh, page.Records)
	}
	sh.iterator = ""
	failure, _ := errors.AsType[*apiError](err)
	switch {
	case failure.is("ExpiredIteratorException"): // for example, because this machine slept
		return nil
	case failure.is("TrimmedDataAccessException"):
		// DynamoDB Local sometimes returns this error once although nothing is trimmed. So only the second error in a
		// row counts.
		if sh.trimmed {
			delete(s.positions, sh.id)
		}
		sh.trimmed = true
		return nil
	default:
		return err
	}
}

// iterate makes sure that the shard has an iterator.
func (s *Source) iterate(ctx context.Context, sh *shard) error {
	if sh.iterator != "" {
		return nil
	}
	in := map[string]string{"StreamArn": s.arn, "ShardId": sh.id, "ShardIteratorType": "TRIM_HORIZON"}
	if last := s.positions[sh.id]; last != "" {
		in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", last
	}
	var out struct{ ShardIterator string }
	err := s.call(ctx, "DynamoDBStreams_20120810.GetShardIterator", in, &out)
	sh.iterator = out.ShardIterator
	return err
}

// append adds records to the shard's records.
func (s *Source) append(sh *shard, records []jsontext.Value) error {
	prefix := fmt.Appendf(nil, `{"eventSourceARN":%q,`, s.arn)
	for _, raw := range records {
		var read struct {
			DynamoDB struct{ SequenceNumber string } `json:"dynamodb"`
		}
		if err := json.Unmarshal(raw, &read); err != nil {
			return fmt.Errorf("a record of %s: %w", s.arn, err)
		}
		sh.records = append(sh.records, record{
			// Only eventSourceARN is added. The rest of the record stays as it is.
			json: bytes.Replace(raw, []byte("{"), prefix, 1), sequence: read.DynamoDB.SequenceNumber,
		})
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
		// The message's name may be Message or message.
		if err := json.UnmarshalRead(response.Body, failure, json.MatchCaseInsensitiveNames(true)); err != nil {
			return fmt.Errorf("%s: status %d: %w", operation, response.StatusCode, err)
		}
		return fmt.Errorf("%s: %w", operation, failure)
	}
	if err := json.UnmarshalRead(response.Body, out); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}
