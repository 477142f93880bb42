package checkout

import (
	"errors"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

const (
	// Lifetime is how long a checkout is open.
	Lifetime = 30 * time.Minute
	// Retention is how long a checkout is kept after it expired.
	Retention = 7 * 24 * time.Hour
)

// ErrNotFound says that a customer has no checkout of that ID, or none under that token.
var ErrNotFound = errors.New("no such checkout")

// ErrMalformedID says that a text cannot be the ID of a checkout.
var ErrMalformedID = errors.New("malformed checkout ID: 44 of A-Z a-z 0-9 _ -")

// ID names a checkout within its customer: 44 characters of base64url. The first half is a Token, made from the request's
// key or random, under which the checkout is kept; the second half is random always, so that who knows a key still cannot
// guess an ID.
type ID string

// idHalf is the length of a Token.
const idHalf = 22

// ParseID accepts 44 characters of base64url, or returns ErrMalformedID.
func ParseID(text string) (ID, error) {
	if len(text) != 2*idHalf {
		return "", ErrMalformedID
	}
	for i := range len(text) {
		if !isBase64URL(text[i]) {
			return "", ErrMalformedID
		}
	}
	return ID(text), nil
}

func isBase64URL(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// Token is what the checkout is kept under. A repetition of its request has the same.
func (id ID) Token() idempotency.Token { return idempotency.Token(id[:min(len(id), idHalf)]) }

// Status tells what has become of a checkout.
type Status string

// Every status.
const (
	StatusOpen    Status = "open"
	StatusExpired Status = "expired"
)

// Checkout is a priced, expiring intent to buy an amount of a variant. Nothing of it changes once it is made.
type Checkout struct {
	ID      ID
	Product catalog.ProductID
	Variant catalog.VariantID
	Amount  int64
	// Data is what the variant needs to know to be delivered, byte for byte as it was sent.
	Data string
	// DataIsObject tells that the variant declared a schema: Data is a JSON object that is valid under it, and is shown as
	// one. Otherwise Data is any text, and is shown as a string.
	DataIsObject bool

	UnitPrice money.Money
	Subtotal  money.Money // UnitPrice times Amount
	Discount  money.Money // zero, for now
	Total     money.Money // Subtotal less Discount

	Created time.Time // UTC, whole milliseconds
	Expires time.Time // exclusive: Created and Lifetime
}

// Status tells whether the checkout is open at a time.
func (c Checkout) Status(at time.Time) Status {
	if at.Before(c.Expires) {
		return StatusOpen
	}
	return StatusExpired
}

// price fills in what an amount costs at a price for one, or returns an error of money where that cannot be told.
func (c Checkout) price(unit money.Money) (Checkout, error) {
	var err error
	c.UnitPrice = unit
	c.Discount = money.Money{Currency: unit.Currency}
	if c.Subtotal, err = unit.Times(c.Amount); err != nil {
		return Checkout{}, err
	}
	c.Total, err = c.Subtotal.Minus(c.Discount)
	return c, err
}

// answers tells whether the checkout is what the request asks for.
func (c Checkout) answers(request Request) bool {
	return c.Product == request.Product && c.Variant == request.Variant &&
		c.Amount == request.amount() && c.Data == request.Data.orAbsent(c.DataIsObject)
}
