package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Order says what to check out.
type Order struct {
	Product, Variant string
	Amount           int64 // from the variant's MinAmount to its MaxAmount; 0 counts as 1
	// Data is the data for delivery, at most 2 KiB of UTF-8: a JSON object that is valid under the variant's DataSchema, or any string
	// if the variant has none. It can be empty.
	Data string
}

// Checkout is a priced, open intent to buy. It obliges nobody.
type Checkout struct {
	ID      string `json:"id"` // cannot be guessed
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
	// Data is a JSON object if the variant has a DataSchema, otherwise a JSON string.
	Data      json.RawMessage `json:"data"`
	UnitPrice Money           `json:"unitPrice"` // at the time of the checkout
	Subtotal  Money           `json:"subtotal"`
	Discount  Money           `json:"discount"`
	Total     Money           `json:"total"`
	CreatedAt time.Time       `json:"createdAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
	// Replayed means that the key already had this checkout, perhaps from an earlier attempt of the same call.
	Replayed bool `json:"-"`
}

// Checkout checks out an order. While the checkout is open, the same order with the same key returns the same checkout. ErrNotFound
// means that something is unknown or off sale, ErrInvalid that the variant does not accept the amount or data, and ErrKeyInUse
// that the key has an open checkout of another order. After an *OutcomeUnknownError a checkout may exist.
func (c *Client) Checkout(ctx context.Context, order Order, options ...CallOption) (Checkout, error) {
	if !isID(order.Product) || !isID(order.Variant) {
		return Checkout{}, fmt.Errorf("check out: product or variant: %w", ErrMalformedID)
	}
	if order.Amount == 0 {
		order.Amount = 1
	}
	query := url.Values{"amount": {strconv.FormatInt(order.Amount, 10)}}
	if order.Data != "" {
		query.Set("data", order.Data)
	}
	var received struct {
		Status string `json:"status"`
		Checkout
	}
	r := request{
		method: http.MethodGet, path: "/shop/" + c.customer + "/checkout/" + order.Product + "/" + order.Variant,
		query: query.Encode(), maxBytes: maxAnswerBytes,
	}
	r.read = func(a answer) error {
		if !a.decode("application/json", &received) || received.Status != "open" || !received.isOf(order) {
			return a.notUnderstood("it is not a checkout of the order")
		}
		received.Replayed = a.isReplayed()
		return nil
	}
	if err := c.doOnce(ctx, r, options); err != nil {
		return Checkout{}, fmt.Errorf("check out: %w", err)
	}
	return received.Checkout, nil
}

// isOf reports whether a checkout is complete and belongs to the order. A cache might return another checkout for a GET.
func (c Checkout) isOf(o Order) bool {
	for _, amount := range []Money{c.UnitPrice, c.Subtotal, c.Discount, c.Total} {
		if amount.Currency == "" || amount.Currency != c.Total.Currency {
			return false
		}
	}
	return c.ID != "" && c.Product == o.Product && c.Variant == o.Variant && c.Amount == o.Amount && len(c.Data) > 0 &&
		!c.CreatedAt.IsZero() && c.ExpiresAt.After(c.CreatedAt)
}
