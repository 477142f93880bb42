package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
)

// CheckoutDesk checks out, or with Quote says what would come of it and keeps nothing. What is unknown or off sale is
// catalog.ErrNotFound, an amount or data that the variant does not take a *checkout.ParameterError, the key of another
// request checkout.ErrKeyInUse; an error with Unavailable() leaves open whether a checkout was made.
type CheckoutDesk interface {
	Open(ctx context.Context, request checkout.Request) (c checkout.Checkout, replayed bool, err error)
	Quote(ctx context.Context, request checkout.Request) (c checkout.Checkout, replayed bool, err error)
}

// Checkout is GET /shop/{customer}/checkout/{product}/{variant} (docs/interface.md): it checks out an amount of a variant.
func (s Service) Checkout(desk CheckoutDesk) http.Handler {
	return s.handler(checkoutEndpoint("/shop/{customer}/checkout/{product}/{variant}", desk))
}

func checkoutEndpoint(path string, desk CheckoutDesk) endpoint {
	return endpoint{
		path: path, methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			if isPrefetch(c.Request) {
				c.record.reason = "prefetch"
				return answer{}, problemUnavailable.because("A prefetch checks nothing out.").with("Retry-After", "1")
			}
			request, err := checkoutRequest(c)
			if err != nil {
				return answer{}, err
			}
			return checkOut(c, desk, request)
		},
	}
}

// isPrefetch tells requests that a browser makes before anybody asked for them:
// https://wicg.github.io/nav-speculation/prefetch.html#sec-purpose-header
func isPrefetch(r *http.Request) bool {
	for _, value := range r.Header.Values("Sec-Purpose") {
		for item := range strings.SplitSeq(value, ",") {
			purpose, _, _ := strings.Cut(item, ";")
			if strings.TrimSpace(purpose) == "prefetch" {
				return true
			}
		}
	}
	return false
}

func checkoutRequest(c *call) (request checkout.Request, err error) {
	request.At = c.received
	if request.Customer, err = catalog.ParseID[catalog.CustomerID](c.path["customer"]); err != nil {
		return checkout.Request{}, err
	}
	if request.Product, err = catalog.ParseID[catalog.ProductID](c.path["product"]); err != nil {
		return checkout.Request{}, err
	}
	if request.Variant, err = catalog.ParseID[catalog.VariantID](c.path["variant"]); err != nil {
		return checkout.Request{}, err
	}
	query, err := parseQuery(c.Request, checkout.ParameterAmount, checkout.ParameterData)
	if err != nil {
		return checkout.Request{}, err
	}
	// Bytes that were not percent-encoded and not UTF-8 reach a function as U+FFFD: different data would be one.
	if strings.ContainsRune(c.URL.RawQuery, utf8.RuneError) {
		return checkout.Request{}, problemMalformedRequest.because("The query string must be UTF-8.")
	}
	if request.Key, err = idempotencyKey(c.Request); err != nil {
		return checkout.Request{}, err
	}
	if query.Has(checkout.ParameterAmount) {
		if request.Amount, err = checkout.ParseAmount(query.Get(checkout.ParameterAmount)); err != nil {
			return checkout.Request{}, err
		}
	}
	if query.Has(checkout.ParameterData) {
		request.Data, err = checkout.ParseData(query.Get(checkout.ParameterData))
	}
	return request, err
}

// checkOut opens a checkout for a GET. A HEAD gets the same answer without its body, and opens none.
func checkOut(c *call, desk CheckoutDesk, request checkout.Request) (answer, error) {
	do, outcome, metrics := desk.Open, "opened", []string{metricCheckouts}
	if c.Method == http.MethodHead {
		do, outcome, metrics = desk.Quote, "quoted", nil
	}
	made, replayed, err := do(c.Context(), request)
	if err != nil {
		return answer{}, err
	}
	a, err := jsonAnswer(http.StatusOK, representCheckout(made, made.Status(request.At)))
	if replayed {
		c.record.note("replayed")
		a.header.Set("Idempotency-Replayed", "true")
	} else {
		c.record.note(outcome, metrics...)
	}
	return a, err
}

type checkoutJSON struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
	// Data is a JSON object where the variant declared a schema, else a string.
	Data      any        `json:"data"`
	UnitPrice *moneyJSON `json:"unitPrice"`
	Subtotal  *moneyJSON `json:"subtotal"`
	Discount  *moneyJSON `json:"discount"`
	Total     *moneyJSON `json:"total"`
	CreatedAt string     `json:"createdAt"`
	ExpiresAt string     `json:"expiresAt"`
}

func representCheckout(c checkout.Checkout, status checkout.Status) checkoutJSON {
	represented := checkoutJSON{
		ID: string(c.ID), Status: string(status), Product: string(c.Product), Variant: string(c.Variant), Amount: c.Amount, Data: c.Data,
		UnitPrice: representMoney(c.UnitPrice), Subtotal: representMoney(c.Subtotal),
		Discount: representMoney(c.Discount), Total: representMoney(c.Total),
		CreatedAt: representTime(c.Created), ExpiresAt: representTime(c.Expires),
	}
	if c.DataIsObject {
		represented.Data = json.RawMessage(c.Data)
	}
	return represented
}
