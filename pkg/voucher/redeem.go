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
	// HoldID becomes the ID of a new hold.
	HoldID string
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
	// Look returns the voucher and the uses that the request's nick has taken. An unknown code is a *RefusalError.
	Look(ctx context.Context, request Request) (Voucher, NickUses, error)
	FreeUses
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
	v, uses, err := r.Store.Look(ctx, request)
	if err != nil {
		return Voucher{}, err
	}
	if err := RefuseNow(ctx, r.Store, request, v, uses); err != nil {
		return Voucher{}, err
	}
	return v, nil
}

// FreeUses finds free uses of vouchers with a limit above one.
type FreeUses interface {
	// HasFreeUse reports whether a use is free at the time of the request.
	HasFreeUse(ctx context.Context, request Request, v Voucher) (bool, error)
}

// RefuseNow returns a *RefusalError if no use of a voucher could be taken for the request now. The caller has just read
// v and uses.
func RefuseNow(ctx context.Context, store FreeUses, request Request, v Voucher, uses NickUses) error {
	if err := v.Refuse(request); err != nil {
		return err
	}
	if err := v.RefuseNick(uses, request.At); err != nil {
		return err
	}
	// If the nick has a lapsed hold, the request can take over the held use, unless too many uses are taken.
	if !v.Limited() || v.Over == 0 && len(uses.Lapsed(request.At)) > 0 {
		return nil
	}
	free, err := store.HasFreeUse(ctx, request, v)
	if err == nil && !free {
		err = &RefusalError{ReasonUsedUp}
	}
	return err
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
