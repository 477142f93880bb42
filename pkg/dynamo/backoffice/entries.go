package backoffice

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Entry is one item of a customer's vouchers. Only the fields of its kind are set.
type Entry struct {
	Code    voucher.Code
	Voucher *voucher.Voucher
	Counter *Counter
	// Redemptions are the records in an item of a code of many uses. Their Code and Reward are not set; they are those of the
	// voucher. A single-use code has its redemption in Voucher.
	Redemptions []voucher.Redemption
}

// Counter holds a part of the uses of a code with a limit above one.
type Counter struct{ Number, Left, Used int }

// listReaders is how many buckets are read at a time.
const listReaders = 8

// Entries yields every item of a customer's vouchers, or of one code if code is not empty, in no order, and stops at the
// first error. Redemptions and edits continue meanwhile.
func (s *Vouchers) Entries(ctx context.Context, customer catalog.CustomerID, code voucher.Code) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		found := make(chan read)
		var buckets sync.WaitGroup
		api := limitedQueries{s.api, make(chan struct{}, listReaders)}
		for number := range table.Buckets {
			buckets.Go(func() { readBucket(reading, api, s.bucketQuery(customer, number, code), code, found) })
		}
		go func() {
			buckets.Wait()
			close(found)
		}()
		for read := range found {
			if read.err != nil {
				yield(Entry{}, table.Outcome(read.err))
				return
			}
			if !yield(decodeEntry(read.item)) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // a listing that was cut short must not look complete
			yield(Entry{}, table.Outcome(err))
		}
	}
}

// read is what reading a bucket yields.
type read struct {
	item table.Item
	err  error
}

// readBucket sends all items that a query finds, or only those of one code, until an error or the end of the context.
func readBucket(ctx context.Context, api dynamodb.QueryAPIClient, query *dynamodb.QueryInput, code voucher.Code, to chan<- read) {
	for it, err := range items(ctx, api, query) {
		if err == nil && code != "" && table.KeyOf(it).Code() != code {
			continue
		}
		select {
		case to <- read{it, err}:
		case <-ctx.Done():
			return
		}
	}
}

// bucketQuery asks for the items in a bucket, in the order of their sort keys. If a code is given, it asks for few others.
func (s *Vouchers) bucketQuery(customer catalog.CustomerID, number int, code voucher.Code) *dynamodb.QueryInput {
	query := partition(s.table, table.Bucket(customer, number))
	if code != "" { // the voucher itself, and keys in which a # follows the code
		query.KeyConditionExpression = aws.String(table.PartitionKey + " = :partition AND " + table.SortKey + " BETWEEN :first AND :last")
		query.ExpressionAttributeValues[":first"] = table.Str(code)
		query.ExpressionAttributeValues[":last"] = table.Str(code + "#~")
	}
	return query
}

// limitedQueries bounds how many queries run at a time.
type limitedQueries struct {
	dynamodb.QueryAPIClient

	slots chan struct{}
}

// Query waits for a slot and sends the query.
func (l limitedQueries) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return l.QueryAPIClient.Query(ctx, in, options...)
}

var errUnknownItem = errors.New("item of an unknown kind in the vouchers table")

func decodeEntry(it table.Item) (Entry, error) {
	key := table.KeyOf(it)
	entry := Entry{Code: key.Code()}
	rest := strings.TrimPrefix(key.Sort, string(entry.Code))
	switch {
	case rest == "":
		v, err := table.DecodeVoucher(it)
		entry.Voucher = &v.Voucher
		return entry, err
	case strings.HasPrefix(rest, table.CounterInfix):
		number, err := strconv.Atoi(strings.TrimPrefix(rest, table.CounterInfix))
		if err != nil {
			return Entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.Sort)
		}
		counter := table.DecodeCounter(number, it)
		entry.Counter = &Counter{Number: number, Left: counter.Left, Used: counter.Used}
	case strings.HasPrefix(rest, table.NickInfix), strings.HasPrefix(rest, table.RedemptionInfix):
		for name := range it {
			token, is := strings.CutPrefix(name, table.RecordPrefix)
			if !is {
				continue
			}
			redemption, _, err := table.Recorded(idempotency.Token(token), voucher.Voucher{}, it)
			if err != nil {
				return Entry{}, fmt.Errorf("item %q: %w", key.Sort, err)
			}
			entry.Redemptions = append(entry.Redemptions, redemption)
		}
	default:
		return Entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.Sort)
	}
	return entry, nil
}
