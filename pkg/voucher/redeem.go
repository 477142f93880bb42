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
	Shop catalog.ShopID
	Code Code
	Nick Nick
	// Key identifies the request across retries. Empty: the request cannot be retried safely. The same key with another
	// shop, code or nick identifies another request.
	Key    idempotency.Key
	At     time.Time // when the request was received, in UTC
	Paused Pause     // what the shop's owner has paused
	Quota  Quota     // of the source, for Redeem
}

// Claim is a request to redeem, with the identifiers for its record.
type Claim struct {
	Request
	// Token becomes the ID of the redemption. It is the same for all requests with one key.
	Token idempotency.Token
	// Attempt is new for every request. A stored redemption with the Token but another Attempt was written for an
	// earlier request.
	Attempt string
}

// attemptLength is the length of a Claim's Attempt.
const attemptLength = 6

// NickIDLength is the length of a NickID.
const NickIDLength = 11

// NickID returns the characters of base64url that stand for a nick within a code. It depends on the compared form of
// the nick. The ID of a redemption begins with it, unless an order made the redemption, or it was imported.
func NickID(shop catalog.ShopID, code Code, nick Nick) string {
	return string(idempotency.Digest(string(shop), string(code), nick.Compared)[:NickIDLength])
}

// RedeemerStore is the part of the voucher store that redeeming needs.
type RedeemerStore interface {
	// Redeem takes one use of the voucher and records it, at most once for a token. If the token already has a
	// redemption, Redeem returns that redemption, or ErrUndone if it was undone. After a *RefusalError or a
	// *TooManyRedemptionsError nothing was taken. After any other error the claim may or may not be applied.
	Redeem(ctx context.Context, claim Claim) (Redemption, error)
	// Available returns the voucher as it is stored now, if a use of it could be taken for the request. Otherwise the
	// error is a *RefusalError.
	Available(ctx context.Context, request Request) (Voucher, error)
}

// Redeemer redeems and checks vouchers for a storefront.
type Redeemer struct {
	Store  RedeemerStore
	Random io.Reader // of cryptographic quality
}

// Redeem redeems a voucher. If the request's key was already used for a redemption, Redeem changes nothing, returns
// that redemption and sets replayed. If that redemption was undone, the error is ErrUndone. After a *RefusalError or a
// *TooManyRedemptionsError nothing was redeemed. After any other error the request may or may not have been applied; a
// request with a key can be sent again to find out.
func (r Redeemer) Redeem(ctx context.Context, request Request) (redemption Redemption, replayed bool, err error) {
	drawn, err := idempotency.NewToken(r.Random)
	if err != nil {
		return Redemption{}, false, err
	}
	claim := Claim{Request: request, Attempt: string(drawn[:attemptLength])}
	unique := drawn
	if request.Key != "" {
		unique = idempotency.Digest(string(request.Shop), string(request.Code), request.Nick.Compared,
			string(request.Key))
	}
	claim.Token = idempotency.Token(NickID(request.Shop, request.Code, request.Nick)) + unique[NickIDLength:]
	redemption, err = r.Store.Redeem(ctx, claim)
	if err != nil {
		return Redemption{}, false, err
	}
	return redemption, redemption.Attempt != claim.Attempt, nil
}

// Check returns the voucher that Redeem would redeem now, or a *RefusalError. It changes nothing and ignores the key.
func (r Redeemer) Check(ctx context.Context, request Request) (Voucher, error) {
	return r.Store.Available(ctx, request)
}

// FieldError says which field of a request, or of an operator's input, is wrong and why.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// FieldErrors returns every *FieldError in an error, including those of joined errors.
func FieldErrors(err error) []*FieldError {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		var fields []*FieldError
		for _, one := range joined.Unwrap() {
			fields = append(fields, FieldErrors(one)...)
		}
		return fields
	}
	if field, is := errors.AsType[*FieldError](err); is {
		return []*FieldError{field}
	}
	return nil
}

// IsRefusal reports whether an error is a refusal, and returns the reason.
func IsRefusal(err error) (Reason, bool) {
	if refusal, is := errors.AsType[*RefusalError](err); is {
		return refusal.Reason, true
	}
	return "", false
}
