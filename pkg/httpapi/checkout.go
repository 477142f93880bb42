package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// CheckoutOpener opens checkouts. Quote returns what Open would return, but stores and holds nothing. Errors:
// catalog.ErrNotFound if the shop, product or variant is unknown or off sale, *checkout.ParameterError if the variant
// does not accept the amount or data, or if the earlier checkout cannot be replaced, *voucher.RefusalError if the code
// cannot be used, *checkout.TooManyHoldsError, and checkout.ErrKeyInUse. After an error with Unavailable() it is
// unknown whether a checkout was made.
type CheckoutOpener interface {
	Open(ctx context.Context, request checkout.Request) (c checkout.Checkout, replayed bool, err error)
	Quote(ctx context.Context, request checkout.Request) (c checkout.Checkout, replayed bool, err error)
}

// Checkout is GET /shop/{customer}/checkout/{product}/{variant}. It checks out an amount of a variant.
func (s Service) Checkout(opener CheckoutOpener) http.Handler {
	return s.handler(s.checkoutEndpoint("/shop/{customer}/checkout/{product}/{variant}", opener))
}

func (s Service) checkoutEndpoint(path string, opener CheckoutOpener) endpoint {
	return endpoint{
		path: path, rejectsUnasked: true,
		refusal: problemCodeRefused,
		respond: admitted(checkoutRequest, (*call).admitCheckout, func(c *call, form checkoutForm) (response, error) {
			request := form.Request
			request.ByServer = c.caller.IsServer()
			if !c.query.Has(checkout.ParameterCode) {
				return checkOut(c, opener, request)
			}
			request.Paused = c.settings.Paused
			if !request.ByServer || c.caller.Shopper.IsValid() {
				request.Source = c.caller.Source(s.SourceAddress(c.Request), request.Nick)
			}
			return s.limitRefusals(c, request.Nick, form.refusal, func() (response, error) {
				return checkOut(c, opener, request)
			})
		}),
	}
}

// admitCheckout admits a caller for checking out, with or without a code.
func (c *call) admitCheckout() error {
	return c.admitShopper(checkoutPolicy(c.URL.Query().Has(checkout.ParameterCode)))
}

// checkoutPolicy returns the policy for checking out. With a code, it returns the stricter of the policies for checking
// out and redeeming.
func checkoutPolicy(hasCode bool) policyOf {
	return func(settings access.Settings) access.Policy {
		if hasCode && settings.CheckOut == access.Anyone {
			return settings.Redeem
		}
		return settings.CheckOut
	}
}

// checkoutForm is the valid form of a request.
type checkoutForm struct {
	checkout.Request

	refusal error // set if no voucher can have such a code; limitRefusals counts it
}

// checkoutRequest validates the request's form.
func checkoutRequest(c *call) (request checkoutForm, err error) {
	request.Shop, request.At = c.shop, c.received
	if request.Product, err = catalog.ParseID[catalog.ProductID](c.path["product"]); err != nil {
		return checkoutForm{}, err
	}
	if request.Variant, err = catalog.ParseID[catalog.VariantID](c.path["variant"]); err != nil {
		return checkoutForm{}, err
	}
	if err := c.parseQuery(checkout.ParameterAmount, checkout.ParameterData,
		checkout.ParameterCode, checkout.ParameterNick, checkout.ParameterReplaces); err != nil {
		return checkoutForm{}, err
	}
	// aws-lambda-go replaces invalid UTF-8 with U+FFFD. Different data could then be equal.
	if strings.ContainsRune(c.URL.RawQuery, utf8.RuneError) {
		return checkoutForm{}, problemMalformedRequest.because("The query string must be UTF-8.")
	}
	if request.Key, err = idempotencyKey(c.Request); err != nil {
		return checkoutForm{}, err
	}
	if c.query.Has(checkout.ParameterAmount) {
		if request.Amount, err = checkout.ParseAmount(c.query.Get(checkout.ParameterAmount)); err != nil {
			return checkoutForm{}, err
		}
	}
	if c.query.Has(checkout.ParameterData) {
		if request.Data, err = checkout.ParseData(c.query.Get(checkout.ParameterData)); err != nil {
			return checkoutForm{}, err
		}
	}
	return withCode(request, c.query)
}

// withCode adds the code, the nick and the checkout to replace. A code that no voucher can have is refused like an
// unknown code. So a storefront can treat every refused input of a shopper alike.
func withCode(request checkoutForm, query url.Values) (_ checkoutForm, err error) {
	if request.Nick, err = parseNick(query); err != nil {
		return checkoutForm{}, err
	}
	if query.Has(checkout.ParameterReplaces) {
		if request.Replaces, err = checkout.ParseID(query.Get(checkout.ParameterReplaces)); err != nil {
			return checkoutForm{}, checkout.ErrNotReplaceable
		}
	}
	if query.Has(checkout.ParameterCode) {
		if request.Code, err = voucher.ParseCode(query.Get(checkout.ParameterCode)); err != nil {
			request.refusal = &voucher.RefusalError{Reason: voucher.ReasonUnknown}
		}
	}
	return request, nil
}

// parseNick reads the nick in a query. If it is missing, parseNick returns the zero Nick.
func parseNick(query url.Values) (voucher.Nick, error) {
	text := query.Get(checkout.ParameterNick)
	if strings.ContainsRune(text, utf8.RuneError) { // also true for bytes that are not UTF-8
		return voucher.Nick{}, problemInvalid.because(
			"The nick must be UTF-8 without U+FFFD.",
		).of(checkout.ParameterNick)
	}
	nick, err := voucher.ParseNick(text)
	if field, is := errors.AsType[*voucher.FieldError](err); is {
		return voucher.Nick{}, problemInvalid.because("%s %v.", field.Field, field.Err).of(checkout.ParameterNick)
	}
	return nick, err
}

// checkOut opens a checkout for a GET. A HEAD gets the same response without its body, and stores nothing.
func checkOut(c *call, opener CheckoutOpener, request checkout.Request) (response, error) {
	do, outcome, metrics := opener.Open, "opened", []string{metricCheckouts}
	if c.Method == http.MethodHead {
		do, outcome, metrics = opener.Quote, "quoted", nil
	}
	made, replayed, err := do(c.Context(), request)
	if full, is := errors.AsType[*checkout.TooManyHoldsError](err); is {
		return response{}, problemTooManyHolds.because("Too many checkouts of this source hold a use of a code. Wait " +
			"until one has ended.").
			after(full.Until.Sub(c.received))
	}
	if err != nil {
		return response{}, err
	}
	return c.replayable(wire.OfCheckout(made, request.At), replayed, outcome, metrics...)
}

// CheckoutReader reads checkouts. It returns checkout.ErrNotFound for an unknown ID or number.
type CheckoutReader interface {
	Show(ctx context.Context, shop catalog.ShopID, id checkout.ID) (checkout.Checkout, error)
	Find(ctx context.Context, shop catalog.ShopID, number checkout.Number) (checkout.Checkout, error)
}

// ShowCheckout is GET /shop/{customer}/checkouts/{id}. Whoever knows the ID may read the checkout, because nobody can
// guess an ID. The number, which people see, finds the checkout only for the shop's server.
func (s Service) ShowCheckout(reader CheckoutReader) http.Handler {
	byID := admitted(idRequest, (*call).admitWithoutPolicy, func(c *call, id checkout.ID) (response, error) {
		stored, err := reader.Show(c.Context(), c.shop, id)
		return showCheckout(c, stored, err)
	})
	return s.handler(endpoint{
		path: "/shop/{customer}/checkouts/{id}",
		respond: func(c *call) (response, error) {
			_, number, _ := checkout.ParseReference(c.path["id"])
			if number == "" {
				return byID(c)
			}
			read := func(c *call) (checkout.Number, error) { return number, c.parseQuery() }
			return admitted(read, (*call).admitServer, func(c *call, number checkout.Number) (response, error) {
				stored, err := reader.Find(c.Context(), c.shop, number)
				return showCheckout(c, stored, err)
			})(c)
		},
	})
}

// showCheckout responds with a stored checkout.
func showCheckout(c *call, stored checkout.Checkout, err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	c.record.note("shown")
	return jsonResponse(http.StatusOK, c.mayShow(stored))
}

// mayShow returns a checkout for a response. Data and nick may be personal, so only the shop's server gets them.
func (c *call) mayShow(stored checkout.Checkout) wire.Checkout {
	represented := wire.OfCheckout(stored, c.received)
	if !c.caller.IsServer() {
		represented.Data, represented.Nick = nil, ""
	}
	return represented
}

// CheckoutReleaser releases checkouts. A checkout.Orders implements it and describes the results and errors.
type CheckoutReleaser interface {
	Release(ctx context.Context, shop catalog.ShopID, id checkout.ID, byServer bool) (checkout.Checkout, bool, error)
}

// ReleaseCheckout is POST /shop/{customer}/checkouts/{id}/release. Whoever knows the ID may release the checkout, as
// with replaces.
func (s Service) ReleaseCheckout(releaser CheckoutReleaser) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/checkouts/{id}/release", methods: []string{http.MethodPost},
		respond: admitted(bareRequest, (*call).admitWithoutPolicy, func(c *call, id checkout.ID) (response, error) {
			released, replayed, err := releaser.Release(c.Context(), c.shop, id, c.caller.IsServer())
			if err != nil {
				return response{}, err
			}
			return c.replayable(c.mayShow(released), replayed, "released")
		}),
	})
}

// idRequest reads a request that has only an ID of a checkout, in its path.
func idRequest(c *call) (checkout.ID, error) {
	id, err := checkout.ParseID(c.path["id"])
	if err != nil {
		return "", problemNotFound.new()
	}
	return id, c.parseQuery()
}
