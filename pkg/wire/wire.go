// Package wire defines the JSON of redemptions, checkouts, orders, rewards and money. It is the same in HTTP responses,
// in the data of events, and in what shopctl prints (api/openapi.yaml).
//
// Only package client has types of its own, because it imports only the standard library.
//
// It is a rules package: it may import only other rules packages and the standard library, except net/http.
package wire

import (
	"bytes"
	"encoding/json"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Encode returns a value as JSON in one line. Texts of shoppers stay as they were sent: <, > and & are not escaped.
func Encode(value any) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n")), err
}

// Time formats a time as RFC 3339 in UTC, with milliseconds. The zero time is the empty string.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Money is an amount of money.
type Money struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
	Display  string `json:"display"`
}

// OfMoney represents an amount of money.
func OfMoney(m money.Money) *Money {
	return &Money{Minor: m.Minor, Currency: string(m.Currency), Display: m.String()}
}

// Reward is what a redemption gives.
type Reward struct {
	Kind       string `json:"kind"`
	Product    string `json:"product,omitempty"`
	Variant    string `json:"variant,omitempty"`
	Amount     int64  `json:"amount,omitempty"`
	PercentOff int    `json:"percentOff,omitempty"`
	AmountOff  *Money `json:"amountOff,omitempty"`
	Items      []Good `json:"items,omitempty"`
}

// Good is an amount of a variant.
type Good struct {
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
}

// OfReward represents a reward.
func OfReward(r voucher.Reward) Reward {
	represented := Reward{
		Kind: string(r.Kind), Product: string(r.Product), Variant: string(r.Variant), Amount: r.Amount,
		PercentOff: r.PercentOff,
	}
	if r.Kind == voucher.RewardAmountOff {
		represented.AmountOff = OfMoney(r.AmountOff)
	}
	if r.Kind == voucher.RewardBundle {
		for _, good := range r.Goods() {
			represented.Items = append(represented.Items,
				Good{string(good.Product), string(good.Variant), good.Amount})
		}
	}
	return represented
}

// Redemption is a redemption. The response to a check is one, too, but without ID and time.
type Redemption struct {
	ID         string `json:"id,omitempty"`
	Status     string `json:"status"`
	Code       string `json:"code"`           // as written at creation
	Nick       string `json:"nick,omitempty"` // empty: none
	RedeemedAt string `json:"redeemedAt,omitempty"`
	Reward     Reward `json:"reward"`
	UndoneAt   string `json:"undoneAt,omitempty"` // empty: not undone
	UndoReason string `json:"undoReason,omitempty"`
}

// OfRedemption represents a redemption.
func OfRedemption(r voucher.Redemption) Redemption {
	represented := Redemption{
		ID: r.ID, Status: "redeemed", Code: r.Code, Nick: r.Nick, RedeemedAt: Time(r.At), Reward: OfReward(r.Reward),
		UndoneAt: Time(r.Undone), UndoReason: r.UndoReason,
	}
	if !r.Undone.IsZero() {
		represented.Status = "undone"
	}
	return represented
}

// Priced is what a checkout and its order have in common.
type Priced struct {
	ID      string `json:"id"`
	Number  string `json:"number"` // for people
	Status  string `json:"status"`
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
	// Data is a JSON object if the variant declares a schema, and otherwise a string. It is nil if the reader may not
	// see it.
	Data      any    `json:"data,omitempty"`
	Code      string `json:"code,omitempty"` // as written at creation; empty: none
	Nick      string `json:"nick,omitempty"` // empty: none, or the reader may not see it
	UnitPrice *Money `json:"unitPrice"`
	Subtotal  *Money `json:"subtotal"`
	Discount  *Money `json:"discount"`
	Total     *Money `json:"total"`
	CreatedAt string `json:"createdAt"`
}

// ofPriced represents what a checkout and its order have in common.
func ofPriced(c checkout.Checkout, status string) Priced {
	priced := Priced{
		ID: string(c.ID), Number: string(c.ID.Number()), Status: status,
		Product: string(c.Product), Variant: string(c.Variant), Amount: c.Amount,
		Data: c.Data, Code: c.Code, Nick: c.Nick,
		UnitPrice: OfMoney(c.UnitPrice), Subtotal: OfMoney(c.Subtotal), Discount: OfMoney(c.Discount),
		Total: OfMoney(c.Total), CreatedAt: Time(c.Created),
	}
	if c.DataIsObject {
		priced.Data = json.RawMessage(c.Data)
	}
	return priced
}

// Checkout is a checkout.
type Checkout struct {
	Priced

	ExpiresAt string `json:"expiresAt"`
	SharesUse bool   `json:"sharesUse,omitempty"`
}

// OfCheckout represents a checkout as it is at the given time.
func OfCheckout(c checkout.Checkout, at time.Time) Checkout {
	return Checkout{ofPriced(c, string(c.Status(at))), Time(c.Expires), c.SharesUse}
}

// Order is an order. It has the ID of its checkout.
type Order struct {
	Priced
	Placement
}

// Placement is what an order adds to its checkout.
type Placement struct {
	Payment      *Payment `json:"payment"` // nil: nothing was paid
	OrderedAt    string   `json:"orderedAt"`
	FulfilledAt  string   `json:"fulfilledAt,omitempty"`
	CancelledAt  string   `json:"cancelledAt,omitempty"`
	CancelReason string   `json:"cancelReason,omitempty"`
}

// Payment names a payment at a payment provider.
type Payment struct {
	Provider  string `json:"provider"`
	Reference string `json:"reference"`
	Amount    int64  `json:"amount,omitempty"`   // minor units; 0: not stated
	Currency  string `json:"currency,omitempty"` // empty: not stated
}

// OfOrder represents a checkout that was ordered.
func OfOrder(c checkout.Checkout) Order {
	return Order{ofPriced(c, string(c.Order.Status())), OfPlacement(*c.Order)}
}

// OfPlacement represents what an order adds to its checkout.
func OfPlacement(order checkout.Order) Placement {
	placement := Placement{
		OrderedAt: Time(order.Placed), FulfilledAt: Time(order.Fulfilled), CancelledAt: Time(order.Cancelled),
		CancelReason: order.Reason,
	}
	if order.Payment != (checkout.Payment{}) {
		placement.Payment = &Payment{
			Provider: order.Payment.Provider, Reference: order.Payment.Reference,
			Amount: order.Payment.Amount.Minor, Currency: string(order.Payment.Amount.Currency),
		}
	}
	return placement
}
