// Package redeem shows how a storefront written in Go redeems a voucher.
package redeem

import (
	"context"
	"errors"

	"shopfront/pkg/client"
)

// Redeem redeems a code and tells the shopper what came of it. The key is of this attempt alone: made by client.NewKey, and
// stored, before the first call. Grant gives the reward, once for each ID that it sees.
func Redeem(ctx context.Context, shop *client.Client, key, code, nick string, grant func(client.Redemption) error) (string, error) {
	redemption, err := shop.Redeem(ctx, code, nick, client.WithKey(key))
	_, unknown := errors.AsType[*client.OutcomeUnknownError](err)
	switch {
	case err == nil:
		return "Enjoy!", grant(redemption)
	case errors.Is(err, client.ErrVoucherNotFound):
		return "This code cannot be redeemed.", nil
	case errors.Is(err, client.ErrInvalid):
		return "This is not a code.", nil
	case unknown:
		return "We do not know yet. Your code is safe.", err // later: Redeem with the same key
	default:
		return "Something is wrong with this shop.", err
	}
}
