package checkout

import (
	"context"
	"errors"
	"slices"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const (
	// Lifetime is how long a checkout stays open.
	Lifetime = 30 * time.Minute
	// Retention is how long a checkout that was not ordered is stored after it has expired. It exceeds LateOrders, so
	// that a checkout is not deleted while an order for it is being placed.
	Retention = LateOrders + 24*time.Hour
)

// ErrNotFound means that a shop has no checkout with that ID or token.
var ErrNotFound = errors.New("no such checkout")

// ErrMalformedID means that a string cannot be the ID of a checkout.
var ErrMalformedID = errors.New("a checkout ID has 44 characters of A-Z a-z 0-9 _ -")

// ID identifies a checkout of a shop: 44 characters of base64url. The first half is the Token under which the checkout
// is stored. The Token is made from the request's key. If the request has no key, the Token is random. The second half
// is always random, so that somebody who knows a key cannot guess an ID.
type ID string

// idHalf is the length of a Token.
const idHalf = 22

// ParseID accepts 44 characters of base64url, or returns ErrMalformedID.
func ParseID(text string) (ID, error) {
	if len(text) != 2*idHalf || !consistsOf(text, 2*idHalf, isBase64URL) {
		return "", ErrMalformedID
	}
	return ID(text), nil
}

// ParseToken accepts 22 characters of base64url, or returns ErrMalformedID.
func ParseToken(text string) (idempotency.Token, error) {
	if len(text) != idHalf || !consistsOf(text, idHalf, isBase64URL) {
		return "", ErrMalformedID
	}
	return idempotency.Token(text), nil
}

func isBase64URL(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// Token returns the token under which the checkout is stored. A retry of its request has the same token.
func (id ID) Token() idempotency.Token { return idempotency.Token(id[:min(len(id), idHalf)]) }

// Holder returns the holder of a hold that the checkout takes: the second half of its ID. Unlike the token, no later
// checkout with the same key has it.
func (id ID) Holder() idempotency.Token { return idempotency.Token(id[min(len(id), idHalf):]) }

// Status is the state of a checkout.
type Status string

// The statuses of a checkout.
const (
	StatusOpen     Status = "open"
	StatusExpired  Status = "expired"
	StatusOrdered  Status = "ordered"
	StatusReleased Status = "released" // also if a newer checkout replaced it
)

// Checkout is a priced, expiring intent to buy an amount of a variant. After it is stored, only Replaced, Released and
// Order change.
type Checkout struct {
	ID      ID
	Product catalog.ProductID
	Variant catalog.VariantID
	Amount  int64
	// Data is what the shop needs to deliver the variant, byte for byte as it was sent.
	Data string
	// DataIsObject means that the variant declared a schema: Data is then a valid JSON object, and is shown as an
	// object. Otherwise Data is any string, and is shown as a string.
	DataIsObject bool

	UnitPrice money.Money
	Subtotal  money.Money // UnitPrice times Amount
	Discount  money.Money // what the code takes off; zero without a code
	Total     money.Money // Subtotal less Discount

	Code   string         // as created; empty: none
	Reward voucher.Reward // of the code, as it was when the checkout was priced; zero without a code
	Nick   string         // as the request sent it; empty: none
	Hold   *voucher.Hold  // the use of the code that the checkout holds, or held; nil without a code
	// SharesUse means that an open checkout of the same nick held this use before. Only one of the two can be ordered.
	SharesUse bool

	Created time.Time // UTC, whole milliseconds
	Expires time.Time // exclusive; Created plus Lifetime

	ByServer bool   // the shop's own server made it, so no stranger can replace it
	Replaced bool   // a newer checkout replaced it; it can no longer be ordered
	Released bool   // somebody released it; it can no longer be ordered
	Order    *Order // nil until it is ordered
}

// Status returns the checkout's status at the given time.
func (c Checkout) Status(at time.Time) Status {
	switch {
	case c.Order != nil:
		return StatusOrdered
	case c.HasEnded():
		return StatusReleased
	case at.Before(c.Expires):
		return StatusOpen
	default:
		return StatusExpired
	}
}

// HasEnded reports whether the checkout was ordered, replaced or released.
func (c Checkout) HasEnded() bool { return c.Order != nil || c.Replaced || c.Released }

// priced fills in the unit price, the subtotal and the total. It returns money.ErrOverflow if the subtotal is too
// large.
func (c Checkout) priced(unit money.Money) (Checkout, error) {
	subtotal, err := unit.Times(c.Amount)
	if err != nil {
		return Checkout{}, err
	}
	c.UnitPrice, c.Subtotal, c.Total = unit, subtotal, subtotal
	c.Discount = money.Money{Currency: unit.Currency}
	return c, nil
}

// discounted applies a reward. If the reward takes nothing off, the error is a *voucher.RefusalError.
func (c Checkout) discounted(reward voucher.Reward) (Checkout, error) {
	var err error
	if c.Discount, err = reward.Discount(c.Subtotal); err != nil {
		return Checkout{}, err
	}
	c.Reward = reward
	c.Total, err = c.Subtotal.Minus(c.Discount)
	return c, err
}

// isFor reports whether the checkout is for the same product, variant, amount, data, code and nick as the request. The
// nick of a request without one may have come from the data: the product may be unknown now, so any member counts.
func (c Checkout) isFor(request Request) bool {
	code, _ := voucher.ParseCode(c.Code) // empty if there is none
	nick, err := voucher.ParseNick(c.Nick)
	sameNick := nick.Compared == request.Nick.Compared || request.Nick == (voucher.Nick{}) && request.Data.names(nick)
	return err == nil && code == request.Code && sameNick &&
		c.Product == request.Product && c.Variant == request.Variant &&
		c.Amount == request.amount() && c.Data == request.Data.orAbsent(c.DataIsObject)
}

// ReadStore reads checkouts of any status.
type ReadStore interface {
	// Recall returns the checkout that is stored under a token, or ErrNotFound.
	Recall(ctx context.Context, shop catalog.ShopID, token idempotency.Token) (Checkout, error)
	// Numbered returns the checkouts whose number begins with the group.
	Numbered(ctx context.Context, shop catalog.ShopID, group string) ([]Checkout, error)
}

// Checkouts shows checkouts of any status.
type Checkouts struct{ Store ReadStore }

// Show returns the checkout with the ID, or ErrNotFound. A stored checkout that shares only the first half of the ID is
// a different one, made with the same key.
func (c Checkouts) Show(ctx context.Context, shop catalog.ShopID, id ID) (Checkout, error) {
	stored, err := c.Store.Recall(ctx, shop, id.Token())
	if err == nil && stored.ID != id {
		return Checkout{}, ErrNotFound
	}
	return stored, err
}

// Find returns the checkout with the number, or ErrNotFound. It is ErrNotFound too if two checkouts share the number,
// because the payment of one must not be taken for the other's. Among a million checkouts of a shop, the probability
// that any two share a number is about 1 in 2,250.
func (c Checkouts) Find(ctx context.Context, shop catalog.ShopID, number Number) (Checkout, error) {
	stored, err := c.Store.Numbered(ctx, shop, number.Group())
	if err != nil {
		return Checkout{}, err
	}
	stored = slices.DeleteFunc(stored, func(c Checkout) bool { return c.ID.Number() != number })
	if len(stored) != 1 {
		return Checkout{}, ErrNotFound
	}
	return stored[0], nil
}
