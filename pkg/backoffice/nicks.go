package backoffice

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// RebuildNicks adds all redemptions of the shop to the index of nicks. It does not change the feed. The shop may stay
// live. If RebuildNicks ends early, calling it again completes the index. In the result, Added counts the redemptions
// with a nick, including those that were already indexed. For progress, see Rebuilding.Progress.
func (e *Events) RebuildNicks(ctx context.Context, shop *Shop, progress func(steps int)) (Rebuilt, error) {
	var result Rebuilt
	var batch []event.Fact
	for record, err := range shop.records(ctx) {
		if err != nil {
			return result, err
		}
		if record.err != nil {
			result.Unread++
		}
		for _, fact := range record.facts {
			if fact.Type == event.RedemptionCreated && fact.Redemption.Nick != "" {
				result.Added++
			}
		}
		batch = append(batch, record.facts...)
		if len(batch) >= rebuildBatch {
			if err := e.IndexNicks(ctx, shop.Profile.ID, batch); err != nil {
				return result, err
			}
			batch = nil
		}
		progress(1)
	}
	return result, e.IndexNicks(ctx, shop.Profile.ID, batch)
}

// indexedPerPage is how many redemptions a query of the index returns. It must not exceed 100, because one BatchGet
// reads the vouchers of a page.
const indexedPerPage = 100

// RedemptionsOfNick yields the redemptions of the filter's nick, including undone ones, oldest first, and stops at the
// first error. It reads the index of nicks, which is some seconds behind, and the vouchers of the redemptions. If the
// deployment has no events, or the filter has a code, it reads the items of the vouchers instead, as Redemptions does.
func (s *Shop) RedemptionsOfNick(ctx context.Context, filter RedemptionFilter) iter.Seq2[Redemption, error] {
	if s.Tables.Events == "" || filter.Code != "" {
		return s.Redemptions(ctx, filter)
	}
	return func(yield func(Redemption, error) bool) {
		query := table.NickIndexQuery(s.Tables.Events, s.Profile.ID, filter.Nick, filter.From, filter.Until)
		query.Limit = aws.Int32(indexedPerPage)
		for pages := dynamodb.NewQueryPaginator(s.api, query); pages.HasMorePages(); {
			page, err := s.indexed(ctx, pages)
			if err != nil {
				yield(Redemption{}, table.Outcome(err))
				return
			}
			for _, r := range page {
				if filter.picks(r) && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// indexed reads the next page of a query of the index, and the vouchers of its redemptions.
func (s *Shop) indexed(ctx context.Context, pages *dynamodb.QueryPaginator) ([]Redemption, error) {
	out, err := pages.NextPage(ctx)
	if err != nil {
		return nil, err
	}
	page := make([]Redemption, len(out.Items))
	keys := make([]table.Key, len(out.Items))
	for i, it := range out.Items {
		if page[i].Redemption, err = table.DecodeIndexed(it); err != nil {
			return nil, err
		}
		code, err := voucher.ParseCode(page[i].Code)
		if err != nil {
			return nil, err
		}
		keys[i] = table.VoucherKey(s.Profile.ID, code)
	}
	vouchers, err := table.BatchGet(ctx, s.api, s.random, s.Tables.Vouchers, keys...)
	for i, key := range keys {
		page[i].Batch = vouchers[key].Str(table.AttrBatch)
	}
	return page, err
}
