package backoffice

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/voucher"
)

// Redemption is a redemption with its voucher's batch.
type Redemption struct {
	voucher.Redemption
	Batch string
}

// indexedPerPage is how many redemptions a query of the index returns. It must not exceed 100, because one BatchGet reads the vouchers of a
// page.
const indexedPerPage = 100

// RedemptionsOf yields the indexed redemptions of a nick from one time to another, both included, earliest first. It stops at the first
// error. If until is zero, the time has no upper bound.
func (s *Events) RedemptionsOf(
	ctx context.Context, customer catalog.CustomerID, nick voucher.Nick, from, until time.Time,
) iter.Seq2[Redemption, error] {
	return func(yield func(Redemption, error) bool) {
		query := table.NickIndexQuery(s.table, customer, nick, from, until)
		query.Limit = aws.Int32(indexedPerPage)
		for pages := dynamodb.NewQueryPaginator(s.api, query); pages.HasMorePages(); {
			page, err := s.indexed(ctx, customer, pages)
			if err != nil {
				yield(Redemption{}, table.Outcome(err))
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// indexed reads the next page of a query of the index, and the vouchers of its redemptions.
func (s *Events) indexed(ctx context.Context, customer catalog.CustomerID, pages *dynamodb.QueryPaginator) ([]Redemption, error) {
	out, err := pages.NextPage(ctx)
	if err != nil {
		return nil, err
	}
	page, keys := make([]Redemption, len(out.Items)), make([]table.Key, len(out.Items))
	for i, it := range out.Items {
		if page[i].Redemption, err = table.DecodeIndexed(it); err != nil {
			return nil, err
		}
		code, err := voucher.ParseCode(page[i].Code)
		if err != nil {
			return nil, err
		}
		keys[i] = table.VoucherKey(customer, code)
	}
	vouchers, err := table.BatchGet(ctx, s.api, s.random, s.tables.Vouchers, keys...)
	for i, key := range keys {
		page[i].Batch = vouchers[key].Str(table.AttrBatch)
	}
	return page, err
}

// NoteNicks stores the note that the index of nicks has all redemptions of a customer.
func (s *Events) NoteNicks(ctx context.Context, customer catalog.CustomerID, now time.Time) error {
	note := table.NickNoteKey(customer).Attributes()
	note[table.AttrAt] = table.Millis(now)
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(s.table), Item: note})
	return table.Outcome(err)
}

// NicksNoted reports whether NoteNicks has stored the note for a customer.
func (s *Events) NicksNoted(ctx context.Context, customer catalog.CustomerID) (bool, error) {
	note, err := table.Get(ctx, s.api, s.table, table.NickNoteKey(customer), nil)
	return len(note) > 0, table.Outcome(err)
}
