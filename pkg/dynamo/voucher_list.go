package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Entry is one item of a customer's vouchers, of the kind whose field is set.
type Entry struct {
	Code    voucher.Code
	Voucher *voucher.Voucher
	Counter *Counter
	// Redemptions are those of a code of many uses that one item records; a single-use code's is in its Voucher. Their
	// code as written and their reward are the voucher's and not filled in.
	Redemptions []voucher.Redemption
	// Taken is how many redemptions the item counts; it is 0 where its voucher has no limit per nick.
	Taken int
}

// Counter is a part of the uses of a code with a limit above one.
type Counter struct{ Number, Left, Used int }

// listWorkers is how many buckets are read at a time.
const listWorkers = 8

// Entries yields every item of a customer's vouchers, or of one code's where code is not empty, in no order, and stops at
// the first error. It reads the whole of it page by page; the shop goes on meanwhile.
func (s *Vouchers) Entries(ctx context.Context, customer catalog.CustomerID, code voucher.Code) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		for page := range s.pages(reading, customer, code) {
			if page.err != nil {
				yield(Entry{}, outcome(page.err))
				return
			}
			for _, it := range page.items {
				if !yield(decodeEntry(it)) {
					return
				}
			}
		}
		if err := ctx.Err(); err != nil { // or a listing that was stopped would look complete
			yield(Entry{}, outcome(err))
		}
	}
}

type page struct {
	items []map[string]types.AttributeValue
	err   error
}

// pages reads all buckets, a few at a time, until the context ends.
func (s *Vouchers) pages(ctx context.Context, customer catalog.CustomerID, code voucher.Code) <-chan page {
	numbers, pages := make(chan int), make(chan page)
	go func() {
		defer close(numbers)
		for number := range buckets {
			select {
			case numbers <- number:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range listWorkers {
		workers.Go(func() {
			for number := range numbers {
				s.readBucket(ctx, bucketOf(customer, number), code, pages)
			}
		})
	}
	go func() {
		workers.Wait()
		close(pages)
	}()
	return pages
}

func (s *Vouchers) readBucket(ctx context.Context, partition string, code voucher.Code, pages chan<- page) {
	query := &dynamodb.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(partitionKey + " = :partition"),
		ExpressionAttributeValues: item{":partition": str(partition)},
	}
	if code != "" {
		query.KeyConditionExpression = aws.String(partitionKey + " = :partition AND begins_with(" + sortKey + ", :code)")
		query.ExpressionAttributeValues[":code"] = str(string(code))
	}
	for {
		out, err := s.api.Query(ctx, query)
		read := page{err: err}
		if err == nil {
			read.items = out.Items
			if code != "" {
				read.items = only(code, out.Items)
			}
		}
		select {
		case pages <- read:
		case <-ctx.Done():
			return
		}
		if err != nil || len(out.LastEvaluatedKey) == 0 {
			return
		}
		query.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// only drops the items of longer codes that begin with the code.
func only(code voucher.Code, items []map[string]types.AttributeValue) []map[string]types.AttributeValue {
	kept := items[:0]
	for _, it := range items {
		if codeOf(keyOf(it)) == code {
			kept = append(kept, it)
		}
	}
	return kept
}

var errUnknownItem = errors.New("item of an unknown kind in the vouchers table")

func decodeEntry(it item) (Entry, error) {
	key := keyOf(it)
	entry := Entry{Code: codeOf(key)}
	_, rest, isPart := strings.Cut(key.sort, "#")
	switch {
	case !isPart:
		v, err := decodeVoucher(it)
		entry.Voucher = &v.Voucher
		return entry, err
	case strings.HasPrefix("#"+rest, counterInfix):
		var number int
		if _, err := fmt.Sscanf("#"+rest, counterInfix+"%d", &number); err != nil {
			return Entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.sort)
		}
		counter := decodeCounter(number, it)
		entry.Counter = &Counter{Number: number, Left: counter.left, Used: counter.used}
	case strings.HasPrefix("#"+rest, nickInfix), strings.HasPrefix("#"+rest, redemptionInfix):
		entry.Taken = int(it.num(attrTaken))
		for name := range it {
			token, is := strings.CutPrefix(name, recordAttrPrefix)
			if !is {
				continue
			}
			redemption, _, err := recorded(idempotency.Token(token), voucher.Voucher{}, it)
			if err != nil {
				return Entry{}, fmt.Errorf("item %q: %w", key.sort, err)
			}
			entry.Redemptions = append(entry.Redemptions, redemption)
		}
	default:
		return Entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.sort)
	}
	return entry, nil
}
