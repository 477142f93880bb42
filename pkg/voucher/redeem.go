package voucher

import (
	"context"
	"errors"
	"io"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
)

// Request asks for a code to be redeemed or checked.
type Request struct {
	Customer catalog.CustomerID
	Code     Code
	Nick     Nick
	// Key marks a repetition of the same request; empty: every request is a new one. It belongs to the customer, the code
	// and the nick: with another of them it is another request.
	Key idempotency.Key
	// At is when the request was received, in UTC: the time that is compared.
	At time.Time
}

// Claim is a request to redeem with what its record will be known by.
type Claim struct {
	Request
	// RedemptionID is new for every request: a stored redemption with this ID was written by this very request.
	RedemptionID string
	// Token is the same for every repetition under a key: a stored redemption with this Token, but another ID, was written
	// by an earlier one.
	Token idempotency.Token
}

// Store is what redeeming needs of the kept vouchers.
type Store interface {
	// Redeem takes one use of the voucher, at most once for a Token, and records it; or finds the redemption that the
	// Token has already. It returns a *RefusalError only where nothing was taken. Any other error leaves open whether the claim
	// was applied.
	Redeem(ctx context.Context, claim Claim) (Redemption, error)
	// Look returns the voucher and how many uses of it the request's nick has taken, or a *RefusalError where it is unknown.
	Look(ctx context.Context, request Request) (v Voucher, takenByNick int, err error)
	// UsesLeft counts the uses left of a voucher with a limit above one.
	UsesLeft(ctx context.Context, customer catalog.CustomerID, v Voucher) (int, error)
}

// Desk redeems vouchers for a storefront.
type Desk struct {
	Store  Store
	Random io.Reader // of cryptographic quality
}

// Redeem redeems a voucher. With the key of an earlier redemption it returns that one, replayed, and applies nothing. A
// request that no voucher matches is a *RefusalError; any other error leaves open whether it was applied, unless it has a key
// and is sent again.
func (d Desk) Redeem(ctx context.Context, request Request) (redemption Redemption, replayed bool, err error) {
	claim := Claim{Request: request}
	id, err := idempotency.NewToken(d.Random)
	if err != nil {
		return Redemption{}, false, err
	}
	claim.RedemptionID = string(id)
	if claim.Token, err = d.token(request); err != nil {
		return Redemption{}, false, err
	}
	redemption, err = d.Store.Redeem(ctx, claim)
	if err != nil {
		return Redemption{}, false, err
	}
	return redemption, redemption.ID != claim.RedemptionID, nil
}

func (d Desk) token(request Request) (idempotency.Token, error) {
	if request.Key == "" {
		return idempotency.NewToken(d.Random)
	}
	return idempotency.Digest(string(request.Customer), string(request.Code), request.Nick.Compared, string(request.Key)), nil
}

// Check returns the voucher that Redeem would redeem now, and changes nothing. A request that no voucher matches is a
// *RefusalError. The request's key makes no difference.
func (d Desk) Check(ctx context.Context, request Request) (Voucher, error) {
	v, takenByNick, err := d.Store.Look(ctx, request)
	if err != nil {
		return Voucher{}, err
	}
	if err := v.Refuse(request); err != nil {
		return Voucher{}, err
	}
	if err := v.RefuseNick(takenByNick); err != nil {
		return Voucher{}, err
	}
	if !v.Limited() {
		return v, nil
	}
	left, err := d.Store.UsesLeft(ctx, request.Customer, v)
	if err != nil {
		return Voucher{}, err
	}
	if left == 0 {
		return Voucher{}, &RefusalError{ReasonUsedUp}
	}
	return v, nil
}

// FieldError says which field of a request, or of what an operator wrote, is wrong and why.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// IsRefusal tells whether an error is a refusal, and why.
func IsRefusal(err error) (Reason, bool) {
	if refusal, is := errors.AsType[*RefusalError](err); is {
		return refusal.Reason, true
	}
	return "", false
}
