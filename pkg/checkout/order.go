package checkout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// LateOrders is how long after its expiry a checkout can still be ordered, at the agreed price. A payment may arrive
// late.
const LateOrders = 7 * 24 * time.Hour

// Bounds of the texts in an order.
const (
	MaxProviderLength  = 32  // characters
	MaxReferenceLength = 255 // characters
	MaxReasonBytes     = voucher.MaxUndoReasonBytes
)

// Errors of orders. After each of them nothing was changed.
var (
	// ErrOrderNotFound means that the shop has no order with that ID. The ID may belong to a checkout that was not
	// ordered.
	ErrOrderNotFound = errors.New("no such order")
	// ErrExpired means that the checkout expired too long ago, that it has lost the use of its code, or that the
	// checkout stored under its token has another ID. The ID differs if a newer checkout was made with the same key, or
	// if the second half of the ID is wrong.
	ErrExpired = errors.New("the checkout has expired")
	// ErrReplaced means that another checkout replaced this one.
	ErrReplaced = errors.New("the checkout was replaced by another one")
	// ErrReleased means that the checkout was released.
	ErrReleased = errors.New("the checkout was released")
	// ErrOrdered means that the checkout was ordered and therefore cannot be released.
	ErrOrdered = errors.New("the checkout was ordered")
	// ErrPaymentInsufficient means that the orders of a payment would exceed the amount that was stated for it.
	ErrPaymentInsufficient = errors.New("the payment's amount does not cover the order and its earlier orders")
	// ErrPaymentMismatch means that the checkout was ordered with another payment.
	ErrPaymentMismatch = errors.New("the checkout was ordered with another payment")
	// ErrOrderCancelled means that the order is cancelled. A cancelled order stays cancelled.
	ErrOrderCancelled = errors.New("the order is cancelled")
)

// errNotChanged means that the stored status of an order is damaged.
var errNotChanged = errors.New("the order did not change, because its stored status is damaged")

// MemberError says which member of an order's request is wrong and why, in words for the client.
type MemberError struct {
	Pointer string // the member (RFC 6901)
	Reason  string // such as: is required
}

func (e *MemberError) Error() string { return e.Pointer[1:] + " " + e.Reason }

// Payment names a payment at a payment provider. Shopfront never asks the provider about it. The zero Payment means
// that nothing was paid.
type Payment struct {
	Provider  string // such as stripe
	Reference string // the provider's ID of the payment
	// Amount is what was paid, as the shop's server states it; zero: not stated. The first amount that an order states
	// for a reference stands, and bounds the sum of the totals of the orders that state it. A cancelled order counts,
	// because its payment may have been refunded.
	Amount money.Money
}

// IsOf reports whether the payment has the same provider and reference as another one.
func (p Payment) IsOf(other Payment) bool {
	return p.Provider == other.Provider && p.Reference == other.Reference
}

// Cover returns nil if the payment, which states an amount, can pay a total. first is the amount that was stated first,
// of which orders have spent some minor units. Errors: *MemberError, ErrPaymentInsufficient.
func (p Payment) Cover(total, first money.Money, spent int64) error {
	switch {
	case p.Amount.Currency != total.Currency:
		return &MemberError{"/payment/currency", "must be " + string(total.Currency) + ", as in the checkout"}
	case p.Amount != first:
		return &MemberError{"/payment/amount", "must be the amount that was first stated for this payment"}
	case spent > first.Minor-total.Minor:
		return ErrPaymentInsufficient
	}
	return nil
}

// Stating returns the payment with an amount in minor units, as decimal digits. Errors are *MemberError.
func (p Payment) Stating(amount, currency string) (Payment, error) {
	minor, err := strconv.ParseInt(amount, 10, 64)
	switch parsed, unknown := money.ParseCurrency(currency); {
	case err != nil || minor < 1 || minor > money.MaxMinor:
		return Payment{}, &MemberError{"/payment/amount", "must be a number of minor units, with a currency"}
	case unknown != nil:
		return Payment{}, &MemberError{"/payment/currency", "must be a currency of ISO 4217, with an amount"}
	default:
		p.Amount = money.Money{Minor: minor, Currency: parsed}
		return p, nil
	}
}

// FindPayment accepts what a list of orders is searched by: a provider, a colon, and a reference. Otherwise the error
// is a *MemberError.
func FindPayment(text string) (Payment, error) {
	provider, reference, _ := strings.Cut(text, ":")
	return ParsePayment(provider, reference)
}

// ParsePayment accepts a provider of 1 to MaxProviderLength lower-case letters, digits and hyphens, and a reference of
// 1 to MaxReferenceLength visible ASCII characters. Anything else is a *MemberError.
func ParsePayment(provider, reference string) (Payment, error) {
	isProvider := func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }
	isReference := func(c byte) bool { return '!' <= c && c <= '~' }
	switch {
	case provider == "":
		return Payment{}, &MemberError{"/payment/provider", "is required"}
	case reference == "":
		return Payment{}, &MemberError{"/payment/reference", "is required"}
	case !consistsOf(provider, MaxProviderLength, isProvider):
		return Payment{}, &MemberError{
			"/payment/provider",
			fmt.Sprintf("must have 1 to %d of the characters a-z 0-9 -", MaxProviderLength),
		}
	case !consistsOf(reference, MaxReferenceLength, isReference):
		return Payment{}, &MemberError{
			"/payment/reference",
			fmt.Sprintf("must have 1 to %d visible ASCII characters", MaxReferenceLength),
		}
	}
	return Payment{Provider: provider, Reference: reference}, nil
}

func consistsOf(text string, maxLength int, allows func(byte) bool) bool {
	for i := range len(text) {
		if !allows(text[i]) {
			return false
		}
	}
	return 0 < len(text) && len(text) <= maxLength
}

// ParseReason accepts a reason for cancelling an order: 1 to MaxReasonBytes bytes of UTF-8 without control characters,
// and not only white space. Anything else is a *MemberError.
func ParseReason(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", &MemberError{"/reason", "is required"}
	}
	_, err := voucher.ParseUndoReason(text)
	if field, is := errors.AsType[*voucher.FieldError](err); is {
		return "", &MemberError{"/reason", field.Err.Error()}
	}
	return text, err
}

// OrderStatus is the state of an order.
type OrderStatus string

// The statuses of an order.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderFulfilled OrderStatus = "fulfilled"
	OrderCancelled OrderStatus = "cancelled"
)

// OrderStatuses returns every status.
func OrderStatuses() []OrderStatus { return []OrderStatus{OrderPlaced, OrderFulfilled, OrderCancelled} }

// Order says how a checkout was paid, and when it was ordered, fulfilled and cancelled. Times are UTC in whole
// milliseconds.
type Order struct {
	Payment   Payment
	Placed    time.Time
	Fulfilled time.Time // zero: not fulfilled
	Cancelled time.Time // zero: not cancelled
	Reason    string    // why it was cancelled
}

// Status returns the order's status. A fulfilled order can still be cancelled, for example after a chargeback.
func (o Order) Status() OrderStatus {
	switch {
	case !o.Cancelled.IsZero():
		return OrderCancelled
	case !o.Fulfilled.IsZero():
		return OrderFulfilled
	default:
		return OrderPlaced
	}
}

// MaxOrdersPerPage bounds a page of a list.
const MaxOrdersPerPage = 200

// OrderFilter selects orders. A zero field selects all.
type OrderFilter struct {
	Status OrderStatus
	Nick   voucher.Nick
	// Payment has a provider and a reference.
	Payment Payment
	From    time.Time // the earliest Order.Placed, inclusive
	Until   time.Time // the latest Order.Placed, exclusive
	// After is where the previous page ended; nil: begin with the first order.
	After *OrderPosition
	// OldestFirst lists the oldest order first, not the newest. After must then come from a page of the same list.
	OldestFirst bool
	Limit       int // orders on a page: 1 to MaxOrdersPerPage
}

// OrderPosition is a place in a list of orders, which is sorted by time and token.
type OrderPosition struct {
	Placed time.Time
	Token  idempotency.Token
}

// OrderStore stores orders. Place, Fulfil, Cancel and Recall return the checkout that is then stored under the ID's
// token, even if that checkout has another ID. If none is stored there, they return ErrNotFound. After any other error
// it is unknown whether the change was applied.
type OrderStore interface {
	// Place adds the order if the stored checkout has the ID, has not ended, and expires after
	// expiresAfter. An order without a payment is added only if the total is zero. A held use becomes a redemption, in
	// the same transaction. If the checkout has lost that use, the error is ErrExpired. If the payment states an
	// amount, the total is taken off it in the same transaction, or Payment.Cover has the error.
	Place(ctx context.Context, shop catalog.ShopID, id ID, order Order, expiresAfter time.Time) (Checkout,
		error)
	// Fulfil marks the order with the ID as fulfilled, unless it already is fulfilled or cancelled.
	Fulfil(ctx context.Context, shop catalog.ShopID, id ID, at time.Time) (Checkout, error)
	// Cancel marks the order with the ID as cancelled, unless it already is. In the same transaction it undoes the
	// order's redemption.
	Cancel(ctx context.Context, shop catalog.ShopID, id ID, reason string, at time.Time) (Checkout, error)
	// List returns a page of orders, in the filter's order. end is where the page ends, or nil if no page follows. A
	// page may have fewer orders than filter.Limit, even none. An order appears in lists shortly after it was placed or
	// changed.
	List(ctx context.Context, shop catalog.ShopID, filter OrderFilter) (orders []Checkout, end *OrderPosition,
		err error)
	// Release marks a checkout, which is given as it was read, as released, unless it has ended. In the same
	// transaction it gives back the use that the checkout alone holds. It returns the checkout that is stored
	// afterwards under the token, and whether this call released it.
	Release(ctx context.Context, shop catalog.ShopID, checkout Checkout) (Checkout, bool, error)
	ReadStore
}

// Orders places and changes the orders of shops. Place, Fulfil and Cancel are idempotent: a retry changes nothing and
// returns the order with replayed set. After an error that is not named in this package it is unknown whether the
// change was applied.
type Orders struct{ Store OrderStore }

// Place turns a checkout into an order, once. Errors: ErrNotFound, ErrExpired, ErrReplaced, ErrReleased,
// ErrPaymentMismatch, ErrPaymentInsufficient, ErrOrderCancelled, and a *MemberError if the payment is missing or states
// another amount than before.
func (o Orders) Place(
	ctx context.Context, shop catalog.ShopID, id ID, payment Payment, at time.Time,
) (c Checkout, replayed bool, err error) {
	c, err = o.Store.Place(ctx, shop, id, Order{Payment: payment, Placed: at}, at.Add(-LateOrders))
	switch {
	case err != nil:
		return Checkout{}, false, err
	case c.ID != id:
		return Checkout{}, false, ErrExpired
	case c.Replaced:
		return Checkout{}, false, ErrReplaced
	case c.Released:
		return Checkout{}, false, ErrReleased
	case c.Order == nil && payment == Payment{} && c.Total.Minor != 0:
		return Checkout{}, false, &MemberError{"/payment", "is required, because the total is not zero"}
	case c.Order == nil:
		return Checkout{}, false, ErrExpired
	// before the next case: the shop can refund the second payment whether or not the order is cancelled
	case !c.Order.Payment.IsOf(payment):
		return Checkout{}, false, ErrPaymentMismatch
	case c.Order.Status() == OrderCancelled:
		return Checkout{}, false, ErrOrderCancelled
	case payment.Amount != (money.Money{}) && c.Order.Payment.Amount != (money.Money{}):
		if err := payment.Cover(c.Total, c.Order.Payment.Amount, 0); err != nil {
			return Checkout{}, false, err
		}
	}
	return c, !c.Order.Placed.Equal(at), nil
}

// Fulfil marks an order as fulfilled, once. Errors: ErrOrderNotFound, ErrOrderCancelled.
func (o Orders) Fulfil(
	ctx context.Context, shop catalog.ShopID, id ID, at time.Time,
) (c Checkout, replayed bool, err error) {
	stored, err := o.Store.Fulfil(ctx, shop, id, at)
	if c, err = orderWith(id, stored, err); err != nil {
		return Checkout{}, false, err
	}
	switch {
	case c.Order.Status() == OrderCancelled:
		return Checkout{}, false, ErrOrderCancelled
	case c.Order.Fulfilled.IsZero():
		return Checkout{}, false, errNotChanged
	}
	return c, !c.Order.Fulfilled.Equal(at), nil
}

// Cancel marks an order as cancelled, once. The first reason stays. Error: ErrOrderNotFound.
func (o Orders) Cancel(
	ctx context.Context, shop catalog.ShopID, id ID, reason string, at time.Time,
) (c Checkout, replayed bool, err error) {
	stored, err := o.Store.Cancel(ctx, shop, id, reason, at)
	if c, err = orderWith(id, stored, err); err != nil {
		return Checkout{}, false, err
	}
	if c.Order.Cancelled.IsZero() {
		return Checkout{}, false, errNotChanged
	}
	return c, !c.Order.Cancelled.Equal(at), nil
}

// Show returns an order. Error: ErrOrderNotFound.
func (o Orders) Show(ctx context.Context, shop catalog.ShopID, id ID) (Checkout, error) {
	stored, err := o.Store.Recall(ctx, shop, id.Token())
	return orderWith(id, stored, err)
}

// Release ends a checkout that is open or expired, so that it cannot be ordered, and frees its use of a code. If the
// checkout was released or replaced before, Release returns it with replayed set. A stranger cannot release a checkout
// of the shop's server. Errors: ErrNotFound, ErrOrdered.
func (o Orders) Release(
	ctx context.Context, shop catalog.ShopID, id ID, byServer bool,
) (c Checkout, replayed bool, err error) {
	c, err = Checkouts{o.Store}.Show(ctx, shop, id)
	if err == nil && c.ByServer && !byServer {
		err = ErrNotFound
	}
	released := false
	if err == nil && !c.HasEnded() {
		c, released, err = o.Store.Release(ctx, shop, c)
	}
	switch {
	case err != nil:
		return Checkout{}, false, err
	case c.ID != id:
		return Checkout{}, false, ErrNotFound
	case c.Order != nil:
		return Checkout{}, false, ErrOrdered
	}
	return c, !released, nil
}

// List returns a page of orders, as OrderStore.List does.
func (o Orders) List(
	ctx context.Context, shop catalog.ShopID, filter OrderFilter,
) ([]Checkout, *OrderPosition, error) {
	return o.Store.List(ctx, shop, filter)
}

// orderWith returns what a store returned if it is the order with the ID. For any other checkout, and for ErrNotFound,
// the error is ErrOrderNotFound.
func orderWith(id ID, stored Checkout, err error) (Checkout, error) {
	if errors.Is(err, ErrNotFound) || err == nil && (stored.ID != id || stored.Order == nil) {
		return Checkout{}, ErrOrderNotFound
	}
	return stored, err
}
