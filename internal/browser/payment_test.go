//go:build browser

package browser_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

const (
	paymentURL = "      payment-url: https://pay.emberforge.example/?checkout={checkout}&return={return}\n"
	// paymentText has several lines, and text that would be markup in HTML.
	paymentText = "      payment-text: |-\n        Transfer <b>the total</b> to Emberforge & Sons.\n        Name " +
		"{number}.\n"
)

// withoutPayment is emberforge without its own payment page, so that shoppers pay on the demo payment page of the local
// run.
func withoutPayment() string { return strings.Replace(emberforge, paymentURL, "", 1) }

// widths returns a laptop and a phone.
func widths() []view { return []view{{}, {phone: true}} }

// tabTo presses Tab until the element of a selector has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	b.wait(selector)
	for range 200 {
		b.press("Tab")
		if evaluate[bool](b, "document.activeElement === "+find(selector)) {
			return
		}
	}
	b.t.Fatalf("Tab does not lead to %s", selector)
}

// buyCoins checks out 500 coins.
func (b *tab) buyCoins() {
	b.t.Helper()
	b.click(".buy | Ember coins, 500 coins")
	b.click("#checkout .primary")
	b.waitText("#purchase .total", "€4.99")
}

// wantOrdered checks that the page reports the order, stores nothing, and has the address page.
func (b *tab) wantOrdered(page string) {
	b.t.Helper()
	b.waitText("#purchase", "Thank you! Your order is placed.")
	b.wantFocus("h2#purchase-title")
	b.wantNothingKept()
	if got := evaluate[string](b, "location.href"); got != page {
		b.t.Errorf("the address is %s, want %s", got, page)
	}
}

// pay pays on the demo payment page.
func (b *tab) pay(s shop) {
	b.t.Helper()
	b.click("#pay")
	b.click("button | Pay")
	b.wantOrdered(s.page(b.t))
}

func TestPayment_KeyboardAlone_BuysWithACodeFromTheStartPage(t *testing.T) {
	for _, v := range widths() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			base := localRun(t).State.BaseURL
			b := newTab(t, v)
			b.open(base + "/")
			b.waitText("code", "SUMMER-20")
			b.tabTo("a | Emberforge")
			b.press("Enter")
			b.waitText(".variant", "€4.99") // wait until the script has run
			b.tabTo(".buy | Ember coins, 500 coins")
			b.press("Enter")
			b.waitText("#purchase", "Buy Ember coins, 500 coins")
			b.wantFocus("h2#purchase-title")
			b.tabTo("#checkout [name=amount]")
			b.press("3")
			b.tabTo("#checkout [name=code]")
			b.press("summer-20", "Enter")
			b.waitText("#purchase .discount", "€2.99")
			b.waitText("#purchase .total", "€11.98")
			b.waitText("#purchase .minutes", "30 minutes")
			b.wantAccessible()
			b.tabTo("#pay | Pay €11.98")
			b.press("Enter")
			b.waitText("h1", "Demo payment")
			b.waitText("strong", "11.98 EUR")
			b.wantAccessible()
			b.tabTo("button | Pay")
			b.press("Enter")
			b.wantOrdered(base + "/shop/emberforge")
			b.wantAccessible()
			b.press("Escape")
			b.waitGone("#purchase, #pending .note")
		})
	}
}

func TestPayment_Cancelled_CanStillBePaid(t *testing.T) {
	for _, v := range widths() {
		t.Run(v.String(), func(t *testing.T) {
			s, b := visit(t, v, withoutPayment())
			b.buyCoins()
			b.click("#pay")
			b.click("button | Cancel")
			b.waitText("#purchase", "Waiting for the payment")
			b.waitText("#purchase", "If you have not paid, you still can.")
			b.waitGone("#purchase button | Change") // the shopper may have paid before cancelling
			b.pay(s)
		})
	}
}

func TestPayment_BackButton_ReturnsToTheCheckout(t *testing.T) {
	for name, isCached := range map[string]bool{
		"with the back/forward cache":    true,
		"without the back/forward cache": false,
	} {
		for _, v := range widths() {
			t.Run(name+", "+v.String(), func(t *testing.T) {
				s, b := visit(t, v, withoutPayment())
				b.buyCoins()
				evaluate[chromedp.Void](b, "void (window.isSame = true)")
				if !isCached {
					// keeps Chromium from caching the page
					evaluate[chromedp.Void](b, `void addEventListener("unload", () => {})`)
				}
				b.click("#pay")
				b.waitText("h1", "Demo payment")
				b.back()
				if got := evaluate[bool](b, "!!window.isSame"); got != isCached {
					t.Fatalf("the page comes from the cache: %t, want %t", got, isCached)
				}
				if !isCached {
					b.click("#pending button | Continue")
				}
				b.waitText("#purchase", "Waiting for the payment")
				b.pay(s)
			})
		}
	}
}

func TestPayment_BackAfterTheOrder_DoesNotOfferToPayAgain(t *testing.T) {
	s, b := visit(t, view{}, withoutPayment())
	b.buyCoins()
	b.pay(s)
	b.back()
	b.waitText("h1", "Demo payment")
	b.back()
	b.waitText("#purchase", "Your order is placed")
	b.waitGone("#pay, #pending .note")
}

func TestPayment_InAnotherTab_IsShownInBothTabs(t *testing.T) {
	for name, click := range map[string]func(first *tab){
		"opened with the middle button": func(first *tab) {
			first.wait("#pay")
			at := evaluate[struct{ X, Y float64 }](first,
				`(({x, y, width, height}) => ({x: x + width / 2, y: y + height / `+
					`2}))(document.querySelector("#pay").getBoundingClientRect())`)
			first.do(chromedp.MouseClickXY(at.X, at.Y, chromedp.ButtonMiddle))
			first.poll("the payment is noted", func() bool {
				for _, entry := range first.storage() {
					return strings.Contains(entry, `"paying":true`)
				}
				return false
			})
		},
		"opened without the first tab noticing": func(*tab) {},
	} {
		t.Run(name, func(t *testing.T) {
			s, first := visit(t, view{}, withoutPayment())
			first.buyCoins()
			click(first)
			second := first.another(evaluate[string](first, `document.querySelector("#pay").href`))
			second.click("button | Pay")
			second.wantOrdered(s.page(t))
			first.wantOrdered(s.page(t))
		})
	}
}

func TestPayment_FreeOrder_NeedsNoPayment(t *testing.T) {
	s, b := visit(t, view{phone: true}, withoutPayment())
	s.createReward(t, "TEN-OFF", "10.00")
	b.checkOut("TEN-OFF")
	b.waitText("#purchase .discount", "€4.99")
	b.waitText("#purchase .total", "€0.00")
	b.click("#pay | nothing to pay")
	b.click("button | Pay")
	b.wantOrdered(s.page(t))
}

// reward parses a reward as an operator writes it.
func (s shop) reward(t *testing.T, text string) voucher.Reward {
	t.Helper()
	reward, _, err := s.Reward(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return reward
}

func TestPayment_Link_HasTheCheckoutAndTheReturnAddress(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	b := newTab(t, view{})
	b.open(s.page(t) + "?cursor=stale&lang=de")
	b.click(".buy | Ember coins, 500 coins")
	b.click("#checkout .primary")
	b.wait("#pay")
	href := evaluate[string](b, `document.querySelector("#pay").getAttribute("href")`)
	want := "https://pay.emberforge.example/?checkout=" + string(s.checkouts(t)[0].ID) + "&return=" +
		url.QueryEscape(s.page(t)+"?lang=de#paid")
	if href != want {
		t.Errorf("the link is %s, want %s", href, want)
	}
	b.click("#pay")
	b.waitText("h1", "Another host")
	if got := evaluate[string](b, "document.referrer"); got != "" {
		t.Errorf("the payment page gets the referrer %s, want none", got)
	}
	b.open(s.page(t) + "?lang=de#paid")
	b.waitText("#purchase", "Warten auf die Zahlung")
	if got := evaluate[string](b, "location.href"); got != s.page(t)+"?lang=de" {
		t.Errorf("the address is %s, want it without #paid", got)
	}
}

func TestPayment_PaymentText_IsShownAsWritten(t *testing.T) {
	for name, test := range map[string]struct {
		catalogue string
		isLink    bool
	}{
		"a text":                    {strings.Replace(emberforge, paymentURL, paymentText, 1), false},
		"a text and a payment page": {strings.Replace(emberforge, paymentURL, paymentURL+paymentText, 1), true},
	} {
		for _, v := range widths() {
			t.Run(name+", "+v.String(), func(t *testing.T) {
				s, b := visit(t, v, test.catalogue)
				b.buyCoins()
				number := string(s.checkouts(t)[0].ID.Number())
				b.waitText("#purchase .how", "Transfer <b>the total</b> to Emberforge & Sons.\nName "+number+".")
				b.waitText("#purchase .number", number)
				if test.isLink {
					b.wait("#pay")
				} else {
					b.waitGone("#pay")
				}
				b.wantAccessible()
				b.press("Escape")
				b.buyCoins()
				// Beside a payment page the text is only shown, so the next checkout replaces the first. Without one the
				// shopper may already have paid as the text says, so it replaces nothing.
				isReplaced := func(c checkout.Checkout) bool { return c.Replaced }
				if got := slices.ContainsFunc(s.checkouts(t), isReplaced); got != test.isLink {
					t.Errorf("a checkout was replaced: %t, want %t", got, test.isLink)
				}
				if test.isLink {
					b.wait("#purchase button | Change")
					b.waitGone("#purchase | Waiting for the payment")
					return
				}
				id := s.newest(t).ID
				s.place(t, id)
				b.wantOrderNumber(id)
			})
		}
	}
}

// newest returns the checkout that was made last.
func (s shop) newest(t *testing.T) checkout.Checkout {
	t.Helper()
	var newest checkout.Checkout
	for _, c := range s.checkouts(t) {
		if c.Created.After(newest.Created) {
			newest = c
		}
	}
	return newest
}
