package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

// ErrKeyInUse means that the request's key belongs to a checkout that was ordered, or to an open one with another product, variant,
// amount or data.
var ErrKeyInUse = errors.New("the idempotency key is in use by another checkout")

// Catalogue finds variants that are on sale.
type Catalogue interface {
	// Offer returns catalog.ErrNotFound for a variant that is unknown or off sale.
	Offer(ctx context.Context, customer catalog.CustomerID, product catalog.ProductID, variant catalog.VariantID) (catalog.Offer, error)
}

// DataChecker validates data against a JSON Schema.
type DataChecker interface {
	// Check returns nil for valid data, and a *ParameterError for invalid data. Any other error means that the schema cannot
	// be used.
	Check(schema, data string) error
}

// Store stores checkouts.
type Store interface {
	// Open stores a new checkout under its ID's token, unless a checkout stored there was ordered or is still open at
	// checkout.Created. It returns the checkout that is stored afterwards. After an error it is unknown whether the new one was stored.
	Open(ctx context.Context, customer catalog.CustomerID, checkout Checkout) (Checkout, error)
	// Recall returns the checkout that is stored under a token, or ErrNotFound.
	Recall(ctx context.Context, customer catalog.CustomerID, token idempotency.Token) (Checkout, error)
}

// Opener opens checkouts for a storefront.
type Opener struct {
	Catalogue Catalogue
	Store     Store
	Data      DataChecker
	Random    io.Reader // of cryptographic quality
}

// Open makes a checkout. If the request's key belongs to a checkout that is still open, Open returns that checkout and sets
// replayed, even if the variant has changed since. Errors: catalog.ErrNotFound if something is unknown or off sale,
// *ParameterError if the variant does not accept the amount or data, ErrKeyInUse. After any other error it is unknown whether a
// checkout was made.
func (o Opener) Open(ctx context.Context, request Request) (checkout Checkout, replayed bool, err error) {
	quoted, err := o.quote(ctx, request)
	if err != nil {
		return o.recall(ctx, request, Checkout{}, err)
	}
	kept, err := o.Store.Open(ctx, request.Customer, quoted)
	if err != nil {
		return Checkout{}, false, err
	}
	if kept.ID == quoted.ID {
		return kept, false, nil
	}
	return replay(kept, request)
}

// Quote returns the checkout that Open would return, but stores nothing. The ID of a new quote cannot be looked up.
func (o Opener) Quote(ctx context.Context, request Request) (checkout Checkout, replayed bool, err error) {
	quoted, err := o.quote(ctx, request)
	return o.recall(ctx, request, quoted, err)
}

// quote validates a request against the catalogue and prices it.
func (o Opener) quote(ctx context.Context, request Request) (Checkout, error) {
	offer, err := o.Catalogue.Offer(ctx, request.Customer, request.Product, request.Variant)
	if err != nil {
		return Checkout{}, err
	}
	variant := offer.Variant
	if err := checkAmount(request.amount(), variant); err != nil {
		return Checkout{}, err
	}
	takesObject := variant.DataSchema != ""
	data := request.Data.orAbsent(takesObject)
	if takesObject {
		if err := o.Data.Check(variant.DataSchema, data); err != nil {
			return Checkout{}, fmt.Errorf("check data: %w", err)
		}
	}
	id, err := o.newID(request)
	if err != nil {
		return Checkout{}, err
	}
	quoted, err := Checkout{
		ID: id, Product: request.Product, Variant: request.Variant, Amount: request.amount(), Data: data, DataIsObject: takesObject,
		Created: request.At, Expires: request.At.Add(Lifetime),
	}.price(variant.Price)
	if errors.Is(err, money.ErrOverflow) {
		return Checkout{}, amountError("makes the price too large")
	}
	return quoted, err
}

func (o Opener) newID(request Request) (ID, error) {
	token, err := o.token(request)
	if err != nil {
		return "", err
	}
	unguessable, err := idempotency.NewToken(o.Random)
	return ID(token + unguessable), err
}

func (o Opener) token(request Request) (idempotency.Token, error) {
	if request.Key == "" {
		return idempotency.NewToken(o.Random)
	}
	return keyToken(request), nil
}

// keyToken returns the Token of a request that has a key. It is made of the customer, the key and the kind of caller, so that
// a key always finds its checkout, whatever else the request asks for.
func keyToken(request Request) idempotency.Token {
	if request.ByServer {
		return idempotency.Digest(string(request.Customer), "server", string(request.Key))
	}
	return idempotency.Digest(string(request.Customer), string(request.Key))
}

// recall returns the checkout that has the request's key, unless it has expired. If there is none, it returns quoted and quoteErr. If
// quoteErr is not a judgement of the request, recall returns it at once.
func (o Opener) recall(ctx context.Context, request Request, quoted Checkout, quoteErr error) (Checkout, bool, error) {
	if request.Key == "" || quoteErr != nil && !isAnswer(quoteErr) {
		return quoted, false, quoteErr
	}
	kept, err := o.Store.Recall(ctx, request.Customer, keyToken(request))
	if errors.Is(err, ErrNotFound) || err == nil && kept.Status(request.At) == StatusExpired {
		return quoted, false, quoteErr
	}
	if err != nil {
		return Checkout{}, false, err
	}
	return replay(kept, request)
}

// isAnswer reports whether an error is a judgement of the request. Other errors mean that it could not be judged.
func isAnswer(err error) bool {
	_, badParameter := errors.AsType[*ParameterError](err)
	return badParameter || errors.Is(err, catalog.ErrNotFound)
}

// replay returns the open checkout that has the request's key, if it is for the same request. A checkout that was ordered is not
// replayed: its shopper has paid, and must not pay for it again.
func replay(kept Checkout, request Request) (Checkout, bool, error) {
	if kept.Order != nil || !kept.answers(request) {
		return Checkout{}, false, ErrKeyInUse
	}
	return kept, true, nil
}
