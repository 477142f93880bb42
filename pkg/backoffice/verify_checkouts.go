package backoffice

import (
	"context"
	"strings"

	"shopfront/pkg/audit"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/money"
)

func (v *verifier) checkouts(ctx context.Context) error {
	var coded []audit.Checkout // checkouts with a code; they are judged together
	payments := make(payments)
	if err := payments.read(ctx, v.shop, func(p *payment, a table.Allowance) { p.before = a }); err != nil {
		return err
	}
	for c, err := range v.shop.auditedCheckouts(ctx) {
		if err != nil {
			return err
		}
		v.report.Checkouts++
		v.report.Add(c.Judge(v.shop.Profile.Currency, v.Now())...)
		v.Read(1)
		if c.Order != nil && c.Order.Payment.Amount != (money.Money{}) {
			payments.at(c.Order.Payment).orders += c.Total.Minor
		}
		v.holds.found(c)
		if c.Hold == nil || len(c.Faults) > 0 {
			continue
		}
		if coded = append(coded, c); len(coded) == maxCheckoutUses {
			if err := v.uses(ctx, coded); err != nil {
				return err
			}
			coded = nil
		}
	}
	if err := payments.read(ctx, v.shop, func(p *payment, a table.Allowance) { p.after = a }); err != nil {
		return err
	}
	for stated, p := range payments {
		place := placeOf(v.shop.Tables.Checkouts, table.PaymentKey(v.shop.Profile.ID, stated))
		v.report.Add(audit.JudgeItem(place, "the payment", stated.Amount.Minor, auditedItem(p.after),
			p.orders, p.orders+p.after.Used-p.before.Used)...)
	}
	return v.uses(ctx, coded)
}

// payment is an allowance of a payment's stated amount, read before and after the orders, and the sum of their totals.
type payment struct {
	before, after table.Allowance
	orders        int64
}

// payments are the payments whose amount was stated. An order that states another amount counts as another payment.
type payments map[checkout.Payment]*payment

func (p payments) at(stated checkout.Payment) *payment {
	if p[stated] == nil {
		p[stated] = &payment{}
	}
	return p[stated]
}

// paymentCode stands where other sort keys have a code.
const paymentCode = "pay"

func (p payments) read(ctx context.Context, shop *Shop, note func(*payment, table.Allowance)) error {
	for it, err := range shop.inOrder(ctx, shop.Tables.Checkouts, paymentCode, listReaders) {
		if err != nil {
			return table.Outcome(err)
		}
		a, err := table.DecodeAllowance(it)
		if err != nil {
			return err
		}
		encoded := strings.TrimPrefix(it.Str(table.SortKey), table.PaymentPrefix)
		stated := table.DecodePayment(encoded, table.Item{
			table.AttrPaid: it[table.AttrLimit], table.AttrCurrency: it[table.AttrCurrency],
		})
		note(p.at(stated), a)
	}
	return nil
}

// uses compares checkouts with the redemptions of their codes. If some checkouts look wrong, it reads these again, with
// growing pauses.
func (v *verifier) uses(ctx context.Context, checkouts []audit.Checkout) error {
	return v.again(ctx, func() (found int, findings []audit.Finding, err error) {
		findings, checkouts, err = v.judgeUses(ctx, checkouts)
		return len(findings), findings, err
	}, func() (err error) {
		checkouts, err = v.reread(ctx, checkouts)
		return err
	})
}

// judgeUses returns the findings about the uses of checkouts, and the checkouts that the findings are about.
func (v *verifier) judgeUses(
	ctx context.Context, checkouts []audit.Checkout,
) (findings []audit.Finding, wrong []audit.Checkout, err error) {
	asked := make([]checkout.Checkout, len(checkouts))
	for i, c := range checkouts {
		asked[i] = c.Checkout
	}
	redeemed, err := v.shop.redeemedBy(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range checkouts {
		if found := c.JudgeUse(redeemed[c.ID]); len(found) > 0 {
			findings, wrong = append(findings, found...), append(wrong, c)
		}
	}
	return findings, wrong, nil
}

// reread reads checkouts again. It leaves out checkouts that cannot be judged any more.
func (v *verifier) reread(ctx context.Context, checkouts []audit.Checkout) (again []audit.Checkout, err error) {
	for _, c := range checkouts {
		now, found, err := v.shop.rereadCheckout(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		if found && now.Hold != nil && len(now.Faults) == 0 {
			again = append(again, now)
		}
	}
	return again, nil
}
