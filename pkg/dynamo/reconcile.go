package dynamo

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

const (
	// mergePage is how many items of a bucket are asked for at once. At most two such pages of each bucket are held.
	mergePage = 100
	// oneCodeReaders is how many buckets are read at a time for a single code, of which several are read at once.
	oneCodeReaders = 2
)

// Accounts yields what is kept under each code of a customer, in the order of codes, and stops at the first error. What has
// no code in its key comes as an account of its own.
//
// The items of a code lie in many buckets, and sorted within each. All buckets are therefore read side by side, and merged:
// a code's items then follow each other, so that one account is held at a time, and 200 items of each bucket.
func (s *Vouchers) Accounts(ctx context.Context, customer catalog.CustomerID) iter.Seq2[*reconciliation.Account, error] {
	return func(yield func(*reconciliation.Account, error) bool) {
		reader := s.newAccountReader(customer)
		var account *reconciliation.Account // that items are added to; another code's item ends it
		for it, err := range s.inOrder(ctx, customer, "", listWorkers) {
			if err != nil {
				yield(nil, outcome(err))
				return
			}
			code := codeOf(keyOf(it))
			complete := account
			switch {
			case !isCode(code):
				complete = reader.newAccount(code)
				complete.Fault(reader.place(it), reconciliation.KindMalformed, "the sort key begins with no code")
			case account != nil && account.Code == code:
				reader.add(account, it)
				continue
			default:
				account = reader.newAccount(code)
				reader.add(account, it)
			}
			if complete != nil && !yield(complete, nil) {
				return
			}
		}
		if account != nil {
			yield(account, nil)
		}
	}
}

// Account reads what is kept under one code, and how its voucher and counters stood before and after. settle is waited
// between, so that a transaction that one look has seen a part of is seen whole by the next.
func (s *Vouchers) Account(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, settle time.Duration,
) (*reconciliation.Account, error) {
	before, err := s.glance(ctx, customer, code)
	if err != nil {
		return nil, outcome(err)
	}
	if err := wait(ctx, settle); err != nil {
		return nil, outcome(err)
	}
	reader := s.newAccountReader(customer)
	account := reader.newAccount(code)
	for it, err := range s.inOrder(ctx, customer, code, oneCodeReaders) {
		if err != nil {
			return nil, outcome(err)
		}
		if codeOf(keyOf(it)) == code {
			reader.add(account, it)
		}
	}
	if err := wait(ctx, settle); err != nil {
		return nil, outcome(err)
	}
	after, err := s.glance(ctx, customer, code)
	if err != nil {
		return nil, outcome(err)
	}
	account.Between(before, after)
	return account, nil
}

func (s *Vouchers) glance(ctx context.Context, customer catalog.CustomerID, code voucher.Code) (reconciliation.Glance, error) {
	out, err := s.api.GetItem(ctx, consistentGet(s.table, voucherKey{customer, code}.primary()))
	if err != nil || len(out.Item) == 0 {
		return reconciliation.Glance{}, err
	}
	it := item(out.Item)
	glance := reconciliation.Glance{Found: true, Version: it.num(attrVersion)}
	named := min(max(it.num(attrCounters), 0), voucher.MaxCounters) // whatever stands there
	if named == 0 {
		return glance, nil
	}
	counters, err := s.readCounters(ctx, customer, voucher.Voucher{Code: code, Counters: int(named)})
	for _, counter := range counters {
		glance.Used += counter.used
	}
	return glance, err
}

// inOrder yields the items of all buckets by their sort keys, or only those of about one code, and stops at the first
// error.
func (s *Vouchers) inOrder(ctx context.Context, customer catalog.CustomerID, code voucher.Code, readers int) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		slots := make(chan struct{}, readers)
		streams := make([]*bucketStream, buckets)
		for number := range streams {
			streams[number] = s.stream(reading, bucketOf(customer, number), code, slots)
		}
		for {
			first, err := firstOf(reading, streams)
			if err != nil {
				yield(nil, err)
				return
			}
			if first == nil || !yield(first.take(), nil) {
				return
			}
		}
	}
}

// firstOf is the stream whose next item comes first, nil when all have ended.
func firstOf(ctx context.Context, streams []*bucketStream) (*bucketStream, error) {
	var first *bucketStream
	for _, stream := range streams {
		if err := stream.fill(ctx); err != nil {
			return nil, err
		}
		if len(stream.items) > 0 && (first == nil || stream.sort() < first.sort()) {
			first = stream
		}
	}
	return first, nil
}

// bucketStream is the items of one bucket, in order, as they come.
type bucketStream struct {
	pages <-chan page // closed behind the last
	ended bool
	items []map[string]types.AttributeValue // of the page that is being taken
}

func (b *bucketStream) sort() string { return item(b.items[0]).str(sortKey) }

func (b *bucketStream) take() item {
	it := b.items[0]
	b.items = b.items[1:]
	return it
}

// fill waits for a page with items, or the end.
func (b *bucketStream) fill(ctx context.Context) error {
	for len(b.items) == 0 && !b.ended {
		select {
		case read, more := <-b.pages:
			b.items, b.ended = read.items, !more
			if read.err != nil {
				return read.err
			}
			if b.ended && ctx.Err() != nil { // or a reading that was stopped would look complete
				return ctx.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stream reads a bucket, a page ahead of what is taken, while it has a slot.
func (s *Vouchers) stream(ctx context.Context, partition string, code voucher.Code, slots chan struct{}) *bucketStream {
	query := &dynamodb.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true), Limit: aws.Int32(mergePage),
		KeyConditionExpression:    aws.String(partitionKey + " = :partition"),
		ExpressionAttributeValues: item{":partition": str(partition)},
	}
	if code != "" { // the voucher itself, and what has its code, a # and more in its key
		query.KeyConditionExpression = aws.String(partitionKey + " = :partition AND " + sortKey + " BETWEEN :first AND :last")
		query.ExpressionAttributeValues[":first"] = str(string(code))
		query.ExpressionAttributeValues[":last"] = str(string(code) + "#~")
	}
	pages := make(chan page)
	go func() {
		defer close(pages)
		for {
			read, more := s.readPage(ctx, query, slots)
			select {
			case pages <- read:
			case <-ctx.Done():
				return
			}
			if !more {
				return
			}
		}
	}()
	return &bucketStream{pages: pages}
}

// readPage reads the query's next page and has it go on behind that; more tells whether it does.
func (s *Vouchers) readPage(ctx context.Context, query *dynamodb.QueryInput, slots chan struct{}) (read page, more bool) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return page{err: ctx.Err()}, false
	}
	out, err := s.api.Query(ctx, query)
	if err != nil {
		return page{err: err}, false
	}
	query.ExclusiveStartKey = out.LastEvaluatedKey
	return page{items: out.Items}, len(out.LastEvaluatedKey) > 0
}
