//go:build browser

package browser_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"shopfront/internal/local/dynamolocal"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
	"shopfront/pkg/client"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// checksOut matches the requests that create a checkout.
const checksOut = "GET .*/checkout/[^?]+/"

// checkouts returns the stored checkouts.
func (s shop) checkouts(t *testing.T) []checkout.Checkout {
	t.Helper()
	kept, err := backoffice.Collect(s.Checkouts(t.Context(), checkout.Filter{}, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// place places the order of a checkout, as the shop's server does.
func (s shop) place(t *testing.T, id checkout.ID) {
	t.Helper()
	if _, _, err := s.PlaceOrder(t.Context(), id, checkout.Payment{Provider: "stripe", Reference: "pi_" + string(id)},
		time.Now()); err != nil {
		t.Fatal(err)
	}
}

// expire makes a stored checkout expire now.
func (s shop) expire(t *testing.T, c checkout.Checkout) {
	t.Helper()
	state := localRun(t).State
	// The store replaces a checkout only if the checkout expired before the new one was created, or at that moment.
	c.Created, c.Expires = c.Expires, time.Now()
	if stored, err := dynamo.NewCheckouts(dynamolocal.NewClient(state.DynamoDBEndpoint),
		dynamo.Tables{Checkouts: state.Tables.Checkouts}, nil).Open(t.Context(),
		checkout.Opening{Shop: s.Profile.ID, Checkout: c}); err != nil || stored.Expires != c.Expires {
		t.Fatalf("the stored checkout is %+v, %v", stored, err)
	}
}

// createReward creates a single-use voucher for a reward.
func (s shop) createReward(t *testing.T, code, reward string) voucher.Voucher {
	t.Helper()
	return s.create(t, code, func(terms *voucher.Terms) { terms.Reward = s.reward(t, reward) })
}

// checkOut checks out 500 coins with a code, and does not wait for the response.
func (b *tab) checkOut(code string) {
	b.t.Helper()
	b.click(".buy | Ember coins, 500 coins")
	b.fill("#checkout [name=code]", code)
	b.press("Enter")
}

// wantOpen checks that the shop has one checkout, that it is open, and that the page shows it.
func (s shop) wantOpen(b *tab) checkout.Checkout {
	b.t.Helper()
	b.waitText("#purchase", "Your checkout")
	b.wait("#pay")
	kept := s.checkouts(b.t)
	if len(kept) != 1 || kept[0].Status(time.Now()) != checkout.StatusOpen {
		b.t.Fatalf("the shop has the checkouts %+v, want one open checkout", kept)
	}
	if got := evaluate[string](b, "document.querySelector('#pay').href"); !strings.Contains(got, string(kept[0].ID)) {
		b.t.Errorf("the link to pay is %s, want the ID %s in it", got, kept[0].ID)
	}
	return kept[0]
}

// wantOneKey checks that at least n requests checked out, all with the same key and parameters.
func (b *tab) wantOneKey(n int) {
	b.t.Helper()
	sent := b.requests(checksOut)
	if len(sent) < n {
		b.t.Fatalf("got the requests %v, want at least %d", sent, n)
	}
	for _, r := range sent {
		if key := r.Header.Get("Idempotency-Key"); key == "" || key != sent[0].Header.Get("Idempotency-Key") ||
			r.URL != sent[0].URL {
			b.t.Errorf("%v has the key %q, want the URL and the key of the first request, %q", &r, key,
				sent[0].Header.Get("Idempotency-Key"))
		}
	}
}

// hurry makes the clock of the page's script run 20 times as fast.
func (b *tab) hurry() {
	b.t.Helper()
	evaluate[chromedp.Void](b, `(() => {
		const now = Date.now, later = setTimeout, begun = now();
		Date.now = () => begun + (now() - begun) * 20;
		window.setTimeout = (f, milliseconds) => later(f, milliseconds / 20);
	})()`)
}

func TestCheckout_DataAndCode_ReachTheShopAndAreNotStoredInTheBrowser(t *testing.T) {
	for _, v := range widths() {
		t.Run(v.String(), func(t *testing.T) {
			s, b := visit(t, v, emberforge)
			s.createReward(t, "VIP-20", "20%")
			b.click(".buy | VIP rank, 30 days")
			b.fill("[data-pointer='/player']", "Kestrel_9")
			b.choose("[data-pointer='/colour']", "silver")
			b.fill("#checkout [name=code]", "vip-20")
			b.fill("#checkout [name=nick]", "Kestrel_9")
			release := b.hold(checksOut)
			b.press("Enter")
			b.waitText("#checkout-result", "Checking out…")
			release()
			c := s.wantOpen(b)
			if c.Total.Minor != 640 || c.Data != `{"player":"Kestrel_9","colour":"silver"}` || c.Nick != "Kestrel_9" {
				t.Errorf("the checkout is %+v, want the data, the nick and a total of 6.40", c)
			}
			b.waitText("#purchase .discount", "€1.59")
			b.waitText("#purchase .total", "€6.40")
			b.waitText("#purchase .minutes", "30 minutes")
			b.wantFocus("h2#purchase-title")
			b.wantAccessible()
			kept := slices.Collect(maps.Values(b.storage()))
			if len(kept) != 1 || !strings.Contains(kept[0], string(c.ID)) ||
				strings.Contains(strings.ToLower(kept[0]), "kestrel") ||
				strings.Contains(strings.ToLower(kept[0]), "vip") {
				t.Errorf("local storage has %v, want only the checkout's ID", kept)
			}
			b.press("Escape")
			b.waitGone("#purchase")
			b.click("#pending button | Continue")
			s.wantOpen(b)
			b.reload()
			b.click("#pending button | Continue")
			s.wantOpen(b)
			if got := evaluate[string](b, "location.href"); got != s.page(t) {
				t.Errorf("the address is %s, want %s", got, s.page(t))
			}
			b.click("#purchase button | Close")
			b.click("#pending button | Discard")
			b.waitGone("#pending .note")
			b.wantNothingKept()
		})
	}
}

func TestCheckout_LostResponses_AreRetriedWithTheSameKey(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.createReward(t, "SUMMER", "20%")
	b.cut(checksOut, 1)
	b.lose(checksOut, 2)
	b.checkOut("SUMMER")
	s.wantOpen(b)
	b.wantOneKey(4)
}

func TestCheckout_UnknownOutcome_KeepsItsKeyForTheNextClick(t *testing.T) {
	s, b := visit(t, view{phone: true}, emberforge)
	s.createReward(t, "SUMMER", "20%")
	b.hurry()
	restore := b.lose(checksOut, always)
	b.checkOut("SUMMER")
	b.waitText("#checkout-result", "We do not know yet")
	restore()
	b.click("#checkout .primary")
	s.wantOpen(b)
	b.wantOneKey(5)
}

func TestCheckout_ReloadBeforeTheResponse_CanBeContinued(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	s.createReward(t, "SUMMER", "20%")
	restore := b.lose(checksOut, always)
	b.checkOut("SUMMER")
	b.waitText("#checkout-result", "The connection is slow")
	b.reload()
	restore()
	b.click("#pending button | Continue")
	s.wantOpen(b)
	b.wantOneKey(2)
	if kept := b.storage(); len(kept) != 1 || strings.Contains(fmt.Sprint(kept), "SUMMER") {
		t.Errorf("local storage has %v, want one entry without the code", kept)
	}
}

func TestCheckout_Change_ReplacesTheCheckoutAndItsUse(t *testing.T) {
	for _, v := range widths() {
		t.Run(v.String(), func(t *testing.T) {
			s, b := visit(t, v, emberforge)
			s.createReward(t, "SUMMER", "20%")
			b.checkOut("SUMMER")
			first := s.wantOpen(b)
			b.click("#purchase button | Change")
			b.fill("#checkout [name=amount]", "2") // the other fields stay as they were
			b.press("Enter")
			b.waitText("#purchase .total", "€7.99")
			if got, err := s.Checkout(t.Context(), first.ID); err != nil || !got.Replaced {
				t.Errorf("the replaced checkout is %+v, %v, want it released", got, err)
			}
			if second := s.newest(t); second.Code != "SUMMER" || second.Amount != 2 {
				t.Errorf("the new checkout is %+v, want two pieces with the code SUMMER", second)
			}
			if kept := b.storage(); len(kept) != 1 {
				t.Errorf("local storage has %v, want one entry", kept)
			}
			// A shopper who closes the form still has the checkout.
			b.click("#purchase button | Change")
			b.press("Escape")
			b.click("#pending button | Continue")
			b.waitText("#purchase .total", "€7.99")
		})
	}
}

func TestCheckout_InPayment_IsNeverReplaced(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.buyCoins()
	paid := s.wantOpen(b)
	b.click("#pay")
	b.waitText("h1", "Another host")
	b.open(s.page(t))
	b.wait("#pending .note")
	b.buyCoins()
	second := s.newest(t)
	if second.ID == paid.ID {
		t.Fatal("there is no second checkout")
	}
	if got, err := s.Checkout(t.Context(), paid.ID); err != nil || got.Replaced {
		t.Errorf("the checkout in payment is %+v, %v, want it not replaced", got, err)
	}
	s.place(t, paid.ID)
	b.open(s.page(t) + "?lang=en#paid")
	b.wantOrderNumber(paid.ID)
	if kept := fmt.Sprint(b.storage()); !strings.Contains(kept, string(second.ID)) ||
		strings.Contains(kept, string(paid.ID)) {
		t.Errorf("local storage has %s, want only the second checkout", kept)
	}
}

// wantOrderNumber checks that the page reports the order of a checkout and shows the checkout's ID.
func (b *tab) wantOrderNumber(id checkout.ID) {
	b.t.Helper()
	b.waitText("#purchase", "Your order is placed")
	b.waitText("#purchase .number", string(id.Number()))
}

func TestCheckout_OrderedMeanwhile_NextCheckoutDoesNotReplaceIt(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.buyCoins()
	ordered := s.wantOpen(b)
	b.press("Escape")
	s.place(t, ordered.ID)
	b.buyCoins()
	sent := b.requests(checksOut)
	if len(sent) != 3 || !strings.Contains(sent[1].URL, "replaces="+string(ordered.ID)) ||
		strings.Contains(sent[2].URL, "replaces") {
		t.Errorf("got the requests %v, want a refused request with replaces, then one without it", sent)
	}
	b.press("Escape")
	// The shopper has not seen the order yet, and has not paid the new checkout.
	b.waitText("#pending .note:nth-of-type(2)", "You have an open checkout.")
	b.click("#pending .note:nth-of-type(2) button | Continue")
	b.wantOrderNumber(ordered.ID)
}

func TestCheckout_ReloadWhileReplacing_LeavesOneCheckout(t *testing.T) {
	_, b := visit(t, view{}, emberforge)
	b.buyCoins()
	b.click("#purchase button | Change")
	b.fill("#checkout [name=amount]", "2")
	restore := b.lose(checksOut, always)
	b.press("Enter")
	b.waitText("#checkout-result", "The connection is slow")
	b.reload()
	restore()
	b.click("#pending button | Continue") // the newest checkout comes first
	b.waitText("#purchase .total", "€9.98")
	b.press("Escape")
	b.wait("#pending .note")
	b.waitGone("#pending .note:nth-of-type(2)")
}

func TestCheckout_RefusedCode_IsReportedAtItsField(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	s.create(t, "GOODS", nil)
	s.createReward(t, "ONCE", "20%")
	s.create(t, "FOR-ALDER", func(terms *voucher.Terms) {
		terms.Reward, terms.Nick = s.reward(t, "20%"), "Alder"
	})
	other := newTab(t, view{})
	other.open(s.page(t))
	other.checkOut("ONCE")
	s.wantOpen(other)
	b := newTab(t, view{phone: true})
	b.open(s.page(t))
	b.click(".buy | Ember coins, 500 coins")
	for i, code := range []string{"NOBODY-HAS-THIS", "GOODS", "ONCE", "FOR-ALDER", "é?"} {
		b.fill("#checkout [name=code]", code)
		b.press("Enter")
		b.waitRequest(checksOut, i+1) // by then the page has removed the message about the previous code
		b.waitText("#checkout .error", "This code gives no discount here.")
		if got := b.focused(); !strings.HasPrefix(got, "input#") ||
			evaluate[string](b, "document.activeElement.name") != "code" {
			t.Errorf("%s: the focus is on %s, want the field for the code", code, got)
		}
	}
	b.wantAccessible()
	b.fill("#checkout [name=code]", "FOR-ALDER")
	b.fill("#checkout [name=nick]", strings.Repeat("ä", 100))
	b.press("Enter")
	b.waitText("#checkout .error", "This name is too long.")
	b.fill("#checkout [name=nick]", "alder")
	b.press("Enter")
	b.waitText("#purchase .total", "€4.00")
	if kept := b.storage(); len(kept) != 1 {
		t.Errorf("local storage has %v, want one entry", kept)
	}
}

func TestCheckout_TooManyHolds_SaysHowLongToWait(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	limit := voucher.Limit(100)
	s.create(t, "SUMMER", func(terms *voucher.Terms) {
		terms.Reward, terms.MaxUses, terms.MaxUsesPerNick = s.reward(t, "20%"), &limit, new(voucher.NoLimit)
	})
	direct, err := client.New(localRun(t).State.BaseURL, s.id)
	if err != nil {
		t.Fatal(err)
	}
	for range checkout.MaxHoldsPerSource {
		if _, err := direct.Checkout(t.Context(),
			client.Order{Product: "coins", Variant: "500", Code: "SUMMER"}); err != nil {
			t.Fatal(err)
		}
	}
	b := newTab(t, view{})
	b.open(s.page(t))
	b.checkOut("SUMMER")
	b.waitText("#checkout-result", "You have too many open checkouts with a code. Please try again in 30 minutes.")
	b.wantNothingKept()
	b.fill("#checkout [name=code]", "")
	b.press("Enter")
	b.waitText("#purchase .total", "€4.99")
}

func TestCheckout_ChangedOffer_IsShown(t *testing.T) {
	for name, test := range map[string]struct{ old, now, says, place string }{
		"a higher price": {
			"price: 4.99,", "price: 5.49,", "The price has changed from €4.99 to €5.49.",
			"#purchase .note",
		},
		"a sale": {
			"price: 4.99,", `price: 4.99, sale: {price: 3.99, from: 2026-01-01},`,
			"The price has changed from €4.99 to €3.99.", "#purchase .note",
		},
		"off sale": {"price: 4.99,", "price: 4.99, off-sale: true,", "This is no longer on sale.", "#checkout-result"},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := visit(t, view{phone: true}, emberforge)
			b.wait(".buy")
			localRun(t).LoadShop(t, strings.Replace(emberforge, test.old, test.now, 1), s.id)
			b.click(".buy | Ember coins, 500 coins")
			b.click("#checkout .primary")
			b.waitText(test.place, test.says)
			b.wantAccessible()
			if test.place == "#purchase .note" { // the page reports a change only once
				b.click("#purchase button | Change")
				b.click("#checkout .primary")
				b.wait("#pay")
				b.waitGone("#purchase .note")
			}
		})
	}
}

func TestCheckout_TwoTabs_ShowOneOpenCheckout(t *testing.T) {
	s, first := visit(t, view{}, emberforge)
	s.createReward(t, "ONCE", "20%")
	first.checkOut("ONCE")
	replaced := s.wantOpen(first)
	second := first.another(s.page(t))
	second.checkOut("ONCE")
	second.waitText("#purchase .total", "€4.00")
	first.waitText("#purchase[data-state=expired] .number", string(replaced.ID.Number()))
	if kept := second.storage(); len(kept) != 1 {
		t.Errorf("local storage has %v, want one entry", kept)
	}
	first.press("Escape")
	first.waitText("#pending .note", "You have an open checkout.") // the checkout of the second tab
}

func TestCheckout_ExpiredDuringAChange_LeavesTheFormAlone(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.hurry()
	b.buyCoins()
	s.expire(t, s.wantOpen(b))
	b.click("#purchase button | Change")
	b.fill("#checkout [name=amount]", "2")
	evaluate[chromedp.Void](b, "void (Date.now = ((now) => () => now() + 31 * 60_000)(Date.now))")
	// half a second, because of hurry
	evaluate[chromedp.Void](b, "new Promise((resolve) => setTimeout(resolve, 10_000))")
	if got := evaluate[string](b, "document.querySelector('#checkout [name=amount]')?.value"); got != "2" {
		t.Errorf("the form has the amount %q, want 2", got)
	}
	b.press("Enter")
	b.waitText("#purchase .total", "€9.98")
}

func TestCheckout_ExpiredInPayment_KeepsItsNumberAndWaits(t *testing.T) {
	s, b := visit(t, view{phone: true}, emberforge)
	b.buyCoins()
	c := s.wantOpen(b)
	b.click("#pay")
	b.waitText("h1", "Another host")
	b.open(s.page(t) + "#paid")
	b.waitText("#purchase", "Waiting for the payment")
	s.expire(t, c)
	b.waitText("#purchase", "The checkout has expired")
	b.waitText("#purchase .number", string(c.ID.Number()))
	b.wantAccessible()
	if kept := b.storage(); len(kept) != 1 {
		t.Errorf("local storage has %v, want one entry", kept)
	}
	s.place(t, c.ID)
	b.wantOrdered(s.page(t))
}

func TestCheckout_ExpiredWhileShown_IsReported(t *testing.T) {
	s, b := visit(t, view{}, emberforge)
	b.buyCoins()
	c := s.wantOpen(b)
	s.expire(t, c)
	evaluate[chromedp.Void](b, "void (Date.now = ((now) => () => now() + 31 * 60_000)(Date.now))")
	b.waitText("#purchase", "The checkout has expired")
	b.waitText("#purchase .number", string(c.ID.Number()))
	b.wantNothingKept()
	b.press("Escape")
	b.waitGone("#purchase, #pending .note")
}

func TestCheckout_WrongClock_ShowsTheRightMinutes(t *testing.T) {
	t.Parallel()
	s := newShop(t, emberforge)
	for _, hours := range []int{-1, 1} {
		b := newTab(t, view{})
		b.open(s.page(t))
		evaluate[chromedp.Void](b, fmt.Sprintf("void (Date.now = ((now) => () => now() + %d * 3_600_000)(Date.now))",
			hours))
		b.buyCoins()
		b.waitText("#purchase .minutes", "Reserved for another 30 minutes.")
	}
}

func TestCheckout_ForTheShopsServerOnly_IsNotOffered(t *testing.T) {
	_, b := visit(t, view{}, with("access: {redeem: anyone, check-out: server}"))
	b.wait("#voucher")
	b.waitText(".variant", "€4.99")
	b.waitGone(".buy, dialog")
	b.wantAccessible()
}
