package kills_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Each shop has the voucher summer20.
const summer20 = "SUMMER-20"

func orderPlaceWithCode() command {
	c := orderPlace()
	c.kind, c.prepare = "order place, with a code", withHeldCheckout
	return c
}

func orderCancelWithCode() command {
	c := orderCancel()
	c.kind = "order cancel, with a code"
	c.prepare = func(r *round, s subject) {
		r.t.Helper()
		withHeldCheckout(r, s)
		placeOrder(r, s)
	}
	return c
}

func redemptionUndo() command {
	return command{
		kind: "redemption undo", isWhole: true, late: true, prepare: withRedemption,
		args: func(r *round, s subject) []string {
			return []string{"redemption", "undo", s.shop, summer20, redemptionOf(r.t, s), "--reason", "granted twice"}
		},
		again: func(r *round, s subject, _ *process) {
			r.runAgain(s)
			r.printed[s] = []string{undone(r, s)}
		},
		check: func(r *round, s subject, _ []keptItem) {
			if got := undone(r, s); got != r.printed[s][0] {
				r.violation(r.t, "after a late write, the redemption is %s, want %s", got, r.printed[s][0])
			}
		},
	}
}

// undone returns the stored redemption as text.
func undone(r *round, s subject) string {
	r.t.Helper()
	redemption, err := shopOf(r, s).Redemption(r.t.Context(), compared(r.t, summer20), redemptionOf(r.t, s))
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%+v", redemption)
}

func shopOf(r *round, s subject) *backoffice.Shop {
	r.t.Helper()
	return r.BackOffice(r.t, catalog.ShopID(s.shop))
}

// began returns the same time on each call, so that items that are prepared with this time are equal for all subjects.
var began = sync.OnceValue(func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }) //nolint:gochecknoglobals // a constant

// withSummer20 prepares a shop with a voucher that has 100 uses, two for each nick. It returns a request for the
// voucher.
func withSummer20(r *round, s subject) voucher.Request {
	r.t.Helper()
	withShop(r, s)
	terms := voucher.Terms{
		Written: summer20, MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(2)), Parts: new(1),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
	if _, err := shopOf(r, s).CreateVoucher(r.t.Context(), terms, began()); err != nil {
		r.t.Fatal(err)
	}
	return voucher.Request{
		Shop: catalog.ShopID(s.shop), Code: compared(r.t, summer20),
		Nick: nickOf(r.t, alder), At: began(),
	}
}

// withHeldCheckout prepares a shop with a checkout that holds a use.
func withHeldCheckout(r *round, s subject) {
	r.t.Helper()
	request := withSummer20(r, s)
	store := dynamo.NewCheckouts(dynamotest.Client(r.t),
		dynamo.Tables{Checkouts: r.Calm.Tables.Checkouts, Vouchers: r.Calm.Tables.Vouchers}, rand.Int64N)
	v, err := store.Rules(r.t.Context(), request)
	if err != nil {
		r.t.Fatal(err)
	}
	amount := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: currency} }
	_, err = store.Open(r.t.Context(), checkout.Opening{
		Shop: request.Shop, Voucher: v, Request: request,
		Checkout: checkout.Checkout{
			ID: orderID, Product: "coins", Variant: "500", Amount: 1, UnitPrice: amount(500), Subtotal: amount(500),
			Discount: amount(100),
			Total:    amount(400), Code: summer20, Reward: v.Reward, Nick: alder, Created: began(),
			Expires: began().Add(checkout.Lifetime),
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// redemptionOf returns the ID of the only redemption in the subject's shop.
func redemptionOf(t *testing.T, s subject) string {
	t.Helper()
	return s.nickID(t) + "mEJASNFZ4kB"
}

// withRedemption prepares a shop with a redemption.
func withRedemption(r *round, s subject) {
	r.t.Helper()
	claim := voucher.Claim{Request: withSummer20(r, s), Token: idempotency.Token(redemptionOf(r.t, s))}
	store := dynamo.NewRedeemer(dynamotest.Client(r.t), dynamo.Tables{Vouchers: r.Calm.Tables.Vouchers}, rand.Int64N)
	if _, err := store.Redeem(r.t.Context(), claim); err != nil {
		r.t.Fatal(err)
	}
}
