//go:build browser

package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// leave stores an unfinished request, as an earlier visit would have left it, and loads the page again.
func (b *tab) leave(s shop, entry string) {
	b.t.Helper()
	name := "shopfront/" + s.id + "/0f8f1c5e-6f0b-4d8e-9d53-5f2f3a1f6f10"
	evaluate[chromedp.Void](b, "localStorage.setItem("+quote(name)+", "+quote(entry)+")")
	b.reload()
}

// A shopper who pays a replaced checkout would get no order.
func TestCheckout_UnfinishedChange_DoesNotReplaceACheckoutInPayment(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.hurry()
	b.buyCoins()
	paid := s.wantOpen(b)
	b.click("#purchase button | Change")
	b.fill("#checkout [name=amount]", "2")
	b.cut(checksOut, always)
	b.press("Enter")
	b.waitText("#checkout-result", notKnownYet)
	second := b.another(s.page(t))
	second.click("#pending .note:nth-of-type(2) button | Continue")
	second.waitText("#purchase .total", "€4.99")
	second.click("#pay")
	second.waitText("h1", "Another host")
	second.open(s.page(t))
	second.click("#pending .note:nth-of-type(1) button | Continue")
	second.waitText("#purchase .total", "€9.98")
	if got, err := s.Checkout(t.Context(), paid.ID); err != nil || got.Replaced {
		t.Errorf("the checkout in payment is %+v, %v, want it not replaced", got, err)
	}
	if kept := fmt.Sprint(b.storage()); !strings.Contains(kept, string(paid.ID)) {
		t.Errorf("local storage has %s, want the checkout in payment in it", kept)
	}
}

func TestCheckout_ExpiredInOneTab_IsKeptForTheTabInPayment(t *testing.T) {
	s, first := visit(t, view{}, emberforge)
	first.buyCoins()
	c := s.wantOpen(first)
	second := first.another(s.page(t))
	second.click("#pending button | Continue")
	second.click("#pay")
	second.waitText("h1", "Another host")
	s.expire(t, c)
	evaluate[chromedp.Void](first, "void (Date.now = ((now) => () => now() + 31 * 60_000)(Date.now))")
	first.waitText("#purchase", "The checkout has expired")
	s.place(t, c.ID)
	second.open(s.page(t) + "#paid")
	second.wantOrderNumber(c.ID)
}

func TestCheckout_RetryInOneTab_KeepsTheOtherTabsPayment(t *testing.T) {
	s, first := visit(t, view{}, emberforge)
	restore := first.lose(checksOut, always)
	first.checkOut("")
	first.waitText("#checkout-result", "The connection is slow")
	second := first.another(s.page(t))
	second.click("#pending button | Continue")
	second.click("#pay")
	second.waitText("h1", "Another host")
	first.waitRequest(checksOut, len(first.requests(checksOut))+1)
	restore()
	s.wantPaying(first)
	if kept := fmt.Sprint(first.storage()); !strings.Contains(kept, `"paying":true`) {
		t.Errorf("local storage has %s, want the checkout marked as paying", kept)
	}
}

// wantPaying checks that the page waits for the payment of the shop's only checkout.
func (s shop) wantPaying(b *tab) {
	b.t.Helper()
	b.waitText("#purchase", "Waiting for the payment")
	if kept := s.checkouts(b.t); len(kept) != 1 {
		b.t.Errorf("the shop has the checkouts %+v, want one", kept)
	}
}

// The stored request holds what the shopper typed. After a day it is useless, because its checkout has expired.
func TestCheckout_WithoutAResponse_IsForgottenAfterADay(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	entry := `{"kind":"checkout","target":"/shop/` + s.id + `/checkout/coins/500?amount=1&nick=Kestrel","sentAt":%d}`
	b.leave(s, fmt.Sprintf(entry, time.Now().Add(-23*time.Hour).UnixMilli()))
	b.wait("#pending .note")
	b.leave(s, fmt.Sprintf(entry, time.Now().Add(-25*time.Hour).UnixMilli()))
	b.waitText(".variant", "€4.99")
	b.waitGone("#pending .note")
	b.wantNothingKept()
}

func TestInterrupted_ClockSetBack_DoesNotLengthenTheWait(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.leave(s, fmt.Sprintf(`{"kind":"redeem","code":"SPRING","nick":"Kestrel","sentAt":%d}`,
		time.Now().Add(time.Hour).UnixMilli()))
	clicked := time.Now()
	b.click("#pending button | Try again")
	b.waitText("#voucher-result", cannotBeRedeemed)
	if waited := time.Since(clicked); waited < 10*time.Second {
		t.Errorf("the page accepted a refusal after %v, want at least 10s", waited)
	}
}

func TestInterrupted_AnotherCodeCheckedMeanwhile_ItsResultStays(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.create(t, "SPRING", nil)
	s.create(t, "AUTUMN", nil)
	b.check("SPRING")
	b.lose(redeems, always)
	b.redeemNow()
	b.waitRequest(redeems, 1)
	b.enterCode("AUTUMN")
	b.waitText("#voucher-result", "AUTUMN gives you")
	b.waitRequest(redeems, len(b.requests(redeems))+2)
	b.waitText("#voucher-result", "AUTUMN gives you")
	b.wait("#voucher-result button | Redeem now")
}
