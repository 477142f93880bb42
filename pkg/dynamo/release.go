package dynamo

import (
	"context"
	"errors"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
)

// Release marks a checkout, which is given as it was read, as released, unless it has ended. In the same transaction it
// gives back the use that the checkout holds, even if the hold has lapsed. If another checkout of the nick shares the
// hold or did so once, the use stays held until the hold lapses. The hold also counts for its source until then.
//
// Release returns the checkout as it is stored afterwards, and whether this call released it.
func (s *Orders) Release(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout,
) (result checkout.Checkout, released bool, err error) {
	var freed []action
	if c.Hold != nil && !c.SharesUse {
		if freed, err = s.freeing(shop, c); err != nil {
			return checkout.Checkout{}, false, err
		}
	}
	err = s.again(ctx, func() error {
		result, released = c, true
		result.Released = true
		call := updateWhile(shop, c.ID, table.StatusOpen)
		call.Set(table.AttrStatus, table.Str(table.StatusReleased))
		release := updating(s.checkouts, call, func(old table.Item) error {
			result, released = table.DecodeCheckout(old), false
			return nil
		})
		err := transact(ctx, s.api, append([]action{release}, freed...))
		if errors.Is(err, errHoldGone) {
			freed, err = nil, errLookAgain
		}
		return err
	})
	return result, released, table.Outcome(err)
}
