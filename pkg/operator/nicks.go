package operator

import (
	"context"
	"iter"

	"shopfront/pkg/event"
)

// RebuildNicks adds all redemptions of the shop to the index of nicks. It does not change the feed. If it could read everything, it notes
// that the index is complete. The shop may stay live. If RebuildNicks ends early, calling it again completes the index. In the result,
// Added counts the redemptions with a nick, including those that were already indexed. For progress, see
// Rebuilding.Progress.
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

// RedemptionsOfNick yields the redemptions of the filter's nick, including undone ones, oldest first, and stops at the first error. It
// reads the index of nicks, which is some seconds behind, and the vouchers of the redemptions. If the deployment has no events, or the
// filter has a code, it reads the items of the vouchers instead, as Redemptions does.
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

// NicksIndexed reports whether RedemptionsOfNick finds all redemptions. If not, RebuildNicks must run first. Until then, RedemptionsOfNick
// finds only the redemptions that were made since the index of nicks began.
func (s *Shop) NicksIndexed(ctx context.Context) (bool, error) {
	if s.events == nil {
		return true, nil
	}
	return s.events.NicksNoted(ctx, s.Customer.ID)
}
