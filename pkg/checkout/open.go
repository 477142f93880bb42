package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// ErrKeyInUse means that the request's key belongs to a checkout that was ordered or released, or to an open one with
// another product, variant, amount, data, code or nick. If the request is another one, and its code is refused, the
// error also is that *voucher.RefusalError. It must count, or a key in use would make guesses free.
var ErrKeyInUse = errors.New("the idempotency key is in use by another checkout")

// Catalogue finds variants that are on sale.
type Catalogue interface {
	// Offer returns a variant that is on sale. If the variant is unknown or off sale, the error is catalog.ErrNotFound.
	Offer(ctx context.Context, shop catalog.ShopID, product catalog.ProductID,
		variant catalog.VariantID) (catalog.Offer, error)
}

// DataChecker validates data against a JSON Schema.
type DataChecker interface {
	// Check returns nil for valid data, and a *ParameterError for invalid data. Any other error means that the schema
	// cannot be used.
	Check(schema, data string) error
}

// Store stores checkouts.
type Store interface {
	// Open stores a new checkout under its ID's token, unless the checkout that is already stored there is still open
	// at checkout.Created, or has ended. It returns the checkout that is stored afterwards. After an
	// error it is unknown whether the new one was stored.
	Open(ctx context.Context, shop catalog.ShopID, checkout Checkout) (Checkout, error)
	// Recall returns the checkout that is stored under a token, or ErrNotFound.
	Recall(ctx context.Context, shop catalog.ShopID, token idempotency.Token) (Checkout, error)
}

// MaxHoldsPerSource is how many live holds a source can have, and MaxHoldsPerNetwork how many all subnets of an IPv6
// network, a /48, can have together. Anybody can get a /48 with 65,536 subnets for nothing.
const (
	MaxHoldsPerSource  = 20
	MaxHoldsPerNetwork = access.NetworkFactor * MaxHoldsPerSource
)

// TooManyHoldsError means that the source or its network has as many live holds as it can have.
type TooManyHoldsError struct{ Until time.Time } // when the first of these holds lapses

func (*TooManyHoldsError) Error() string { return "the source has too many live holds" }

// Opening is a new checkout to store. A use to hold and an older checkout to replace may come with it.
type Opening struct {
	Shop catalog.ShopID
	// Checkout has no Hold yet.
	Checkout Checkout
	// Claim asks for the use to hold. Without a code, Claim has only a Token, and Voucher and Uses are zero.
	Claim   voucher.Claim
	Voucher voucher.Voucher
	Uses    voucher.NickUses // of the nick
	Source  access.Source    // whose live holds are limited; zero: no limit
	// Replaces is the checkout to replace; nil: none.
	Replaces *Checkout
}

// HoldStore is the part of the store for checkouts with a code, and for checkouts that replace another.
type HoldStore interface {
	// Look returns the voucher and the uses that the request's nick has taken. An unknown code is a
	// *voucher.RefusalError.
	Look(ctx context.Context, request voucher.Request) (voucher.Voucher, voucher.NickUses, error)
	voucher.FreeUses
	// OpenHeld stores the checkout as Store.Open does, holds a use for it, and replaces the older checkout. It does all
	// of this or nothing. Errors: *voucher.RefusalError, *TooManyHoldsError, ErrNotReplaceable. After any other error
	// it is unknown whether the checkout was stored.
	OpenHeld(ctx context.Context, opening Opening) (Checkout, error)
	// RecallSettled is like Store.Recall, but first waits for the end of any transaction in flight that writes the
	// checkout.
	RecallSettled(ctx context.Context, shop catalog.ShopID, token idempotency.Token) (Checkout, error)
}

// ErrNotReplaceable means that the checkout to replace is unknown or has ended, or that a stranger wants
// to replace a checkout of the shop's server.
var ErrNotReplaceable error = &ParameterError{
	Parameter: ParameterReplaces,
	Reason:    "must be the ID of a checkout that was neither ordered nor released",
}

// Opener opens checkouts for a storefront.
type Opener struct {
	Catalogue Catalogue
	Store     Store
	Holds     HoldStore
	Data      DataChecker
	Random    io.Reader // of cryptographic quality
}

// Open makes a checkout. If the request's key belongs to a checkout that is still open, Open returns that checkout and
// sets replayed, even if the variant has changed since. Errors: catalog.ErrNotFound if the shop, product or variant is
// unknown or off sale, *ParameterError if the variant does not accept the amount or data, ErrNotReplaceable,
// *voucher.RefusalError if the code cannot be used, *TooManyHoldsError, ErrKeyInUse. After any other error it is
// unknown whether a checkout was made.
func (o Opener) Open(ctx context.Context, request Request) (checkout Checkout, replayed bool, err error) {
	opening, err := o.prepare(ctx, request)
	if err != nil {
		return o.recall(ctx, request, Checkout{}, err)
	}
	var stored Checkout
	if request.Code == "" && request.Replaces == "" {
		stored, err = o.Store.Open(ctx, request.Shop, opening.Checkout)
	} else {
		stored, err = o.Holds.OpenHeld(ctx, opening)
	}
	if err != nil {
		return o.recall(ctx, request, Checkout{}, err)
	}
	if stored.ID == opening.Checkout.ID {
		return stored, false, nil
	}
	return replay(stored, request)
}

// Quote returns the checkout that Open would return, but stores and holds nothing. The ID of a new quote cannot be
// looked up.
func (o Opener) Quote(ctx context.Context, request Request) (checkout Checkout, replayed bool, err error) {
	opening, err := o.prepare(ctx, request)
	if err == nil && request.Code != "" {
		err = o.refuseQuote(ctx, opening)
	}
	return o.recall(ctx, request, opening.Checkout, err)
}

// refuseQuote returns a *voucher.RefusalError if no use could be held now.
func (o Opener) refuseQuote(ctx context.Context, opening Opening) error {
	if _, shares := opening.Shared(); shares {
		return nil
	}
	return voucher.RefuseNow(ctx, o.Holds, opening.Claim.Request, opening.Voucher, opening.Uses)
}

// Shared returns the live hold that the new checkout can share: the hold of the checkout that it replaces, or a hold of
// the nick.
func (o Opening) Shared() (voucher.Hold, bool) {
	v, at, nick := o.Voucher, o.Claim.At, o.Claim.Nick
	replaced := voucher.Hold{}
	if o.Replaces != nil && o.Replaces.Hold != nil && o.Replaces.Code == v.Written {
		replaced = *o.Replaces.Hold
	}
	switch kind := v.HoldKind(); {
	case kind == voucher.HoldSingleUse:
		held := v.Held
		isOwn := held != nil && (held.ID == replaced.ID || nick.Compared != "" && held.Nick.Compared == nick.Compared)
		if isOwn && !held.HasLapsed(at) {
			return *held, true
		}
	case kind.IsByNick():
		if hold, found := o.Uses.Hold(replaced.ID); found && !hold.HasLapsed(at) {
			return hold, true
		}
		return o.Uses.Live(at)
	case kind == voucher.HoldCounted && replaced.ID != "" && !replaced.HasLapsed(at):
		return replaced, true
	}
	return voucher.Hold{}, false
}

// prepare validates a request and prices it. Whatever else is wrong, it refuses a code that cannot be used: any other
// error would tell a stranger that the code exists. It reads the catalogue last, or first if the data may have the
// nick, so that refusing a code takes the same reads as refusing an unknown one.
func (o Opener) prepare(ctx context.Context, request Request) (Opening, error) {
	offer := sync.OnceValues(func() (catalog.Offer, error) {
		return o.Catalogue.Offer(ctx, request.Shop, request.Product, request.Variant)
	})
	request, fault := withNick(request, offer)
	if fault != nil {
		return Opening{}, fault
	}
	opening := Opening{Shop: request.Shop, Source: request.Source}
	if request.Replaces != "" {
		opening.Replaces, fault = o.findReplaced(ctx, request)
		if fault != nil && !isRejection(fault) {
			return Opening{}, fault
		}
	}
	hasCode := request.Code != ""
	if hasCode {
		if err := o.claim(ctx, request, &opening); err != nil {
			return Opening{}, err
		}
	}
	if fault == nil {
		opening.Checkout, fault = o.price(request, offer)
	}
	if fault != nil {
		if hasCode && isRejection(fault) {
			fault = cmp.Or(o.refuseQuote(ctx, opening), fault)
		}
		return Opening{}, fault
	}
	opening.Claim.Token = opening.Checkout.ID.Token()
	var err error
	if hasCode {
		opening.Checkout.Code = opening.Voucher.Written
		opening.Checkout, err = opening.Checkout.discounted(opening.Voucher.Reward)
	}
	return opening, err
}

// withNick adds the nick that the product takes from the data, unless the request has a nick. If the data has a wrong
// one, the method price returns the error, after a refusal of the code.
func withNick(request Request, find func() (catalog.Offer, error)) (Request, error) {
	if request.Nick != (voucher.Nick{}) || !request.Data.given {
		return request, nil
	}
	offer, err := find()
	if err != nil && !isRejection(err) {
		return Request{}, err
	}
	request.Nick, _ = request.Data.nick(offer.Product.NickFrom)
	return request, nil
}

// claim looks up the voucher of the request's code. It returns a *voucher.RefusalError if the voucher and the nick's
// uses show that the code cannot be used at any checkout.
func (o Opener) claim(ctx context.Context, request Request, opening *Opening) error {
	id, err := idempotency.NewToken(o.Random)
	if err != nil {
		return err
	}
	opening.Claim.HoldID = string(id)
	opening.Claim.Request = voucher.Request{
		Shop: request.Shop, Code: request.Code, Nick: request.Nick, At: request.At, Paused: request.Paused,
		Key: request.Key,
	}
	if opening.Voucher, opening.Uses, err = o.Holds.Look(ctx, opening.Claim.Request); err != nil {
		return err
	}
	return opening.refuse()
}

func (o Opening) refuse() error {
	v, request := o.Voucher, o.Claim.Request
	refusal := cmp.Or(v.Refuse(request), v.RefuseNick(o.Uses, request.At))
	if _, shares := o.Shared(); shares {
		refusal = v.RefuseShare(request)
	}
	if refusal == nil && len(v.Reward.Goods()) > 0 {
		refusal = &voucher.RefusalError{Reason: voucher.ReasonNoDiscount}
	}
	return refusal
}

// findReplaced reads the checkout that the request replaces.
func (o Opener) findReplaced(ctx context.Context, request Request) (*Checkout, error) {
	replaced, err := o.Store.Recall(ctx, request.Shop, request.Replaces.Token())
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return nil, err
	case err != nil || replaced.ID != request.Replaces || replaced.HasEnded() ||
		replaced.ByServer && !request.ByServer:
		return nil, ErrNotReplaceable
	}
	return &replaced, nil
}

// price validates a request against the catalogue and prices it.
func (o Opener) price(request Request, find func() (catalog.Offer, error)) (Checkout, error) {
	offer, err := find()
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
	if err := checkNick(request, offer.Product.NickFrom); err != nil {
		return Checkout{}, err
	}
	id, err := o.newID(request)
	if err != nil {
		return Checkout{}, err
	}
	priced, err := Checkout{
		ID: id, Product: request.Product, Variant: request.Variant, Amount: request.amount(), Data: data,
		DataIsObject: takesObject, ByServer: request.ByServer,
		Nick: request.Nick.Written, Created: request.At, Expires: request.At.Add(Lifetime),
	}.priced(variant.PriceAt(request.At))
	if errors.Is(err, money.ErrOverflow) {
		return Checkout{}, amountError("makes the price too large")
	}
	return priced, err
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

// keyToken returns the Token of a request that has a key. It depends only on the shop, the key and the kind of caller.
// So a key finds its checkout even if the request asks for something else.
func keyToken(request Request) idempotency.Token {
	if request.ByServer {
		return idempotency.Digest(string(request.Shop), "server", string(request.Key))
	}
	return idempotency.Digest(string(request.Shop), string(request.Key))
}

// recall returns the checkout that has the request's key, unless that checkout has expired. If there is no such
// checkout, recall returns the parameters otherwise and otherErr. If otherErr is a failure instead of a rejection,
// recall returns both without looking for a checkout.
func (o Opener) recall(
	ctx context.Context, request Request, otherwise Checkout, otherErr error,
) (Checkout, bool, error) {
	if request.Key == "" || otherErr != nil && !isRejection(otherErr) {
		return otherwise, false, otherErr
	}
	read := o.Store.Recall
	if request.Code != "" || request.Replaces != "" {
		read = o.Holds.RecallSettled
	}
	stored, err := read(ctx, request.Shop, keyToken(request))
	if errors.Is(err, ErrNotFound) || err == nil && stored.Status(request.At) == StatusExpired {
		return otherwise, false, otherErr
	}
	if err != nil {
		return Checkout{}, false, err
	}
	if _, refused := voucher.IsRefusal(otherErr); refused && !stored.isFor(request) {
		return Checkout{}, false, errors.Join(ErrKeyInUse, otherErr)
	}
	return replay(stored, request)
}

// isRejection reports whether an error rejects the request. Any other error is a failure: it does not say whether the
// request is valid.
func isRejection(err error) bool {
	_, badParameter := errors.AsType[*ParameterError](err)
	_, refused := voucher.IsRefusal(err)
	_, tooMany := errors.AsType[*TooManyHoldsError](err)
	return badParameter || refused || tooMany || errors.Is(err, catalog.ErrNotFound)
}

// replay returns the stored checkout that has the request's key, if it is open and for the same request. If not, the
// error is ErrKeyInUse. An ordered checkout is not returned either, because its shopper has paid and must not pay for
// it again.
func replay(stored Checkout, request Request) (Checkout, bool, error) {
	if stored.HasEnded() || !stored.isFor(request) {
		return Checkout{}, false, ErrKeyInUse
	}
	return stored, true, nil
}
