package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"shopfront/internal/measure/benchmark"
	"shopfront/pkg/voucher"
)

// Names of the operations: kinds of requests that differ in what they cost.
const (
	RedeemSingleUse    = "redemption, single use"
	RedeemLimited      = "redemption, limited"
	RedeemLimitedFirst = "redemption, limited, new to the process"
	RedeemLimitedNicks = "redemption, limited, any nick"
	RedeemUnlimited    = "redemption, no limit"
	ReplaySingleUse    = "replay, single use"
	ReplayLimited      = "replay, limited"
	RefuseUnknown      = "refusal, unknown"
	RefuseUnknownKey   = "refusal, unknown, with key"
	RefuseUsed         = "refusal, single use, used up"
	RefuseUsedKey      = "refusal, single use, used up, with key"
	RefuseFull         = "refusal, limited, used up"
	RefuseFullKey      = "refusal, limited, used up, with key"
	CheckSingleUse     = "check, single use"
	CheckLimited       = "check, limited"
	CheckOut           = "checkout"
	CheckOutKey        = "checkout, with key"
	ReplayCheckout     = "checkout, with key, again"
	ShowArea           = "checkout area"
	ShowAreaUnchanged  = "checkout area, unchanged"
	ShowDocument       = "api-docs, openapi.json"
	ShowChangelog      = "api-docs, changelog"
	RemovedPath        = "removed path"
)

// Names of the functions, which are those of their folders.
const (
	redeemVoucher  = "redeem-voucher"
	checkoutArea   = "checkout-area"
	checkout       = "checkout"
	apiDocs        = "api-docs"
	removedPayment = "removed-payment"
)

// operation is one kind of request, and what its answer must be.
type operation struct {
	name     string
	function string
	// requests makes requests that have not been sent before. It may ask the running process what leads up to them.
	requests func(ctx context.Context, s *scene, count int) ([][]byte, error)
	status   int
	shows    string // what the answer's body has in it
}

// limit is that of the limited codes. It gives them as many counters as there can be.
const limit voucher.Limit = 10_000

func limited() voucher.Terms {
	most := limit
	return voucher.Terms{MaxUses: &most}
}

func anyNick() voucher.Terms {
	terms, none := limited(), voucher.NoLimit
	terms.MaxUsesPerNick = &none
	return terms
}

func unlimited() voucher.Terms {
	none := voucher.NoLimit
	return voucher.Terms{MaxUses: &none}
}

// operations are all that is measured.
func operations() []operation {
	const redeemed, notFound, open = `"redeemed"`, "voucher-not-found", `"open"`
	redeem := func(name string, status int, shows string, requests func(context.Context, *scene, int) ([][]byte, error)) operation {
		return operation{name, redeemVoucher, requests, status, shows}
	}
	return []operation{
		redeem(RedeemSingleUse, http.StatusOK, redeemed, newCodes(voucher.Terms{})),
		redeem(RedeemLimited, http.StatusOK, redeemed, oneCode(limited())),
		redeem(RedeemLimitedFirst, http.StatusOK, redeemed, newCodes(limited())),
		redeem(RedeemLimitedNicks, http.StatusOK, redeemed, oneCode(anyNick())),
		redeem(RedeemUnlimited, http.StatusOK, redeemed, oneCode(unlimited())),
		redeem(ReplaySingleUse, http.StatusOK, redeemed, replays(voucher.Terms{})),
		redeem(ReplayLimited, http.StatusOK, redeemed, replays(limited())),
		redeem(RefuseUnknown, http.StatusNotFound, notFound, unknownCodes(false)),
		redeem(RefuseUnknownKey, http.StatusNotFound, notFound, unknownCodes(true)),
		redeem(RefuseUsed, http.StatusNotFound, notFound, usedUp(1, false)),
		redeem(RefuseUsedKey, http.StatusNotFound, notFound, usedUp(1, true)),
		redeem(RefuseFull, http.StatusNotFound, notFound, usedUp(2, false)),
		redeem(RefuseFullKey, http.StatusNotFound, notFound, usedUp(2, true)),
		redeem(CheckSingleUse, http.StatusOK, `"redeemable"`, checks(voucher.Terms{})),
		redeem(CheckLimited, http.StatusOK, `"redeemable"`, checks(limited())),
		{CheckOut, checkout, checkouts(func(*scene) string { return "" }), http.StatusOK, open},
		{CheckOutKey, checkout, checkouts((*scene).key), http.StatusOK, open},
		{ReplayCheckout, checkout, repeatedCheckouts, http.StatusOK, open},
		{ShowArea, checkoutArea, pages(checkoutArea, "/shop/"+customer+"/checkout"), http.StatusOK, `"coins"`},
		{ShowAreaUnchanged, checkoutArea, unchangedAreas, http.StatusNotModified, ""},
		{ShowDocument, apiDocs, pages(apiDocs, "/openapi.json"), http.StatusOK, ""},
		{ShowChangelog, apiDocs, pages(apiDocs, "/changelog"), http.StatusOK, ""},
		{RemovedPath, removedPayment, pages(removedPayment, "/checkout/paybylink/transfer"), http.StatusGone, "gone"},
	}
}

// check judges an answer, so that nothing is measured that went wrong.
func (o operation) check(answer httpAnswer) error {
	if answer.StatusCode != o.status || !answer.holds(o.shows) {
		return fmt.Errorf("%s was answered %d %.200q; want %d with %q", o.name, answer.StatusCode, answer.Body, o.status, o.shows)
	}
	return nil
}

// newCodes redeems a new code each time.
func newCodes(terms voucher.Terms) func(context.Context, *scene, int) ([][]byte, error) {
	return func(ctx context.Context, s *scene, count int) ([][]byte, error) {
		return s.each(count, func() ([]byte, error) {
			code, err := s.create(ctx, terms)
			if err != nil {
				return nil, err
			}
			return s.redemption(code, s.nick(), s.key())
		})
	}
}

// oneCode redeems one code for another nick each time; the process has met it before.
func oneCode(terms voucher.Terms) func(context.Context, *scene, int) ([][]byte, error) {
	return func(ctx context.Context, s *scene, count int) ([][]byte, error) {
		code, err := s.createMet(ctx, terms, s.key())
		if err != nil {
			return nil, err
		}
		return s.each(count, func() ([]byte, error) { return s.redemption(code, s.nick(), s.key()) })
	}
}

// replays sends a request that was answered before. Its code is redeemed for the nick that every such request has.
func replays(terms voucher.Terms) func(context.Context, *scene, int) ([][]byte, error) {
	return func(ctx context.Context, s *scene, count int) ([][]byte, error) {
		key := s.key()
		code, err := s.createMet(ctx, terms, key)
		if err != nil {
			return nil, err
		}
		return s.each(count, func() ([]byte, error) { return s.redemption(code, metBy, key) })
	}
}

func unknownCodes(keyed bool) func(context.Context, *scene, int) ([][]byte, error) {
	return func(_ context.Context, s *scene, count int) ([][]byte, error) {
		return s.each(count, func() ([]byte, error) {
			code, err := newCode()
			if err != nil {
				return nil, err
			}
			return s.redemption(code, s.nick(), s.keyIf(keyed))
		})
	}
}

// usedUp is refused a code whose uses are all taken, and which is marked so if it had more than one.
func usedUp(uses voucher.Limit, keyed bool) func(context.Context, *scene, int) ([][]byte, error) {
	return func(ctx context.Context, s *scene, count int) ([][]byte, error) {
		code, err := s.create(ctx, voucher.Terms{MaxUses: &uses})
		if err != nil {
			return nil, err
		}
		for range uses + 1 { // the one that finds nothing left marks the code
			request, err := s.redemption(code, s.nick(), "")
			if err != nil {
				return nil, err
			}
			if _, err := s.ask(request); err != nil {
				return nil, err
			}
		}
		return s.each(count, func() ([]byte, error) { return s.redemption(code, s.nick(), s.keyIf(keyed)) })
	}
}

func checks(terms voucher.Terms) func(context.Context, *scene, int) ([][]byte, error) {
	return func(ctx context.Context, s *scene, count int) ([][]byte, error) {
		code, err := s.create(ctx, terms)
		if err != nil {
			return nil, err
		}
		asking := maps.Clone(s.events[redeemVoucher])
		asking["rawQueryString"], asking["queryStringParameters"] = "check=true", map[string]string{"check": "true"}
		return s.each(count, func() ([]byte, error) { return asking.Redemption(code, s.nick(), "") })
	}
}

func checkouts(key func(*scene) string) func(context.Context, *scene, int) ([][]byte, error) {
	return func(_ context.Context, s *scene, count int) ([][]byte, error) {
		return s.each(count, func() ([]byte, error) { return json.Marshal(s.events[checkout].WithKey(key(s))) })
	}
}

func repeatedCheckouts(_ context.Context, s *scene, count int) ([][]byte, error) {
	request, err := json.Marshal(s.events[checkout].WithKey(s.key()))
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(request); err != nil {
		return nil, err
	}
	return s.each(count, func() ([]byte, error) { return request, nil })
}

// pages gets a path of a function, as a browser does.
func pages(function, path string) func(context.Context, *scene, int) ([][]byte, error) {
	return func(_ context.Context, s *scene, count int) ([][]byte, error) {
		return s.each(count, func() ([]byte, error) { return json.Marshal(s.getting(function, path, "")) })
	}
}

func unchangedAreas(_ context.Context, s *scene, count int) ([][]byte, error) {
	const path = "/shop/" + customer + "/checkout"
	first, err := json.Marshal(s.getting(checkoutArea, path, ""))
	if err != nil {
		return nil, err
	}
	shown, err := s.ask(first)
	if err != nil {
		return nil, err
	}
	return s.each(count, func() ([]byte, error) { return json.Marshal(s.getting(checkoutArea, path, shown.header("Etag"))) })
}

// getting is a function's event for a path, and where an entity tag is known, with that.
func (s *scene) getting(function, path, tag string) benchmark.Event {
	event := maps.Clone(s.events[function])
	headers := map[string]any{"accept-encoding": "gzip, br"}
	if given, is := event["headers"].(map[string]any); is {
		maps.Copy(headers, given)
	}
	if tag != "" {
		headers["if-none-match"] = tag
	}
	event["headers"], event["rawPath"] = headers, path
	if given, is := event["requestContext"].(map[string]any); is {
		request := maps.Clone(given)
		if its, is := request["http"].(map[string]any); is {
			its = maps.Clone(its)
			its["path"] = path
			request["http"] = its
		}
		event["requestContext"] = request
	}
	return event
}
