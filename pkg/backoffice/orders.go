package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/checkout"
)

// Orders yields the orders that the filter picks, oldest first, and stops at the first error. It reads all pages, so
// the filter's After, OldestFirst and Limit have no effect. A placed or changed order appears in the list with a delay,
// usually within a second.
func (s *Shop) Orders(ctx context.Context, filter checkout.OrderFilter) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		filter.After, filter.OldestFirst, filter.Limit = nil, true, checkout.MaxOrdersPerPage
		for more := true; more; more = filter.After != nil {
			page, end, err := s.orders().List(ctx, s.Profile.ID, filter)
			if err != nil {
				yield(checkout.Checkout{}, err)
				return
			}
			for _, order := range page {
				if !yield(order, nil) {
					return
				}
			}
			filter.After = end
		}
	}
}

// Order finds an order by its ID, or returns checkout.ErrOrderNotFound.
func (s *Shop) Order(ctx context.Context, id checkout.ID) (checkout.Checkout, error) {
	return s.orders().Show(ctx, s.Profile.ID, id)
}

// PlaceOrder turns a checkout into an order, as checkout.Orders does. The bool reports whether the checkout already was
// an order.
func (s *Shop) PlaceOrder(
	ctx context.Context, id checkout.ID, payment checkout.Payment, now time.Time,
) (checkout.Checkout, bool, error) {
	return s.orders().Place(ctx, s.Profile.ID, id, payment, asStored(now))
}

// FulfilOrder marks an order as fulfilled, as checkout.Orders does. The bool reports whether the order already was
// fulfilled.
func (s *Shop) FulfilOrder(ctx context.Context, id checkout.ID, now time.Time) (checkout.Checkout, bool, error) {
	return s.orders().Fulfil(ctx, s.Profile.ID, id, asStored(now))
}

// CancelOrder cancels an order, as checkout.Orders does. The bool reports whether the order already was cancelled.
func (s *Shop) CancelOrder(
	ctx context.Context, id checkout.ID, reason string, now time.Time,
) (checkout.Checkout, bool, error) {
	return s.orders().Cancel(ctx, s.Profile.ID, id, reason, asStored(now))
}

// asStored rounds a time as the store does. The rules compare the given time with the stored one to distinguish a
// change from a replay.
func asStored(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }
