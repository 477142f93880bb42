package operator

import (
	"context"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// Redemption finds a redemption of a voucher by its ID, undone or not. It reads all redemptions of the code. Errors are
// voucher.ErrRedemptionNotFound, and a *voucher.RefusalError for an unknown code.
func (s *Shop) Redemption(ctx context.Context, code voucher.Code, id string) (Redemption, error) {
	for redemption, err := range s.Redemptions(ctx, RedemptionFilter{Code: code}) {
		if err != nil || redemption.ID == id {
			return redemption, err
		}
	}
	return Redemption{}, voucher.ErrRedemptionNotFound
}

// OrderOf finds the order that made a redemption, or returns checkout.ErrOrderNotFound. It reads only the orders that were placed in
// the millisecond of the redemption.
func (s *Shop) OrderOf(ctx context.Context, r Redemption) (checkout.ID, error) {
	for order, err := range s.Orders(ctx, checkout.OrderFilter{From: r.At, Until: r.At.Add(time.Millisecond)}) {
		if err != nil {
			return "", err
		}
		if order.Hold != nil && order.Hold.ID == r.ID {
			return order.ID, nil
		}
	}
	return "", checkout.ErrOrderNotFound
}
