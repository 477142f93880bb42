package reconciliation

import (
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
)

// DeletionDelay is how much later than it may DynamoDB deletes an expired checkout: typically within a few days
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html). This is more than a few.
const DeletionDelay = 7 * 24 * time.Hour

// Checkout is a checkout as it stands in the store.
type Checkout struct {
	checkout.Checkout

	Place Place
	// Faults are what is wrong with it as an item: KindMalformed or KindMisplaced. It is then not judged any further.
	Faults []Finding
	Status checkout.Status // as stored: time alone makes an open one an expired one
	// DeletedAt is when DynamoDB may delete it, in whole seconds; the zero time: never.
	DeletedAt time.Time
}

// Fault says that the item cannot be read as a checkout that belongs where it stands.
func (c *Checkout) Fault(kind Kind, message string) {
	c.Faults = append(c.Faults, found(kind, c.Place, "%s", message))
}

// DeletionTime is when a checkout that expires at a time is to be deleted: in whole seconds, and not a moment too early.
func DeletionTime(expires time.Time) time.Time {
	return expires.Add(checkout.Retention + time.Second - 1).Truncate(time.Second)
}

// Judge says what is wrong with the checkout, of a customer with a currency, as seen at a time. A checkout is one item and
// never changes: what is found is certain.
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
		add(KindCurrency, "in %s; the customer's is %s", c.UnitPrice.Currency, currency)
	}
	subtotal, err := c.UnitPrice.Times(c.Amount)
	if err != nil || subtotal != c.Subtotal {
		add(KindPrice, "%d at %s are not %s", c.Amount, c.UnitPrice, c.Subtotal)
	} else if total, err := c.Subtotal.Minus(c.Discount); err != nil || total != c.Total {
		add(KindPrice, "%s less %s is not %s", c.Subtotal, c.Discount, c.Total)
	}
	if c.Created.After(now.Add(ClockSkew)) {
		add(KindFuture, "created at %s, and now is %s", written(c.Created), written(now))
	}
	if due := DeletionTime(c.Expires); c.DeletedAt.IsZero() {
		add(KindDeletionTime, "nothing deletes it; that should happen at %s", written(due))
	} else if !c.DeletedAt.Equal(due) {
		add(KindDeletionTime, "deleted at %s, instead of %s", written(c.DeletedAt), written(due))
	}
	if due := DeletionTime(c.Expires); now.After(due.Add(DeletionDelay)) {
		add(KindKeptTooLong, "expired at %s and should have been deleted from %s on: is time to live on?", written(c.Expires), written(due))
	}
	return wrong
}
