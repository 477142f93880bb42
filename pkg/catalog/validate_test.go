package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

func emberforge() catalog.Profile {
	return catalog.Profile{ID: "emberforge", Name: "Emberforge", Currency: "EUR"}
}

func euro(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }

// coins returns a product that has one variant for each price, in minor units. The price is also the variant's ID. All
// variants are on sale.
func coins(prices ...int64) catalog.Product {
	product := catalog.Product{ID: "coins", Name: "Ember coins", Description: "The coins of the realm."}
	for _, price := range prices {
		product.Variants = append(product.Variants, catalog.Variant{
			ID: catalog.VariantID(fmt.Sprint(price)), Name: fmt.Sprintf("%d coins", price), Price: euro(price),
			MinAmount: 1, MaxAmount: 10,
		})
	}
	return product
}

func TestValidate_WithinTheBounds_IsValid(t *testing.T) {
	for name, change := range map[string]func(*catalog.Shop){
		"unchanged":          func(*catalog.Shop) {},
		"no products":        func(s *catalog.Shop) { s.Products = nil },
		"a product for free": func(s *catalog.Shop) { s.Products[0].Variants[0].Price = euro(0) },
		"50 variants":        func(s *catalog.Shop) { s.Products[0] = coins(upTo(catalog.MaxVariants)...) },
		"longest name":       func(s *catalog.Shop) { s.Profile.Name = strings.Repeat("é", 64) },
		"longest description": func(s *catalog.Shop) {
			s.Products[0].Description = strings.Repeat("x",
				catalog.MaxDescriptionBytes)
		},
		"description of several lines": func(s *catalog.Shop) { s.Products[0].Description = "Coins.\n\nNot refundable.\n" },
		"longest schema": func(s *catalog.Shop) {
			s.Products[0].Variants[0].DataSchema = strings.Repeat("x", catalog.MaxDataSchemaBytes)
		},
		"nick from a required string": func(s *catalog.Shop) {
			s.Products[0].NickFrom = "player"
			s.Products[0].Variants[0].DataSchema = `{"required":["seed","player"],"properties":{"player":{"type":"string"}}}`
		},
		"widest amount": func(s *catalog.Shop) { s.Products[0].Variants[0].MaxAmount = catalog.MaxAmount },
		"a single possible amount": func(s *catalog.Shop) {
			s.Products[0].Variants[0].MinAmount, s.Products[0].Variants[0].MaxAmount = 10, 10
		},
		"highest subtotal": func(s *catalog.Shop) {
			s.Products[0].Variants[0].Price, s.Products[0].Variants[0].MaxAmount = euro(money.MaxMinor/10), 10
		},
		"every detail of a product": func(s *catalog.Shop) {
			s.Products[0].Image, s.Products[0].Category, s.Products[0].Position = "https://cdn.example/coins.png",
				"Münzen & more", 1
		},
		"longest details": func(s *catalog.Shop) {
			s.Products[0].Image = "https://cdn.example/" +
				strings.Repeat("x", catalog.MaxImageBytes-len("https://cdn.example/"))
			s.Products[0].Category, s.Products[0].Position = strings.Repeat("é", catalog.MaxCategoryBytes/2),
				catalog.MaxPosition
		},
		"image with a port, a query and escapes": func(s *catalog.Shop) {
			s.Products[0].Image = "https://[2001:db8::1]:8443/M%C3%BCnzen/coins(1).png?size=2x&v=[3]#top"
		},
		"sale without times": func(s *catalog.Shop) { s.Products[0].Variants[0].Sale.Price = euro(498) },
		"sale for free":      func(s *catalog.Shop) { s.Products[0].Variants[0].Sale.Price = euro(0) },
		"shortest sale": func(s *catalog.Shop) {
			s.Products[0].Variants[0].Sale = catalog.Sale{
				Price: euro(399), From: friday,
				Until: friday.Add(time.Millisecond),
			}
		},
		"longest sale": func(s *catalog.Shop) {
			first, last := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
			s.Products[0].Variants[0].Sale = catalog.Sale{Price: euro(399), From: first, Until: last}
		},
		"page is off": func(s *catalog.Shop) { s.Profile.Page = catalog.Page{Off: true} },
		"every field of a page": func(s *catalog.Shop) {
			s.Profile.Page = catalog.Page{
				Accent: "#c2410c", Logo: "https://cdn.example/logo.png",
				Imprint:     catalog.Link{URL: "https://emberforge.example/imprint"},
				Privacy:     catalog.Link{URL: "https://emberforge.example/privacy", Text: "Datenschutz"},
				PaymentURL:  "https://pay.emberforge.example/{checkout}/start?back={return}#top",
				PaymentText: "Transfer the total.\n\nName the number {number}.",
			}
		},
		"payment URL without the way back": func(s *catalog.Shop) {
			s.Profile.Page.PaymentURL = "https://pay.emberforge.example/?checkout={checkout}"
		},
		"longest page": func(s *catalog.Shop) { s.Profile.Page = pageOf(catalog.MaxPageBytes) },
		"everything off sale": func(s *catalog.Shop) {
			s.Profile.OffSale, s.Products[0].OffSale, s.Products[0].Variants[0].OffSale = true, true, true
		},
	} {
		shop := catalog.Shop{Profile: emberforge(), Products: []catalog.Product{coins(499)}}
		change(&shop)
		if err := shop.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// pageOf returns a page whose texts have the given number of bytes together, near MaxPageBytes.
func pageOf(bytes int) catalog.Page {
	url := func(end string, bytes int) string {
		return "https://" + strings.Repeat("x", bytes-len("https://"+end)) + end
	}
	return catalog.Page{
		Logo: url("", catalog.MaxImageBytes), PaymentURL: url("/{checkout}", catalog.MaxImageBytes),
		Imprint: catalog.Link{
			URL:  url("", catalog.MaxImageBytes),
			Text: strings.Repeat("x", catalog.MaxCategoryBytes),
		},
		PaymentText: strings.Repeat("x", catalog.MaxDescriptionBytes),
		Privacy: catalog.Link{URL: url("",
			bytes-3*catalog.MaxImageBytes-catalog.MaxCategoryBytes-catalog.MaxDescriptionBytes)},
	}
}

func upTo(n int64) []int64 {
	var numbers []int64
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

func TestValidate_BeyondABound_NamesTheField(t *testing.T) {
	variant := func(s *catalog.Shop) *catalog.Variant { return &s.Products[0].Variants[0] }
	image := func(url string) func(*catalog.Shop) { return func(s *catalog.Shop) { s.Products[0].Image = url } }
	category := func(text string) func(*catalog.Shop) { return func(s *catalog.Shop) { s.Products[0].Category = text } }
	nickFrom := func(name, schema string) func(*catalog.Shop) {
		return func(s *catalog.Shop) { s.Products[0].NickFrom, variant(s).DataSchema = name, schema }
	}
	page := func(page catalog.Page) func(*catalog.Shop) { return func(s *catalog.Shop) { s.Profile.Page = page } }
	pay := func(url string) func(*catalog.Shop) { return page(catalog.Page{PaymentURL: url}) }
	sale := func(price money.Money, from, until time.Time) func(*catalog.Shop) {
		return func(s *catalog.Shop) { variant(s).Sale = catalog.Sale{Price: price, From: from, Until: until} }
	}
	const aURL = "must be an https URL such as https://"
	const aPaymentURL = "must be an https URL such as https://pay.example/?checkout={checkout}&return={return}"
	const aTime = "must be in the years 2000 to 9999, in UTC and whole milliseconds"
	for _, test := range []struct {
		field, reason string
		change        func(*catalog.Shop)
	}{
		{"id", `".": malformed ID`, func(s *catalog.Shop) { s.Profile.ID = "." }},
		{"name", "is missing", func(s *catalog.Shop) { s.Profile.Name = " \t" }},
		{
			"name", "has 129 bytes, and at most 128 are allowed",
			func(s *catalog.Shop) { s.Profile.Name = strings.Repeat("x", 129) },
		},
		{"name", "must be one line", func(s *catalog.Shop) { s.Profile.Name = "Ember\nforge" }},
		{
			"name", "has characters that cannot be displayed",
			func(s *catalog.Shop) { s.Profile.Name = "Ember\x1b[31m" },
		},
		{"name", "has characters that cannot be displayed", func(s *catalog.Shop) { s.Profile.Name = "Ember\xff" }},
		{
			"currency", "not an ISO 4217 currency",
			func(s *catalog.Shop) { s.Profile.Currency = "EURO"; s.Products = nil },
		},

		{"page", "a page that is off cannot have other fields", page(catalog.Page{Off: true, Accent: "#c2410c"})},
		{"page", "has 3073 bytes, and at most 3072 are allowed", page(pageOf(catalog.MaxPageBytes + 1))},
		{"page.accent", `must be a colour such as "#c2410c"`, page(catalog.Page{Accent: "#C2410C"})},
		{"page.accent", `must be a colour such as "#c2410c"`, page(catalog.Page{Accent: "#c2410"})},
		{"page.accent", `must be a colour such as "#c2410c"`, page(catalog.Page{Accent: "c2410c0"})},
		{"page.accent", `must be a colour such as "#c2410c"`, page(catalog.Page{Accent: "#c2410c\n"})},
		{"page.accent", `must be a colour such as "#c2410c"`, page(catalog.Page{Accent: "#c2410g"})},
		{"page.logo", aURL, page(catalog.Page{Logo: "http://cdn.example/logo.png"})},
		{
			"page.logo", "has 513 bytes, and at most 512 are allowed",
			page(catalog.Page{Logo: "https://cdn.example/" + strings.Repeat("x", 493)}),
		},
		{"page.imprint", aURL, page(catalog.Page{Imprint: catalog.Link{URL: "javascript:alert(1)"}})},
		{"page.imprint.url", "is missing", page(catalog.Page{Imprint: catalog.Link{Text: "Imprint"}})},
		{
			"page.imprint.text", "must be one line",
			page(catalog.Page{Imprint: catalog.Link{URL: "https://emberforge.example/", Text: "Our\nimprint"}}),
		},
		{"page.privacy", aURL, page(
			catalog.Page{Privacy: catalog.Link{URL: "https://alder:secret@emberforge.example/"}},
		)},
		{
			"page.privacy.text", "has 65 bytes, and at most 64 are allowed",
			page(catalog.Page{Privacy: catalog.Link{
				URL:  "https://emberforge.example/",
				Text: strings.Repeat("x", 65),
			}}),
		},
		{"page.payment-url", aPaymentURL, pay("http://pay.example/?checkout={checkout}")},
		{"page.payment-url", aPaymentURL, pay("https://alder:secret@pay.example/?checkout={checkout}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?return={return}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?checkout={checkout}&again={checkout}")},
		{
			"page.payment-url", aPaymentURL,
			pay("https://pay.example/?checkout={checkout}&return={return}&again={return}"),
		},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?checkout={checkout}&nick={nick}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?checkout={checkout}}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?checkout={{checkout}}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?checkout={check{return}out}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?return={ret{checkout}urn}")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example/?checkout={checkout} ")},
		{"page.payment-url", aPaymentURL, pay("https://{checkout}.pay.example/")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example{checkout}/")},
		{"page.payment-url", aPaymentURL, pay("https://pay.example:{checkout}/")},
		{"page.payment-url", aPaymentURL, pay("HTTPS://pay.example{checkout}/")},
		{"page.payment-url", aPaymentURL, pay("https://{return}/?checkout={checkout}")},
		{"page.payment-url", aPaymentURL, pay("{return}://pay.example/?checkout={checkout}")},
		{
			"page.payment-url", "has 513 bytes, and at most 512 are allowed",
			pay("https://pay.example/?checkout={checkout}" + strings.Repeat("x", 473)),
		},
		{"page.payment-text", "is blank", page(catalog.Page{PaymentText: " \n"})},
		{
			"page.payment-text", "has 1025 bytes, and at most 1024 are allowed",
			page(catalog.Page{PaymentText: strings.Repeat("x", 1025)}),
		},
		{"page.payment-text", "has characters that cannot be displayed", page(catalog.Page{PaymentText: "Pay\x07"})},

		{"products[0].id", "malformed ID", func(s *catalog.Shop) { s.Products[0].ID = "" }},
		{
			"products[1].id", `product "coins" appears twice`,
			func(s *catalog.Shop) { s.Products = append(s.Products, s.Products[0]) },
		},
		{"products[0].name", "is missing", func(s *catalog.Shop) { s.Products[0].Name = "" }},
		{
			"products[0].description", "has 1025 bytes",
			func(s *catalog.Shop) { s.Products[0].Description = strings.Repeat("x", 1025) },
		},
		{
			"products[0].variants", "a product must have 1 to 50 variants, not 0",
			func(s *catalog.Shop) { s.Products[0].Variants = nil },
		},
		{
			"products[0].variants", "a product must have 1 to 50 variants, not 51",
			func(s *catalog.Shop) { s.Products[0] = coins(upTo(51)...) },
		},
		{"products[0].variants", "at most 389120 are allowed", func(s *catalog.Shop) {
			s.Products[0] = coins(upTo(catalog.MaxVariants)...)
			for i := range s.Products[0].Variants {
				s.Products[0].Variants[i].DataSchema = strings.Repeat("x", catalog.MaxDataSchemaBytes)
			}
		}},

		{
			"products[0].image", "has 513 bytes, and at most 512 are allowed",
			image("https://cdn.example/" + strings.Repeat("x", 493)),
		},
		{"products[0].image", "must be an https URL such as", image("http://cdn.example/coins.png")},
		{"products[0].image", "must be an https URL such as", image("javascript:alert(1)")},
		{"products[0].image", "must be an https URL such as", image("//cdn.example/coins.png")},
		{"products[0].image", "must be an https URL such as", image("coins.png")},
		{"products[0].image", "must be an https URL such as", image("https:///coins.png")},
		{"products[0].image", "must be an https URL such as", image("https://:443/coins.png")},
		{"products[0].image", "must be an https URL such as", image("https://alder:secret@cdn.example/coins.png")},
		{"products[0].image", "must be an https URL such as", image("https://cdn.example/gold coins.png")},
		{"products[0].image", "must be an https URL such as", image("https://cdn.example/münzen.png")},
		{"products[0].image", "must be an https URL such as", image(`https://cdn.example/coins.png?"onload="x`)},
		{"products[0].image", "must be an https URL such as", image("https://cdn.example/coins.png?'onload='x")},
		{"products[0].image", "must be an https URL such as", image("https://cdn.example/coins.png?<script>")},
		{"products[0].image", "must be an https URL such as", image("https://cdn.example/coins.png\n")},
		{"products[0].variants[0].data", "must require", nickFrom("player", ``)},
		{"products[0].variants[0].data", "must require", nickFrom("player", `{"required":["player"]}`)},
		{
			"products[0].variants[0].data", "must require",
			nickFrom("player", `{"required":["nick"],"properties":{"player":{"type":"string"}}}`),
		},
		{
			"products[0].variants[0].data", "must require",
			nickFrom("player", `{"required":["player"],"properties":{"player":{"type":["string","null"]}}}`),
		},
		{
			"products[0].variants[0].data", `must require "player" and declare it with type: string`,
			nickFrom("player", `{"required":["player"],"properties":{"player":{"$ref":"#/$defs/name"}}}`),
		},
		{"products[0].category", "is missing", category(" ")},
		{"products[0].category", "must be one line", category("Coins\nand more")},
		{"products[0].category", "has 65 bytes, and at most 64 are allowed", category(strings.Repeat("x", 65))},
		{"products[0].category", "has characters that cannot be displayed", category("Coins\x07")},
		{
			"products[0].position", "must be a whole number from 1 to 1000000",
			func(s *catalog.Shop) { s.Products[0].Position = -1 },
		},
		{
			"products[0].position", "must be a whole number from 1 to 1000000",
			func(s *catalog.Shop) { s.Products[0].Position = 1_000_001 },
		},
		{
			"products[0].variants[0].sale.price", "the sale's price must be below the variant's, 4.99 EUR",
			sale(euro(499), friday, monday),
		},
		{
			"products[0].variants[0].sale.price", "the sale's price must be below the variant's, 4.99 EUR",
			sale(euro(-1), friday, monday),
		},
		{
			"products[0].variants[0].sale.price", "USD, but the price has EUR",
			sale(money.Money{Minor: 399, Currency: "USD"}, friday, monday),
		},
		{"products[0].variants[0].sale.until", "must be after from", sale(euro(399), friday, friday)},
		{"products[0].variants[0].sale.until", "must be after from", sale(euro(399), monday, friday)},
		{"products[0].variants[0].sale.from", aTime, sale(euro(399), friday.Add(time.Microsecond), monday)},
		{
			"products[0].variants[0].sale.from", aTime,
			sale(euro(399), friday.In(time.FixedZone("Berlin", 3600)), monday),
		},
		{
			"products[0].variants[0].sale.from", aTime,
			sale(euro(399), time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC), monday),
		},
		{
			"products[0].variants[0].sale.until", aTime,
			sale(euro(399), friday, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		},

		{"products[0].variants[0].id", "malformed ID", func(s *catalog.Shop) { variant(s).ID = "5 00" }},
		{
			"products[0].variants[1].id", `variant "499" appears twice`,
			func(s *catalog.Shop) { s.Products[0] = coins(499, 499) },
		},
		{"products[0].variants[0].name", "is missing", func(s *catalog.Shop) { variant(s).Name = "" }},
		{
			"products[0].variants[0].price", "USD, but the shop has EUR",
			func(s *catalog.Shop) { variant(s).Price.Currency = "USD" },
		},
		{"products[0].variants[0].price", "negative", func(s *catalog.Shop) { variant(s).Price.Minor = -1 }},
		{
			"products[0].variants[0].amount", "too large",
			func(s *catalog.Shop) { variant(s).Price = euro(money.MaxMinor/10 + 1) },
		},
		{"products[0].variants[0].amount", "bounds 0 to 10", func(s *catalog.Shop) { variant(s).MinAmount = 0 }},
		{"products[0].variants[0].amount", "bounds 11 to 10", func(s *catalog.Shop) { variant(s).MinAmount = 11 }},
		{
			"products[0].variants[0].amount", "bounds 1 to 1000001",
			func(s *catalog.Shop) { variant(s).MaxAmount = catalog.MaxAmount + 1 },
		},
		{
			"products[0].variants[0].data", "the schema has 8193 bytes",
			func(s *catalog.Shop) { variant(s).DataSchema = strings.Repeat("x", 8193) },
		},
	} {
		shop := catalog.Shop{Profile: emberforge(), Products: []catalog.Product{coins(499)}}
		test.change(&shop)
		found, ok := errors.AsType[catalog.FieldErrors](shop.Validate())
		if !ok || !slices.ContainsFunc(found, func(e *catalog.FieldError) bool {
			return e.Field == test.field && strings.Contains(e.Err.Error(), test.reason)
		}) {
			t.Errorf("got %v, want %s: %s", found, test.field, test.reason)
		}
	}
}

func TestValidate_SeveralFaults_AreAllReported(t *testing.T) {
	shop := catalog.Shop{Profile: emberforge(), Products: []catalog.Product{coins(499), coins(999)}}
	shop.Profile.Name = ""
	shop.Products[0].Name = ""
	shop.Products[1].Variants[0].Price.Currency = "JPY"
	err := shop.Validate()
	const want = `name: is missing
products[0].name: is missing
products[1].variants[0].price: amounts of money have different currencies: JPY, but the shop has EUR
products[1].id: product "coins" appears twice`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if !errors.Is(err, money.ErrMixedCurrencies) {
		t.Error("errors.Is does not find ErrMixedCurrencies")
	}
}

func TestValidate_ShopAndProduct_AreValidatedSeparately(t *testing.T) {
	if err := emberforge().Validate(); err != nil {
		t.Error(err)
	}
	if err := coins(499).Validate("EUR"); err != nil {
		t.Error(err)
	}
	if err := coins(499).Validate("JPY"); !errors.Is(err, money.ErrMixedCurrencies) {
		t.Errorf("got %v, want ErrMixedCurrencies", err)
	}
}
