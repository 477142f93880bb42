//go:build browser

package browser_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// withOrdinarySpaces replaces the no-break and thin spaces that Intl writes.
func withOrdinarySpaces(text string) string {
	return strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2009", " ").Replace(text)
}

func TestCatalogue_Products_AreShownWithAllDetails(t *testing.T) {
	t.Parallel()
	s := newShop(t, `
shops:
  - id: SHOP
    name: Sakura Goods
    currency: EUR
    products:
      - {id: z-cape, name: Cape, position: 1, category: Clothes, description: "Red.\nWarm.", image: https://cdn.example/cape.png,
         variants: [{id: s, name: Small, price: 20.00, sale: {price: 15.50, until: "2100-01-01T00:00:00Z"}}, {id: l, name: Large, price: 25.00}]}
      - {id: y-tea, name: Tea, position: 2, category: Kitchen, variants: [{id: "1", name: 100 g, price: 12.00, sale: {price: 0.00}}]}
      - {id: x-hat, name: Hat, position: 3, category: Clothes, variants: [{id: "1", name: Straw, price: 1234.50}]}
      - {id: w-map, name: Map, position: 4, variants: [{id: "1", name: Of the realm, price: 3.00}]}
`)
	for _, c := range []struct{ language, price, hatPrice, oldPrice, until string }{
		{"en", "€15.50", "€1,234.50", "instead of €20.00", "until Jan 1, 2100, 1:00 AM"},
		{"de", "15,50 €", "1.234,50 €", "statt 20,00 €", "bis 01.01.2100, 01:00"},
		{"ja", "€15.50", "€1,234.50", "€20.00", "2100/01/01 1:00"},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			b := newTab(t, view{phone: c.language == "de", language: c.language})
			b.open(s.page(t))
			b.wait("[data-product='z-cape'] .buy")
			headings := evaluate[[]string](b,
				`[...document.querySelectorAll("h2[dir], h3")].map((h) => h.tagName + " " + h.textContent)`)
			headings = headings[:len(headings)-2] // without the map and its heading, whose text depends on the language
			if want := []string{"H2 Clothes", "H3 Cape", "H3 Hat", "H2 Kitchen", "H3 Tea"}; !slices.Equal(headings,
				want) {
				t.Errorf("headings %q, want %q", headings, want)
			}
			small := withOrdinarySpaces(b.text("[data-product='z-cape'] [data-variant='s']"))
			for _, part := range []string{"Small", c.price, c.until} {
				if !strings.Contains(small, part) {
					t.Errorf("%q is not in the text of the variant: %q", part, small)
				}
			}
			if got := withOrdinarySpaces(evaluate[string](b,
				`document.querySelector("[data-variant='s'] s").textContent`)); !strings.Contains(got, c.oldPrice) {
				t.Errorf("the old price is shown as %q, want %q", got, c.oldPrice)
			}
			if got := withOrdinarySpaces(b.text("[data-product='x-hat'] .price")); got != c.hatPrice {
				t.Errorf("the price is %q, want %q", got, c.hatPrice)
			}
			if got := b.text("[data-product='z-cape'] .description"); got != "Red.\nWarm." {
				t.Errorf("the description is %q, want its two lines", got)
			}
			b.until("the image has come", `document.querySelector("[data-product='z-cape'] img").naturalWidth === 400`)
		})
	}
}

func TestCatalogue_Currency_DecidesTheDigits(t *testing.T) {
	for _, c := range []struct{ currency, price, language, want string }{
		{"JPY", "1200", "ja", "￥1,200"},
		{"JPY", "1200", "en", "¥1,200"},
		{"BHD", "0.499", "en", "BHD 0.499"},
		{"BHD", "1.000", "de", "1,000 BHD"},
		{"ISK", "500", "de", "500 ISK"},
		{"EUR", "0.05", "fr", "0,05 €"},
		{"MXN", "10.00", "es", "10,00 MXN"},
	} {
		t.Run(c.currency+" "+c.language, func(t *testing.T) {
			tea := fmt.Sprintf(`{id: tea, name: Tea, variants: [{id: "1", name: One, price: %s}]}`, c.price)
			_, b := visit(t, view{language: c.language},
				fmt.Sprintf(`{shops: [{id: SHOP, name: Alder, currency: %s, products: [%s]}]}`, c.currency,
					tea))
			b.click(".buy")
			b.wait("#checkout")
			if shown, asked := withOrdinarySpaces(b.text(".product .price")),
				withOrdinarySpaces(b.text("#purchase .price")); shown != c.want || asked != c.want {
				t.Errorf("the price is %q on the page and %q in the form, want %q", shown, asked, c.want)
			}
			b.click("#checkout .primary")
			if got := withOrdinarySpaces(b.text("#purchase dd.total")); got != c.want {
				t.Errorf("the total of the checkout is %q, want %q", got, c.want)
			}
		})
	}
}

func TestCatalogue_NothingOnSale_IsStated(t *testing.T) {
	t.Parallel()
	s := newShop(t, `{shops: [{id: SHOP, name: Alder, currency: EUR, products: []}]}`)
	b := newTab(t, view{phone: true})
	if status := b.open(s.page(t)); status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
	b.waitText("#products", "Nothing is on sale at the moment.")
	b.wait("#redeem")
	b.waitGone("#more")
	b.wantAccessible()
}

// manyProducts is a catalogue with 400 products. If sorted is set, the products have categories, and positions that
// reverse the order of their IDs.
func manyProducts(sorted bool) string {
	var catalogue strings.Builder
	catalogue.WriteString("shops:\n- {id: SHOP, name: Alder, currency: EUR, products: [\n")
	for i := range 400 {
		extra := ""
		if sorted {
			extra = fmt.Sprintf("position: %d, category: Shelf %d, ", 400-i, i%7)
		}
		fmt.Fprintf(&catalogue, "{id: p%03d, name: Product %03d, %svariants: [{id: one, name: One, price: 1.00}]},\n",
			i, i, extra)
	}
	catalogue.WriteString("]}\n")
	return catalogue.String()
}

// shownProducts returns the IDs of the products that the page shows.
func (b *tab) shownProducts() []string {
	b.t.Helper()
	return evaluate[[]string](b, `[...document.querySelectorAll(".product")].map((product) => product.dataset.product)`)
}

// wantAllProducts checks that the page shows each of the 400 products once.
func (b *tab) wantAllProducts(shown []string) {
	b.t.Helper()
	if distinct := slices.Compact(slices.Sorted(slices.Values(shown))); len(shown) != 400 || len(distinct) != 400 {
		b.t.Errorf("the page shows %d products, %d of them distinct, want each of 400 once", len(shown), len(distinct))
	}
}

// showMore loads more products, and fails the test if the focus is not on a new product.
func (b *tab) showMore() {
	b.t.Helper()
	before := b.shownProducts()
	b.click("#more")
	b.until("there are more products", fmt.Sprintf(`document.querySelectorAll(".product").length > %d`, len(before)))
	b.waitGone("#more-failed")
	b.until("the focus is on a new product", `document.activeElement.matches("h3")`)
	if got := evaluate[string](b, `document.activeElement.closest(".product").dataset.product`); slices.Contains(before,
		got) {
		b.t.Errorf("the focus is on %s, which was there before", got)
	}
}

func TestCatalogue_400Products_EachIsShownOnce(t *testing.T) {
	for _, sorted := range []bool{true, false} {
		t.Run(fmt.Sprintf("sorted %t", sorted), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, manyProducts(sorted))
			b := newTab(t, view{phone: sorted, language: "de"})
			b.open(s.page(t) + "?lang=fr&utm_source=forum")
			b.cut("GET .*cursor=", 1)
			b.click("#more")
			b.waitText("#more-failed[role=alert]", "suivants")
			for evaluate[bool](b, `document.querySelector("#more") !== null`) {
				b.showMore()
			}
			b.wantAllProducts(b.shownProducts())
			if got, want := evaluate[int](b, `document.querySelectorAll(".category").length`),
				map[bool]int{true: 7, false: 1}[sorted]; got != want {
				t.Errorf("%d categories, want %d", got, want)
			}
			if got := withOrdinarySpaces(b.text("[data-product=p399] .price")); got != "1,00 €" {
				t.Errorf("a product that was loaded later has the price %q, want it in French", got)
			}
			for _, r := range b.requests("GET .*cursor=") {
				if !strings.Contains(r.URL, "lang=fr") {
					t.Errorf("%s has lost the language", r.URL)
				}
			}
		})
	}
}

func TestCatalogue_400ProductsWithoutScript_AreOnSeparatePages(t *testing.T) {
	_, b := visit(t, view{noScript: true}, manyProducts(true))
	var shown []string
	for {
		page := b.shownProducts()
		shown = append(shown, page...)
		if !evaluate[bool](b, `document.querySelector("#more") !== null`) {
			break
		}
		b.click("#more")
		b.until("the next page is shown",
			fmt.Sprintf(`document.readyState === "complete" && document.querySelector(".product").dataset.product `+
				`!== %s`, quote(page[0])))
	}
	b.wantAllProducts(shown)
}

func TestCatalogue_Images_LoadWhenTheShopperScrollsNear(t *testing.T) {
	t.Parallel()
	var catalogue strings.Builder
	catalogue.WriteString("shops:\n- {id: SHOP, name: Alder, currency: EUR, page: {logo: " +
		"https://cdn.example/broken-logo.png}, products: [\n" +
		"{id: a, name: Äpfel, image: https://cdn.example/broken.png, variants: [{id: one, name: One, price: 1.00}]},\n")
	for i := range 40 {
		fmt.Fprintf(&catalogue, "{id: p%02d, name: Product %d, image: 'https://cdn.example/%02d.png', variants: "+
			"[{id: one, name: One, price: 1.00}]},\n", i, i, i)
	}
	catalogue.WriteString("]}\n")
	s := newShop(t, catalogue.String())
	b := newTab(t, view{phone: true})
	b.expect("broken.png")
	b.expect("broken-logo.png")
	b.cut("GET .*/broken", 2)
	b.open(s.page(t))
	b.waitText("[data-product=a] div.picture", "Ä")
	b.waitText("h1", "Alder")
	if got := len(b.requests("GET .*/39.png")); got > 0 {
		t.Error("the last image was loaded before the shopper scrolled to it")
	}
	b.until("the last product is in sight", `(document.querySelector("[data-product=p39]").scrollIntoView(), true)`)
	b.waitRequest("GET .*/39.png", 1)
}

// foreign is a catalogue with Arabic, Hebrew and Japanese names, and with long names without a place to break the line.
const foreign = `
shops:
  - id: SHOP
    name: متجر الجمرة
    currency: EUR
    page: {imprint: {url: https://emberforge.example/, text: אודות}, payment-text: "ادفع نقدا عند الاستلام."}
    products:
      - {id: arabic, name: عملات, position: 1, category: عملة المملكة, description: "تضاف فورا.",
         variants: [{id: "1", name: خمسمئة, price: 4.99, data: {type: object, required: [name], properties: {name: {type: string, title: اسمك, description: كما في اللعبة}}}}]}
      - {id: hebrew, name: כובע, position: 2, description: חם מאוד, variants: [{id: "1", name: אדום, price: 9.99}]}
      - {id: japanese, name: 風鈴, position: 3, category: 贈り物, description: そよ風にも鳴る手吹きガラスの風鈴です。, variants: [{id: "1", name: 手吹きガラス, price: 28.00}]}
      - {id: long, name: LONG, position: 4, category: LONG, description: LONG, variants: [{id: "1", name: LONG, price: 90071992547409.91}]}
`

func TestCatalogue_ForeignAndLongNames_FitAndRunInTheirDirection(t *testing.T) {
	t.Parallel()
	s := newShop(t, strings.ReplaceAll(foreign, "LONG", strings.Repeat("Donaudampfschiff", 4)))
	for _, v := range []view{{phone: true}, {}} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			b := newTab(t, v)
			b.open(s.page(t))
			b.wait(".buy")
			wantDirections := func(selector, want string) {
				t.Helper()
				for _, got := range evaluate[[]string](b,
					`[...document.querySelectorAll(`+quote(selector)+
						`)].map((e) => e.textContent + ": " + getComputedStyle(e).direction)`) {
					if !strings.HasSuffix(got, ": "+want) {
						t.Errorf("the text and its direction are %s, want %s", got, want)
					}
				}
			}
			wantDirections("h1, [data-product=arabic] [dir], [data-product=hebrew] [dir], [data-category='عملة "+
				"المملكة'] h2, footer > a", "rtl")
			wantDirections("[data-product=japanese] [dir], .cost, .buy, footer nav", "ltr")
			b.wantNoScrollBar()
			b.click("[data-product=arabic] .buy")
			b.waitText("#checkout label", "اسمك")
			wantDirections("#checkout [for]:has(+ [data-pointer]), #checkout .help:not(:empty)", "rtl")
			b.fill("[data-pointer='/name']", "עלמה")
			b.wantNoScrollBar()
			b.click("#checkout .primary")
			b.waitText("#purchase .how", "ادفع")
			wantDirections("#purchase .pre", "rtl")
			b.wantNoScrollBar()
		})
	}
}

// wantNoScrollBar checks that the shopper need not scroll sideways.
func (b *tab) wantNoScrollBar() {
	b.t.Helper()
	if wide := evaluate[[]string](b, `[document.documentElement, ...document.querySelectorAll("dialog[open]")]
		.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.tagName + " " + e.scrollWidth + " > " + e.clientWidth)`); len(wide) > 0 {
		b.t.Errorf("%v: the shopper must scroll sideways: %v", b.view, wide)
	}
}

// These texts would run a script if the page put them unescaped into markup, an attribute or a script.
const (
	injected      = `"><script>alert(1)</script><img src=x onerror=alert(1)>'{{7*7}}</script>`
	injectedShort = `"><img src=x onerror=alert(1)>'{{7*7}}` // for texts that may have at most 64 bytes
)

// wantNothingInjected checks that no text of the catalogue has become an element. If a script did run, the browser
// would complain about its alert, which also fails the test.
func (b *tab) wantNothingInjected() {
	b.t.Helper()
	if found := evaluate[[]string](b,
		`[...document.querySelectorAll("[src=x], [onerror], body script:not(#texts)")].map((e) => e.outerHTML)`); len(found) > 0 {
		b.t.Errorf("the catalogue has put elements into the page: %q", found)
	}
}

func TestCatalogue_ScriptInEveryText_DoesNotRun(t *testing.T) {
	for _, isPhone := range []bool{false, true} {
		t.Run(view{phone: isPhone}.String(), func(t *testing.T) {
			t.Parallel()
			text, short := quote(injected), quote(injectedShort)
			s := newShop(t, `
shops:
  - id: SHOP
    name: `+text+`
    currency: EUR
    page:
      imprint: {url: "https://emberforge.example/?%22%3E%3Cimg%20src=x%3E%27", text: `+short+`}
      privacy: {url: https://emberforge.example/, text: `+short+`}
      payment-text: `+text+`
    products:
      - id: coins
        name: `+text+`
        description: `+text+`
        category: `+short+`
        image: "https://cdn.example/?%22%3E%27"
        variants:
          - id: "500"
            name: `+text+`
            price: 4.99
            data:
              type: object
              required: [choice, list]
              properties:
                `+text+`: {type: string, title: `+text+`, description: `+text+`, default: `+text+`}
                choice: {title: `+text+`, enum: [`+text+`], default: `+text+`}
                list: {type: array, title: `+text+`, description: `+text+`, items: {enum: [`+text+`]}}
                home: {type: object, title: `+text+`, properties: {city: {type: string, description: `+text+`}}}
                strict: {type: string, title: `+text+`, pattern: "(?i)^never$"}
              additionalProperties: false
`)
			s.create(t, "SPRING", nil)
			s.createReward(t, "TEN", "10%")
			b := newTab(t, view{phone: isPhone})
			b.open(s.page(t))
			b.wait(".buy")
			b.wantNothingInjected()
			for _, shown := range []string{"h1", "h3", ".description", ".name"} {
				if got := b.text(shown); got != injected {
					t.Errorf("%s shows %q, want the text of the catalogue", shown, got)
				}
			}
			b.fill("#voucher-code", injected)
			b.fill("#voucher-nick", injectedShort)
			b.press("Enter")
			b.waitText("#voucher-result", "cannot be redeemed")
			b.wantNothingInjected()
			b.enterCode("SPRING")
			b.click("#voucher-result .primary")
			b.waitText("#voucher-result", injected)
			b.wantNothingInjected()

			b.click(".buy")
			b.waitText("#purchase-title", injected)
			b.enter("/strict", injected)
			b.enter("/list", injected)
			b.fill("#checkout [name=nick]", injectedShort)
			b.click("#checkout .primary")
			b.waitText("#checkout .error", "does not accept")
			b.wantNothingInjected()
			b.enter("/strict", "")
			b.fill("#checkout [name=code]", injected)
			b.click("#checkout .primary")
			b.waitText("#checkout .error", "no discount")
			b.fill("#checkout [name=code]", "TEN")
			b.click("#checkout .primary")
			b.waitText("#purchase .how", injected)
			b.waitText("#purchase .summary", injected)
			b.wantNothingInjected()
		})
	}
}
