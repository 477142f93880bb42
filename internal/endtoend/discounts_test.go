package endtoend_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"shopfront/internal/local/dynamolocal"
	"shopfront/pkg/catalog"
	checkouts "shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// uses is how often a code of these tests can be used.
const uses = 30

// createDiscount creates the code SUMMER-20, which each nick may use once.
func (s till) createDiscount(t *testing.T) voucher.Voucher {
	t.Helper()
	return s.create(t, "SUMMER-20", func(terms *voucher.Terms) {
		limits(uses, 1)(terms)
		terms.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	})
}

// discounted returns a shopper's request to check out three packs of 500 coins with the code.
func (s till) discounted(shopper int) request {
	path := fmt.Sprintf("/checkout/coins/500?amount=3&code=summer+20&nick=Shopper_%d", shopper)
	r := s.request(http.MethodGet, path, "")
	r.header = append(r.header, key(fmt.Sprintf("attempt-%d", shopper)))
	return r
}

// hold lets shoppers check out with the code at the same time. The parameter first is the number of the first shopper.
// Each open checkout holds one use of the code. hold checks that each shopper gets either a checkout with the discount
// or a refusal, but never a checkout at the full price. It returns the checkouts.
func (s till) hold(t *testing.T, first, shoppers int) []checkout {
	t.Helper()
	var held []checkout
	for i, a := range race(t, shoppers, func(i int) request { return s.discounted(first + i) }) {
		if a.status == http.StatusConflict {
			if p := a.wantProblem(t, http.StatusConflict, "code-refused"); p.Reason != string(voucher.ReasonUsedUp) {
				t.Errorf("refused with the reason %q, want used_up", p.Reason)
			}
			continue
		}
		a.wantStatus(t, http.StatusOK)
		c := decode[checkout](t, a)
		isReduced := c.Subtotal.Minor == 1497 && c.Discount == (price{299, "EUR", "2.99 EUR"}) &&
			c.Total == (price{1198, "EUR", "11.98 EUR"})
		if c.Status != "open" || c.Code != "SUMMER-20" || c.Nick != fmt.Sprintf("Shopper_%d", first+i) || !isReduced {
			t.Errorf("the checkout is %s, want it open, with the code, the nick and 2.99 EUR off", a.body)
		}
		held = append(held, c)
	}
	return held
}

// wantUses checks how many uses of the code are taken, and how many of the taken uses are only held by checkouts. All
// other uses must still be free.
func (s till) wantUses(t *testing.T, code voucher.Code, used, held int) {
	t.Helper()
	standing := s.standing(t, code)
	if standing.Used != used || standing.UsesHeld != held || standing.UsesLeft != uses-used {
		t.Errorf("%d uses are taken, %d of them held, and %d left; want %d, %d and %d",
			standing.Used, standing.UsesHeld, standing.UsesLeft, used, held, uses-used)
	}
}

func TestCheckout_RaceForTheUsesOfACode_EachUseIsHeldOnce(t *testing.T) {
	s := newTill(t)
	code := s.createDiscount(t).Code
	if held := s.hold(t, 0, 2*uses); len(held) != uses {
		t.Errorf("%d checkouts got the discount, want %d", len(held), uses)
	}
	s.wantUses(t, code, uses, uses)
}

// Each of 30 discounted checkouts is ordered four times at once. Then 15 of the orders are cancelled twice each.
// Exactly 15 uses are free again.
func TestOrders_RacesWithACode_RedeemAndUndoEachUseOnce(t *testing.T) {
	s := newTill(t)
	code := s.createDiscount(t).Code
	held := s.hold(t, 0, uses)
	if len(held) != uses {
		t.Fatalf("%d uses are held, want %d", len(held), uses)
	}
	const racers = 4
	reference := func(i int) string { return "pi_" + held[i%uses].ID[:8] }
	for i, a := range race(t, racers*uses, func(i int) request {
		return s.request(http.MethodPost, "/orders", placement(held[i%uses].ID, reference(i)))
	}) {
		a.wantStatus(t, http.StatusOK)
		o, c := decode[order](t, a), held[i%uses]
		if o.ID != c.ID || o.Status != "placed" || o.Code != c.Code || o.Nick != c.Nick || o.Total != c.Total ||
			o.Payment.Reference != reference(i) {
			t.Errorf("order %s, want the checkout %+v", a.body, c)
		}
	}
	s.list(t, "?status=placed", uses)
	s.wantUses(t, code, uses, 0)
	s.wantRedemptions(t, uses, 0)

	const cancelled = uses / 2
	for _, a := range race(t, 2*cancelled, func(i int) request {
		return s.request(http.MethodPost, "/orders/"+held[i/2].ID+"/cancel", `{"reason":"chargeback"}`)
	}) {
		a.wantStatus(t, http.StatusOK)
		if o := decode[order](t, a); o.Status != "cancelled" {
			t.Errorf("the order is %s, want it cancelled", a.body)
		}
	}
	s.list(t, "?status=cancelled", cancelled)
	s.wantUses(t, code, uses-cancelled, 0)
	s.wantRedemptions(t, uses-cancelled, cancelled)
	if next := s.hold(t, uses, uses); len(next) != cancelled {
		t.Errorf("%d of the next shoppers got a use, want %d", len(next), cancelled)
	}
}

// wantRedemptions checks how many redemptions of the shop are valid, and how many were undone.
func (s till) wantRedemptions(t *testing.T, wantValid, wantUndone int) {
	t.Helper()
	valid, undone := 0, 0
	for _, r := range s.redemptions(t) {
		if r.Undone.IsZero() {
			valid++
		} else {
			undone++
		}
	}
	if valid != wantValid || undone != wantUndone {
		t.Errorf("%d redemptions are valid and %d are undone, want %d and %d", valid, undone, wantValid, wantUndone)
	}
}

// The test opens checkouts in the same way as the function checkout, but dates them 40 minutes back, so all of their
// holds have lapsed.
func TestCheckout_AllHoldsLapseUnpaid_TheNextShoppersGetTheUses(t *testing.T) {
	s := newTill(t)
	code := s.createDiscount(t).Code
	run := localRun(t)
	api := dynamolocal.NewClient(run.State.DynamoDBEndpoint)
	tables := run.State.Tables
	opener := checkouts.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(api, tables.Catalogue, mathrand.Int64N)},
		Store: dynamo.NewCheckouts(api, dynamo.Tables{Checkouts: tables.Checkouts, Vouchers: tables.Vouchers},
			mathrand.Int64N),
		Data:   new(dataschema.Validator),
		Random: rand.Reader,
	}
	var lapsed []string
	for i := range uses + 10 {
		nick, err := voucher.ParseNick(fmt.Sprintf("Early_%d", i))
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := opener.Open(t.Context(), checkouts.Request{
			Shop: catalog.ShopID(s.id), Product: "coins", Variant: "500", Code: code, Nick: nick,
			At: time.Now().Add(-40 * time.Minute).UTC().Truncate(time.Millisecond),
		})
		if _, refused := errors.AsType[*voucher.RefusalError](err); refused != (i >= uses) || !refused && err != nil {
			t.Fatalf("shopper %d gets %v, want a refusal from shopper %d on", i, err, uses)
		}
		if err == nil {
			lapsed = append(lapsed, string(c.ID))
		}
	}
	if held := s.hold(t, 0, 2*uses); len(held) != uses {
		t.Errorf("%d checkouts got the discount, want %d", len(held), uses)
	}
	s.wantUses(t, code, uses, uses)
	for _, a := range race(t, uses,
		func(i int) request { return s.request(http.MethodPost, "/orders", placement(lapsed[i], "pi_late")) }) {
		a.wantProblem(t, http.StatusConflict, "checkout-expired")
	}
}

// A client without the key of the shop's server can hold only 20 uses at a time. The shop's server has no such limit.
// It must limit its shoppers itself.
func TestCheckout_OneStranger_HoldsAtMostTwentyUses(t *testing.T) {
	s := newTill(t)
	s.createDiscount(t)
	held := 0
	for _, a := range race(t, 30, func(i int) request {
		r := s.discounted(i)
		r.header = r.header[1:] // without the key of the shop's server
		return r
	}) {
		if a.status == http.StatusOK {
			held++
			continue
		}
		a.wantProblem(t, http.StatusTooManyRequests, "too-many-holds")
		if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 31*60 {
			t.Errorf("Retry-After %q, want 1 second to 31 minutes", a.header.Get("Retry-After"))
		}
	}
	if held != checkouts.MaxHoldsPerSource {
		t.Errorf("a stranger holds %d uses, want %d", held, checkouts.MaxHoldsPerSource)
	}
	full := "/checkout/vip-rank/30-days?data=" + url.QueryEscape(`{"player":"Alder"}`)
	s.get(t, full).wantStatus(t, http.StatusOK) // a checkout without a code holds no use
	if more := s.hold(t, 100, 10); len(more) != 10 {
		t.Errorf("the shop's server holds %d uses, want 10", len(more))
	}
}
