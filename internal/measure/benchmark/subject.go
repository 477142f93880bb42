package benchmark

import (
	"bytes"
	"context"
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
	// sample is the function whose event.json the requests are made from.
	sample  string
	request func(e fixture.Event, number int, of string) ([]byte, error)
	// prepare makes what the requests are about, before the clock starts: codes that nobody has redeemed, or checkouts, or orders. It
	// returns a code or an ID for each request. It may be nil.
	prepare func(s *store, ctx context.Context, count int) ([]string, error)
	answers string // a regular expression that every response must match
	// reference names the subject that makes the same calls and nothing else; empty for functions without calls and for references.
	reference string
	env       []string // of a reference function
	// startOnly says that only starts and first requests are measured.
	startOnly bool
}

const (
	hello              = "hello"
	referenceRedeem    = "reference"
	referenceManyUses  = "reference, many uses"
	referenceArea      = "reference, area"
	referenceCheckout  = "reference, checkout"
	referenceUnwarmed  = "reference, not connecting"
	singleUse          = "redeem-voucher, single use"
	manyUses           = "redeem-voucher, many uses"
	checkoutArea       = "checkout-area"
	storefront         = "storefront"
	checkout           = "checkout"
	checkoutVariant    = "checkout-variant"
	showCheckout       = "show-checkout"
	placeOrder         = "place-order"
	listOrders         = "list-orders"
	showOrder          = "show-order"
	fulfilOrder        = "fulfil-order"
	cancelOrder        = "cancel-order"
	listRedemptions    = "list-redemptions"
	undoRedemption     = "undo-redemption"
	listEvents         = "list-events"
	recordEvents       = "record-events"
	publishEvents      = "publish-events"
	removedPayment     = "removed-payment"
	apiDocs            = "api-docs"
	redeemVoucher      = "redeem-voucher" // the function of both kinds of redemptions
	redeemPackage      = "functions/" + redeemVoucher
	referencesPackages = "internal/measure/reference/"
)

// subjects returns everything that is measured, references first.
func subjects() []subject {
	const (
		read     = `^{"statusCode":200,.*read\\":[1-9]`
		redeemed = `^{"statusCode":200,.*redeemed`
		open     = `^{"statusCode":200,.*open`
		placed   = `^{"statusCode":200,.*placed`
		recorded = `^{"batchItemFailures":\[\]}$`
	)
	vouchers, catalogue := []string{reference.EnvTable + "=" + fixture.VouchersTable}, []string{reference.EnvTable + "=" + fixture.CatalogueTable}
	unwarmed := append(vouchers, reference.EnvNotConnecting+"=yes")
	references := []subject{
		{name: hello, pkg: "hello", sample: redeemVoucher, request: asIs, answers: "hello"},
		{
			name: referenceRedeem, pkg: "redeem", sample: redeemVoucher, request: redeemOnce, prepare: (*store).singleUseCodes,
			answers: read, env: vouchers,
		},
		{
			name: referenceUnwarmed, pkg: "redeem", sample: redeemVoucher, request: redeemOnce, prepare: (*store).singleUseCodes,
			answers: read, env: unwarmed, startOnly: true,
		},
		{name: referenceManyUses, pkg: "redeem-many-uses", sample: redeemVoucher, request: redeemManyUses, answers: read, env: vouchers},
		{name: referenceArea, pkg: "checkout-area", sample: checkoutArea, request: asIs, answers: read, env: catalogue},
		{name: referenceCheckout, pkg: "checkout", sample: checkout, request: checkOut, answers: read, env: catalogue},
	}
	for i := range references {
		references[i].pkg = referencesPackages + references[i].pkg
	}
	functions := []subject{
		{
			name: singleUse, sample: redeemVoucher, request: redeemOnce, prepare: (*store).singleUseCodes,
			answers: redeemed, reference: referenceRedeem,
		},
		{name: manyUses, sample: redeemVoucher, request: redeemManyUses, answers: redeemed, reference: referenceManyUses},
		{name: checkoutArea, sample: checkoutArea, request: asIs, answers: `^{"statusCode":200,.*bento-box`, reference: referenceArea},
		{name: storefront, sample: storefront, request: asIs, answers: `^{"statusCode":200,.*bento-box`, reference: referenceArea},
		{name: checkout, sample: checkout, request: checkOut, answers: open, reference: referenceCheckout},
		{name: checkoutVariant, sample: checkoutVariant, request: checkOut, answers: open, reference: referenceCheckout},
		// Each of these makes one call, as the reference of redeeming does. So they need no references of their own.
		{
			name: showCheckout, sample: showCheckout, request: fromServer,
			answers: `^{"statusCode":200,.*ordered`, reference: referenceRedeem,
		},
		{
			name: placeOrder, sample: placeOrder, prepare: (*store).checkouts, request: aboutOrder,
			answers: placed, reference: referenceRedeem,
		},
		{name: listOrders, sample: listOrders, request: listAll, answers: `^{"statusCode":200,.*vip-rank`, reference: referenceRedeem},
		{name: showOrder, sample: showOrder, request: fromServer, answers: placed, reference: referenceRedeem},
		{
			name: fulfilOrder, sample: fulfilOrder, prepare: (*store).orders, request: aboutOrder,
			answers: `^{"statusCode":200,.*fulfilled`, reference: referenceRedeem,
		},
		{
			name: cancelOrder, sample: cancelOrder, prepare: (*store).orders, request: aboutOrder,
			answers: `^{"statusCode":200,.*cancelled`, reference: referenceRedeem,
		},
		// These read all buckets of a code, which no reference does.
		{name: listRedemptions, sample: listRedemptions, request: fromServer, answers: `^{"statusCode":200,.*redemptions`},
		{name: undoRedemption, sample: undoRedemption, request: fromServer, answers: `^{"statusCode":404,.*redemption-not-found`},
		// No reference makes the calls of these functions either. publish-events finds no event to publish.
		{name: listEvents, sample: listEvents, request: fromServer, answers: `^{"statusCode":200,.*redemption.created`},
		{name: recordEvents, sample: recordEvents, request: recordOne, answers: recorded},
		{name: publishEvents, sample: publishEvents, request: asIs, answers: recorded},
		{name: removedPayment, sample: removedPayment, request: asIs, answers: `^{"statusCode":410,.*urn:problem:shopfront:gone`},
		{name: apiDocs, sample: apiDocs, request: asIs, answers: `^{"statusCode":200,`},
	}
	for i := range functions {
		functions[i].pkg = "functions/" + functions[i].sample
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

// aboutOrder sends the event with the ID of a prepared order, or of a prepared checkout that becomes one.
func aboutOrder(e fixture.Event, number int, id string) ([]byte, error) {
	request, err := fromServer(e, number, id)
	return bytes.ReplaceAll(request, []byte(fixture.Order), []byte(id)), err
}

func listAll(e fixture.Event, number int, _ string) ([]byte, error) {
	return fromServer(e.With("rawQueryString", ""), number, "")
}

// recordOne delivers a new redemption.
func recordOne(e fixture.Event, _ int, _ string) ([]byte, error) {
	return e.Redemptions(string(fixture.Customer), 1)
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

// key is the Idempotency-Key of the request with a number.
func key(number int) string { return fmt.Sprintf("2f1c6f0e-6d0b-4c39-9a3e-%012d", number) }

// check rejects a wrong response, so that only successful requests are measured.
func (s subject) check(answer []byte) error {
	if matched, err := regexp.Match(s.answers, answer); err != nil || !matched {
		return fmt.Errorf("%s responded %.200q", s.name, answer)
	}
	return nil
}

// comparedWith names the reference. A function without calls is compared with the reference of redeeming.
func (s subject) comparedWith() string {
	if s.reference == "" {
		return referenceRedeem
	}
	return s.reference
}

// functions returns two lists. In the first, each function has one subject. The second has every subject that is a function and
// calls the store.
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
