package backoffice

import (
	"context"
	"slices"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// maxCheckoutUses is how many checkouts one call of redeemedBy looks up.
const maxCheckoutUses = 50

// redeemedBy looks up at most maxCheckoutUses checkouts with a code in one call. For each checkout, it returns the
// redemptions of the code that are recorded under the checkout's token, undone or not. A checkout has at most one,
// unless items are damaged.
func (s *Shop) redeemedBy(
	ctx context.Context, checkouts []checkout.Checkout,
) (map[checkout.ID][]voucher.Redemption, error) {
	places := make(map[checkout.ID][]table.Key, len(checkouts))
	var keys []table.Key // checkouts with the same code or nick share some of the keys
	for _, c := range checkouts {
		places[c.ID] = s.recordPlaces(c)
		keys = append(keys, places[c.ID]...)
	}
	found, err := table.BatchGet(ctx, s.api, s.random, s.Tables.Vouchers, keys...)
	if err != nil {
		return nil, table.Outcome(err)
	}
	redeemed := make(map[checkout.ID][]voucher.Redemption)
	for _, c := range checkouts {
		for _, key := range places[c.ID] {
			if redemption, is, err := table.Recorded(c.ID.Token(), found[key]); is && err == nil {
				redeemed[c.ID] = append(redeemed[c.ID], redemption)
			}
		}
	}
	return redeemed, nil
}

// recordPlaces returns the keys under which the redemption of a checkout's order can be.
func (s *Shop) recordPlaces(c checkout.Checkout) []table.Key {
	code, _ := voucher.ParseCode(c.Code) // parses without an error, because the checkout was read strictly
	nick, _ := voucher.ParseNick(c.Nick)
	undone, recorded := table.RedemptionKey(s.Profile.ID, code, c.ID.Token()),
		table.RecordKey(s.Profile.ID, code, nick, c.ID.Token(), c.Hold.Kind)
	return slices.Compact([]table.Key{undone, recorded})
}
