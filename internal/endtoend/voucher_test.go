package endtoend_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/pkg/voucher"
)

// redemption is the body of a redemption's response.
type redemption struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	Code       string `json:"code"`
	Nick       string `json:"nick"`
	RedeemedAt string `json:"redeemedAt"`
	Reward     struct {
		Kind       string `json:"kind"`
		Product    string `json:"product"`
		Variant    string `json:"variant"`
		Amount     int64  `json:"amount"`
		PercentOff int    `json:"percentOff"`
		AmountOff  price  `json:"amountOff"`
	} `json:"reward"`
}

type price struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
	Display  string `json:"display"`
}

func body(code, nick string) string {
	if nick == "" {
		return fmt.Sprintf(`{"code":%q}`, code)
	}
	return fmt.Sprintf(`{"code":%q,"nick":%q}`, code, nick)
}

func key(key string) string { return "Idempotency-Key: " + key }

// wantRedeemed checks that the response is a redemption, and whether it is a replay.
func (a answer) wantRedeemed(t *testing.T, replayed bool) redemption {
	t.Helper()
	a.wantStatus(t, http.StatusOK)
	wantReplayed := ""
	if replayed {
		wantReplayed = "true"
	}
	if got := a.header.Get("Idempotency-Replayed"); got != wantReplayed {
		t.Errorf("Idempotency-Replayed %q, want %q", got, wantReplayed)
	}
	r := decode[redemption](t, a)
	if r.Status != "redeemed" || !regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`).MatchString(r.ID) {
		t.Errorf("the response is not a redemption: %s", a.body)
	}
	return r
}

func (a answer) wantRefused(t *testing.T) {
	t.Helper()
	const want = `{"type":"urn:problem:shopfront:voucher-not-found","title":"Voucher not found","status":404}`
	a.wantProblem(t, http.StatusNotFound, "voucher-not-found")
	if a.body != want {
		t.Errorf("body %s, want %s", a.body, want)
	}
}

func TestRedeem_RedeemableCode_RespondsWithTheRedemption(t *testing.T) {
	s := newShop(t)
	began := time.Now().Add(-time.Second)
	s.create(t, "SUMMER-20", func(terms *voucher.Terms) {
		terms.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	})
	a := s.redeem(t, body("summer 2o", " Alder "), key("order-1"))
	r := a.wantRedeemed(t, false)
	at, err := time.Parse("2006-01-02T15:04:05.000Z", r.RedeemedAt)
	if err != nil || at.Before(began) || at.After(time.Now()) {
		t.Errorf("redeemedAt is %q, want the time of the request", r.RedeemedAt)
	}
	want := fmt.Sprintf(`{"id":%q,"status":"redeemed","code":"SUMMER-20","nick":"Alder","redeemedAt":%q,`+
		`"reward":{"kind":"percent_off","percentOff":20}}`,
		r.ID, r.RedeemedAt)
	if a.body != want {
		t.Errorf("body %s, want %s", a.body, want)
	}
	if a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers are %v, want application/json and no-store", a.header)
	}
}

func TestRedeem_SameKey_IsReplayed(t *testing.T) {
	s := newShop(t)
	for _, kind := range []struct {
		code            string
		maxUses, byNick voucher.Limit
	}{
		{"SINGLE", 1, voucher.NoLimit},
		{"LIMITED", 5, 1},
		{"ANYBODY", 5, voucher.NoLimit},
		{"ALWAYS", voucher.NoLimit, voucher.NoLimit},
	} {
		t.Run(kind.code, func(t *testing.T) {
			code := s.create(t, kind.code, limits(kind.maxUses, kind.byNick)).Code
			first := s.redeem(t, body(kind.code, "Alder"), key("order-1"))
			first.wantRedeemed(t, false)
			wantSame := func(body string) {
				t.Helper()
				again := s.redeem(t, body, key("order-1"))
				again.wantRedeemed(t, true)
				if again.body != first.body {
					t.Errorf("the first response is %s, but the replay is %s", first.body, again.body)
				}
			}
			wantSame(body(kind.code, "Alder"))
			wantSame(body(strings.ToLower(kind.code), "ALDER")) // case does not matter
			if _, err := s.EditVoucher(t.Context(), code, voucher.Edit{Disabled: new(true)}); err != nil {
				t.Fatal(err)
			}
			wantSame(body(kind.code, "Alder"))
			past := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
			if _, err := s.EditVoucher(t.Context(), code,
				voucher.Edit{Disabled: new(false), ValidUntil: &past}); err != nil {
				t.Fatal(err)
			}
			wantSame(body(kind.code, "Alder"))
			if kind.maxUses != voucher.NoLimit { // otherwise the function may remember the rules for 10 seconds
				s.redeem(t, body(kind.code, "Alder"), key("order-2")).wantRefused(t)
				s.redeem(t, body(kind.code, "Alder")).wantRefused(t)
			}
		})
	}
}

func TestRedeem_SameKeyOtherNickOrCode_IsAnotherRequest(t *testing.T) {
	s := newShop(t)
	s.create(t, "ALWAYS", limits(voucher.NoLimit, voucher.NoLimit))
	s.create(t, "EVER", limits(voucher.NoLimit, voucher.NoLimit))
	ids := map[string]bool{}
	for _, b := range []string{
		body("ALWAYS", "Alder"), body("ALWAYS", "Birch"), body("ALWAYS", ""),
		body("EVER", "Alder"),
	} {
		ids[s.redeem(t, b, key("order-1")).wantRedeemed(t, false).ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("redemptions %v, want 4", ids)
	}
}

func TestRedeem_NoKey_RetryCountsAsAnotherUse(t *testing.T) {
	s := newShop(t)
	s.create(t, "SINGLE", nil)
	s.create(t, "ONCE-EACH", limits(voucher.NoLimit, 1))
	s.create(t, "TWICE-EACH", limits(10, 2))
	s.create(t, "THREE-USES", limits(3, voucher.NoLimit))
	s.create(t, "ALWAYS", limits(voucher.NoLimit, voucher.NoLimit))
	for code, uses := range map[string]int{"SINGLE": 1, "ONCE-EACH": 1, "TWICE-EACH": 2, "THREE-USES": 3} {
		for range uses {
			s.redeem(t, body(code, "Alder")).wantRedeemed(t, false)
		}
		s.redeem(t, body(code, "Alder")).wantRefused(t)
	}
	s.redeem(t, body("ONCE-EACH", "Birch")).wantRedeemed(t, false) // the limit is per nick
	first, second := s.redeem(t, body("ALWAYS", "Alder")).wantRedeemed(t, false),
		s.redeem(t, body("ALWAYS", "Alder")).wantRedeemed(t, false)
	if first.ID == second.ID {
		t.Errorf("two requests without a key got the same redemption %s", first.ID)
	}
}

func TestCheck_RedeemableCode_IsReportedButNotRedeemed(t *testing.T) {
	s := newShop(t)
	s.create(t, "SINGLE", nil)
	s.create(t, "USED", nil)
	s.create(t, "ONCE-EACH", limits(2, 1))
	s.redeem(t, body("USED", ""), key("order-1")).wantRedeemed(t, false)
	s.redeem(t, body("ONCE-EACH", "Birch")).wantRedeemed(t, false)
	check := func(query, body string, header ...string) answer {
		r := s.redeemRequest(body, header...)
		r.target += query
		return send(t, baseURL(t), r)
	}
	unchanged(t, func(t *testing.T) {
		const coins = `"reward":{"kind":"product","product":"coins","variant":"500","amount":1}}`
		for body, want := range map[string]string{
			body("single", "Alder"):    `{"status":"redeemable","code":"SINGLE","nick":"Alder",` + coins,
			body("SINGLE", ""):         `{"status":"redeemable","code":"SINGLE",` + coins,
			body("ONCE-EACH", "Alder"): `{"status":"redeemable","code":"ONCE-EACH","nick":"Alder",` + coins,
		} {
			a := check("?check=true", body)
			a.wantStatus(t, http.StatusOK)
			if a.body != want {
				t.Errorf("%s: %s, want %s", body, a.body, want)
			}
		}
		check("?check=true", body("USED", "")).wantRefused(t)
		check("?check=true", body("USED", ""), key("order-1")).wantRefused(t) // a check ignores the key
		check("?check=true", body("ONCE-EACH", "Birch")).wantRefused(t)
		check("?check=true", body("UNKNOWN", "")).wantRefused(t)
	})
	check("?check=false", body("SINGLE", "")).wantRedeemed(t, false)
}

// A client cannot tell refusals apart: status, headers and body are equal, except for the request ID and the date.
func TestRedeem_EveryRefusal_LooksTheSame(t *testing.T) {
	s := newShop(t)
	past, future := time.Now().Add(-time.Hour).Truncate(time.Millisecond),
		time.Now().Add(time.Hour).Truncate(time.Millisecond)
	s.create(t, "DISABLED", func(terms *voucher.Terms) { terms.Disabled = true })
	s.create(t, "NOT-STARTED", func(terms *voucher.Terms) { terms.ValidFrom = future })
	s.create(t, "EXPIRED", func(terms *voucher.Terms) { terms.ValidUntil = past })
	s.create(t, "BOUND", func(terms *voucher.Terms) { terms.Nick = "Birch" })
	s.create(t, "USED", nil)
	s.create(t, "USED-UP", limits(2, voucher.NoLimit))
	s.create(t, "ONCE-EACH", limits(5, 1))
	for _, used := range []string{
		body("USED", ""), body("USED-UP", ""), body("USED-UP", ""),
		body("ONCE-EACH", "Alder"),
	} {
		s.redeem(t, used).wantRedeemed(t, false)
	}
	s.redeem(t, body("USED-UP", "")).wantRefused(t) // the first refusal marks a code with many uses as used up
	unknownShop := shop{id: "unknown-" + s.id}
	requests := map[string]request{
		"unknown shop":              unknownShop.redeemRequest(body("USED", "Alder")),
		"unknown code":              s.redeemRequest(body("INVENTED", "Alder")),
		"an impossible code":        s.redeemRequest(body("SÜMMER", "Alder")),
		"disabled":                  s.redeemRequest(body("DISABLED", "Alder")),
		"not started":               s.redeemRequest(body("NOT-STARTED", "Alder")),
		"expired":                   s.redeemRequest(body("EXPIRED", "Alder")),
		"used up, single use":       s.redeemRequest(body("USED", "Alder")),
		"used up, many uses":        s.redeemRequest(body("USED-UP", "Alder")),
		"the nick's limit reached":  s.redeemRequest(body("ONCE-EACH", "Alder")),
		"bound to another nick":     s.redeemRequest(body("BOUND", "Alder")),
		"bound, but no nick sent":   s.redeemRequest(body("BOUND", "")),
		"a limit per nick, no nick": s.redeemRequest(body("ONCE-EACH", "")),
	}
	unchanged(t, func(t *testing.T) {
		var want string
		for name, r := range requests {
			withKey, check := r, r
			withKey.header = append([]string{key("order-2")}, r.header...)
			check.target += "?check=true"
			for _, r := range []request{r, withKey, check} {
				a := send(t, baseURL(t), r)
				a.wantRefused(t)
				if want == "" {
					want = a.comparable()
				}
				if got := a.comparable(); got != want {
					t.Errorf("%s: %s\nwant %s", name, got, want)
				}
			}
		}
	})
}

func TestRedeem_SingleUseRace_OneWins(t *testing.T) {
	const racers = 50
	s := loadShop(t, strings.Replace(emberforge, "currency: EUR", "currency: EUR\n    refusals: off", 1),
		"shop-"+rand.Text())
	code := s.create(t, "ONE-LEFT", nil).Code
	of := func(i int) request {
		return s.redeemRequest(body("ONE-LEFT", fmt.Sprintf("Racer_%d", i)), key(fmt.Sprintf("order-%d", i)))
	}
	answers := race(t, racers, of)
	redeemed := 0
	var refusal string
	var winner redemption
	for _, a := range answers {
		if a.status == http.StatusOK {
			redeemed++
			winner = a.wantRedeemed(t, false)
			continue
		}
		a.wantRefused(t)
		if refusal == "" {
			refusal = a.comparable()
		}
		if a.comparable() != refusal {
			t.Errorf("%s\nwant %s", a.comparable(), refusal)
		}
	}
	if redeemed != 1 {
		t.Fatalf("%d racers redeemed the code, want 1", redeemed)
	}
	standing := s.standing(t, code)
	if r := standing.Redeemed; r == nil || r.ID != winner.ID || r.Nick != winner.Nick {
		t.Errorf("%+v is stored, but the response was %+v", r, winner)
	}
}

func TestRedeem_LimitedRace_AllUsesAreTaken(t *testing.T) {
	const racers, uses = 60, 25
	s := newShop(t)
	code := s.create(t, "TWENTY-FIVE", limits(uses, 1)).Code
	of := func(i int) request { return s.redeemRequest(body("TWENTY-FIVE", fmt.Sprintf("Racer_%d", i))) }
	ids := map[string]bool{}
	for _, a := range race(t, racers, of) {
		if a.status == http.StatusOK {
			ids[a.wantRedeemed(t, false).ID] = true
			continue
		}
		a.wantRefused(t)
	}
	standing := s.standing(t, code)
	if len(ids) != uses || standing.Used != uses || standing.UsesLeft != 0 {
		t.Errorf("%d redemptions succeeded, %d uses are counted and %d are left; want %d, %d and 0",
			len(ids), standing.Used, standing.UsesLeft, uses, uses)
	}
}

// race sends the requests of all racers at the same time. It sends a request that is late again.
func race(t *testing.T, racers int, of func(i int) request) []answer {
	t.Helper()
	address := baseURL(t)
	answers, errs := make([]answer, racers), make([]error, racers)
	begin := make(chan struct{})
	var racing sync.WaitGroup
	for i := range racers {
		racing.Go(func() {
			<-begin
			answers[i], errs[i] = tryExchange(t.Context(), address, of(i).methodOrGet(), of(i).raw())
		})
	}
	close(begin)
	racing.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		if answers[i].isLate() {
			answers[i] = send(t, address, of(i))
		}
	}
	return answers
}

// The two shops have the same codes, products and nicks.
func TestShops_SameCodesAndKeys_AreSeparate(t *testing.T) {
	mine, theirs := newShop(t), newShop(t)
	for _, s := range []shop{mine, theirs} {
		s.create(t, "WELCOME-COINS", nil)
		s.create(t, "ONCE-EACH", limits(voucher.NoLimit, 1))
	}
	mine.create(t, "ONLY-MINE", nil)
	theirs.redeem(t, body("ONLY-MINE", "Alder")).wantRefused(t)

	first := mine.redeem(t, body("WELCOME-COINS", "Alder"), key("order-1")).wantRedeemed(t, false)
	second := theirs.redeem(t, body("WELCOME-COINS", "Alder"), key("order-1")).wantRedeemed(t, false)
	if first.ID == second.ID {
		t.Error("two shops share a redemption")
	}
	mine.redeem(t, body("ONCE-EACH", "Alder")).wantRedeemed(t, false)
	theirs.redeem(t, body("ONCE-EACH", "Alder")).wantRedeemed(t, false)

	a, b := mine.get(t, "/checkout/coins/500", key("till-1")), theirs.get(t, "/checkout/coins/500", key("till-1"))
	if decode[checkout](t, a).ID == decode[checkout](t, b).ID ||
		a.header.Get("Idempotency-Replayed")+b.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("two shops share a checkout: %s %s", a.body, b.body)
	}
	// Using a key for another product is a conflict only within the same shop.
	mine.get(t, "/checkout/coins/1200?amount=2", key("till-2")).wantStatus(t, http.StatusOK)
	theirs.get(t, "/checkout/coins/500", key("till-2")).wantStatus(t, http.StatusOK)

	listed := mine.get(t, "/checkout?limit=1")
	cursor, found := strings.CutPrefix(*decode[area](t, listed).Next, "/shop/"+mine.id+"/checkout?")
	if !found {
		t.Fatalf("the next link leads to another shop: %s", listed.body)
	}
	theirs.get(t, "/checkout?"+cursor).wantProblem(t, http.StatusBadRequest, "malformed-request")
	if redemptions := mine.redemptions(t); len(redemptions) != 2 {
		t.Errorf("%d redemptions, want 2", len(redemptions))
	}
}
