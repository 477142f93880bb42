package storefront

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

// Page is one HTML page of a shop. Set its fields, call Product and Add for each product, and then HTML.
type Page struct {
	Profile  catalog.Profile
	At       time.Time // decides which sales are in force
	Language string    // one of Languages
	Chosen   bool      // whether the shopper chose the language; otherwise the browser's settings chose it
	// Redeems and Sells say whether shoppers may redeem vouchers and check out on the page.
	Redeems, Sells bool
	// PaymentURL is a template like catalog.Page.PaymentURL; empty: no button to pay.
	PaymentURL string
	Next       string // the cursor of the next page; empty: this page is the last

	sections []*section // by category, in the order of their first product
}

// section holds the products of one category.
type section struct {
	category string // empty: products without a category
	products strings.Builder
}

// markup builds HTML.
type markup struct{ text strings.Builder }

// put appends HTML, with each %s replaced by an escaped value.
func (m *markup) put(template string, values ...string) {
	for _, value := range values {
		before, after, _ := strings.Cut(template, "%s")
		m.text.WriteString(before)
		m.escape(value)
		template = after
	}
	m.text.WriteString(template)
}

// escape appends a text, escaped like html.EscapeString. Package html is not used: the linker drops package storefront
// from functions without pages, but would keep html's 70 kB table of entities in every function.
func (m *markup) escape(text string) {
	for i := range len(text) {
		switch text[i] {
		case '&':
			m.text.WriteString("&amp;")
		case '<':
			m.text.WriteString("&lt;")
		case '>':
			m.text.WriteString("&gt;")
		case '"':
			m.text.WriteString("&#34;")
		case '\'':
			m.text.WriteString("&#39;")
		default:
			m.text.WriteByte(text[i])
		}
	}
}

// Product returns the HTML of a product, so that the caller can check its size before adding it to the page with Add.
// All variants of the product must be on sale.
func (p *Page) Product(site *Site, product catalog.Product) (string, error) {
	words, err := site.texts[p.Language]()
	if err != nil {
		return "", err
	}
	var m markup
	m.put(`<article class="product" data-product="%s" data-nick-from="%s">`, string(product.ID), product.NickFrom)
	if product.Image != "" {
		m.put(`<img class="picture" src="%s" alt="" width="400" height="300" loading="lazy" decoding="async">`,
			product.Image)
	} else {
		m.put(`<div class="picture" aria-hidden="true">%s</div>`, firstLetter(product.Name))
	}
	m.put(`<h3 dir="auto" tabindex="-1">%s</h3>`, product.Name)
	if product.Description != "" {
		m.put(`<p class="description" dir="auto">%s</p>`, product.Description)
	}
	m.put(`<ul class="variants">`)
	for _, variant := range product.Variants {
		p.addVariant(&m, words, product, variant)
	}
	m.put("</ul></article>\n")
	return m.text.String(), nil
}

// Add puts the HTML of a product into the section of its category.
func (p *Page) Add(category, product string) { p.section(category).products.WriteString(product) }

func (p *Page) section(category string) *section {
	for _, existing := range p.sections {
		if existing.category == category {
			return existing
		}
	}
	created := &section{category: category}
	p.sections = append(p.sections, created)
	return created
}

func firstLetter(name string) string {
	for _, r := range name {
		return string(r)
	}
	return ""
}

func (p *Page) addVariant(m *markup, words texts, product catalog.Product, variant catalog.Variant) {
	m.put(`<li class="variant" data-variant="%s" data-min="%s" data-max="%s" data-schema="%s">`,
		string(variant.ID), strconv.FormatInt(variant.MinAmount, 10), strconv.FormatInt(variant.MaxAmount, 10),
		variant.DataSchema)
	m.put(`<span class="name" dir="auto">%s</span> <span class="cost">`, variant.Name)
	sale, onSale := variant.SaleAt(p.At)
	if onSale {
		m.put(`<s><span class="unseen">%s </span>`, words.byKey["originalPrice"])
		putPrice(m, "original", variant.Price)
		m.put(`</s> `)
	}
	putPrice(m, "price", variant.PriceAt(p.At))
	m.put(`</span>`)
	if onSale && !sale.Until.IsZero() {
		m.put(`<span class="until">%s <time datetime="%s">%s</time></span>`, words.byKey["saleUntil"],
			sale.Until.Format(time.RFC3339), sale.Until.Format("2006-01-02 15:04 UTC"))
	}
	if p.Sells {
		m.put(`<button class="buy" type="button" aria-label="%s">%s</button>`,
			words.byKey["buy"]+": "+product.Name+", "+variant.Name, words.byKey["buy"])
	}
	m.put(`</li>`)
}

// putPrice appends a price, such as 4.99 EUR. The script rewrites it as people write prices in the page's language.
func putPrice(m *markup, class string, price money.Money) {
	m.put(`<data class="%s" value="%s">%s</data>`, class, price.Decimal(), price.String())
}

// HTML returns the page and its Content-Security-Policy.
func (p *Page) HTML(site *Site) (page, policy string, err error) {
	words, err := site.texts[p.Language]()
	if err != nil {
		return "", "", err
	}
	accent := p.Profile.Page.Accent
	if accent == "" {
		accent = defaultAccent
	}
	style := colours(accent)
	var m markup
	m.putHead(site, p.Language, p.Profile.Name, accent, style)
	m.put("<script src=\"/assets/%s\" defer></script>\n</head>\n", site.Script.Name)
	m.put(`<body data-customer="%s" data-currency="%s" data-payment-url="%s" data-payment-text="%s">`,
		string(p.Profile.ID), string(p.Profile.Currency), p.PaymentURL, p.Profile.Page.PaymentText)
	m.put("\n<a class=\"skip\" href=\"#products\">%s</a>\n<header><h1 dir=\"auto\">", words.byKey["skip"])
	if logo := p.Profile.Page.Logo; logo != "" {
		m.put(`<img class="logo" src="%s" alt="%s" height="48">`, logo, p.Profile.Name)
	} else {
		m.put(`%s`, p.Profile.Name)
	}
	m.put("</h1></header>\n<main>\n<noscript><p class=\"note\">%s</p></noscript>\n", words.byKey["noScript"])
	m.put(`<div id="pending" aria-live="polite"></div>`)
	if p.Redeems {
		m.putVoucherForm(words)
	}
	m.put(`<div id="products">`)
	for _, s := range p.sections {
		heading := s.category
		if heading == "" {
			heading = words.byKey["onSale"]
		}
		m.put(`<section class="category" data-category="%s"><h2 dir="auto">%s</h2><div class="products">`, s.category,
			heading)
		m.text.WriteString(s.products.String())
		m.put("</div></section>\n")
	}
	if len(p.sections) == 0 {
		m.put(`<section><h2>%s</h2><p>%s</p></section>`, words.byKey["onSale"], words.byKey["nothingOnSale"])
	}
	m.put(`</div>`)
	if p.Next != "" {
		m.put(`<p class="center"><a id="more" class="button" rel="next" href="%s">%s</a></p>`,
			p.link(p.Language, p.Next), words.byKey["more"])
	}
	m.put("\n</main>\n")
	if p.Sells {
		m.put(`<dialog id="purchase" aria-labelledby="purchase-title"></dialog>`)
	}
	p.putFooter(&m, words)
	m.put(`<script type="application/json" id="texts">`)
	m.text.WriteString(words.json) // a test checks that the texts have no <, which could end the script element
	m.put("</script>\n</body>\n</html>\n")
	return m.text.String(), contentSecurityPolicy(style), nil
}

// Apology returns an HTML page for a failed request, and its Content-Security-Policy. If isUnknown is set, the page
// says that the shop does not exist. If not, it says that the service failed.
func (s *Site) Apology(language string, isUnknown bool) (page, policy string, err error) {
	words, err := s.texts[language]()
	if err != nil {
		return "", "", err
	}
	title, explanation := words.byKey["unavailableTitle"], words.byKey["unavailable"]
	if isUnknown {
		title, explanation = words.byKey["notFoundTitle"], words.byKey["notFound"]
	}
	style := colours(defaultAccent)
	var m markup
	m.putHead(s, language, title, defaultAccent, style)
	m.put("</head>\n<body>\n<main class=\"apology\"><h1>%s</h1><p>%s</p></main>\n</body>\n</html>\n", title,
		explanation)
	return m.text.String(), contentSecurityPolicy(style), nil
}

// putHead appends the head, except its end tag. The icon is a square in the accent colour. Without an icon, a browser
// would request /favicon.ico.
func (m *markup) putHead(site *Site, language, title, accent, style string) {
	m.put("<!DOCTYPE html>\n<html lang=\"%s\" dir=\"ltr\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n",
		language, title)
	m.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"%s\">\n",
		"data:image/svg+xml,"+url.PathEscape(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect `+
			`width="8" height="8" rx="2" fill="`+accent+`"/></svg>`))
	m.put("<link rel=\"stylesheet\" href=\"/assets/%s\">\n<style>", site.Stylesheet.Name)
	m.text.WriteString(style)
	m.put("</style>\n")
}

// putVoucherForm appends the form to redeem a code. The stylesheet hides it from browsers without JavaScript.
func (m *markup) putVoucherForm(words texts) {
	m.put(`<section id="redeem"><h2>%s</h2><form id="voucher" novalidate>`, words.byKey["redeemTitle"])
	m.put(`<p class="field"><label for="voucher-code">%s</label><input id="voucher-code" name="code" required `+
		`maxlength="80" autocomplete="off" autocapitalize="characters" spellcheck="false" `+
		`aria-describedby="voucher-code-error"><span class="error" id="voucher-code-error"></span></p>`,
		words.byKey["code"])
	m.put(`<p class="field"><label for="voucher-nick">%s</label><input id="voucher-nick" name="nick" `+
		`maxlength="128" autocomplete="nickname" spellcheck="false"></p>`,
		words.byKey["nick"])
	m.put(`<p class="field"><button>%s</button></p></form><div id="voucher-result" tabindex="-1"></div></section>`,
		words.byKey["check"])
}

func (p *Page) putFooter(m *markup, words texts) {
	m.put("\n<footer>")
	for _, link := range []struct {
		catalog.Link

		word string
	}{{p.Profile.Page.Imprint, words.byKey["imprint"]}, {p.Profile.Page.Privacy, words.byKey["privacy"]}} {
		if link.URL == "" {
			continue
		}
		if link.Text == "" {
			link.Text = link.word
		}
		m.put(`<a href="%s" dir="auto">%s</a> `, link.URL, link.Text)
	}
	m.put(`<nav aria-label="%s">`, words.byKey["language"])
	for _, language := range Languages() {
		if language == p.Language {
			m.put(`<span aria-current="true">%s</span> `, autonym(language))
		} else {
			m.put(`<a href="%s" lang="%s" hreflang="%s">%s</a> `, p.link(language, ""), language, language,
				autonym(language))
		}
	}
	m.put("</nav></footer>\n")
}

// link returns the link from this page to a page of the same shop. It names the language only if the shopper has chosen
// one, or chooses another one with this link.
func (p *Page) link(language, cursor string) string {
	query := url.Values{}
	if p.Chosen || language != p.Language {
		query.Set("lang", language)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return "?" + query.Encode()
}

// autonym returns the name of a language in that language.
func autonym(language string) string {
	switch language {
	case "de":
		return "Deutsch"
	case "fr":
		return "Français"
	case "es":
		return "Español"
	case "ja":
		return "日本語"
	default:
		return "English"
	}
}
