package backoffice

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// inOrder yields the items of all buckets of a table in the order of their sort keys, and stops at the first error. If
// a code is given, it yields only the items of that code. The parameter readers bounds how many buckets are read at a
// time.
func (s *Shop) inOrder(
	ctx context.Context, name string, code voucher.Code, readers int,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		api := limitedQueries{s.api, make(chan struct{}, readers)}
		buckets := make([]*bucket, table.Buckets)
		for number := range buckets {
			found := make(chan read, codePage)
			query := s.bucketQuery(name, number, code)
			go func() {
				defer close(found)
				send(reading, items(reading, api, query), found)
			}()
			buckets[number] = &bucket{found: found}
		}
		for {
			first, err := firstOf(reading, buckets)
			if err != nil {
				yield(nil, err)
				return
			}
			if first == nil {
				return
			}
			it := first.head
			first.head = nil
			if (code == "" || table.KeyOf(it).Code() == code) && !yield(it, nil) {
				return
			}
		}
	}
}

// bucketQuery returns a query for the items in a bucket, in the order of their sort keys. If a code is given, the query
// reads few items of other codes.
func (s *Shop) bucketQuery(name string, number int, code voucher.Code) *dynamodb.QueryInput {
	query := partition(name, table.Bucket(s.Profile.ID, number))
	query.Limit = aws.Int32(bucketPage)
	if code != "" { // the key of the voucher itself, and keys in which a # follows the code
		query.KeyConditionExpression = aws.String(table.PartitionKey + " = :partition AND " + table.SortKey +
			" BETWEEN :first AND :last")
		query.ExpressionAttributeValues[":first"] = table.Str(code)
		query.ExpressionAttributeValues[":last"] = table.Str(code + "#~")
		query.Limit = aws.Int32(codePage)
	}
	return query
}

// read is an item of a bucket, or the error at which reading stopped.
type read struct {
	item table.Item
	err  error
}

// send sends all found items to a channel. If the context ends first, it stops.
func send(ctx context.Context, found iter.Seq2[table.Item, error], out chan<- read) {
	for it, err := range found {
		select {
		case out <- read{it, err}:
		case <-ctx.Done():
			return
		}
	}
}

// limitedQueries bounds how many queries run at a time.
type limitedQueries struct {
	dynamodb.QueryAPIClient

	slots chan struct{}
}

// Query waits for a slot and sends the query.
func (l limitedQueries) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return l.QueryAPIClient.Query(ctx, in, options...)
}

// firstOf returns the bucket whose next item has the lowest sort key, or nil if all buckets have ended.
func firstOf(ctx context.Context, buckets []*bucket) (*bucket, error) {
	var first *bucket
	for _, bucket := range buckets {
		if err := bucket.fill(ctx); err != nil {
			return nil, err
		}
		if bucket.head != nil && (first == nil || bucket.head.Str(table.SortKey) < first.head.Str(table.SortKey)) {
			first = bucket
		}
	}
	return first, nil
}

// bucket is a bucket that is being read.
type bucket struct {
	found <-chan read
	ended bool
	head  table.Item // the next item; nil: not received yet
}

// fill waits for the next item or the end of the bucket.
func (b *bucket) fill(ctx context.Context) error {
	if b.head != nil || b.ended {
		return nil
	}
	select {
	case read, more := <-b.found:
		b.head, b.ended = read.item, !more
		if b.ended {
			return ctx.Err() // if the context has ended, the bucket must not look complete
		}
		return read.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
