package memdynamo

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// stream has the changes of a table. It has one shard, which never closes, and stores records for ever.
type stream struct {
	arn     string
	view    types.StreamViewType
	records []record
}

// record is a change of an item, in the format of DynamoDB Streams.
type record struct {
	AWSRegion    string `json:"awsRegion"`
	EventID      string `json:"eventID"`
	EventName    string `json:"eventName"`
	EventSource  string `json:"eventSource"`
	EventVersion string `json:"eventVersion"`
	Change       change `json:"dynamodb"`
}

type change struct {
	ApproximateCreationDateTime int64 // seconds since 1970
	Keys                        Item
	NewImage, OldImage          Item
	SequenceNumber              string
	SizeBytes                   int
	StreamViewType              types.StreamViewType
}

const shard = "shardId-00000000000000000000-00000000"

func (t *table) streamARN() string {
	return arn + t.name + "/stream/" + time.Now().UTC().Format("2006-01-02T15:04:05.000")
}

// sequence returns the sequence number of the n-th record. Sequence numbers sort as strings.
func sequence(n int) string { return fmt.Sprintf("%021d", n) }

// add adds the record of a change. A write that changes nothing has no record.
func (s *stream) add(key, before, after Item) {
	if reflect.DeepEqual(before, after) {
		return
	}
	n := len(s.records) + 1
	r := record{
		AWSRegion: "eu-central-1", EventID: fmt.Sprintf("%032x", n), EventName: "MODIFY", EventSource: "aws:dynamodb",
		EventVersion: "1.1",
		Change: change{
			ApproximateCreationDateTime: time.Now().Unix(), Keys: key, SequenceNumber: sequence(n),
			SizeBytes: itemSize(key) + itemSize(before) + itemSize(after), StreamViewType: s.view,
		},
	}
	if before == nil {
		r.EventName = "INSERT"
	}
	if after == nil {
		r.EventName = "REMOVE"
	}
	if s.view == types.StreamViewTypeNewImage || s.view == types.StreamViewTypeNewAndOldImages {
		r.Change.NewImage = after
	}
	if s.view == types.StreamViewTypeOldImage || s.view == types.StreamViewTypeNewAndOldImages {
		r.Change.OldImage = before
	}
	s.records = append(s.records, r)
}

// streamInput has the members of the calls of DynamoDB Streams.
type streamInput struct {
	StreamArn, ShardID, ShardIteratorType, SequenceNumber string `json:",case:ignore"`
	ShardIterator                                         string
	Limit                                                 int
}

// stream finds a table's newest stream.
func (s *Store) stream(arn string) (*stream, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	for _, t := range s.tables {
		if t.stream != nil && t.stream.arn == arn {
			return t.stream, nil
		}
	}
	return nil, missing(arn)
}

func (s *Store) describeStream(in *streamInput) (any, error) {
	found, err := s.stream(in.StreamArn)
	if err != nil {
		return nil, err
	}
	return map[string]any{"StreamDescription": map[string]any{
		"StreamArn": found.arn, "StreamStatus": "ENABLED", "StreamViewType": found.view,
		"Shards": []any{map[string]any{
			"ShardId": shard, "SequenceNumberRange": map[string]string{"StartingSequenceNumber": sequence(1)},
		}},
	}}, nil
}

// getShardIterator returns an iterator, which is the stream's name and the sequence number of the next record.
func (s *Store) getShardIterator(in *streamInput) (any, error) {
	found, err := s.stream(in.StreamArn)
	if err != nil {
		return nil, err
	}
	next := sequence(1)
	switch in.ShardIteratorType {
	case "TRIM_HORIZON":
	case "LATEST":
		next = sequence(len(found.records) + 1)
	case "AT_SEQUENCE_NUMBER":
		next = in.SequenceNumber
	case "AFTER_SEQUENCE_NUMBER":
		next = in.SequenceNumber + "+"
	default:
		return nil, invalid("unknown type of an iterator: " + in.ShardIteratorType)
	}
	return map[string]string{"ShardIterator": found.arn + "|" + next}, nil
}

func (s *Store) getRecords(in *streamInput) (any, error) {
	arn, next, _ := strings.Cut(in.ShardIterator, "|")
	found, err := s.stream(arn)
	if err != nil {
		return nil, err
	}
	records := []record{}
	for _, r := range found.records {
		if r.Change.SequenceNumber >= next && len(records) < 1000 && (in.Limit == 0 || len(records) < in.Limit) {
			records = append(records, r)
			next = r.Change.SequenceNumber + "+"
		}
	}
	return map[string]any{"Records": records, "NextShardIterator": arn + "|" + next}, nil
}
