package operator

import (
	"context"
	"iter"

	"shopfront/pkg/event"
)

// RebuildNicks adds all redemptions of the shop to the index of nicks, and leaves the feed as it is. If it could read everything, it notes
// that the index is complete. The shop may stay live. If RebuildNicks ends early, calling it again completes the index. In the result, Added
// counts the redemptions with a nick, also those that were indexed before. progress is as in Rebuilding.
func (e *Events) RebuildNicks(ctx context.Context, shop *Shop, progress func(steps int)) (result Rebuilt, err error) {
	customer := shop.Customer.ID
	var facts []event.Fact
	index := func() error {
		defer func() { facts = facts[:0] }()
		return e.IndexNicks(ctx, customer, facts)
	}
	for record, err := range shop.events.Records(ctx, customer) {
		if err != nil {
			return result, err
		}
		if record.Err != nil {
			result.Unread++
		}
		for _, fact := range record.Facts {
			if fact.Type == event.RedemptionCreated && fact.Redemption.Nick != "" {
				result.Added++
			}
		}
		if facts = append(facts, record.Facts...); len(facts) >= rebuildBatch {
			if err := index(); err != nil {
				return result, err
			}
		}
		progress(1)
	}
	if err := index(); err != nil || result.Unread > 0 {
		return result, err
	}
	return result, shop.events.NoteNicks(ctx, customer, e.Now())
}

// RedemptionsOfNick yields the redemptions of the filter's nick, oldest first, undone ones included, and stops at the first error. It reads
// the index of nicks, which is some seconds late, and their vouchers. In a deployment without events, or if the filter has a code, it reads
// the vouchers, as Redemptions does.
func (s *Shop) RedemptionsOfNick(ctx context.Context, filter RedemptionFilter) iter.Seq2[Redemption, error] {
	if s.events == nil || filter.Code != "" {
		return s.Redemptions(ctx, filter)
	}
	return func(yield func(Redemption, error) bool) {
		for r, err := range s.events.RedemptionsOf(ctx, s.Customer.ID, filter.Nick, filter.From, filter.Until) {
			if (err != nil || filter.picks(r)) && !yield(r, err) {
				return
			}
		}
	}
}

// NicksIndexed reports whether RedemptionsOfNick finds all redemptions, and not only those since the index of nicks began.
func (s *Shop) NicksIndexed(ctx context.Context) (bool, error) {
	if s.events == nil {
		return true, nil
	}
	return s.events.NicksNoted(ctx, s.Customer.ID)
}
