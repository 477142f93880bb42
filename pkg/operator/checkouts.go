package operator

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/checkout"
)

// Checkouts yields the checkouts that the filter picks at the given time, in no particular order, and stops at the first error. It
// reads all of the customer's stored checkouts.
func (s *Shop) Checkouts(ctx context.Context, filter checkout.Filter, at time.Time) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		for c, err := range s.checkouts.List(ctx, s.Customer.ID) {
			if (err != nil || filter.Picks(c, at)) && !yield(c, err) {
				return
			}
		}
	}
}

// Checkout finds a checkout of any status by its ID, or returns checkout.ErrNotFound.
func (s *Shop) Checkout(ctx context.Context, id checkout.ID) (checkout.Checkout, error) {
	return checkout.Checkouts{Store: s.orders.Store}.Show(ctx, s.Customer.ID, id)
}
