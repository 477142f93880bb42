package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// problemType is the part of an RFC 9457 problem type after urn:problem:shopfront:. Names and statuses never change,
// because clients distinguish problems by them.
type problemType string

// Every problem that an endpoint responds with.
const (
	problemMalformedRequest     problemType = "malformed-request"
	problemUnauthorized         problemType = "unauthorized"
	problemCrossSite            problemType = "cross-site-request"
	problemVoucherNotFound      problemType = "voucher-not-found"
	problemNotFound             problemType = "not-found"
	problemMethodNotAllowed     problemType = "method-not-allowed"
	problemContentTooLarge      problemType = "content-too-large"
	problemUnsupportedMediaType problemType = "unsupported-media-type"
	problemInvalid              problemType = "invalid"
	problemKeyInUse             problemType = "idempotency-key-in-use"
	problemTooManyRefusals      problemType = "too-many-refusals"
	problemCheckoutExpired      problemType = "checkout-expired"
	problemPaymentMismatch      problemType = "payment-mismatch"
	problemPaymentInsufficient  problemType = "payment-insufficient"
	problemOrderCancelled       problemType = "order-cancelled"
	problemCodeRefused          problemType = "code-refused"
	problemTooManyHolds         problemType = "too-many-holds"
	problemTooManyRedemptions   problemType = "too-many-redemptions"
	problemCheckoutReplaced     problemType = "checkout-replaced"
	problemCheckoutReleased     problemType = "checkout-released"
	problemCheckoutOrdered      problemType = "checkout-ordered"
	problemRedemptionNotFound   problemType = "redemption-not-found"
	problemRedemptionUndone     problemType = "redemption-undone"
	problemRedemptionOfOrder    problemType = "redemption-of-order"
	problemCursorExpired        problemType = "cursor-expired"
	problemGone                 problemType = "gone"
	problemInternal             problemType = "internal"
	problemUnavailable          problemType = "unavailable"
)

// describe returns the status and the title.
func (t problemType) describe() (status int, title string) {
	described := map[problemType]struct {
		status int
		title  string
	}{
		problemMalformedRequest:     {http.StatusBadRequest, "Malformed request"},
		problemUnauthorized:         {http.StatusUnauthorized, "Unauthorized"},
		problemCrossSite:            {http.StatusForbidden, "Cross-site request"},
		problemVoucherNotFound:      {http.StatusNotFound, "Voucher not found"},
		problemNotFound:             {http.StatusNotFound, "Not found"},
		problemMethodNotAllowed:     {http.StatusMethodNotAllowed, "Method not allowed"},
		problemContentTooLarge:      {http.StatusRequestEntityTooLarge, "Content too large"},
		problemUnsupportedMediaType: {http.StatusUnsupportedMediaType, "Unsupported media type"},
		problemInvalid:              {http.StatusUnprocessableEntity, "Invalid request"},
		problemKeyInUse:             {http.StatusUnprocessableEntity, "Idempotency-Key in use"},
		problemTooManyRefusals:      {http.StatusTooManyRequests, "Too many refused codes"},
		problemCheckoutExpired:      {http.StatusConflict, "Checkout expired"},
		problemPaymentMismatch:      {http.StatusConflict, "Ordered with another payment"},
		problemPaymentInsufficient:  {http.StatusConflict, "Payment insufficient"},
		problemOrderCancelled:       {http.StatusConflict, "Order cancelled"},
		problemCodeRefused:          {http.StatusConflict, "Code refused"},
		problemTooManyHolds:         {http.StatusTooManyRequests, "Too many holds"},
		problemTooManyRedemptions:   {http.StatusTooManyRequests, "Too many redemptions"},
		problemCheckoutReplaced:     {http.StatusConflict, "Checkout replaced"},
		problemCheckoutReleased:     {http.StatusConflict, "Checkout released"},
		problemCheckoutOrdered:      {http.StatusConflict, "Checkout ordered"},
		problemRedemptionNotFound:   {http.StatusNotFound, "Redemption not found"},
		problemRedemptionUndone:     {http.StatusConflict, "Redemption undone"},
		problemRedemptionOfOrder:    {http.StatusConflict, "Redemption of an order"},
		problemCursorExpired:        {http.StatusGone, "Cursor expired"},
		problemGone:                 {http.StatusGone, "Gone"},
		problemUnavailable:          {http.StatusServiceUnavailable, "Temporarily unavailable"},
		problemInternal:             {http.StatusInternalServerError, "Internal error"},
	}[t]
	return described.status, described.title
}

// new returns a problem of this type without a detail, for cases in which the title says enough.
func (t problemType) new() *problemError { return &problemError{problemType: t} }

// because returns a problem of this type. Its detail is for the client's developer.
func (t problemType) because(format string, args ...any) *problemError {
	return &problemError{problemType: t, detail: fmt.Sprintf(format, args...)}
}

// problemError is one occurrence of a problemType.
type problemError struct {
	problemType
	detail    string // for people; empty if the title says it all
	parameter string // the query parameter that is wrong
	// pointer is the wrong place in the body, or in the parameter's JSON. It is a JSON Pointer (RFC 6901).
	pointer *string
	reason  voucher.Reason // why a voucher was refused; only the shop's server gets it
	expired *expiredJSON   // of an expired cursor
	header  http.Header
}

func (p *problemError) at(pointer string) *problemError {
	p.pointer = &pointer
	return p
}

func (p *problemError) of(parameter string) *problemError {
	p.parameter = parameter
	return p
}

func (p *problemError) with(name, value string) *problemError {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// after adds how long to wait before the next attempt: whole seconds, at least one.
func (p *problemError) after(wait time.Duration) *problemError {
	seconds := max(1, (wait+time.Second-1)/time.Second)
	return p.with("Retry-After", strconv.FormatInt(int64(seconds), 10))
}

func (p *problemError) Error() string { return string(p.problemType) + ": " + p.detail }

func (p *problemError) response() (response, error) {
	status, title := p.describe()
	resp, err := jsonResponse(status, struct {
		Type      string  `json:"type"`
		Title     string  `json:"title"`
		Status    int     `json:"status"`
		Detail    string  `json:"detail,omitempty"`
		Parameter string  `json:"parameter,omitempty"`
		Pointer   *string `json:"pointer,omitempty"`
		Reason    string  `json:"reason,omitempty"`

		*expiredJSON
	}{
		"urn:problem:shopfront:" + string(p.problemType), title, status, p.detail, p.parameter, p.pointer,
		string(p.reason), p.expired,
	})
	if err != nil {
		return response{}, err
	}
	maps.Copy(resp.header, p.header)
	resp.header.Set("Content-Type", "application/problem+json")
	return resp, nil
}

// expiredJSON has the members that a problem about an expired cursor adds.
type expiredJSON struct {
	Earliest int64  `json:"earliest"`
	Feed     string `json:"feed"`
}

// unavailable does not say whether the request was applied. A client can safely retry every request except a redemption
// or a checkout without an Idempotency-Key: the client cannot know whether it was made, and a retry may make another
// one.
func unavailable() *problemError {
	return problemUnavailable.because("Send the same request again, with its Idempotency-Key if it has one. "+
		"Without a key, a redemption or a checkout may already be made.").
		with("Retry-After", "1")
}

// problemOf is the one place that maps errors to problems. It also notes the outcome in the call's record. A refused
// code becomes the endpoint's problem for refusals, unless the request's key is in use. An unknown error becomes
// "internal": it is logged, and the client never sees it.
func problemOf(err error, refusal problemType, c *call) *problemError {
	r := c.record
	reason, refused := voucher.IsRefusal(err)
	if refused && refusal != "" && !errors.Is(err, checkout.ErrKeyInUse) {
		r.noteRefusal(reason)
		problem := refusal.new()
		if c.caller.IsServer() {
			problem.reason = reason
		}
		return problem
	}
	if storeDown, is := errors.AsType[unavailableError](err); is && storeDown.Unavailable() {
		r.err = err
		r.note(string(problemUnavailable), metricStoreErrors)
		return unavailable()
	}
	problem := recognise(err)
	var metrics []string
	if problem.problemType == problemInternal {
		r.err = err
		metrics = []string{metricErrors}
	}
	if problem.problemType == problemTooManyRefusals {
		metrics = []string{metricTooManyRefusals}
	}
	r.note(string(problem.problemType), metrics...)
	return problem
}

// recognise returns the problem of a known error, and "internal" for any other.
func recognise(err error) *problemError {
	if known, is := errors.AsType[*problemError](err); is {
		return known
	}
	if errors.Is(err, access.ErrUnauthorized) {
		// All causes have the same text, so that a caller cannot distinguish them.
		return problemUnauthorized.because("Send Authorization: Bearer KEY with a live key of the shop, or no "+
			"Authorization where the shop admits strangers.").
			with("WWW-Authenticate", "Bearer") // RFC 6750, section 3
	}
	if field, is := errors.AsType[*voucher.FieldError](err); is {
		return problemInvalid.because("%v.", field).at("/" + field.Field)
	}
	if parameter, is := errors.AsType[*checkout.ParameterError](err); is {
		return invalidParameter(parameter)
	}
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrMalformedID) {
		return problemNotFound.new()
	}
	if expired, is := errors.AsType[*event.ExpiredError](err); is {
		return cursorExpired(expired)
	}
	if damaged, is := errors.AsType[*event.DamagedError](err); is {
		return feedDamaged(damaged)
	}
	return cmp.Or(recogniseRedemption(err), recogniseCheckout(err), problemInternal.new())
}

func feedDamaged(damaged *event.DamagedError) *problemError {
	skip := ""
	if damaged.Sequence > 0 {
		skip = fmt.Sprintf(", or continue after %d without it", damaged.Sequence)
	}
	return problemInternal.because("In the store, %v. Have the operator restore it%s.", damaged, skip)
}

func cursorExpired(expired *event.ExpiredError) *problemError {
	with := "with this feed"
	if expired.Feed == "" {
		with = "without a feed"
	}
	problem := problemCursorExpired.because("The next event is no longer kept, or the feed was lost. "+
		"Compare your records with the shop's lists, then continue after %d %s.", expired.Earliest, with)
	problem.expired = &expiredJSON{expired.Earliest, expired.Feed}
	return problem
}

// recogniseRedemption recognises the errors of earlier redemptions. For any other error it returns nil.
func recogniseRedemption(err error) *problemError {
	switch {
	case errors.Is(err, voucher.ErrUndone):
		return problemRedemptionUndone.because("This request was applied, and its redemption was undone for good. " +
			"Grant nothing. To redeem again, send a new key.")
	case errors.Is(err, voucher.ErrRedemptionNotFound):
		return problemRedemptionNotFound.new()
	case errors.Is(err, voucher.ErrRedemptionOfOrder):
		return problemRedemptionOfOrder.because("An order made this redemption. Cancel the order instead: that " +
			"undoes it.")
	default:
		return nil
	}
}

// recogniseCheckout recognises the errors of checkouts and orders. For any other error it returns nil.
func recogniseCheckout(err error) *problemError {
	if member, is := errors.AsType[*checkout.MemberError](err); is {
		return problemInvalid.because("%v.", member).at(member.Pointer)
	}
	switch {
	case errors.Is(err, checkout.ErrKeyInUse):
		return problemKeyInUse.because("This key made another checkout, or one that was ordered or released. " +
			"Send a new key.")
	case errors.Is(err, checkout.ErrNotFound), errors.Is(err, checkout.ErrOrderNotFound):
		return problemNotFound.new()
	case errors.Is(err, checkout.ErrExpired):
		return problemCheckoutExpired.because("The checkout expired more than 7 days ago, its code was used " +
			"elsewhere since, its key made another checkout, or the ID is mistyped. Nothing was ordered.")
	case errors.Is(err, checkout.ErrReplaced):
		return problemCheckoutReplaced.because("Another checkout replaced this one. Nothing was ordered.")
	case errors.Is(err, checkout.ErrReleased):
		return problemCheckoutReleased.because("This checkout was released. Nothing was ordered. Refund the payment.")
	case errors.Is(err, checkout.ErrOrdered):
		return problemCheckoutOrdered.because("This checkout was ordered. To end it, cancel the order.")
	case errors.Is(err, checkout.ErrPaymentMismatch):
		return problemPaymentMismatch.because("This checkout was ordered with a payment that this request does not " +
			"name. Nothing was changed.")
	case errors.Is(err, checkout.ErrPaymentInsufficient):
		return problemPaymentInsufficient.because("The amount of this payment does not cover this order and the " +
			"earlier orders of the payment. Nothing was ordered.")
	case errors.Is(err, checkout.ErrOrderCancelled):
		return problemOrderCancelled.because("This order is cancelled for good. Whoever cancelled it decides about " +
			"the refund.")
	default:
		return nil
	}
}

func invalidParameter(parameter *checkout.ParameterError) *problemError {
	problem := problemInvalid.because("%v.", parameter).of(parameter.Parameter)
	switch parameter.Parameter {
	case checkout.ParameterData:
		return problem.at(parameter.Pointer)
	case checkout.ParameterReplaces:
		problem.problemType = problemMalformedRequest
	}
	return problem
}

// unavailableError is an error of the store after which a retry may succeed. It is unknown whether a write was applied.
type unavailableError interface {
	error
	Unavailable() bool
}
