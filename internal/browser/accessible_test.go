//go:build browser

package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/pkg/voucher"
)

// demoPaidShop is a catalogue of a shop without its own payment page, so its shoppers pay on the demo payment page of
// the local run.
const demoPaidShop = `
shops:
  - id: SHOP
    name: Emberforge
    currency: EUR
    page: {accent: "ACCENT"}
    products:
      - {id: coins, name: Ember coins, category: Currency, variants: [{id: "500", name: 500 coins, price: 4.99, sale: {price: 3.99}, amount: {min: 1, max: 10}}]}
      - id: rank
        name: VIP rank
        description: Two more homes.
        variants:
          - id: month
            name: 30 days
            price: 7.99
            amount: {min: 1, max: 3}
            data:
              type: object
              required: [player, colour]
              properties:
                player: {type: string, pattern: "^[A-Za-z]{3,16}$", description: "Letters only."}
                colour: {enum: [gold, silver]}
                extras: {type: array, items: {enum: [home, hat]}, minItems: 1}
                gift: {type: boolean}
                home: {type: object, properties: {floor: {type: integer, minimum: 1}}}
`

// wantUsable fails the test if axe finds a fault, if the shopper must scroll sideways, if a text lacks a value, or if
// the headings skip a level. The parameter state describes the page in the last two messages.
func (b *tab) wantUsable(state string) {
	b.t.Helper()
	b.wantAccessible()
	b.wantNoScrollBar()
	if text := evaluate[string](b, "document.body.innerText"); strings.Contains(text, "undefined") ||
		strings.Contains(text, "NaN") || strings.ContainsAny(text, "{}") {
		b.t.Errorf("%v, %s: a text lacks a value: %s", b.view, state, text)
	}
	levels := evaluate[[]string](b,
		`[...document.querySelectorAll("h1, h2, h3, h4")].filter((h) => h.checkVisibility()).map((h) => h.tagName)`)
	for i := 1; i < len(levels); i++ {
		if levels[i] > levels[i-1] && levels[i] != fmt.Sprintf("H%d", levels[i-1][1]-'0'+1) {
			b.t.Errorf("%v, %s: the headings skip a level: %v", b.view, state, levels)
		}
	}
}

// expireCheckouts replaces fetch in the page, so that every checkout looks expired to the page.
func (b *tab) expireCheckouts() {
	b.t.Helper()
	evaluate[chromedp.Void](b, `void (window.fetch = ((real) => async (...request) => {
		const response = await real(...request);
		return String(request[0]).includes("/checkouts/") ? new Response(JSON.stringify({...await response.json(), status: "expired"}), response) : response;
	})(fetch))`)
}

// The test walks through all states of the page. The views cover both widths, both themes and all languages.
func TestPage_EveryState_IsUsable(t *testing.T) {
	for _, v := range []view{
		{},
		{dark: true, language: "de"},
		{phone: true, language: "fr"},
		{phone: true, dark: true, language: "ja"},
		{phone: true, language: "es"},
	} {
		t.Run(v.String(), func(t *testing.T) {
			s, b := visit(t, v, strings.ReplaceAll(demoPaidShop, "ACCENT", "#c2410c"))
			s.create(t, "SPRING", nil)
			s.create(t, "TEN", func(terms *voucher.Terms) {
				terms.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 10}
				terms.MaxUses, terms.MaxUsesPerNick = new(voucher.NoLimit), new(voucher.NoLimit)
			})
			b.wait(".buy")
			if got, want := evaluate[string](b, "document.documentElement.lang"),
				v.language; want != "" && got != want {
				t.Errorf("the page is in %q, want %q", got, want)
			}
			b.wantUsable("on sale")
			b.vouchers()
			b.checkouts()
		})
	}
}

// vouchers walks through the states of the voucher form.
func (b *tab) vouchers() {
	b.t.Helper()
	for _, code := range []string{"", "WRONG", "TEN", "SPRING"} {
		b.enterCode(code)
		switch code {
		case "":
			b.wait("#voucher .error")
			b.wantUsable("no code")
		case "WRONG":
			b.wait("#voucher-result .bad")
			b.wantUsable("wrong code")
		case "TEN":
			b.click("#voucher-result button")
			b.waitText("#voucher-result .good", "TEN")
			b.wantUsable("a discount is ready")
		default:
			b.wait("#voucher-result .reward")
			b.wantUsable("what a code gives")
			b.click("#voucher-result .primary")
			b.wait("#voucher-result .good")
			b.waitText("#voucher-result .reward", "Ember coins")
			b.wantUsable("redeemed")
		}
	}
}

// checkouts walks through the states of the dialog, to a paid order and to an expired checkout.
func (b *tab) checkouts() {
	b.t.Helper()
	b.click("[data-product=rank] .buy")
	b.wait("#checkout")
	b.wantUsable("form")
	b.fill("#checkout [name=amount]", "1.5")
	b.enter("/home/floor", "0")
	b.click("#checkout .primary")
	b.wait("#checkout .error:not(:empty)")
	b.wantUsable("form with errors")
	b.fill("#checkout [name=amount]", "2")
	b.enter("/player", "Alder")
	b.enter("/colour", "silver")
	b.enter("/extras", "home")
	b.enter("/home/floor", "")
	b.click("#checkout .primary")
	b.wait("#pay")
	b.wait("#purchase .discount") // the code from the voucher form
	b.wantUsable("open")
	address := evaluate[string](b, "location.href")
	b.click("#pay")
	b.click("button | Cancel")
	b.wait("#purchase[data-state=paying]")
	b.wantUsable("paying")
	if now := evaluate[string](b, "location.href"); now != address {
		b.t.Errorf("the shopper comes back to %s, want %s", now, address)
	}
	b.click("#pay")
	b.click("button | Pay")
	b.wait("#purchase[data-state=ordered]")
	b.wantUsable("ordered")
	b.press("Escape")
	b.waitGone("#purchase")

	b.click("[data-product=coins] .buy")
	b.click("#checkout .primary")
	b.wait("#pay")
	b.press("Escape")
	b.wait("#pending .note")
	b.wantUsable("an open checkout")
	b.expireCheckouts()
	b.click("#pending button")
	b.wait("#purchase[data-state=expired]")
	b.wantUsable("expired")
}

func TestPage_Language_SurvivesTheWholeVisit(t *testing.T) {
	_, b := visit(t, view{language: "fr"}, strings.ReplaceAll(demoPaidShop, "ACCENT", "#c2410c"))
	b.waitText("footer nav [aria-current]", "Français")
	for _, choice := range []struct{ language, name string }{
		{"en", "English"},
		{"es", "Español"},
		{"ja", "日本語"},
		{"de", "Deutsch"},
	} {
		b.click("footer nav a | " + choice.name)
		b.until("the page is in "+choice.name,
			`document.documentElement.lang === `+quote(choice.language)+` && location.search === "?lang=`+
				choice.language+`"`)
	}
	b.click("[data-product=coins] .buy")
	b.click("#checkout .primary")
	b.click("#pay")
	b.click("button | Pay")
	b.waitText("#purchase", "Vielen Dank!")
	if got := evaluate[string](b, "location.search + location.hash"); got != "?lang=de" {
		t.Errorf("the shopper comes back to %q, want ?lang=de", got)
	}
}

// The contrast is sufficient both for text on these accent colours and between these colours and the background.
func TestPage_ExtremeAccentColours_KeepTheContrast(t *testing.T) {
	for _, accent := range []string{"#ffff00", "#ffffff", "#000000", "#777777", "#ff0000"} {
		for _, isDark := range []bool{false, true} {
			v := view{dark: isDark}
			t.Run(accent+" "+v.String(), func(t *testing.T) {
				_, b := visit(t, v, strings.ReplaceAll(demoPaidShop, "ACCENT", accent))
				b.wait(".buy")
				b.wantAccessible()
				b.click("[data-product=coins] .buy")
				b.wait("#checkout")
				b.wantAccessible()
				b.wantVisibleButtons()
			})
		}
	}
}

// wantVisibleButtons fails the test if a button in the accent colour does not stand out from the background. WCAG 2.2
// demands a contrast of 3:1 for the surface or the edge of a button (criterion 1.4.11). axe does not check this
// contrast.
func (b *tab) wantVisibleButtons() {
	b.t.Helper()
	if faint := evaluate[[]string](b, `(() => {
		// Chromium writes a mixed colour as color(srgb 0.5 0.5 0.5), and any other colour as rgb(128, 128, 128).
		const channels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map((c) => (colour.startsWith("color") ? c : c / 255));
		const luminance = (colour) => channels(colour).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
			.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
		const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
		const ground = getComputedStyle(document.body).backgroundColor;
		return [...document.querySelectorAll(".primary, .buy")].map((e) => getComputedStyle(e))
			.map((style) => [contrast(style.backgroundColor, ground), contrast(style.borderTopColor, ground)])
			.filter((both) => Math.max(...both) < 3).map((both) => both.join());
	})()`); len(faint) > 0 {
		b.t.Errorf("%v: buttons have too little contrast to the background: %v", b.view, faint)
	}
}

func TestPage_KeyboardAlone_ReachesThePaymentPage(t *testing.T) {
	_, b := visit(t, view{}, emberforge)
	b.wait(".buy")
	order := b.tabToName("Buy: VIP rank, 30 days")
	want := []string{
		`a "Skip`, "input#voucher-code", "input#voucher-nick", "button", "button", "button",
		`button "Buy: VIP rank, 30 days"`,
	}
	for i, part := range want {
		if i >= len(order) || !strings.HasPrefix(order[i], part) {
			t.Fatalf("the Tab key visits %v, want %v", order, want)
		}
	}
	b.press("Enter")
	b.wait("#checkout")
	b.wantFocus("h2#purchase-title")
	b.press("Escape")
	b.waitGone("#purchase")
	b.wantFocus(`button "Buy: VIP rank, 30 days"`)
	b.press("Enter")
	b.wait("#checkout")
	// A modal dialog keeps the focus. After the last control of the dialog, Tab leads to the browser's own controls,
	// and then to the dialog's first control.
	for range 12 {
		b.press("Tab")
		if outside := evaluate[bool](b,
			`document.activeElement !== document.body && !document.activeElement.closest("dialog")`); outside {
			t.Errorf("the focus has left the dialog, to %s", b.focused())
		}
	}
	for evaluate[string](b, `document.activeElement.dataset.pointer ?? ""`) != "/player" {
		b.press("Tab")
	}
	b.press("Alder", "Enter")
	b.wait("#pay")
	b.wantFocus(`h2#purchase-title "Your checkout"`) // so that a screen reader announces the result
	b.tabToName("Pay €7.99")
	b.press("Enter")
	b.waitText("h1", "Another host")
}

// tabToName presses Tab until the description of the focused element contains the given name. It returns the
// descriptions of all elements that had the focus on the way, and fails the test if an element did not show that it had
// the focus.
func (b *tab) tabToName(name string) (order []string) {
	b.t.Helper()
	for range 30 {
		b.press("Tab")
		focused := b.focused()
		order = append(order, focused)
		seen := evaluate[string](b, `((e) => getComputedStyle(e).outlineStyle + " " + `+
			`(e.getBoundingClientRect().left >= 0))(document.activeElement)`)
		if seen != "solid true" {
			b.t.Errorf("%s has the focus, but does not show it: outline style and whether it is on the screen: %s, "+
				"want solid true", focused, seen)
		}
		if strings.Contains(focused, name) {
			return order
		}
	}
	b.t.Fatalf("%s never gets the focus. Tab leads to %v", name, order)
	return nil
}

func TestPage_SkipLink_LeadsToTheProducts(t *testing.T) {
	_, b := visit(t, view{}, emberforge)
	b.wait(".buy")
	b.press("Tab", "Enter", "Tab")
	b.wantFocus(`button "Buy: Ember coins, 500 coins"`)
}

// At a zoom of 400 %, a screen of 1,280 pixels is 320 pixels wide (WCAG 2.2, criterion 1.4.10).
func TestPage_Zoom400_NeedsNoSidewaysScrolling(t *testing.T) {
	t.Parallel()
	s := newShop(t, strings.ReplaceAll(foreign, "LONG", strings.Repeat("Donaudampfschiff", 4)))
	b := newTab(t, view{language: "de"})
	call(b, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: 320, Height: 256, DeviceScaleFactor: 4})
	b.open(s.page(t))
	b.wait(".buy")
	b.wantNoScrollBar()
	b.click("[data-product=long] .buy")
	b.wait("#checkout")
	b.wantNoScrollBar()
	b.click("#checkout .primary")
	b.wait("#purchase .summary")
	b.wantNoScrollBar()
}

func TestApology_EveryLanguage_IsUsable(t *testing.T) {
	run := localRun(t)
	store := run.NewStore(t)
	s := newShop(t, emberforge)
	failing := s.pageAt(run.Serve(t, store.Endpoint))
	store.Fail(localruntest.HangsUp)
	for i, language := range []string{"en", "de", "fr", "es", "ja"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				address string
				status  int
				says    map[string]string
			}{
				{
					shop{id: "nobody"}.page(t), http.StatusNotFound,
					map[string]string{"en": "There is no shop here", "de": "Hier ist kein Shop"},
				},
				{failing, http.StatusServiceUnavailable, map[string]string{"en": "The shop is out of reach"}},
			} {
				b := newTab(t, view{phone: i%2 == 0, dark: i > 2, language: language})
				if status := b.open(c.address); status != c.status {
					t.Errorf("%s has the status %d, want %d", c.address, status, c.status)
				}
				if got := evaluate[string](b, "document.documentElement.lang"); got != language {
					t.Errorf("the page is in %q, want %q", got, language)
				}
				if want := c.says[language]; want != "" {
					b.waitText("h1", want)
				}
				b.wantUsable("apology")
				b.view.phone = !b.view.phone
				b.set(b.view)
				b.wantNoScrollBar()
			}
		})
	}
}
