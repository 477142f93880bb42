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

// Order is what to check out.
type Order struct {
	Product, Variant string
	Amount           int64 // within the variant's MinAmount and MaxAmount; 0 is 1
	// Data is what the variant needs to be delivered, at most 2 KiB of UTF-8: the text of a JSON object that is valid under the
	// variant's DataSchema; where it has none, any text. Empty: none.
	Data string
}

// Checkout is a priced, open intent to buy. It binds nobody.
type Checkout struct {
	ID      string `json:"id"` // cannot be guessed
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
	// Data is a JSON object where the variant has a DataSchema, else a JSON string.
	Data      json.RawMessage `json:"data"`
	UnitPrice Money           `json:"unitPrice"` // in force when the checkout was made
	Subtotal  Money           `json:"subtotal"`
	Discount  Money           `json:"discount"`
	Total     Money           `json:"total"`
	CreatedAt time.Time       `json:"createdAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
	// Replayed says that the key had this checkout already, be it from an earlier attempt of this very call.
	Replayed bool `json:"-"`
}

// Checkout checks out an order. While the checkout is open, the same order with the same key gets the same one. What is
// unknown or off sale is ErrNotFound, an amount or data that the variant does not take ErrInvalid, the key of an open
// checkout of another order ErrKeyInUse. An *OutcomeUnknownError leaves open whether a checkout was made.
func (c *Client) Checkout(ctx context.Context, order Order, options ...CallOption) (Checkout, error) {
	if order.Amount == 0 {
		order.Amount = 1
	}
	var answered struct {
		Status string `json:"status"`
		Checkout
	}
	r := request{
		method: http.MethodGet, path: "/shop/" + c.customer + "/checkout/" + order.Product + "/" + order.Variant,
		query: order.query(), maxBytes: maxAnswerBytes,
	}
	r.read = func(a answer) error {
		if !a.decode("application/json", &answered) || answered.Status != "open" || !answered.isOf(order) {
			return a.notUnderstood("it is no checkout of the order")
		}
		answered.Replayed = a.isReplayed()
		return nil
	}
	err := order.check()
	if err == nil {
		err = r.keyed(options)
	}
	if err == nil {
		err = c.do(ctx, r)
	}
	if err != nil {
		return Checkout{}, fmt.Errorf("check out: %w", err)
	}
	return answered.Checkout, nil
}

func (o Order) check() error {
	if !isID(o.Product) || !isID(o.Variant) {
		return fmt.Errorf("product or variant: %w", ErrMalformedID)
	}
	return nil
}

func (o Order) query() string {
	query := url.Values{"amount": {strconv.FormatInt(o.Amount, 10)}}
	if o.Data != "" {
		query.Set("data", o.Data)
	}
	return query.Encode()
}

// isOf tells whether a checkout is complete and of the order: a cache on the way might answer a GET with another's.
func (c Checkout) isOf(o Order) bool {
	for _, amount := range []Money{c.UnitPrice, c.Subtotal, c.Discount, c.Total} {
		if amount.Currency == "" || amount.Currency != c.Total.Currency {
			return false
		}
	}
	return c.ID != "" && c.Product == o.Product && c.Variant == o.Variant && c.Amount == o.Amount && len(c.Data) > 0 &&
		!c.CreatedAt.IsZero() && c.ExpiresAt.After(c.CreatedAt)
}
