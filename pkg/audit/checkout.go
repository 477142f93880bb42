package audit

import (
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// DeletionDelay is how long DynamoDB may take to delete an item whose time to live has passed. Usually DynamoDB takes a
// few days at most (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html).
const DeletionDelay = 7 * 24 * time.Hour

// Checkout is a checkout as it is stored.
type Checkout struct {
	checkout.Checkout

	Place Place
	// Faults are findings of KindMalformed or KindMisplaced. If there are any, the checkout is not judged further.
	Faults []Finding
	// DeletedAt is the time to live, in whole seconds. If it is zero, DynamoDB never deletes the checkout.
	DeletedAt time.Time
}

// Fault adds a fault of the item.
func (c *Checkout) Fault(kind Kind, message string) {
	c.Faults = append(c.Faults, found(kind, c.Place, "%s", message))
}

// DeletionTime returns the time to live of a checkout in whole seconds. It is rounded up, so that it is never too
// early.
func DeletionTime(expires time.Time) time.Time {
	return expires.Add(checkout.Retention + time.Second - 1).Truncate(time.Second)
}

// Judge returns what is wrong with the checkout and its order at the time now. currency is the shop's currency. A
// checkout is one item, and each change of it is one write, so the findings are certain.
func (c *Checkout) Judge(currency money.Currency, now time.Time) []Finding {
	if len(c.Faults) > 0 {
		return c.Faults
	}
	j := &checkoutJudgement{Checkout: c}
	if c.Amount < 1 || !c.Created.Before(c.Expires) {
		j.add(KindMalformed, "amount %d, created %s, expires %s", c.Amount, written(c.Created), written(c.Expires))
		return j.wrong
	}
	j.judgePrice(currency)
	j.notAfter(now, "created", c.Created)
	if c.Order == nil {
		j.judgeDeletion(now)
	} else {
		j.judgeOrder(now)
	}
	return j.wrong
}

// checkoutJudgement collects what is wrong with a checkout.
type checkoutJudgement struct {
	*Checkout

	wrong []Finding
}

func (j *checkoutJudgement) add(kind Kind, format string, args ...any) {
	j.wrong = append(j.wrong, found(kind, j.Place, format, args...))
}

func (j *checkoutJudgement) judgePrice(currency money.Currency) {
	if j.UnitPrice.Currency != currency {
		j.add(KindCurrency, "in %s, but the shop's currency is %s", j.UnitPrice.Currency, currency)
	}
	if (j.Discount.Minor == 0) != (j.Code == "") {
		j.add(KindPrice, "the code %q takes %s off", j.Code, j.Discount)
	}
	subtotal, err := j.UnitPrice.Times(j.Amount)
	if err != nil || subtotal != j.Subtotal {
		j.add(KindPrice, "%d times %s is not %s", j.Amount, j.UnitPrice, j.Subtotal)
	} else if total, err := j.Subtotal.Minus(j.Discount); err != nil || total != j.Total {
		j.add(KindPrice, "%s less %s is not %s", j.Subtotal, j.Discount, j.Total)
	}
}

// JudgeUse returns what is wrong with the redemption of the checkout's code. The parameter recorded has the redemptions
// of the code that are stored under the checkout's token. An order must have exactly one redemption, made by an order.
// Cancelling the order undoes the redemption. A checkout that was not ordered must have no redemption, even if it
// shares its hold with an order. The items are not read at one moment, so the finding is doubtful.
func (c *Checkout) JudgeUse(recorded []voucher.Redemption) []Finding {
	j := &checkoutJudgement{Checkout: c}
	switch {
	case c.Order == nil && len(recorded) > 0:
		j.add(KindOrderUse, "the checkout was not ordered, but the code %s has a redemption for it", c.Code)
	case c.Order == nil:
	case len(recorded) != 1:
		j.add(KindOrderUse, "ordered with the code %s, which has %s for the order instead of one", c.Code,
			count(len(recorded), "redemption"))
	case !recorded[0].ByOrder:
		j.add(KindOrderUse, "ordered with the code %s, but its redemption was not made by an order", c.Code)
	case recorded[0].Undone.IsZero() != c.Order.Cancelled.IsZero():
		state := "undone"
		if recorded[0].Undone.IsZero() {
			state = "not undone"
		}
		j.add(KindOrderUse, "the order is %s, but its redemption of the code %s is %s", c.Order.Status(), c.Code, state)
	}
	return j.wrong
}

// notAfter adds a finding if an event happened in the future. The parameter what names the event. If at is zero, the
// event did not happen.
func (j *checkoutJudgement) notAfter(now time.Time, what string, at time.Time) {
	if at.After(now.Add(ClockSkew)) {
		j.add(KindFuture, "%s at %s, but it is %s now", what, written(at), written(now))
	}
}

// judgeDeletion judges the time to live of a checkout that was not ordered.
func (j *checkoutJudgement) judgeDeletion(now time.Time) {
	due := DeletionTime(j.Expires)
	if j.DeletedAt.IsZero() {
		j.add(KindDeletionTime, "its time to live is missing; it should be %s", written(due))
	} else if !j.DeletedAt.Equal(due) {
		j.add(KindDeletionTime, "its time to live is %s instead of %s", written(j.DeletedAt), written(due))
	}
	if now.After(due.Add(DeletionDelay)) {
		j.add(KindKeptTooLong, "expired at %s and should have been deleted at %s: "+
			"is time to live enabled on the table?",
			written(j.Expires), written(due))
	}
}

// judgeOrder judges a checkout that was ordered. Its times may be off by ClockSkew, because they come from the clocks
// of several functions.
func (j *checkoutJudgement) judgeOrder(now time.Time) {
	order := j.Order
	if order.Payment == (checkout.Payment{}) && j.Total.Minor != 0 {
		j.add(KindUnpaid, "ordered without a payment, but the total is %s", j.Total)
	}
	if !j.DeletedAt.IsZero() {
		j.add(KindDeletionTime, "its time to live is %s, but orders are permanent", written(j.DeletedAt))
	}
	if last := j.Expires.Add(checkout.LateOrders); order.Placed.Before(j.Created.Add(-ClockSkew)) ||
		!order.Placed.Before(last) {
		j.add(KindMalformed, "ordered at %s, but the checkout was created at %s and could be ordered until %s",
			written(order.Placed), written(j.Created), written(last))
	}
	j.notAfter(now, "ordered", order.Placed)
	for _, event := range []struct {
		what string
		at   time.Time // zero: did not happen
	}{{"fulfilled", order.Fulfilled}, {"cancelled", order.Cancelled}} {
		if !event.at.IsZero() && event.at.Before(order.Placed.Add(-ClockSkew)) {
			j.add(KindMalformed, "%s at %s, but ordered at %s", event.what, written(event.at), written(order.Placed))
		}
		j.notAfter(now, event.what, event.at)
	}
}
