package benchmark

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/reference"
)

// subject is a measured function, with the requests that it gets and the function that it is compared with.
type subject struct {
	name string
	// pkg is the path of the main package in the source tree.
	pkg string
	// sample names the function whose event.json is the template for the requests.
	sample string
	// request returns the request with a number, about the code, checkout or order with the given ID.
	request  func(e fixture.Event, number int, id string) ([]byte, error)
	about    string // the code, checkout or order that the requests are about
	response string // a regular expression that every response must match
	// reference names the subject that makes the same calls and does nothing else. It is empty if there is no such
	// subject.
	reference string
	env       []string // of a reference function
}

// The names of the subjects that others are compared with, or that the report treats specially. The other subjects are
// named like their functions.
const (
	referenceRedeem   = "reference"
	referenceManyUses = "reference, many uses"
	referenceArea     = "reference, area"
	referenceCheckout = "reference, checkout"
	singleUse         = "redeem-voucher, single use"
	manyUses          = "redeem-voucher, many uses"

	redeemVoucher      = "redeem-voucher" // the function of both kinds of redemptions
	redeemPackage      = "functions/" + redeemVoucher
	referencesPackages = "internal/measure/reference/"
)

// subjects returns everything that is measured, references first.
func subjects() []subject {
	const (
		read     = `^{"statusCode":200,.*read\\":[1-9]`
		redeemed = `^{"statusCode":200,.*redeemed`
		onSale   = `^{"statusCode":200,.*bento-box`
		open     = `^{"statusCode":200,.*open`
		ordered  = `^{"statusCode":200,.*ordered`
		placed   = `^{"statusCode":200,.*placed`
		recorded = `^{"batchItemFailures":\[\]}$`
	)
	vouchers := []string{reference.EnvTable + "=" + fixture.VouchersTable}
	catalogue := []string{reference.EnvTable + "=" + fixture.CatalogueTable}
	references := []subject{
		{
			name: referenceRedeem, pkg: "redeem", sample: redeemVoucher, request: redeemOnce, about: fixture.SingleUse,
			env: vouchers,
		},
		{
			name: referenceManyUses, pkg: "redeem-many-uses", sample: redeemVoucher, request: redeemManyUses,
			env: vouchers,
		},
		{name: referenceArea, pkg: "checkout-area", sample: "checkout-area", request: asIs, env: catalogue},
		{name: referenceCheckout, pkg: "checkout", sample: "checkout", request: checkOut, env: catalogue},
	}
	for i := range references {
		references[i].pkg, references[i].response = referencesPackages+references[i].pkg, read
	}
	functions := []subject{
		{
			name: singleUse, sample: redeemVoucher, request: redeemOnce, about: fixture.SingleUse, response: redeemed,
			reference: referenceRedeem,
		},
		{
			name: manyUses, sample: redeemVoucher, request: redeemManyUses, response: redeemed,
			reference: referenceManyUses,
		},
		{sample: "checkout-area", request: asIs, response: onSale, reference: referenceArea},
		{sample: "storefront", request: asIs, response: onSale, reference: referenceArea},
		{sample: "checkout", request: checkOut, response: open, reference: referenceCheckout},
		{sample: "checkout-variant", request: checkOut, response: open, reference: referenceCheckout},
		// Each of these functions makes one call, like the reference for redeeming. So they need no references of their
		// own.
		{sample: "show-checkout", request: fromServer, response: ordered, reference: referenceRedeem},
		{
			sample: "place-order", request: aboutOrder, about: fixture.Checkout, response: placed,
			reference: referenceRedeem,
		},
		{sample: "show-order", request: fromServer, response: placed, reference: referenceRedeem},
		{
			sample: "fulfil-order", request: aboutOrder, about: fixture.Order,
			response: `^{"statusCode":200,.*fulfilled`, reference: referenceRedeem,
		},
		{
			sample: "cancel-order", request: aboutOrder, about: fixture.Order,
			response: `^{"statusCode":200,.*cancelled`, reference: referenceRedeem,
		},
		// These three functions read all shelves of a shop's orders, or all buckets of a code. No reference does that.
		{sample: "list-orders", request: listAll, response: `^{"statusCode":200,.*vip-rank`},
		{sample: "list-redemptions", request: fromServer, response: `^{"statusCode":200,.*redemptions`},
		{sample: "undo-redemption", request: fromServer, response: `^{"statusCode":404,.*redemption-not-found`},
		// No reference makes the calls of the next four functions either. publish-events finds no event to publish.
		{
			sample: "release-checkout", request: aboutOrder, about: fixture.Checkout,
			response: `^{"statusCode":200,.*released`,
		},
		{sample: "list-events", request: fromServer, response: `^{"statusCode":200,.*redemption.created`},
		{sample: "record-events", request: recordOne, response: recorded},
		{sample: "publish-events", request: asIs, response: recorded},
		{sample: "removed-payment", request: asIs, response: `^{"statusCode":410,.*urn:problem:shopfront:gone`},
		{sample: "api-docs", request: asIs, response: `^{"statusCode":200,`},
	}
	for i, f := range functions {
		functions[i].pkg, functions[i].name = "functions/"+f.sample, cmp.Or(f.name, f.sample)
	}
	return append(references, functions...)
}

func asIs(e fixture.Event, _ int, _ string) ([]byte, error) { return e.Encode() }

// fromServer sends the event with the key of the shop's server.
func fromServer(e fixture.Event, _ int, _ string) ([]byte, error) {
	keyed, err := e.WithServerKey()
	if err != nil {
		return nil, err
	}
	return keyed.Encode()
}

// aboutOrder sends the event with the ID of a prepared order, or of a prepared checkout that becomes an order.
func aboutOrder(e fixture.Event, number int, id string) ([]byte, error) {
	request, err := fromServer(e, number, id)
	return bytes.ReplaceAll(request, []byte(fixture.Order), []byte(id)), err
}

func listAll(e fixture.Event, number int, _ string) ([]byte, error) {
	return fromServer(e.With("rawQueryString", ""), number, "")
}

// recordOne delivers a new redemption.
func recordOne(e fixture.Event, _ int, _ string) ([]byte, error) {
	return e.Redemptions(string(fixture.ShopID), 1)
}

func redeemOnce(e fixture.Event, number int, code string) ([]byte, error) {
	return e.Redemption(code, "Alder", key(number))
}

func redeemManyUses(e fixture.Event, number int, _ string) ([]byte, error) {
	return e.Redemption(fixture.ManyUses, fmt.Sprintf("Alder%d", number), key(number))
}

func checkOut(e fixture.Event, number int, _ string) ([]byte, error) {
	return e.WithKey(key(number)).Encode()
}

// key returns the Idempotency-Key of the request with the given number.
func key(number int) string { return fmt.Sprintf("2f1c6f0e-6d0b-4c39-9a3e-%012d", number) }

// check rejects a response other than the expected one, so that a failed request is not measured as if it had worked.
func (s subject) check(got []byte) error {
	if matched, err := regexp.Match(s.response, got); err != nil || !matched {
		return fmt.Errorf("%s responded %.200q", s.name, got)
	}
	return nil
}

// comparedWith returns the name of the reference. A function without a reference is compared with the reference for
// redeeming.
func (s subject) comparedWith() string { return cmp.Or(s.reference, referenceRedeem) }

// functions returns two lists. The first has one subject for each function. The second has every subject with a
// reference that makes the same calls.
func functions() (each, withCalls []subject) {
	seen := map[string]bool{}
	for _, s := range subjects() {
		if s.reference != "" {
			withCalls = append(withCalls, s)
		}
		if s.pkg == "functions/"+s.sample && !seen[s.pkg] {
			seen[s.pkg] = true
			each = append(each, s)
		}
	}
	return each, withCalls
}
