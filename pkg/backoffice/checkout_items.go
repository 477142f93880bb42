package backoffice

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// auditedCheckouts yields all stored checkouts of the shop, together with the faults of their items, and stops at the
// first error.
func (s *Shop) auditedCheckouts(ctx context.Context) iter.Seq2[audit.Checkout, error] {
	return func(yield func(audit.Checkout, error) bool) {
		for it, err := range s.checkoutItems(ctx) {
			if !yield(s.auditedCheckout(it), table.Outcome(err)) {
				return
			}
		}
	}
}

// rereadCheckout reads a stored checkout again. found is false if no checkout with the ID is stored any more.
func (s *Shop) rereadCheckout(ctx context.Context, id checkout.ID) (c audit.Checkout, found bool, err error) {
	it, err := table.Get(ctx, s.api, s.Tables.Checkouts, table.CheckoutKey(s.Profile.ID, id.Token()), nil)
	if err != nil || it.Str(table.AttrID) != string(id) {
		return audit.Checkout{}, false, table.Outcome(err)
	}
	return s.auditedCheckout(it), true, nil
}

func (s *Shop) auditedCheckout(it table.Item) audit.Checkout {
	c := audit.Checkout{Place: placeOf(s.Tables.Checkouts, table.KeyOf(it))}
	err := check(it, table.AttrID, table.AttrProduct, table.AttrVariant, table.AttrAmount, table.AttrCurrency,
		table.AttrUnitPrice,
		table.AttrSubtotal, table.AttrDiscount, table.AttrTotal, table.AttrStatus, table.AttrCreated, table.AttrExpires)
	if err == nil {
		err = checkOrder(it)
	}
	if err == nil {
		err = checkUse(it)
	}
	if err != nil {
		c.Fault(audit.KindMalformed, err.Error())
		return c
	}
	c.Checkout = table.DecodeCheckout(it)
	if it.Has(table.AttrExpiresAt) {
		c.DeletedAt = time.Unix(it.Num(table.AttrExpiresAt), 0).UTC()
	}
	id, err := checkout.ParseID(it.Str(table.AttrID))
	switch {
	case err != nil:
		c.Fault(audit.KindMalformed, err.Error())
	case belongs(it, table.CheckoutKey(s.Profile.ID, id.Token())) != nil:
		c.Fault(audit.KindMisplaced, "the key does not belong to the checkout's ID")
	case c.Order != nil && it.Str(table.AttrShelf) != table.ShelfOf(s.Profile.ID, id.Token()):
		c.Fault(audit.KindMalformed, "the attribute "+table.AttrShelf+" does not belong to the checkout's ID")
	}
	return c
}

// checkOrder returns an error if the item lacks an attribute that its status requires, has an attribute that its status
// forbids, or has one that cannot be read.
func checkOrder(it table.Item) error {
	var required, optional []string
	status := it.Str(table.AttrStatus)
	switch status {
	case table.StatusOpen, table.StatusReplaced, table.StatusReleased:
	case table.StatusOrdered:
		required, optional = []string{table.AttrOrdered, table.AttrShelf},
			[]string{table.AttrPayment, table.AttrFulfilled}
	case table.StatusCancelled:
		required, optional = []string{table.AttrOrdered, table.AttrShelf, table.AttrCancelled, table.AttrReason},
			[]string{table.AttrPayment, table.AttrFulfilled}
	default:
		return fmt.Errorf("the status %q is not open, ordered, cancelled, replaced or released", status)
	}
	if err := check(it, required...); err != nil {
		return err
	}
	for _, name := range []string{
		table.AttrOrdered, table.AttrShelf, table.AttrPayment, table.AttrFulfilled, table.AttrCancelled,
		table.AttrReason,
	} {
		if it.Has(name) && !slices.Contains(required, name) && !slices.Contains(optional, name) {
			return fmt.Errorf("the status is %s, but the item has the attribute %s", status, name)
		}
	}
	return checkOrderTexts(it, table.DecodeCheckout(it))
}

// checkUse returns an error if the code, the nick or the hold of a checkout lacks a part or cannot be read.
func checkUse(it table.Item) error {
	nick, err := voucher.ParseNick(it.Str(table.AttrNick))
	if err != nil || it.Str(table.AttrBuyer) != table.NickCondition(nick) {
		return errors.New("the attribute " + table.AttrBuyer + " is not the hash of the nick")
	}
	if it.Has(table.AttrCode) != it.Has(table.AttrUse) {
		return errors.New("the attributes " + table.AttrCode + " and " + table.AttrUse +
			" need each other, but one is missing")
	}
	if !it.Has(table.AttrCode) {
		return nil
	}
	if _, err := voucher.ParseCode(it.Str(table.AttrCode)); err != nil {
		return errors.New("the attribute " + table.AttrCode + " is not a code")
	}
	hold := table.DecodeCheckout(it).Hold
	if hold == nil || !isUse(*hold) {
		return errors.New("the attribute " + table.AttrUse + " is not a hold")
	}
	return nil
}

func isUse(hold voucher.Hold) bool {
	_, badID := voucher.ParseRedemptionID(hold.ID)
	switch hold.Kind {
	case voucher.HoldSingleUse, voucher.HoldByNick, voucher.HoldUnlimited:
		return badID == nil && hold.Counter == table.NoCounter
	case voucher.HoldCountedByNick, voucher.HoldCounted:
		return badID == nil && 0 <= hold.Counter && hold.Counter < voucher.MaxCounters
	default:
		return false
	}
}

func checkOrderTexts(it table.Item, c checkout.Checkout) error {
	if c.Order == nil {
		return nil
	}
	if it.Str(table.AttrOrdered) != table.OrderedAt(c.Order.Placed, c.ID.Token()) {
		return errors.New("the attribute " + table.AttrOrdered +
			" does not consist of a time and the first half of the ID")
	}
	if _, err := checkout.ParsePayment(c.Order.Payment.Provider,
		c.Order.Payment.Reference); it.Has(table.AttrPayment) && err != nil {
		return errors.New("the attribute " + table.AttrPayment + " does not consist of a provider and a reference")
	}
	if _, err := checkout.ParseReason(c.Order.Reason); it.Has(table.AttrReason) && err != nil {
		return errors.New("the attribute " + table.AttrReason + " is not a reason")
	}
	return nil
}
