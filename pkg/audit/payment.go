package audit

import "shopfront/pkg/money"

// Payment is the stated amount of a payment, and what was spent of it.
type Payment struct {
	Place  Place
	Amount money.Money
	// Before and After are the stored sums, read before and after the orders. A sum never shrinks.
	Before, After int64
	Orders        int64 // the sum of the totals of the orders that state the amount
}

// Judge returns what is wrong. The findings are certain, even while orders are placed.
func (p Payment) Judge() (wrong []Finding) {
	if p.Orders < p.Before || p.Orders > p.After {
		wrong = append(wrong, found(KindPayment, p.Place,
			"%d minor units of the payment are spent, but its orders sum up to %d", p.After, p.Orders))
	}
	if max(p.Orders, p.After) > p.Amount.Minor {
		wrong = append(wrong, found(KindPayment, p.Place, "its orders exceed the payment's amount of %s", p.Amount))
	}
	return wrong
}
