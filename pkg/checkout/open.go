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

// ErrKeyInUse says that an open checkout of another product, variant, amount or data was made under the request's key.
var ErrKeyInUse = errors.New("the idempotency key is in use by another checkout")

// Catalogue finds what is on sale.
type Catalogue interface {
	// Offer returns catalog.ErrNotFound for what is unknown or off sale.
	Offer(ctx context.Context, customer catalog.CustomerID, product catalog.ProductID, variant catalog.VariantID) (catalog.Offer, error)
}

// DataChecker judges data under a JSON Schema.
type DataChecker interface {
	// Check returns nil where data is valid under the schema, and a DataFault where it is not. Any other error says that
	// the schema cannot be used.
	Check(schema, data string) error
}

// DataFault is the error of data that is not valid.
type DataFault interface {
	error
	// Fault tells the first place that is wrong (RFC 6901) and why, in words that are fit for the client.
	Fault() (pointer, reason string)
}

// Store is what checking out needs of the kept checkouts.
type Store interface {
	// Open keeps a new checkout under its ID's token, unless one stands there that is open at the time this one was
	// created. It returns the one that is there then: the new one, or the one that stood. An error leaves open whether the
	// checkout was kept.
	Open(ctx context.Context, customer catalog.CustomerID, checkout Checkout) (Checkout, error)
	// Recall returns the checkout that is kept under a token, open or expired, or ErrNotFound.
	Recall(ctx context.Context, customer catalog.CustomerID, token idempotency.Token) (Checkout, error)
}

// Desk checks out for a storefront.
type Desk struct {
	Catalogue Catalogue
	Store     Store
	Data      DataChecker
	Random    io.Reader // of cryptographic quality
}

// Open makes a checkout. With the key of one that is still open it returns that one, replayed, also where the variant is no
// longer sold so. Errors: catalog.ErrNotFound for what is unknown or off sale, a *ParameterError for an amount or data that
// the variant does not take, ErrKeyInUse. Any other error leaves open whether the checkout was made.
func (d Desk) Open(ctx context.Context, request Request) (checkout Checkout, replayed bool, err error) {
	quoted, err := d.quote(ctx, request)
	if err != nil {
		return d.recall(ctx, request, Checkout{}, err)
	}
	kept, err := d.Store.Open(ctx, request.Customer, quoted)
	if err != nil {
		return Checkout{}, false, err
	}
	if kept.ID == quoted.ID {
		return kept, false, nil
	}
	return replay(kept, request)
}

// Quote returns what Open would, with an ID that leads nowhere, and keeps nothing.
func (d Desk) Quote(ctx context.Context, request Request) (checkout Checkout, replayed bool, err error) {
	quoted, err := d.quote(ctx, request)
	return d.recall(ctx, request, quoted, err)
}

// quote judges a request by the catalogue and prices it.
func (d Desk) quote(ctx context.Context, request Request) (Checkout, error) {
	offer, err := d.Catalogue.Offer(ctx, request.Customer, request.Product, request.Variant)
	if err != nil {
		return Checkout{}, err
	}
	variant := offer.Variant
	if err := checkAmount(request.amount(), variant); err != nil {
		return Checkout{}, err
	}
	takesObject := variant.DataSchema != ""
	data := request.Data.orAbsent(takesObject)
	if err := d.checkData(variant.DataSchema, data); err != nil {
		return Checkout{}, err
	}
	id, err := d.newID(request)
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

// checkData judges data as the variant's schema has it; without one any text will do.
func (d Desk) checkData(schema, data string) error {
	if schema == "" {
		return nil
	}
	err := d.Data.Check(schema, data)
	if fault, invalid := errors.AsType[DataFault](err); invalid {
		return dataError(fault.Fault())
	}
	if err != nil {
		return fmt.Errorf("check data: %w", err)
	}
	return nil
}

func (d Desk) newID(request Request) (ID, error) {
	token, err := d.token(request)
	if err != nil {
		return "", err
	}
	unguessable, err := idempotency.NewToken(d.Random)
	return ID(token + unguessable), err
}

func (d Desk) token(request Request) (idempotency.Token, error) {
	if request.Key == "" {
		return idempotency.NewToken(d.Random)
	}
	return keyToken(request), nil
}

// keyToken is the Token of a request that has a key. Only the customer is in it with the key, so that the same key meets
// its checkout whatever else the request asks for.
func keyToken(request Request) idempotency.Token {
	return idempotency.Digest(string(request.Customer), string(request.Key))
}

// recall returns the open checkout that was made under the request's key. Where there is none it returns what was quoted:
// a checkout or what was wrong. A failure of the catalogue itself stays one.
func (d Desk) recall(ctx context.Context, request Request, quoted Checkout, quoteErr error) (Checkout, bool, error) {
	if request.Key == "" || quoteErr != nil && !isAnswer(quoteErr) {
		return quoted, false, quoteErr
	}
	kept, err := d.Store.Recall(ctx, request.Customer, keyToken(request))
	if errors.Is(err, ErrNotFound) || err == nil && kept.Status(request.At) != StatusOpen {
		return quoted, false, quoteErr
	}
	if err != nil {
		return Checkout{}, false, err
	}
	return replay(kept, request)
}

// isAnswer tells errors that answer a request from those that could not find out.
func isAnswer(err error) bool {
	_, badParameter := errors.AsType[*ParameterError](err)
	return badParameter || errors.Is(err, catalog.ErrNotFound)
}

// replay returns the open checkout that was made under the request's key, if it is the same request.
func replay(kept Checkout, request Request) (Checkout, bool, error) {
	if !kept.answers(request) {
		return Checkout{}, false, ErrKeyInUse
	}
	return kept, true, nil
}
