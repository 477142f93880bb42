package operator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"shopfront/pkg/checkout"
)

// Checkouts lists the checkouts that the filter picks at a time, oldest first. It reads all of the customer's stored checkouts.
func (s *Shop) Checkouts(ctx context.Context, filter checkout.Filter, at time.Time) ([]checkout.Checkout, error) {
	var picked []checkout.Checkout
	for c, err := range s.checkouts.List(ctx, s.Customer.ID) {
		if err != nil {
			return nil, err
		}
		if filter.Picks(c, at) {
			picked = append(picked, c)
		}
	}
	slices.SortFunc(picked, func(a, b checkout.Checkout) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return picked, nil
}

// Checkout finds a checkout of any status by its ID, or returns checkout.ErrNotFound.
func (s *Shop) Checkout(ctx context.Context, id checkout.ID) (checkout.Checkout, error) {
	return checkout.Checkouts{Store: s.orders.Store}.Show(ctx, s.Customer.ID, id)
}
