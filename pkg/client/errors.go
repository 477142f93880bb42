package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Problems of the service (docs/interface.md, Problems). An error of a call tells by errors.Is which it is, and has a
// *ProblemError with the rest.
var (
	ErrMalformedRequest     = errors.New("malformed request")
	ErrVoucherNotFound      = errors.New("voucher not found") // or refused, for whatever reason
	ErrNotFound             = errors.New("not found")         // or off sale
	ErrMethodNotAllowed     = errors.New("method not allowed")
	ErrGone                 = errors.New("gone")
	ErrContentTooLarge      = errors.New("content too large")
	ErrUnsupportedMediaType = errors.New("unsupported media type")
	ErrInvalid              = errors.New("invalid request") // ProblemError.Parameter and Pointer say where
	ErrKeyInUse             = errors.New("Idempotency-Key in use")
	ErrInternal             = errors.New("internal error")
	ErrUnavailable          = errors.New("temporarily unavailable")

	// ErrThrottled is not the service's but the gateway's: too many requests at once.
	ErrThrottled = errors.New("too many requests")
)

// problemType is a kind of problem: what follows urn:problem:shopfront: in its type, the one status that it comes with, and
// what it is to a caller.
type problemType struct {
	name   string
	status int
	is     error
}

// problemTypes are those of docs/interface.md. Names and statuses never change.
func problemTypes() []problemType {
	return []problemType{
		{"malformed-request", http.StatusBadRequest, ErrMalformedRequest},
		{"voucher-not-found", http.StatusNotFound, ErrVoucherNotFound},
		{"not-found", http.StatusNotFound, ErrNotFound},
		{"method-not-allowed", http.StatusMethodNotAllowed, ErrMethodNotAllowed},
		{"gone", http.StatusGone, ErrGone},
		{"content-too-large", http.StatusRequestEntityTooLarge, ErrContentTooLarge},
		{"unsupported-media-type", http.StatusUnsupportedMediaType, ErrUnsupportedMediaType},
		{"invalid", http.StatusUnprocessableEntity, ErrInvalid},
		{"idempotency-key-in-use", http.StatusUnprocessableEntity, ErrKeyInUse},
		{"internal", http.StatusInternalServerError, ErrInternal},
		{"unavailable", http.StatusServiceUnavailable, ErrUnavailable},
	}
}

func findProblemType(name string) (problemType, bool) {
	types := problemTypes()
	i := slices.IndexFunc(types, func(t problemType) bool { return t.name == name })
	if i < 0 {
		return problemType{}, false
	}
	return types[i], true
}

// ProblemError is an error that was answered, by the service (RFC 9457) or by the gateway in front of it.
type ProblemError struct {
	// Type is what follows urn:problem:shopfront:, such as voucher-not-found. It is empty where the gateway answered, and
	// may be one that this package does not know yet.
	Type   string
	Status int
	Title  string // for people
	Detail string // for people, and not for the log: it may name what the shopper typed
	// Parameter is the query parameter that is wrong, and Pointer (a JSON Pointer, RFC 6901) the place in the body, or in the
	// parameter's JSON.
	Parameter, Pointer string
	RequestID          string // the operator finds the request by it
}

// Error tells type, status and request.
func (e *ProblemError) Error() string {
	what := e.Type
	if what == "" {
		what = "the gateway"
	}
	return describe(what, e.Status, e.RequestID)
}

// Unwrap is the problem to test for, such as ErrVoucherNotFound.
func (e *ProblemError) Unwrap() error {
	if known, is := findProblemType(e.Type); is {
		return known.is
	}
	if e.Status == http.StatusTooManyRequests {
		return ErrThrottled
	}
	return nil
}

// AnswerError is an answer that cannot be understood: not the service's, or not as docs/interface.md says.
type AnswerError struct {
	Status    int
	RequestID string // empty where there was none
	Reason    string
}

// Error tells why, status and request.
func (e *AnswerError) Error() string {
	return "answer not understood, " + describe(e.Reason, e.Status, e.RequestID)
}

func describe(what string, status int, requestID string) string {
	if requestID == "" {
		return fmt.Sprintf("%s: status %d", what, status)
	}
	return fmt.Sprintf("%s: status %d, request %q", what, status, requestID)
}

// OutcomeUnknownError says that a redemption or checkout may have been made or not, by this call or an earlier one with its
// key. The same call with the same key (WithKey) finds out: it answers what was made, or is a first try. Make it no sooner
// than DefaultAttemptTimeout after this error: what was lost is over by then, and a refusal is one.
type OutcomeUnknownError struct {
	Key string // not in the error's text
	Err error  // the last attempt's; a refusal that may be too early is no *ProblemError here
}

// Error tells what happened to the last attempt.
func (e *OutcomeUnknownError) Error() string {
	return "outcome unknown, repeat with the same key: " + e.Err.Error()
}

// Unwrap is the last attempt's error.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// unsettledError is a refusal while an earlier attempt may still be worked on: that one was received before, and may have found
// a voucher or an offer that has ended since. It does not unwrap, lest it be taken for the refusal.
type unsettledError struct{ refusal error }

func (e *unsettledError) Error() string {
	return "refused, but an earlier attempt may still be applied: " + e.refusal.Error()
}

// isJudged tells an error by which the service has judged the request. Had an earlier attempt been applied by then, the key
// would have got what it made. Of a problem that is not known here nothing can be said.
func isJudged(err error) bool {
	problem, is := errors.AsType[*ProblemError](err)
	if !is {
		return false
	}
	_, isKnown := findProblemType(problem.Type)
	return isKnown && isHeldBack(err)
}

// isHeldBack tells an error of an attempt that surely was not applied, by the statuses that say so: of the service, and of
// what is in front of it and passes nothing on. Others come from something on the way that gave up waiting (408, 499), or may
// mean anything.
func isHeldBack(err error) bool {
	problem, is := errors.AsType[*ProblemError](err)
	if !is {
		return false
	}
	switch problem.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge:
		return true
	default:
		return false
	}
}
