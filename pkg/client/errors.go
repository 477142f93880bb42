package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Problems of the service, see api/openapi.yaml. Match the error of a call with errors.Is. The error wraps a
// *ProblemError with details.
var (
	ErrMalformedRequest = errors.New("malformed request")
	ErrVoucherNotFound  = errors.New("voucher not found") // or refused for any other reason
	// unknown or off sale; for an order also: the checkout was not ordered
	ErrNotFound             = errors.New("not found")
	ErrMethodNotAllowed     = errors.New("method not allowed")
	ErrGone                 = errors.New("gone")
	ErrContentTooLarge      = errors.New("content too large")
	ErrUnsupportedMediaType = errors.New("unsupported media type")
	ErrInvalid              = errors.New("invalid request") // see ProblemError.Parameter and Pointer
	ErrKeyInUse             = errors.New("Idempotency-Key in use")
	ErrUnauthorized         = errors.New("unauthorized")           // the shop requires a key, or this key is not valid
	ErrCrossSite            = errors.New("cross-site request")     // the request has the headers of another site's page
	ErrTooManyRefusals      = errors.New("too many refused codes") // see ProblemError.RetryAfter
	// by the checkouts of one network address; see ProblemError.RetryAfter
	ErrTooManyHolds       = errors.New("too many holds")
	ErrTooManyRedemptions = errors.New("too many redemptions") // of codes of several uses, by strangers, likewise
	ErrCodeRefused        = errors.New("code refused")         // for this checkout, for any reason
	// it expired too long ago, its use of a code was taken, or its key made another checkout
	ErrCheckoutExpired  = errors.New("checkout expired")
	ErrCheckoutReplaced = errors.New("checkout replaced") // by another checkout, for good
	ErrCheckoutReleased = errors.New("checkout released") // for good
	ErrCheckoutOrdered  = errors.New("checkout ordered")  // so it cannot be released
	ErrPaymentMismatch  = errors.New("ordered with another payment")
	// the orders of the payment would exceed its stated amount
	ErrPaymentInsufficient = errors.New("the payment does not cover the order")
	ErrOrderCancelled      = errors.New("order cancelled")   // for good
	ErrRedemptionUndone    = errors.New("redemption undone") // for good
	ErrRedemptionNotFound  = errors.New("redemption not found")
	ErrRedemptionOfOrder   = errors.New("redemption of an order") // only CancelOrder undoes it
	ErrCursorExpired       = errors.New("cursor expired")         // see ProblemError.Earliest
	ErrInternal            = errors.New("internal error")
	ErrUnavailable         = errors.New("temporarily unavailable")
	ErrThrottled           = errors.New("too many requests") // from the gateway
)

// ErrWrongBaseURL means that the gateway has no such path: the base URL is misspelt, or leads to another service.
// Unless the error also is an *OutcomeUnknownError, this call was not applied. An earlier call with the same key may
// have been applied: correct the URL and repeat the call with that key.
var ErrWrongBaseURL = errors.New("no such path, check the base URL")

// problemType has the status of a problem type and the error to match.
type problemType struct {
	status int
	is     error
}

// problemTypes lists the problem types by the name after urn:problem:shopfront:. Names and statuses never change.
func problemTypes() map[string]problemType {
	return map[string]problemType{
		"malformed-request":      {http.StatusBadRequest, ErrMalformedRequest},
		"voucher-not-found":      {http.StatusNotFound, ErrVoucherNotFound},
		"not-found":              {http.StatusNotFound, ErrNotFound},
		"method-not-allowed":     {http.StatusMethodNotAllowed, ErrMethodNotAllowed},
		"gone":                   {http.StatusGone, ErrGone},
		"cursor-expired":         {http.StatusGone, ErrCursorExpired},
		"content-too-large":      {http.StatusRequestEntityTooLarge, ErrContentTooLarge},
		"unsupported-media-type": {http.StatusUnsupportedMediaType, ErrUnsupportedMediaType},
		"invalid":                {http.StatusUnprocessableEntity, ErrInvalid},
		"idempotency-key-in-use": {http.StatusUnprocessableEntity, ErrKeyInUse},
		"unauthorized":           {http.StatusUnauthorized, ErrUnauthorized},
		"cross-site-request":     {http.StatusForbidden, ErrCrossSite},
		"too-many-refusals":      {http.StatusTooManyRequests, ErrTooManyRefusals},
		"too-many-holds":         {http.StatusTooManyRequests, ErrTooManyHolds},
		"too-many-redemptions":   {http.StatusTooManyRequests, ErrTooManyRedemptions},
		"code-refused":           {http.StatusConflict, ErrCodeRefused},
		"checkout-expired":       {http.StatusConflict, ErrCheckoutExpired},
		"checkout-replaced":      {http.StatusConflict, ErrCheckoutReplaced},
		"checkout-released":      {http.StatusConflict, ErrCheckoutReleased},
		"checkout-ordered":       {http.StatusConflict, ErrCheckoutOrdered},
		"payment-mismatch":       {http.StatusConflict, ErrPaymentMismatch},
		"payment-insufficient":   {http.StatusConflict, ErrPaymentInsufficient},
		"order-cancelled":        {http.StatusConflict, ErrOrderCancelled},
		"redemption-undone":      {http.StatusConflict, ErrRedemptionUndone},
		"redemption-not-found":   {http.StatusNotFound, ErrRedemptionNotFound},
		"redemption-of-order":    {http.StatusConflict, ErrRedemptionOfOrder},
		"internal":               {http.StatusInternalServerError, ErrInternal},
		"unavailable":            {http.StatusServiceUnavailable, ErrUnavailable},
	}
}

// ProblemError is an error response of the service (RFC 9457) or of the gateway in front of it.
type ProblemError struct {
	// Type is the name after urn:problem:shopfront:, such as voucher-not-found. It is empty for a response of the
	// gateway, and can be a type that this package does not know yet.
	Type   string `json:"type"`
	Status int    `json:"status"`
	Title  string `json:"title"`  // for people
	Detail string `json:"detail"` // for people; do not log it, it may repeat what the shopper typed
	// Parameter names the invalid query parameter. Pointer is a JSON Pointer (RFC 6901) to the invalid value in the
	// body, or in the parameter's JSON.
	Parameter string `json:"parameter"`
	Pointer   string `json:"pointer"`
	// Reason is why a code was refused, such as used_up. Only a client with a key gets it: see WithServerKey.
	Reason string `json:"reason"`
	// Earliest and Feed are set for ErrCursorExpired. Together they are the EventCursor before the oldest stored event.
	Earliest   int64         `json:"earliest"`
	Feed       string        `json:"feed"`
	RetryAfter time.Duration `json:"-"` // when to ask again; 0 if the service did not say
	RequestID  string        `json:"-"` // identifies the request for the operator
}

// Error returns type, status and request ID.
func (e *ProblemError) Error() string {
	what := cmp.Or(e.Type, "the gateway")
	if errors.Is(e, ErrWrongBaseURL) {
		what += ": " + ErrWrongBaseURL.Error()
	}
	return describe(what, e.Status, e.RequestID)
}

// Unwrap returns the error to match, such as ErrVoucherNotFound.
func (e *ProblemError) Unwrap() error {
	if known, is := problemTypes()[e.Type]; is {
		return known.is
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return ErrThrottled
	case e.Type == "" && e.Status == http.StatusNotFound:
		return ErrWrongBaseURL
	default:
		return nil
	}
}

// ResponseError is a response that does not follow api/openapi.yaml, perhaps from another server.
type ResponseError struct {
	Status    int
	RequestID string // empty if the response had none
	Reason    string
}

// Error returns reason, status and request ID.
func (e *ResponseError) Error() string {
	return "response not understood, " + describe(e.Reason, e.Status, e.RequestID)
}

func describe(what string, status int, requestID string) string {
	if requestID == "" {
		return fmt.Sprintf("%s: status %d", what, status)
	}
	return fmt.Sprintf("%s: status %d, request %q", what, status, requestID)
}

// OutcomeUnknownError means that the change may have been made, by this call or by an earlier one. To find out, wait
// DefaultAttemptTimeout and repeat the call with the same arguments. For Redeem and Checkout, pass the same key, too
// (WithKey). After the wait no lost attempt can be applied any more, so a refusal is final.
type OutcomeUnknownError struct {
	Key string // not part of the error's text; empty for calls about orders and for UndoRedemption
	// Err is the error of the last attempt. A refusal comes as text only, so that errors.Is does not take it for final.
	// 401, 403 and 429 do not count as refusals.
	Err error
}

// Error describes the last attempt.
func (e *OutcomeUnknownError) Error() string {
	if e.Key == "" {
		return "outcome unknown, repeat the call: " + e.Err.Error()
	}
	return "outcome unknown, repeat with the same key: " + e.Err.Error()
}

// Unwrap returns the error of the last attempt.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// unsentError is a failed connection: nothing of the request was sent.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// classify reads the error of an attempt. isRejected means that this attempt was certainly not applied: the status
// proves it, or there was no connection. Other statuses prove nothing unless the body is a problem of the service: 408
// and 499, for example, may come from a proxy that stopped waiting.
//
// isJudged means that the service itself rejected the request. If an earlier attempt had been applied by then, the
// service would have returned the result of that attempt. 401, 403 and 429 do not count: the service can send them
// before it looks for an earlier attempt. A problem of an unknown type does not count either.
func classify(err error) (isRejected, isJudged bool) {
	problem, is := errors.AsType[*ProblemError](err)
	if !is {
		_, isUnsent := errors.AsType[unsentError](err)
		return isUnsent, false
	}
	_, isKnown := problemTypes()[problem.Type]
	isRejected = isKnown && problem.Status < http.StatusInternalServerError || slices.Contains([]int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge,
	}, problem.Status)
	isTurnedAway := slices.Contains([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
	}, problem.Status)
	return isRejected, isRejected && isKnown && !isTurnedAway
}

// isLasting reports whether a refusal is final at once, even while an earlier attempt is in flight. The state behind
// such a refusal never changes: for example, an order keeps its payment. So no attempt of the same call can be applied
// afterwards. After any other refusal, a lost attempt may still be applied: it may have arrived before the checkout
// expired, or while the code had a use left.
func isLasting(refusal error) bool {
	lasting := []error{
		ErrPaymentMismatch, ErrPaymentInsufficient, ErrOrderCancelled, ErrCheckoutReplaced, ErrCheckoutReleased,
		ErrCheckoutOrdered, ErrRedemptionUndone, ErrRedemptionOfOrder,
	}
	return slices.ContainsFunc(lasting, func(is error) bool { return errors.Is(refusal, is) })
}
