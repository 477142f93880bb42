package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Order says what to check out.
type Order struct {
	Product, Variant string
	Amount           int64 // from the variant's MinAmount to its MaxAmount; 0 counts as 1
	// Data is the data for delivery, at most 2 KiB of UTF-8: a JSON object that is valid under the variant's
	// DataSchema, or any string if the variant has none. It can be empty.
	Data string
	// Code is a code that gives a discount, as the shopper typed it. The checkout holds a use of the code, and the
	// order redeems that use: do not redeem the code as well. Empty: none.
	Code string
	// Nick is the shopper's name in the storefront. Some codes need a nick. If the code is single-use or has a limit
	// per nick, and only one use is left for the nick, the nick's open checkouts share that use. Empty: none.
	Nick string
	// Replaces is the ID of the shopper's earlier checkout. The new checkout takes over the earlier checkout's use of
	// the same Code. At the same moment, it becomes impossible to order the earlier checkout. Empty: none.
	Replaces string
}

// CheckoutStatus is the state of a checkout. New states may be added.
type CheckoutStatus string

// The states of a checkout.
const (
	CheckoutOpen     CheckoutStatus = "open"
	CheckoutExpired  CheckoutStatus = "expired"  // it can still be ordered for 7 days: a payment may arrive late
	CheckoutOrdered  CheckoutStatus = "ordered"  // for good, even if the order is cancelled
	CheckoutReleased CheckoutStatus = "released" // another checkout replaced it: do not let the shopper pay for it
)

// Checkout is a priced intent to buy. Neither the shopper nor the shop is bound by it.
type Checkout struct {
	ID      string         `json:"id"`     // cannot be guessed: show people the Number instead
	Number  string         `json:"number"` // names the checkout, such as 7KQ2M-X4T9B, and grants nothing
	Status  CheckoutStatus `json:"status"`
	Product string         `json:"product"`
	Variant string         `json:"variant"`
	Amount  int64          `json:"amount"`
	// Data is a JSON object if the variant has a DataSchema, otherwise a JSON string. ShowCheckout returns it only to a
	// client with WithServerKey.
	Data      json.RawMessage `json:"data"`
	Code      string          `json:"code"`      // in the operator's spelling; empty: none
	Nick      string          `json:"nick"`      // empty: none, or left out by ShowCheckout, like Data
	UnitPrice Money           `json:"unitPrice"` // at the time of the checkout
	Subtotal  Money           `json:"subtotal"`
	Discount  Money           `json:"discount"` // what the code takes off the subtotal; zero without a code
	Total     Money           `json:"total"`
	CreatedAt time.Time       `json:"createdAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
	// SharesUse means that an open checkout of the nick held the same use of the code before. Only one of the two can
	// be ordered.
	SharesUse bool `json:"sharesUse"`
	// Replayed means that the key already had this checkout, perhaps from an earlier attempt of the same call.
	Replayed bool `json:"-"`
}

// Checkout checks out an order. While the checkout is open, the same order with the same key returns the same checkout.
// ErrNotFound means that the shop, product or variant is unknown or off sale. ErrInvalid means that the variant does
// not accept the amount or data. ErrKeyInUse means that the key already has an open checkout of another order, or a
// checkout that was ordered or released.
//
// ErrCodeRefused means that the code cannot be used for this checkout, for any reason. Tell the shopper, and check out
// without the code only if the shopper agrees to the full price. After ErrTooManyHolds let the shopper try again later.
// If ErrMalformedRequest has the ProblemError.Parameter "replaces", the earlier checkout was ordered or released, or is
// unknown.
//
// After an *OutcomeUnknownError a checkout may exist. Without Code and Replaces, the shopper can simply check out
// again. Otherwise repeat the call with its key: the lost checkout may hold the code's last use, and the earlier
// checkout may be replaced already. With another key the call could be refused although it was applied. If nobody
// repeats the call, the use becomes free when the lost checkout ends.
func (c *Client) Checkout(ctx context.Context, order Order, options ...CallOption) (Checkout, error) {
	if !isID(order.Product) || !isID(order.Variant) {
		return Checkout{}, fmt.Errorf("check out: product or variant: %w", ErrMalformedID)
	}
	if order.Replaces != "" && !isRandomID(order.Replaces) {
		return Checkout{}, fmt.Errorf("check out: replaces: %w", ErrMalformedID)
	}
	if order.Amount == 0 {
		order.Amount = 1
	}
	query := url.Values{"amount": {strconv.FormatInt(order.Amount, 10)}}
	for name, value := range map[string]string{
		"data": order.Data, "code": order.Code, "nick": order.Nick,
		"replaces": order.Replaces,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	r := c.get("check out", "/checkout/"+order.Product+"/"+order.Variant).once(options)
	r.query = query.Encode()
	return receive(ctx, c, r, "a checkout of the order", func(checkout *Checkout, resp response) bool {
		checkout.Replayed = resp.isReplayed()
		return checkout.Status == CheckoutOpen && checkout.isOf(order)
	})
}

// ShowCheckout returns a checkout of any status. With WithServerKey, id can also be the checkout's Number. ErrNotFound
// means that the ID is unknown, that the checkout was deleted, that its key made another checkout later, or that
// another checkout has the same Number.
func (c *Client) ShowCheckout(ctx context.Context, id string) (Checkout, error) {
	r := c.get("show checkout", "/checkouts/"+id).about(id)
	return receive(ctx, c, r, "the checkout", func(checkout *Checkout, _ response) bool {
		return (checkout.ID == id || checkout.Number == id) && checkout.isComplete() && checkout.Status != "" &&
			(c.serverKey == nil || len(checkout.Data) > 0)
	})
}

// ReleaseCheckout ends a checkout that is open or expired, so that it can no longer be ordered, and frees the use of a
// code that it holds. ErrCheckoutOrdered means that it was ordered. ErrNotFound is as for ShowCheckout, or means that
// the shop's server made the checkout and this client has no key. After an *OutcomeUnknownError repeat the call.
func (c *Client) ReleaseCheckout(ctx context.Context, id string) (Checkout, error) {
	r := c.change("release checkout", "/checkouts/"+id+"/release", id, nil)
	r.isServersOnly = false
	return receive(ctx, c, r, "the released checkout", func(checkout *Checkout, resp response) bool {
		checkout.Replayed = resp.isReplayed()
		return checkout.ID == id && checkout.isComplete() && checkout.Status == CheckoutReleased
	})
}

// isOf reports whether a checkout is complete and belongs to the order. A cache might return another checkout for a
// GET, and a proxy that drops a part of the query would make the shopper pay the full price. Codes cannot be compared,
// because the response has the operator's spelling.
func (c Checkout) isOf(o Order) bool {
	return c.isComplete() && c.ID != "" && c.Product == o.Product && c.Variant == o.Variant && c.Amount == o.Amount &&
		len(c.Data) > 0 &&
		(c.Code != "") == (o.Code != "") && (c.Nick == "" || o.Nick != "")
}

func (c Checkout) isComplete() bool {
	return isID(c.Product) && isID(c.Variant) && c.Amount >= 1 &&
		isPriced(c.UnitPrice, c.Subtotal, c.Discount, c.Total) &&
		!c.CreatedAt.IsZero() && c.ExpiresAt.After(c.CreatedAt)
}

// isPriced reports whether no amount is missing and all have the same currency.
func isPriced(amounts ...Money) bool {
	for _, amount := range amounts {
		if amount.Currency == "" || amount.Currency != amounts[0].Currency {
			return false
		}
	}
	return true
}
