package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
)

// Checkouts yields the checkouts that the filter picks at the given time, in no particular order, and stops at the
// first error. It reads all of the shop's stored checkouts.
func (s *Shop) Checkouts(
	ctx context.Context, filter checkout.Filter, at time.Time,
) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		for c, err := range s.allCheckouts(ctx) {
			if (err != nil || filter.Picks(c, at)) && !yield(c, err) {
				return
			}
		}
	}
}

// allCheckouts yields all stored checkouts of the shop, of any status and unsorted, and stops at the first error.
// Checkouts that are opened meanwhile may be missing.
func (s *Shop) allCheckouts(ctx context.Context) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		for it, err := range items(ctx, s.api, partition(s.Tables.Checkouts, string(s.Customer.ID))) {
			if !yield(table.DecodeCheckout(it), table.Outcome(err)) {
				return
			}
		}
	}
}

// Checkout finds a checkout of any status by its ID, or returns checkout.ErrNotFound.
func (s *Shop) Checkout(ctx context.Context, id checkout.ID) (checkout.Checkout, error) {
	return checkout.Checkouts{Store: s.orders().Store}.Show(ctx, s.Customer.ID, id)
}
