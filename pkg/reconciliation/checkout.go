package reconciliation

import (
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
)

// DeletionDelay is how long DynamoDB may take to delete an item whose time to live has passed. Typically that is a few days
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html).
const DeletionDelay = 7 * 24 * time.Hour

// addedRetention is how much longer checkouts are stored than versions did that knew no orders.
const addedRetention = 24 * time.Hour

// Checkout is a checkout as it is stored.
type Checkout struct {
	checkout.Checkout

	Place Place
	// Faults are findings of KindMalformed or KindMisplaced. If there are any, the checkout is not judged further.
	Faults []Finding
	Status checkout.Status // as stored; a checkout expires by time alone
	// DeletedAt is the time to live, in whole seconds; zero: DynamoDB never deletes it.
	DeletedAt time.Time
}

// Fault adds a fault of the item.
func (c *Checkout) Fault(kind Kind, message string) {
	c.Faults = append(c.Faults, found(kind, c.Place, "%s", message))
}

// DeletionTime returns the time to live of a checkout: in whole seconds, rounded up so that it is never too early.
func DeletionTime(expires time.Time) time.Time {
	return expires.Add(checkout.Retention + time.Second - 1).Truncate(time.Second)
}

// Judge returns what is wrong with the checkout at the time now. currency is the customer's. A checkout is one item that
// never changes, so the findings are certain.
func (c *Checkout) Judge(currency money.Currency, now time.Time) []Finding {
	if len(c.Faults) > 0 {
		return c.Faults
	}
	var wrong []Finding
	add := func(kind Kind, format string, args ...any) {
		wrong = append(wrong, found(kind, c.Place, format, args...))
	}
	if c.Status != checkout.StatusOpen || c.Amount < 1 || !c.Created.Before(c.Expires) {
		add(KindMalformed, "amount %d, status %q, created %s, expires %s", c.Amount, c.Status, written(c.Created), written(c.Expires))
		return wrong
	}
	if c.UnitPrice.Currency != currency {
		add(KindCurrency, "in %s, but the customer's currency is %s", c.UnitPrice.Currency, currency)
	}
	subtotal, err := c.UnitPrice.Times(c.Amount)
	if err != nil || subtotal != c.Subtotal {
		add(KindPrice, "%d times %s is not %s", c.Amount, c.UnitPrice, c.Subtotal)
	} else if total, err := c.Subtotal.Minus(c.Discount); err != nil || total != c.Total {
		add(KindPrice, "%s less %s is not %s", c.Subtotal, c.Discount, c.Total)
	}
	if c.Created.After(now.Add(ClockSkew)) {
		add(KindFuture, "created at %s, but it is %s now", written(c.Created), written(now))
	}
	if due := DeletionTime(c.Expires); c.DeletedAt.IsZero() {
		add(KindDeletionTime, "its time to live is missing; it should be %s", written(due))
	} else if !c.DeletedAt.Equal(due) && !c.DeletedAt.Equal(due.Add(-addedRetention)) {
		add(KindDeletionTime, "its time to live is %s instead of %s", written(c.DeletedAt), written(due))
	}
	if due := DeletionTime(c.Expires); now.After(due.Add(DeletionDelay)) {
		add(KindKeptTooLong, "expired at %s and should have been deleted at %s: is time to live enabled on the table?",
			written(c.Expires), written(due))
	}
	return wrong
}
