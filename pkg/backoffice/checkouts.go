package backoffice

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
)

// Checkouts yields the checkouts that the filter picks at the given time, oldest first, or the first error. It reads
// all of the shop's stored checkouts, and holds those that it yields in memory.
func (s *Shop) Checkouts(
	ctx context.Context, filter checkout.Filter, at time.Time,
) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		var picked []checkout.Checkout
		for c, err := range s.allCheckouts(ctx) {
			if err != nil {
				yield(c, err)
				return
			}
			if filter.Picks(c, at) {
				picked = append(picked, c)
			}
		}
		slices.SortFunc(picked, func(a, b checkout.Checkout) int {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
		})
		for _, c := range picked {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// checkoutItems yields the items of all stored checkouts of the shop, and stops at the first error.
func (s *Shop) checkoutItems(ctx context.Context) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		for it, err := range s.inOrder(ctx, s.Tables.Checkouts, "", listReaders) {
			isPayment := strings.HasPrefix(it.Str(table.SortKey), table.PaymentPrefix)
			if !isPayment && !yield(it, err) {
				return
			}
		}
	}
}

// allCheckouts yields all stored checkouts of the shop, of any status and unsorted, and stops at the first error.
// Checkouts that are opened meanwhile may be missing.
func (s *Shop) allCheckouts(ctx context.Context) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		for it, err := range s.checkoutItems(ctx) {
			if !yield(table.DecodeCheckout(it), table.Outcome(err)) {
				return
			}
		}
	}
}

// Checkout finds a checkout of any status by its ID, or returns checkout.ErrNotFound.
func (s *Shop) Checkout(ctx context.Context, id checkout.ID) (checkout.Checkout, error) {
	return checkout.Checkouts{Store: s.orders().Store}.Show(ctx, s.Profile.ID, id)
}

// NumberedCheckout finds a checkout of any status by its number, as checkout.Checkouts does.
func (s *Shop) NumberedCheckout(ctx context.Context, number checkout.Number) (checkout.Checkout, error) {
	return checkout.Checkouts{Store: s.orders().Store}.Find(ctx, s.Profile.ID, number)
}

// ReleaseCheckout ends a checkout, as checkout.Orders does. The bool reports whether the checkout was released or
// replaced before.
func (s *Shop) ReleaseCheckout(ctx context.Context, id checkout.ID) (checkout.Checkout, bool, error) {
	return s.orders().Release(ctx, s.Profile.ID, id, true)
}

// ReleaseCheckouts releases checkouts, several at a time, and returns how many it released. It passes over those that
// have ended meanwhile. If it ends early, calling it again completes it.
func (s *Shop) ReleaseCheckouts(
	ctx context.Context, checkouts []checkout.Checkout, bulk Bulk,
) (released int, err error) {
	work := func(yield func(checkout.Checkout, error) bool) {
		for _, c := range checkouts {
			if !yield(c, nil) {
				return
			}
		}
	}
	var mu sync.Mutex
	bulk.begin(len(checkouts))
	err = inParallel(ctx, s.pace(bulk), work, func(ctx context.Context, c checkout.Checkout) error {
		_, replayed, err := s.ReleaseCheckout(ctx, c.ID)
		if err != nil && !errors.Is(err, checkout.ErrOrdered) && !errors.Is(err, checkout.ErrNotFound) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil && !replayed {
			released++
		}
		bulk.wrote()
		return nil
	})
	return released, err
}
