package testshop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"shopfront/pkg/catalog"
)

// Request is a request to a shop.
type Request struct {
	Method string
	Path   string // below the shop's path; it may have a query
	Body   string // JSON; if empty, the request has no body
	Key    string // the Idempotency-Key; if empty, the request has no key
	Server string // the secret key of the shop's server; if empty, a stranger sends the request
}

// Redemption returns a request to redeem a code for a nick, which may be empty.
func Redemption(code, nick string) Request {
	body, _ := json.Marshal(map[string]string{"code": code, "nick": nick}) // strings always marshal
	return Request{Method: http.MethodPost, Path: "/voucher", Body: string(body)}
}

// Send sends the request to an HTTP API, and returns the response.
func (r Request) Send(ctx context.Context, api http.Handler, shop catalog.ShopID) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(ctx, r.Method, "/shop/"+string(shop)+r.Path,
		strings.NewReader(r.Body))
	if r.Body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.Key != "" {
		request.Header.Set("Idempotency-Key", r.Key)
	}
	if r.Server != "" {
		request.Header.Set("Authorization", "Bearer "+r.Server)
	}
	recorder := httptest.NewRecorder()
	api.ServeHTTP(recorder, request)
	return recorder
}
