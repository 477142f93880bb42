//go:build browser

package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

const (
	checks  = `POST .*/voucher\?check=true$`
	redeems = `POST .*/voucher$`
)

// Texts of the page.
const (
	cannotBeRedeemed = "This code cannot be redeemed."
	notKnownYet      = "We do not know yet whether"
)

// manyUses lets anybody redeem a voucher several times, so that a test notices a request that was applied twice.
func manyUses(terms *voucher.Terms) {
	uses, perNick := voucher.Limit(5), voucher.NoLimit
	terms.MaxUses, terms.MaxUsesPerNick = &uses, &perNick
}

// redemptions returns the stored redemptions of a code.
func (s shop) redemptions(t *testing.T, code string) []backoffice.Redemption {
	t.Helper()
	parsed, err := voucher.ParseCode(code)
	if err != nil {
		t.Fatal(err)
	}
	found, err := backoffice.Collect(s.Redemptions(t.Context(), backoffice.RedemptionFilter{Code: parsed}))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkedInTwo creates a voucher and checks its code in two tabs. It then redeems the code in the second tab. The
// result other is that tab.
func (s shop) checkedInTwo(t *testing.T, code string) (b, other *tab) {
	t.Helper()
	s.create(t, code, nil)
	b, other = newTab(t, view{}), newTab(t, view{})
	for _, each := range []*tab{b, other} {
		each.open(s.page(t))
		each.check(code)
	}
	other.redeemNow()
	s.wantRedeemed(other, code)
	return b, other
}

// wantRedeemed checks that the page shows the reward and stores nothing, that the code is redeemed once, and that all
// requests to redeem had the same key.
func (s shop) wantRedeemed(b *tab, code string) {
	b.t.Helper()
	b.waitText("#voucher-result", "Redeemed")
	b.waitText("#voucher-result", "Ember coins, 500 coins")
	b.waitGone("#pending .note")
	b.wantNothingKept()
	if found := s.redemptions(b.t, code); len(found) != 1 {
		b.t.Errorf("got the redemptions %+v, want one", found)
	}
	sent := b.requests(redeems)
	for _, r := range sent {
		if key := r.Header.Get("Idempotency-Key"); len(key) < 32 || key != sent[0].Header.Get("Idempotency-Key") ||
			r.Body != sent[0].Body {
			b.t.Errorf("request %s with key %q, want the body and the key of the first request", r.Body, key)
		}
	}
}

// wantPending checks that the page stores one unfinished redemption under the key of its requests, and nothing else.
func (s shop) wantPending(b *tab) {
	b.t.Helper()
	sent := b.requests(redeems)
	name := "shopfront/" + s.id + "/" + sent[0].Header.Get("Idempotency-Key")
	if kept := b.storage(); len(kept) != 1 || !strings.Contains(kept[name], `"kind":"redeem"`) {
		b.t.Errorf("local storage has %v, want only %s", kept, name)
	}
}

// wantFocus checks that the description of the focused element begins with the given text. For descriptions, see the
// method focused.
func (b *tab) wantFocus(element string) {
	b.t.Helper()
	if got := b.focused(); !strings.HasPrefix(got, element) {
		b.t.Errorf("the focus is on %s, want %s", got, element)
	}
}

// enterCode types a code, and submits the form, so that the page checks the code.
func (b *tab) enterCode(code string) {
	b.t.Helper()
	b.fill("#voucher-code", code)
	b.press("Enter")
}

// check checks a code for 500 coins, and waits for the response.
func (b *tab) check(code string) {
	b.t.Helper()
	b.enterCode(code)
	b.waitText("#voucher-result", "500 coins")
}

// redeemNow redeems the code that was checked.
func (b *tab) redeemNow() {
	b.t.Helper()
	b.click("#voucher-result button | Redeem now")
}

// loseRedemption checks the code SPRING and redeems it. The page gets no response until the test calls the returned
// function.
func (b *tab) loseRedemption() (end func()) {
	b.t.Helper()
	b.check("SPRING")
	end = b.lose(redeems, always)
	b.redeemNow()
	return end
}

func TestVoucher_KeyboardAlone_ChecksConfirmsAndRedeems(t *testing.T) {
	for _, v := range widths() {
		t.Run(v.String(), func(t *testing.T) {
			s, b := visit(t, v, emberforge)
			s.create(t, "STARTER-PACK", func(terms *voucher.Terms) {
				manyUses(terms)
				terms.Reward = s.reward(t, "coins/500+1200*coins/1200+vip-rank/30-days")
			})
			b.wait("#voucher")
			b.press("Tab", "Tab")
			b.wantFocus("input#voucher-code")
			b.press(" star ter pack ", "Tab")
			b.wantFocus("input#voucher-nick")
			b.press("Kestrel_9", "Enter")
			b.waitText("#voucher-result", "The code STARTER-PACK gives you:\n\n1 × Ember coins, 500 coins\n1,200 × "+
				"Ember coins, 1,200 coins\n1 × VIP rank, 30 days")
			b.wantFocus("div#voucher-result")
			if kept := b.storage(); len(kept) > 0 {
				t.Errorf("after a check, local storage has %v, want nothing", kept)
			}
			b.wantAccessible()
			b.press("Tab", "Tab")
			b.wantFocus(`button "Cancel"`)
			b.press("Enter")
			b.until("the result is empty", `document.querySelector("#voucher-result").innerText === ""`)
			b.wantFocus("input#voucher-code")
			if found := s.redemptions(t, "STARTER-PACK"); len(found) > 0 {
				t.Errorf("got the redemptions %+v before the shopper confirmed, want none", found)
			}

			b.press("Enter")
			b.waitText("#voucher-result", "gives you")
			b.press("Tab")
			b.wantFocus(`button "Redeem now"`)
			b.press("Space")
			b.waitText("#voucher-result", "1 × VIP rank, 30 days")
			s.wantRedeemed(b, "STARTER-PACK")
			b.wantFocus("div#voucher-result")
			b.wantAccessible()
			if found := s.redemptions(t, "STARTER-PACK"); len(found) == 1 && found[0].Nick != "Kestrel_9" {
				t.Errorf("the redemption has the nick %q, want Kestrel_9", found[0].Nick)
			}
			type remains struct{ Code, Nick, Address, Cookies string }
			got := evaluate[remains](b, `((form) => ({code: form.code.value, nick: form.nick.value, address: `+
				`location.href, cookies: document.cookie}))(document.forms.voucher)`)
			if want := (remains{Address: s.page(t)}); got != want {
				t.Errorf("after the redemption the page has %+v, want %+v", got, want)
			}
			for _, r := range b.requests("STARTER|Kestrel") {
				t.Errorf("an address contains the code or the nick: %v", &r)
			}
		})
	}
}

// withHats is emberforge plus a cape that is off sale and more hats than one page shows.
func withHats() string {
	catalogue := emberforge + "      - {id: cape, name: Founder's cape, off-sale: true, variants: [{id: red, name: " +
		"Red, price: 14.99}]}\n"
	for i := range 120 {
		catalogue += fmt.Sprintf("      - {id: hat-%03d, name: Hat %d, variants: [{id: blue, name: Blue %d, price: "+
			"1.99}]}\n", i, i, i)
	}
	return catalogue
}

func TestVoucher_Reward_IsShownByName(t *testing.T) {
	s, b := visit(t, view{phone: true}, withHats())
	for i, c := range []struct{ reward, want string }{
		{"cape/red", "1 × cape, red"},
		{"20*hat-119/blue+cape/red", "20 × Hat 119, Blue 119\n1 × cape, red"},
		{"20%", "20% off. This code is for the checkout:"},
		{"5.00", "€5.00 off. This code is for the checkout:"},
	} {
		v := s.createReward(t, fmt.Sprintf("GIFT-%d", i), c.reward)
		b.enterCode(v.Written)
		b.waitText("#voucher-result", c.want)
	}
}

func TestVoucher_RefusedCodes_GetTheSameText(t *testing.T) {
	s, b := visit(t, view{phone: true}, emberforge)
	s.create(t, "EXPIRED", func(terms *voucher.Terms) { terms.ValidUntil = time.Now().Add(-time.Hour) })
	s.create(t, "FOR-ALDER", func(terms *voucher.Terms) { terms.Nick = "Alder" })
	s.create(t, "SPRING", nil)
	b.check("SPRING")
	b.redeemNow()
	s.wantRedeemed(b, "SPRING")
	asked := len(b.requests(checks))
	for _, c := range []struct{ name, code, nick string }{
		{"unknown", "NO-SUCH-CODE", ""},
		{"used up", "spring", ""},
		{"for another nick", "FOR-ALDER", "Kestrel"},
		{"expired", "EXPIRED", ""},
		{"made of symbols", "★!?<b>", ""},
		{"made of dashes", "---", ""},
		{"too long", strings.Repeat("Z", 80), ""},
	} {
		b.fill("#voucher-nick", c.nick)
		b.enterCode(c.code)
		asked++
		b.waitRequest(checks, asked)
		if got := b.text("#voucher-result [role=alert]"); !strings.HasPrefix(got, cannotBeRedeemed) {
			t.Errorf("a code that is %s: %q, want %q", c.name, got, cannotBeRedeemed)
		}
		b.waitGone("#voucher-result button")
		b.wantFocus("div#voucher-result")
	}
	b.wantAccessible()
	b.fill("#voucher-code", "   ")
	b.press("Tab", "Enter")
	b.waitText("#voucher-code-error", "Please enter a code.")
	b.wantFocus("input#voucher-code")
	b.wantAccessible()
	if got := len(b.requests(checks)); got != asked {
		t.Errorf("%d checks, want %d: one for each code, and none without a code", got, asked)
	}
}

func TestVoucher_NickTooLong_IsReportedAsSuch(t *testing.T) {
	s, b := visit(t, view{phone: true}, emberforge)
	s.create(t, "SPRING", nil)
	b.fill("#voucher-nick", strings.Repeat("a", 65))
	b.enterCode("SPRING")
	b.waitRequest(checks, 1)
	b.waitText("#voucher-result [role=alert]", "This name is too long.")
	b.waitGone("#voucher-result button")
	b.wantFocus("div#voucher-result")
}

func TestVoucher_DiscountCode_IsEnteredAtTheCheckoutInstead(t *testing.T) {
	for _, v := range widths() {
		t.Run(v.String(), func(t *testing.T) {
			s, b := visit(t, v, emberforge)
			s.create(t, "VIP-20", func(terms *voucher.Terms) {
				manyUses(terms)
				terms.Reward = s.reward(t, "20%")
			})
			b.fill("#voucher-nick", "Alder")
			b.enterCode("vip 20")
			b.waitText("#voucher-result", "20% off")
			b.wantFocus("div#voucher-result")
			b.waitGone("#voucher-result button | Redeem now")
			b.click("#voucher-result button | Use at the checkout")
			b.waitText("#voucher-result", "VIP-20 will be filled in when you check out.")
			b.wantFocus("div#voucher-result")
			b.click(".buy | 500 coins")
			b.wait("#checkout")
			if got := evaluate[string](b, `document.forms.checkout.code.value + " " + `+
				`document.forms.checkout.nick.value`); got != "VIP-20 Alder" {
				t.Errorf("the form has the code and nick %q, want VIP-20 Alder", got)
			}
			b.click("#checkout .primary")
			b.waitText("#purchase .discount", "−€0.99")
			if sent, found := b.requests(redeems), s.redemptions(t, "VIP-20"); len(sent)+len(found) > 0 {
				t.Errorf("got the requests %v and the redemptions %+v, want none", sent, found)
			}
		})
	}
}

func TestVoucher_OnlyTheServerMayRedeem_PageHasNoFieldsForCodes(t *testing.T) {
	_, b := visit(t, view{}, with("access: {redeem: server}"))
	b.click(".buy | 500 coins")
	b.wait("#checkout [name=amount]")
	if got := evaluate[int](b, `document.querySelectorAll("[name=code], [name=nick]").length`); got > 0 {
		t.Errorf("there are %d fields for a code or a nick, want none", got)
	}
}

// with is emberforge with a setting, such as access: {redeem: server}.
func with(setting string) string {
	return strings.Replace(emberforge, "    currency: EUR\n", "    currency: EUR\n    "+setting+"\n", 1)
}

func TestVoucher_PolicyChangedSinceLoading_IsReportedWithoutRetries(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.create(t, "SPRING", nil)
	localRun(t).LoadShop(t, with("access: {redeem: server}"), s.id)
	b.enterCode("SPRING")
	b.waitText("#voucher-result", "This is not possible on this page.")
	b.wantFocus("div#voucher-result")
	if sent := b.requests(checks); len(sent) != 1 || sent[0].Status != http.StatusUnauthorized {
		t.Errorf("got the requests %v, want one, refused with 401", sent)
	}
}

func TestVoucher_TooManyRefusals_SaysHowLongToWait(t *testing.T) {
	_, b := visit(t, view{}, with("refusals: {limit: 1, per: 24h}"))
	b.enterCode("GUESS-1")
	b.waitText("#voucher-result", cannotBeRedeemed)
	b.enterCode("GUESS-2")
	b.waitText("#voucher-result", "Too many attempts. Please try again in ")
	b.waitText("#voucher-result", "minute")
	b.wantFocus("div#voucher-result")
	if sent := b.requests(checks); len(sent) != 2 || sent[1].Status != http.StatusTooManyRequests {
		t.Errorf("got the requests %v, want two, the last refused with 429", sent)
	}
}

func TestVoucher_CodeTakenByAnotherShopper_IsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	b, _ := newShop(t, emberforge).checkedInTwo(t, "SPRING")
	b.redeemNow()
	b.waitText("#voucher-result", cannotBeRedeemed)
	b.wantFocus("div#voucher-result")
	b.waitGone("#voucher-result button")
	if sent, kept := b.requests(redeems), b.storage(); len(sent) != 1 || len(kept) > 0 {
		t.Errorf("got the requests %v, want one; local storage has %v, want nothing", sent, kept)
	}
}

func TestVoucher_TwoTabsAtOnce_ExactlyOneRedeems(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.create(t, "SPRING", nil)
	tabs := []*tab{b, b.another(s.page(t))}
	var sends []func()
	for _, each := range tabs {
		each.check("SPRING")
	}
	for _, each := range tabs {
		sends = append(sends, each.hold(redeems))
		each.redeemNow()
		each.waitText("#voucher-result", "Redeeming")
	}
	for _, send := range sends {
		send()
	}
	redeemed, refused := 0, 0
	for _, each := range tabs {
		switch got := each.text("#voucher-result .good, #voucher-result .bad"); {
		case strings.HasPrefix(got, "Redeemed"):
			redeemed++
		case strings.HasPrefix(got, cannotBeRedeemed):
			refused++
		}
	}
	if redeemed != 1 || refused != 1 {
		t.Errorf("%d tabs have redeemed the code, and %d were refused, want one each", redeemed, refused)
	}
	for _, each := range tabs {
		each.waitGone("#pending .note")
	}
	b.wantNothingKept()
}

func TestVoucher_SlowCheck_DoesNotReplaceALaterResult(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.create(t, "SPRING", nil)
	s.create(t, "AUTUMN", nil)
	b.cut(checks, 1)
	b.enterCode("SPRING")
	b.waitRequest(checks, 1)
	b.check("AUTUMN")
	b.poll("the first check has its response", func() bool {
		sent := b.requests(checks)
		return len(sent) == 3 && sent[2].Status == http.StatusOK
	})
	// when this response comes, the page has handled the response to the check
	evaluate[string](b, `fetch(location.href).then((response) => response.text())`)
	b.waitText("#voucher-result", "The code AUTUMN gives you:")
}

func TestVoucher_FailingStore_RedeemsWhenItWorksAgain(t *testing.T) {
	for name, failure := range map[string]localruntest.Failure{
		"throttles": localruntest.Throttles, "breaks": localruntest.Breaks, "hangs up": localruntest.HangsUp,
		"loses": localruntest.Loses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, emberforge)
			s.create(t, "SPRING", manyUses)
			store := localRun(t).NewStore(t)
			b := newTab(t, view{})
			b.open(s.pageAt(localRun(t).Serve(t, store.Endpoint)))
			b.check("SPRING")
			store.Fail(failure)
			wantNoFailure := b.noteFailures()
			b.redeemNow()
			b.waitRequest(redeems, 2)
			if got := b.requests(redeems)[0].Status; got < http.StatusInternalServerError {
				t.Errorf("the first request has status %d, want 500 or above", got)
			}
			b.waitText("#voucher-result", "We keep trying; nothing happens twice.")
			store.Fail(localruntest.Works)
			s.wantRedeemed(b, "SPRING")
			wantNoFailure()
		})
	}
}

// noteFailures records the failures that the page shows from now on. The function that it returns fails the test if
// there were any.
func (b *tab) noteFailures() (check func()) {
	b.t.Helper()
	evaluate[bool](b, `(() => {
		window.failures = [];
		new MutationObserver(() => failures.push(...[...document.querySelectorAll(".bad")].map((e) => e.innerText))).observe(document.body, {childList: true, subtree: true});
		return true;
	})()`)
	return func() {
		b.t.Helper()
		if got := evaluate[[]string](b, "window.failures"); len(got) > 0 {
			b.t.Errorf("the page shows the failures %q, want none", got)
		}
	}
}
