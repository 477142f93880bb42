//go:build browser

package browser_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"

	"shopfront/pkg/voucher"
)

// prepare makes the tab run a script in each page, before the page's own scripts.
func (b *tab) prepare(script string) {
	b.t.Helper()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

func TestInterrupted_LostRequestsAndResponses_AreRetriedWithTheSameKey(t *testing.T) {
	for _, c := range []struct {
		name string
		view
		disturb func(b *tab)
		sent    int
	}{
		{"a response", view{}, func(b *tab) { b.lose(redeems, 1) }, 2},
		{"three responses", view{phone: true}, func(b *tab) { b.lose(redeems, 3) }, 4},
		{"requests that are never sent", view{}, func(b *tab) { b.cut(redeems, 2) }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, b := visit(t, c.view, emberforge)
			s.create(t, "SPRING", manyUses)
			b.check("SPRING")
			wantNoFailure := b.noteFailures()
			c.disturb(b)
			b.redeemNow()
			s.wantRedeemed(b, "SPRING")
			b.wantFocus("div#voucher-result")
			if sent := b.requests(redeems); len(sent) != c.sent {
				t.Errorf("got the requests %v, want %d", sent, c.sent)
			}
			wantNoFailure()
		})
	}
}

// The page gives up after a while. After that, the shopper can finish the redemption in several ways.
func TestInterrupted_NoResponseForLong_CanBeFinishedLater(t *testing.T) {
	for _, c := range []struct {
		name string
		view
		finish func(b *tab)
	}{
		{"try again", view{}, func(b *tab) { b.click("#voucher-result button | Try again") }},
		{"reload", view{phone: true}, func(b *tab) {
			b.reload()
			b.waitText("#pending", notKnownYet+" the code SPRING was redeemed.")
			b.wantAccessible()
			b.press("Tab", "Tab")
			b.wantFocus(`button "Try again"`)
			b.press("Enter")
		}},
		{"enter the code again in another spelling", view{}, func(b *tab) {
			b.fill("#voucher-nick", "kestrel")
			b.enterCode("spr-ing")
		}},
		{"enter another code first", view{}, func(b *tab) {
			b.enterCode("NO-SUCH-CODE")
			b.waitText("#voucher-result", cannotBeRedeemed)
			b.click("#pending button")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, b := visit(t, c.view, emberforge)
			s.create(t, "SPRING", nil)
			b.hurry()
			b.fill("#voucher-nick", "Kestrel")
			end := b.loseRedemption()
			b.waitText("#voucher-result", notKnownYet+" it worked.")
			b.wantFocus("div#voucher-result")
			s.wantPending(b)
			b.waitGone("#pending .note") // the button in the result is enough
			b.wantAccessible()
			end()
			c.finish(b)
			s.wantRedeemed(b, "SPRING")
			b.wantFocus("div#voucher-result")
		})
	}
}

// If the code is refused after a lost request, the lost request itself may have redeemed the code. After ten seconds
// the lost request has certainly ended.
func TestInterrupted_RefusalAfterALostRequest_IsFinalAfterTenSeconds(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	b, _ := s.checkedInTwo(t, "SPRING")
	b.cut(redeems, 1)
	clicked := time.Now()
	b.redeemNow()
	b.waitText("#voucher-result", cannotBeRedeemed)
	if waited := time.Since(clicked); waited < 10*time.Second {
		t.Errorf("the page accepted a refusal after %v, want at least 10s", waited)
	}
	b.waitGone("#voucher-result button")
	b.wantNothingKept()
	if sent := b.requests(redeems); len(sent) != 3 || sent[1].Status != http.StatusNotFound {
		t.Errorf("got the requests %v, want a lost one, a refused one and the last one", sent)
	}
}

// A check changes nothing, so the page need not know whether the lost check was applied. More retries would count
// towards the shop's limit of refusals.
func TestInterrupted_LostCheckOfARefusedCode_IsRetriedOnce(t *testing.T) {
	_, b := visit(t, view{}, emberforge)
	b.lose(checks, 1)
	b.enterCode("NO-SUCH-CODE")
	b.waitText("#voucher-result", cannotBeRedeemed)
	if sent := b.requests(checks); len(sent) != 2 {
		t.Errorf("got the requests %v, want 2", sent)
	}
}

func TestInterrupted_ReloadInTheMiddle_IsFinishedWithTheSameKey(t *testing.T) {
	for _, c := range []struct {
		name string
		view
		inject func(b *tab) (end func())
	}{
		{"before the request is sent", view{}, func(b *tab) func() { return b.hold(redeems) }},
		{"after the voucher is redeemed", view{phone: true}, func(b *tab) func() { return b.lose(redeems, always) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, b := visit(t, c.view, emberforge)
			s.create(t, "SPRING", manyUses)
			b.check("SPRING")
			end := c.inject(b)
			b.redeemNow()
			b.waitRequest(redeems, 1)
			s.wantPending(b)
			b.reload()
			b.waitText("#pending", notKnownYet+" the code SPRING was redeemed.")
			s.wantPending(b)
			end()
			b.click("#pending button | Try again")
			s.wantRedeemed(b, "SPRING")
			b.wantFocus("div#voucher-result")
		})
	}
}

func TestInterrupted_ReloadWhileTheResultLoads_CanStillShowTheResult(t *testing.T) {
	s, b := visit(t, view{}, withHats())
	s.createReward(t, "HAT", "hat-119/blue")
	b.enterCode("HAT")
	b.waitText("#voucher-result", "Hat 119")
	end := b.lose(redeems, always)
	b.redeemNow()
	b.waitRequest(redeems, 1)
	b.reload()
	b.wait("#pending button")
	end()
	products := `GET .*cursor=`
	loaded := len(b.requests(products))
	end = b.hold(products)
	b.click("#pending button")
	b.waitRequest(products, loaded+1)
	s.wantPending(b)
	b.reload()
	end()
	b.click("#pending button")
	b.waitText("#voucher-result", "1 × Hat 119, Blue 119")
	if found, kept := s.redemptions(t, "HAT"), b.storage(); len(found) != 1 || len(kept) > 0 {
		t.Errorf("got the redemptions %+v, want one; local storage has %v, want nothing", found, kept)
	}
}

func TestInterrupted_BackButton_IsFinishedWithTheSameKey(t *testing.T) {
	s, b := visit(t, view{phone: true}, emberforge)
	s.create(t, "SPRING", manyUses)
	end := b.loseRedemption()
	b.waitRequest(redeems, 1)
	b.open("https://emberforge.example/imprint")
	b.waitText("h1", "Another host")
	end()
	b.back()
	b.wait("#pending button, #voucher-result .good") // a page from the browser's cache continues by itself
	if evaluate[bool](b, `document.querySelector("#pending button") !== null`) {
		b.click("#pending button")
	}
	s.wantRedeemed(b, "SPRING")
}

func TestInterrupted_SecondTab_FinishesWithTheSameKey(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.create(t, "SPRING", manyUses)
	second, third := b.another(s.page(t)), b.another(s.page(t))
	end := b.loseRedemption()
	third.waitText("#pending", notKnownYet+" the code SPRING was redeemed.")
	second.click("#pending button | Try again")
	s.wantRedeemed(second, "SPRING")
	if first, finished := b.requests(redeems)[0],
		second.requests(redeems)[0]; first.Header.Get("Idempotency-Key") != finished.Header.Get("Idempotency-Key") {
		t.Error("the second tab sent another key than the first tab")
	}
	end()
	s.wantRedeemed(b, "SPRING")
	third.waitGone("#pending .note") // not before, because the first tab stores the request with each retry
}

func TestInterrupted_TooManyRefusalsAfterALostRequest_KeepsTheRequest(t *testing.T) {
	t.Parallel()
	s := newShop(t, with("refusals: {limit: 1, per: 24h}"))
	b, other := s.checkedInTwo(t, "SPRING")
	other.enterCode("GUESS")
	// all tabs have the same network address, so the next refusal is one too many
	other.waitText("#voucher-result", cannotBeRedeemed)
	b.cut(redeems, 1)
	b.redeemNow()
	b.waitText("#voucher-result", "Too many attempts. Please try again in ")
	s.wantPending(b)
	b.wait("#voucher-result button | Try again")
}

// The test stores an unfinished request in the browser, as an earlier visit would have left it. The page sends no
// request to redeem before the policy changes, because the function would then use its cached copy of the old policy
// for a while.
func TestInterrupted_PolicyChangedAfterALostResponse_KeepsTheRequest(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.leave(s, `{"kind":"redeem","code":"SPRING","nick":"Kestrel","sentAt":1700000000000}`)
	b.waitText("#pending", notKnownYet+" the code SPRING was redeemed.")
	localRun(t).LoadShop(t, with("access: {redeem: server}"), s.id)
	b.click("#pending button | Try again")
	b.waitText("#voucher-result", "This is not possible on this page.")
	b.wait("#voucher-result button | Try again")
	s.wantPending(b)
	if sent := b.requests(redeems); len(sent) != 1 || sent[0].Status != http.StatusUnauthorized ||
		sent[0].Body != `{"code":"SPRING","nick":"Kestrel"}` {
		t.Errorf("got the requests %v, want one, refused with 401", sent)
	}
}

func TestInterrupted_UndoneAfterALostResponse_IsReported(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	v := s.create(t, "SPRING", nil)
	b := newTab(t, view{})
	b.open(s.page(t))
	end := b.loseRedemption()
	b.poll("the voucher is redeemed", func() bool { return len(s.redemptions(t, "SPRING")) == 1 })
	if _, _, err := s.UndoRedemption(t.Context(), v.Code, s.redemptions(t, "SPRING")[0].ID, "a mistake",
		time.Now()); err != nil {
		t.Fatal(err)
	}
	end()
	b.waitText("#voucher-result", "The shop has undone this redemption.")
	if conflicts := slices.DeleteFunc(b.requests(redeems),
		func(r request) bool { return r.Status != http.StatusConflict }); len(conflicts) != 1 {
		t.Errorf("%d responses have the status 409, want 1", len(conflicts))
	}
	b.waitGone("#voucher-result button")
	b.wantFocus("div#voucher-result")
	b.wantNothingKept()
}

func TestInterrupted_BrowserWithoutStorage_StillRedeems(t *testing.T) {
	for name, script := range map[string]string{
		"forbidden": `Object.defineProperty(window, "localStorage", {get() { throw new DOMException("denied", ` +
			`"SecurityError"); }})`,
		"missing": `Object.defineProperty(window, "localStorage", {value: null})`,
		"full":    `Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, emberforge)
			s.create(t, "SPRING", manyUses)
			s.create(t, "AUTUMN", func(terms *voucher.Terms) { terms.Nick = "Alder" })
			b := newTab(t, view{})
			b.prepare(script)
			b.open(s.page(t))
			b.hurry()
			b.enterCode("AUTUMN")
			b.waitText("#voucher-result", cannotBeRedeemed)
			end := b.loseRedemption()
			b.waitText("#voucher-result", notKnownYet)
			end()
			b.click("#voucher-result button | Try again")
			b.waitText("#voucher-result", "Redeemed")
			b.waitGone("#voucher-result button")
			b.waitGone("#pending .note")
			if found, keys := s.redemptions(t, "SPRING"), b.keys(); len(found) != 1 || len(keys) != 1 {
				t.Errorf("got the redemptions %+v with the keys %v, want one redemption and one key", found, keys)
			}
		})
	}
}

// keys returns the distinct keys of the tab's requests to redeem.
func (b *tab) keys() map[string]bool {
	b.t.Helper()
	keys := make(map[string]bool)
	for _, r := range b.requests(redeems) {
		keys[r.Header.Get("Idempotency-Key")] = true
	}
	return keys
}
