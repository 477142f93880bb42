package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// Eight checkouts, half of them with a code, are ordered twice each at once with a payment that covers some of them.
// Whatever fails, the orders have spent exactly what is stored, and never more than the payment's amount.
func TestPlace_OnePaymentRacesAndFaults_NeverExceedsItsAmount(t *testing.T) {
	t.Parallel()
	paymentTrials().simulate(t, 100)
}

func paymentTrials() trials {
	all := trials{}
	for name, faults := range map[string]memdynamo.Rates{"reliable": {}, "every fault": everyFault(0.05)} {
		all[name] = func(s *simulation) {
			s.faults = faults
			spendOnePayment(s)
		}
	}
	return all
}

func spendOnePayment(s *simulation) {
	f := newFair(s, voucher.Terms{
		MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.NoLimit), Parts: new(2),
	})
	opener := f.opener
	opener.Store = dynamo.NewCheckouts(s.setup,
		dynamo.Tables{Checkouts: simulatedCheckouts, Vouchers: simulatedVouchers}, s.random.Int64N)
	payment := paidWith("pi_cart", 2400)
	spent := func() int64 {
		return s.setup.item(simulatedCheckouts, table.PaymentKey(emberforge, payment)).Num(table.AttrUsed)
	}
	s.afterCommit = func(stored *simulatedDynamoDB) {
		ordered := int64(0)
		for _, it := range stored.items(simulatedCheckouts) {
			if c := table.DecodeCheckout(it); c.Order != nil && c.Order.Payment == payment {
				ordered += c.Total.Minor
			}
		}
		if ordered != spent() || ordered > payment.Amount.Minor {
			s.t.Errorf("%d are spent, and the orders sum up to %d, of %s", spent(), ordered, payment.Amount)
		}
	}
	for i := range 8 {
		wanted := checkout.Request{
			Shop: emberforge, Product: "coins", Variant: "500", At: s.now(), Amount: 1 + s.random.Int64N(2),
		}
		if i%2 == 0 {
			wanted.Code = f.v.Code
		}
		c, _, err := opener.Open(s.t.Context(), wanted)
		must(s.t, err)
		for range 2 {
			s.request(s.t.Context(), fmt.Sprint("order ", i), func(ctx context.Context) {
				ctx, cancel := inTime(ctx)
				defer cancel()
				_, _, err := f.orders.Place(ctx, emberforge, c.ID, payment, s.now())
				f.want(err, "order", []error{checkout.ErrPaymentInsufficient})
				s.alone(func() {
					if errors.Is(err, checkout.ErrPaymentInsufficient) && spent()+c.Total.Minor <= payment.Amount.Minor {
						s.t.Errorf("order of %s: %v, but only %d are spent", c.Total, err, spent())
					}
				})
			})
		}
	}
	s.run()
}
