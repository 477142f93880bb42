package storefront_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
	"shopfront/pkg/storefront"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func euro(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }

// emberforge returns a page of Emberforge without products.
func emberforge() *storefront.Page {
	return &storefront.Page{
		Profile: catalog.Profile{ID: "emberforge", Name: "Emberforge", Currency: "EUR"},
		At:      noon(), Language: "en", Redeems: true, Sells: true,
	}
}

func coins() catalog.Product {
	return catalog.Product{ID: "coins", Name: "Coins", Variants: []catalog.Variant{
		{
			ID: "500", Name: "500 coins", Price: euro(499), MinAmount: 2, MaxAmount: 64,
			DataSchema: `{"type":"object","title":"<b>"}`,
		},
	}}
}

// show adds products to a page, and returns the page's HTML and policy.
func show(t *testing.T, page *storefront.Page, products ...catalog.Product) (text, policy string) {
	t.Helper()
	site := storefront.NewSite()
	for _, product := range products {
		markup, err := page.Product(site, product)
		if err != nil {
			t.Fatal(err)
		}
		page.Add(product.Category, markup)
	}
	text, policy, err := page.HTML(site)
	if err != nil {
		t.Fatal(err)
	}
	return text, policy
}

// document is a parsed page.
type document struct{ *html.Node }

// parse parses a page as a browser without JavaScript does. Each ID must be unique.
func parse(t *testing.T, text string) document {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for node := range root.Descendants() {
		if id := attribute(node, "id"); id != "" {
			if seen[id] {
				t.Errorf("the id %q is not unique", id)
			}
			seen[id] = true
		}
	}
	return document{root}
}

// parsed adds products to a page, and returns the parsed page.
func parsed(t *testing.T, page *storefront.Page, products ...catalog.Product) document {
	t.Helper()
	text, _ := show(t, page, products...)
	return parse(t, text)
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(node *html.Node, name string) bool {
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// all returns the elements with a tag, a class (.buy) or an ID (#redeem).
func (d document) all(selector string) (found []*html.Node) {
	for node := range d.Descendants() {
		name, is := node.Data, node.Type == html.ElementNode
		switch {
		case strings.HasPrefix(selector, "."):
			name = "." + attribute(node, "class")
		case strings.HasPrefix(selector, "#"):
			name = "#" + attribute(node, "id")
		}
		if is && name == selector {
			found = append(found, node)
		}
	}
	return found
}

// one returns the only element that matches a selector.
func (d document) one(t *testing.T, selector string) *html.Node {
	t.Helper()
	found := d.all(selector)
	if len(found) != 1 {
		t.Fatalf("%d elements %s, want 1", len(found), selector)
	}
	return found[0]
}

func textOf(node *html.Node) string {
	var text strings.Builder
	for inner := range node.Descendants() {
		if inner.Type == html.TextNode {
			text.WriteString(inner.Data)
		}
	}
	return text.String()
}

// shape lists the elements, each with the names of its attributes.
func (d document) shape() (shape []string) {
	for node := range d.Descendants() {
		if node.Type == html.TextNode || node.Type == html.DocumentNode {
			continue
		}
		names := node.Data
		for _, a := range node.Attr {
			names += " " + a.Key
		}
		shape = append(shape, names)
	}
	return shape
}

// texts returns the catalogue's texts on the page, by the place where they are shown.
func (d document) texts(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"title": textOf(d.one(t, "title")), "category": textOf(d.all("h2")[1]), "product": textOf(d.one(t, "h3")),
		"description": textOf(d.one(t, ".description")), "variant": textOf(d.one(t, ".name")),
		"logo": attribute(d.one(t, ".logo"), "alt"), "schema": attribute(d.one(t, ".variant"), "data-schema"),
		"how to pay": attribute(d.one(t, "body"), "data-payment-text"),
	}
}

// everywhere returns a page and a product that have the text in every field that can hold one.
func everywhere(text string) (*storefront.Page, catalog.Product) {
	page := emberforge()
	link := catalog.Link{URL: "https://emberforge.example/?" + text, Text: text}
	page.Profile.Name = text
	page.Profile.Page = catalog.Page{
		Accent: "#c2410c", Logo: "https://cdn.example/" + text, Imprint: link,
		Privacy: link, PaymentText: text,
	}
	page.PaymentURL, page.Next = "https://pay.emberforge.example/"+text, text
	product := coins()
	product.Name, product.Description, product.Category, product.Image = text, text, text, "https://cdn.example/"+text
	product.Variants[0].Name, product.Variants[0].DataSchema = text, text
	return page, product
}

func TestHTML_TextsOfTheCatalogue_AddNoMarkup(t *testing.T) {
	plain, product := everywhere("Coins")
	want := parsed(t, plain, product).shape()
	for _, text := range []string{
		`"><script>alert(1)</script>'`, `'><img src=x onerror=alert(1)>`, `</title></style></script></noscript><!--`,
		` onclick=alert(1) x="`,
		"`${alert(1)}`", `%s %[1]s {product}`, `&lt;b&gt; &amp; &#34;`, "桜の扇子", "حبر الملوك",
	} {
		page, product := everywhere(text)
		source, _ := show(t, page, product)
		if strings.Contains(source, "<script>") || strings.Contains(source, "<img src=x") ||
			strings.Contains(source, "<!--") {
			t.Errorf("%s is unescaped in the source: %s", text, source)
		}
		shown := parse(t, source)
		if got := shown.shape(); !slices.Equal(got, want) {
			t.Errorf("%s: got the elements\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
			continue
		}
		for place, got := range shown.texts(t) {
			if got != text {
				t.Errorf("%s is %q, want %q", place, got, text)
			}
		}
	}
}

func TestHTML_EveryTextOfTheCatalogue_HasItsOwnDirection(t *testing.T) {
	const text = "حبر الملوك"
	page, product := everywhere(text)
	page.Profile.Page.Logo = "" // so the page shows the name as text
	shown := 0
	for node := range parsed(t, page, product).Descendants() {
		if node.Type != html.TextNode || node.Parent.Data == "title" || !strings.Contains(node.Data, text) {
			continue
		}
		if shown++; attribute(node.Parent, "dir") != "auto" {
			t.Errorf("%s %v has no dir=auto", node.Parent.Data, node.Parent.Attr)
		}
	}
	if shown != 7 { // the shop, the category, the product, its description, its variant, two links
		t.Errorf("the page has the text %d times, want 7 times", shown)
	}
}

func TestHTML_ContentSecurityPolicy_AllowsNoOtherInlineCode(t *testing.T) {
	page, product := everywhere("Coins")
	shop, shopPolicy := show(t, page, product)
	apology, apologyPolicy, err := storefront.NewSite().Apology("de", true)
	if err != nil {
		t.Fatal(err)
	}
	for text, policy := range map[string]string{shop: shopPolicy, apology: apologyPolicy} {
		shown := parse(t, text)
		sum := sha256.Sum256([]byte(textOf(shown.one(t, "style"))))
		if want := "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src https: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"; policy != want {
			t.Errorf("got  %s\nwant %s", policy, want)
		}
		for node := range shown.Descendants() {
			for _, a := range node.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("the policy forbids %s=%q", a.Key, a.Val)
				}
			}
			if isInline := node.Data == "script" && !has(node, "src"); isInline &&
				attribute(node, "type") != "application/json" {
				t.Error("the policy forbids an inline script")
			}
		}
	}
}

func TestHTML_Head_NamesTheAssetsAndTheIcon(t *testing.T) {
	page, site := emberforge(), storefront.NewSite()
	page.Profile.Page.Accent = "#c2410c"
	shown := parsed(t, page)
	script := shown.all("script")[0]
	if attribute(script, "src") != "/assets/"+site.Script.Name || !has(script, "defer") {
		t.Errorf("the script has the wrong address or is not deferred: %v", script.Attr)
	}
	links := make(map[string]string)
	for _, link := range shown.all("link") {
		links[attribute(link, "rel")] = attribute(link, "href")
	}
	icon, err := url.PathUnescape(links["icon"])
	if err != nil || !strings.HasPrefix(icon, "data:image/svg+xml,<svg ") || !strings.Contains(icon, `fill="#c2410c"`) {
		t.Errorf("the icon is %s, %v, want an SVG in the accent colour", icon, err)
	}
	if links["stylesheet"] != "/assets/"+site.Stylesheet.Name {
		t.Errorf("the stylesheet is %s, want /assets/%s", links["stylesheet"], site.Stylesheet.Name)
	}
}

func TestHTML_Body_HasTheShopsDataForTheScript(t *testing.T) {
	page := emberforge()
	page.Profile.ID, page.Profile.Currency, page.Language = "sakura-goods", "JPY", "ja"
	page.Profile.Page.PaymentText, page.PaymentURL = "Transfer the total.\nName {number}.",
		"https://pay.example/?checkout={checkout}"
	shown := parsed(t, page)
	body := shown.one(t, "body")
	for name, want := range map[string]string{
		"data-customer": "sakura-goods", "data-currency": "JPY",
		"data-payment-url": page.PaymentURL, "data-payment-text": page.Profile.Page.PaymentText,
	} {
		if got := attribute(body, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	texts := make(map[string]string)
	if err := json.Unmarshal([]byte(textOf(shown.one(t, "#texts"))), &texts); err != nil ||
		texts["buy"] != textsOf(t, "ja")["buy"] {
		t.Errorf("the texts are %v, %v, want the Japanese texts", texts, err)
	}
	if root := shown.one(t, "html"); attribute(root, "lang") != "ja" || attribute(root, "dir") != "ltr" {
		t.Errorf("the root has %v, want Japanese from left to right", root.Attr)
	}
}

func TestHTML_Product_HasItsDataForTheScript(t *testing.T) {
	shown := parsed(t, emberforge(), coins())
	if got := attribute(shown.one(t, ".product"), "data-product"); got != "coins" {
		t.Errorf("data-product is %q", got)
	}
	variant := shown.one(t, ".variant")
	for name, want := range map[string]string{
		"data-variant": "500", "data-min": "2", "data-max": "64", "data-schema": `{"type":"object","title":"<b>"}`,
	} {
		if got := attribute(variant, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if buy := shown.one(t, ".buy"); textOf(buy) != "Buy" || attribute(buy, "aria-label") != "Buy: Coins, 500 coins" {
		t.Errorf("the button is %q, %v, want the product and variant in its label", textOf(buy), buy.Attr)
	}
	if picture := shown.one(t, ".picture"); textOf(picture) != "C" || !has(picture, "aria-hidden") {
		t.Errorf("the picture is %q, want a hidden C", textOf(picture))
	}
	if len(shown.all(".description"))+len(shown.all("img")) > 0 {
		t.Error("there is a description or an image, but the product has none")
	}
}

// costs lists the prices and the ends of sales that a page shows. Each entry has the tag of the parent element, and the
// class, value and text of the element itself.
func (d document) costs() (costs []string) {
	for node := range d.Descendants() {
		if node.Data == "data" || node.Data == "time" {
			value := attribute(node, "value") + attribute(node, "datetime")
			costs = append(costs, node.Parent.Data+" "+attribute(node, "class")+" "+value+" "+textOf(node))
		}
	}
	return costs
}

func TestHTML_Prices(t *testing.T) {
	const (
		regular, sale, free = "span price 4.99 4.99 EUR", "span price 3.99 3.99 EUR", "span price 0.00 0.00 EUR"
		original, until     = "s original 4.99 4.99 EUR", "span  2026-11-21T13:00:00Z 2026-11-21 13:00 UTC"
	)
	ends := noon().Add(time.Hour)
	for what, test := range map[string]struct {
		sale catalog.Sale
		want []string
	}{
		"no sale":            {catalog.Sale{}, []string{regular}},
		"an endless sale":    {catalog.Sale{Price: euro(399)}, []string{original, sale}},
		"a sale that ends":   {catalog.Sale{Price: euro(399), Until: ends}, []string{original, sale, until}},
		"a sale for nothing": {catalog.Sale{Price: euro(0), From: noon()}, []string{original, free}},
		"a sale to come":     {catalog.Sale{Price: euro(399), From: ends}, []string{regular}},
		"a sale that ended":  {catalog.Sale{Price: euro(399), Until: noon()}, []string{regular}},
	} {
		product := coins()
		product.Variants[0].Sale = test.sale
		if got := parsed(t, emberforge(), product).costs(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
}

func TestHTML_Sections_AreInTheOrderOfTheirFirstProduct(t *testing.T) {
	var products []catalog.Product
	for _, placed := range [][2]string{
		{"sword", "Gear"}, {"coins", ""}, {"vip", "Ranks"}, {"shield", "Gear"}, {"gems", ""},
	} {
		product := coins()
		product.ID, product.Category = catalog.ProductID(placed[0]), placed[1]
		products = append(products, product)
	}
	var got []string
	for _, section := range parsed(t, emberforge(), products...).all(".category") {
		inside := document{section}
		line := attribute(section, "data-category") + "/" + textOf(inside.one(t, "h2")) + ":"
		for _, product := range inside.all(".product") {
			line += " " + attribute(product, "data-product")
		}
		got = append(got, line)
	}
	want := []string{"Gear/Gear: sword shield", "/On sale: coins gems", "Ranks/Ranks: vip"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHTML_NothingOnSale_SaysSo(t *testing.T) {
	text, _ := show(t, emberforge())
	if !strings.Contains(text, textsOf(t, "en")["nothingOnSale"]) {
		t.Error("the page does not say that nothing is on sale")
	}
	if text, _ := show(t, emberforge(), coins()); strings.Contains(text, "<p>"+textsOf(t, "en")["nothingOnSale"]) {
		t.Error("the page says that nothing is on sale, but coins are")
	}
}

func TestHTML_RedeemsAndSells_DecideWhatThePageOffers(t *testing.T) {
	for what, offers := range map[string]struct{ redeems, sells bool }{
		"all": {true, true}, "vouchers only": {true, false}, "sales only": {false, true}, "nothing": {},
	} {
		page := emberforge()
		page.Redeems, page.Sells = offers.redeems, offers.sells
		shown := parsed(t, page, coins())
		if got := len(shown.all("#redeem")) + len(shown.all("#voucher")); got > 0 != offers.redeems {
			t.Errorf("%s: %d elements to redeem vouchers, want any: %t", what, got, offers.redeems)
		}
		if got := len(shown.all(".buy")) + len(shown.all("#purchase")); got > 0 != offers.sells {
			t.Errorf("%s: %d elements to buy something, want any: %t", what, got, offers.sells)
		}
		if len(shown.all(".price")) != 1 {
			t.Errorf("%s: want one price", what)
		}
	}
}

func TestHTML_Header_HasTheLogoOrTheName(t *testing.T) {
	page := emberforge()
	if got := textOf(parsed(t, page).one(t, "h1")); got != "Emberforge" {
		t.Errorf("the heading is %q, want Emberforge", got)
	}
	page.Profile.Page.Logo = "https://cdn.example/logo.png"
	logo := parsed(t, page).one(t, ".logo")
	if attribute(logo, "src") != page.Profile.Page.Logo || attribute(logo, "alt") != "Emberforge" ||
		logo.Parent.Data != "h1" {
		t.Errorf("the logo is %v, want it in the heading, with the shop's name as alt", logo.Attr)
	}
}

// links lists the links that are direct children of the only element with the given tag. Each entry has the form "text
// (address)".
func (d document) links(t *testing.T, tag string) (links []string) {
	t.Helper()
	for _, link := range (document{d.one(t, tag)}).all("a") {
		if link.Parent.Data == tag {
			links = append(links, textOf(link)+" ("+attribute(link, "href")+")")
		}
	}
	return links
}

func TestHTML_Footer_HasTheLinksOfTheShop(t *testing.T) {
	const imprint, privacy = "https://emberforge.example/imprint", "https://emberforge.example/privacy?a=1&b=2"
	none := catalog.Link{}
	for what, test := range map[string]struct {
		language         string
		imprint, privacy catalog.Link
		want             []string
	}{
		"none": {"en", none, none, nil},
		"one":  {"en", none, catalog.Link{URL: privacy}, []string{"Privacy (" + privacy + ")"}},
		"the shop's words": {
			"ja", catalog.Link{URL: imprint, Text: "About us"}, none, []string{"About us (" + imprint + ")"},
		},
		"the page's words": {
			"de",
			catalog.Link{URL: imprint},
			catalog.Link{URL: privacy},
			[]string{"Impressum (" + imprint + ")", "Datenschutz (" + privacy + ")"},
		},
	} {
		page := emberforge()
		page.Language, page.Profile.Page.Imprint, page.Profile.Page.Privacy = test.language, test.imprint,
			test.privacy
		if got := parsed(t, page).links(t, "footer"); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
}

func TestHTML_Addresses_KeepTheLanguageThatTheShopperChose(t *testing.T) {
	others := []string{"English (?lang=en)", "Français (?lang=fr)", "Español (?lang=es)", "日本語 (?lang=ja)"}
	for chosen, want := range map[bool]string{false: "?cursor=a%2Fb%26c", true: "?cursor=a%2Fb%26c&lang=de"} {
		page := emberforge()
		page.Language, page.Chosen, page.Next = "de", chosen, "a/b&c"
		shown := parsed(t, page, coins())
		more := shown.one(t, "#more")
		if attribute(more, "href") != want || attribute(more, "rel") != "next" ||
			textOf(more) != textsOf(t, "de")["more"] {
			t.Errorf("the next page is %q %v, want %q", textOf(more), more.Attr, want)
		}
		if got := shown.links(t, "nav"); !slices.Equal(got, others) {
			t.Errorf("the languages are %q, want %q", got, others)
		}
		for _, current := range (document{shown.one(t, "nav")}).all("span") {
			if textOf(current) != "Deutsch" || attribute(current, "aria-current") != "true" {
				t.Errorf("%s has %v, want only Deutsch as the current language", textOf(current), current.Attr)
			}
		}
	}
	if more := parsed(t, emberforge(), coins()).all("#more"); len(more) > 0 {
		t.Error("the last page has a link to a next page")
	}
}

func TestApology(t *testing.T) {
	site := storefront.NewSite()
	for _, language := range storefront.Languages() {
		texts := textsOf(t, language)
		for isUnknown, keys := range map[bool][2]string{
			true:  {"notFoundTitle", "notFound"},
			false: {"unavailableTitle", "unavailable"},
		} {
			text, _, err := site.Apology(language, isUnknown)
			if err != nil {
				t.Fatal(err)
			}
			shown := parse(t, text)
			title, heading, explanation := textOf(shown.one(t, "title")), textOf(shown.one(t, "h1")),
				textOf(shown.one(t, "p"))
			if title != texts[keys[0]] || heading != title || explanation != texts[keys[1]] ||
				attribute(shown.one(t, "html"), "lang") != language {
				t.Errorf("%s: the title, heading and explanation are %q, %q, %q", language, title, heading, explanation)
			}
			if len(shown.all("script")) > 0 {
				t.Errorf("%s: an apology has a script", language)
			}
		}
	}
}
