package benchmark

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"shopfront/internal/measure/reference"
)

// Subject is a function as it is measured: what it is asked, and what it is compared with.
type Subject struct {
	Name string
	// Package is the main package, from the root of the checkout.
	Package string
	// Reference names the subject that makes the same calls and no more; empty for a reference itself.
	Reference string

	sample string // the function whose event.json it is sent
	table  string // that a reference function is told
	env    []string
	kind   kind
	status int    // of its answers; 0: it answers no HTTP
	shows  string // what its answers have in them
	// startOnly leaves out everything behind the first request.
	startOnly bool
}

// kind tells what a request asks for, where it is not the event as it is.
type kind int

const (
	asIs kind = iota
	redeemSingleUse
	redeemManyUses
	checkOut
)

const (
	hello          = "hello"
	bareRedeem     = "bare"
	bareManyUses   = "bare, many uses"
	bareArea       = "bare, area"
	bareCheckout   = "bare, checkout"
	unconnected    = "bare, not connecting"
	singleUse      = "redeem-voucher, single use"
	manyUses       = "redeem-voucher, many uses"
	area           = "checkout-area"
	checkout       = "checkout"
	olderCheckout  = "checkout-variant"
	removedPayment = "removed-payment"
	apiDocs        = "api-docs"
)

// redeemVoucher is the function with two kinds of requests.
const redeemVoucher = "functions/redeem-voucher"

// subjects are all that is measured, references first.
func subjects() []Subject {
	const read = `"read":`
	return []Subject{
		{Name: hello, Package: "internal/measure/reference/hello", sample: "redeem-voucher", shows: "hello"},
		{Name: bareRedeem, Package: "internal/measure/reference/redeem", sample: "redeem-voucher", table: VouchersTable, kind: redeemSingleUse, status: http.StatusOK, shows: read},
		{
			Name: unconnected, Package: "internal/measure/reference/redeem", sample: "redeem-voucher", table: VouchersTable, kind: redeemSingleUse, status: http.StatusOK, shows: read,
			env: []string{reference.EnvNotConnecting + "=yes"}, startOnly: true,
		},
		{Name: bareManyUses, Package: "internal/measure/reference/redeem-many-uses", sample: "redeem-voucher", table: VouchersTable, kind: redeemManyUses, status: http.StatusOK, shows: read},
		{Name: bareArea, Package: "internal/measure/reference/checkout-area", sample: "checkout-area", table: CatalogueTable, status: http.StatusOK, shows: read},
		{Name: bareCheckout, Package: "internal/measure/reference/checkout", sample: "checkout", table: CatalogueTable, kind: checkOut, status: http.StatusOK, shows: read},
		{Name: singleUse, Package: redeemVoucher, Reference: bareRedeem, sample: "redeem-voucher", kind: redeemSingleUse, status: http.StatusOK, shows: "redeemed"},
		{Name: manyUses, Package: redeemVoucher, Reference: bareManyUses, sample: "redeem-voucher", kind: redeemManyUses, status: http.StatusOK, shows: "redeemed"},
		{Name: area, Package: "functions/checkout-area", Reference: bareArea, sample: "checkout-area", status: http.StatusOK, shows: "bento-box"},
		{Name: checkout, Package: "functions/checkout", Reference: bareCheckout, sample: "checkout", kind: checkOut, status: http.StatusOK, shows: "open"},
		{Name: olderCheckout, Package: "functions/checkout-variant", Reference: bareCheckout, sample: "checkout-variant", kind: checkOut, status: http.StatusOK, shows: "open"},
		{Name: removedPayment, Package: "functions/removed-payment", sample: "removed-payment", status: http.StatusGone, shows: "urn:problem:shopfront:gone"},
		{Name: apiDocs, Package: "functions/api-docs", sample: "api-docs", status: http.StatusOK},
	}
}

// Event is a function's event.json, of which requests are made.
type Event map[string]any

// ReadEvent reads the event.json of a function of the checkout at root.
func ReadEvent(root, function string) (Event, error) {
	name := filepath.Join(root, "functions", function, "event.json")
	text, err := os.ReadFile(name) //nolint:gosec // a file of the checkout
	if err != nil {
		return nil, err
	}
	var e Event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return e, nil
}

// Redemption is the event as a request to redeem a code. An empty key is none.
func (e Event) Redemption(code, nick, key string) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"code": code, "nick": nick})
	if err != nil {
		return nil, err
	}
	asking := e.WithKey(key)
	asking["body"] = string(body)
	return json.Marshal(asking)
}

// WithKey is the event with an Idempotency-Key, or where that is empty without one.
func (e Event) WithKey(key string) Event {
	keyed := maps.Clone(e)
	headers := make(map[string]any)
	if given, is := e["headers"].(map[string]any); is {
		maps.Copy(headers, given)
	}
	delete(headers, "idempotency-key")
	if key != "" {
		headers["idempotency-key"] = key
	}
	keyed["headers"] = headers
	return keyed
}

// request is the subject's request with a number, of which no two have the same.
func (s Subject) request(e Event, number int, code string) ([]byte, error) {
	key := fmt.Sprintf("2f1c6f0e-6d0b-4c39-9a3e-%012d", number)
	switch s.kind {
	case redeemSingleUse:
		return e.Redemption(code, "Alder", key)
	case redeemManyUses:
		return e.Redemption(ManyUses, fmt.Sprintf("Alder%d", number), key)
	case checkOut:
		return json.Marshal(e.WithKey(key))
	case asIs:
	}
	return json.Marshal(e)
}

// check judges an answer, so that nothing is measured that went wrong.
func (s Subject) check(answer []byte) error {
	response := struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
	}{Body: string(answer)}
	if s.status != 0 {
		if err := json.Unmarshal(answer, &response); err != nil {
			return fmt.Errorf("%s answered %.200q: %w", s.Name, answer, err)
		}
	}
	if response.StatusCode != s.status || !strings.Contains(response.Body, s.shows) || response.Body == `{"read":0}` {
		return fmt.Errorf("%s answered %.200q", s.Name, answer)
	}
	return nil
}
