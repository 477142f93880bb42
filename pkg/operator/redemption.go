package operator

import (
	"context"
	"slices"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// Redemption finds a redemption of a voucher by its ID, undone or not. It reads all redemptions of the code. Errors:
// voucher.ErrRedemptionNotFound, and a *voucher.RefusalError for an unknown code.
func (s *Shop) Redemption(ctx context.Context, code voucher.Code, id string) (Redemption, error) {
	redemptions, err := s.Redemptions(ctx, RedemptionFilter{Code: code})
	if err != nil {
		return Redemption{}, err
	}
	at := slices.IndexFunc(redemptions, func(r Redemption) bool { return r.ID == id })
	if at < 0 {
		return Redemption{}, voucher.ErrRedemptionNotFound
	}
	return redemptions[at], nil
}

// OrderOf finds the order that made a redemption, or returns checkout.ErrOrderNotFound. The order was placed at the same time.
func (s *Shop) OrderOf(ctx context.Context, r Redemption) (checkout.ID, error) {
	orders, err := s.Orders(ctx, checkout.OrderFilter{From: r.At, Until: r.At.Add(time.Millisecond)})
	if err != nil {
		return "", err
	}
	for _, order := range orders {
		if order.Hold != nil && order.Hold.ID == r.ID {
			return order.ID, nil
		}
	}
	return "", checkout.ErrOrderNotFound
}
