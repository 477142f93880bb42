package catalogfile_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/money"
)

const small = `shops:
  - id: emberforge
    name: Emberforge
    currency: EUR
    products:
      - id: coins
        name: Ember coins
        variants:
          - id: 500
            name: 500 coins
            price: 4.99
`

func TestParse_ReadsEveryFieldAsWritten(t *testing.T) {
	const file = `
# The shop of a game community.
shops:
  - currency: BHD   # in any order
    time-zone: Asia/Bahrain # three hours ahead of UTC
    off-sale: true
    products:
      - id: vip-rank
        name: "VIP rank"
        description: |
          For a month,
          or forever.
        image: https://cdn.example/vip.png
        category: 007
        position: 1000000
        off-sale: false
        variants:
          - {id: 007, name: 'No. 7', price: 0.499, amount: {min: 2, max: 10}}
          - id: 2027-01-31
            name: true
            price: "12"
            sale: {price: 0, until: 2026-12-01T00:00:00+01:00}
            amount: {max: 3}
            data: &player
              type: object
              required: [player]
              properties: {player: {type: string, minLength: 3}, seed: {maximum: 123456789012345678901234567890, minimum: -1e400}}
            off-sale: true
      - id: coins
        name: Coins
        variants:
          - {id: 1e3, name: Thousand, price: 5, data: *player, sale: {price: "4.5", from: 2026-11-27, until: 2026-11-27}}
    name: Emberforge
    id: emberforge
---
shops:
  - {id: sakura-goods, name: 桜 Goods, currency: JPY}
`
	schema := `{"type":"object","required":["player"],"properties":{"player":{"type":"string","minLength":3},` +
		`"seed":{"maximum":123456789012345678901234567890,"minimum":-1e400}}}`
	bhd := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "BHD"} }
	want := []catalog.Shop{
		{
			Profile: catalog.Profile{ID: "emberforge", Name: "Emberforge", Currency: "BHD", OffSale: true, TimeZone: "Asia/Bahrain"},
			Products: []catalog.Product{
				{ID: "coins", Name: "Coins", Variants: []catalog.Variant{
					{
						ID: "1e3", Name: "Thousand", Price: bhd(5000), MinAmount: 1, MaxAmount: 1, DataSchema: schema,
						Sale: catalog.Sale{
							Price: bhd(4500), From: time.Date(2026, 11, 26, 21, 0, 0, 0, time.UTC),
							Until: time.Date(2026, 11, 27, 21, 0, 0, 0, time.UTC),
						},
					},
				}},
				{
					ID: "vip-rank", Name: "VIP rank", Description: "For a month,\nor forever.\n",
					Image:    "https://cdn.example/vip.png",
					Category: "007", Position: catalog.MaxPosition, Variants: []catalog.Variant{
						{ID: "007", Name: "No. 7", Price: bhd(499), MinAmount: 2, MaxAmount: 10},
						{
							ID: "2027-01-31", Name: "true", Price: bhd(12000), MinAmount: 1, MaxAmount: 3,
							DataSchema: schema, OffSale: true,
							Sale: catalog.Sale{Price: bhd(0), Until: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)},
						},
					},
				},
			},
		},
		{Profile: catalog.Profile{ID: "sakura-goods", Name: "桜 Goods", Currency: "JPY"}},
	}
	if got := parsed(t, file); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestParse_ReturnsThePlaceOfEachShop(t *testing.T) {
	shops, err := catalogfile.Parse(
		catalogfile.File{Name: "a.yaml", Text: []byte(small)},
		catalogfile.File{
			Name: "b.yaml",
			Text: []byte("---\n\n---\nshops:\n- {id: sakura-goods, name: Sakura, currency: JPY}\n"),
		},
	)
	if err != nil || len(shops) != 2 || shops[0].Place.String() != "a.yaml:2" || shops[1].Place.String() != "b.yaml:5" {
		t.Errorf("got %+v, %v", shops, err)
	}
}

// in adds lines to a shop, a product or a variant of small.
func in(where string, lines ...string) string {
	anchor := map[string]string{
		"shop": "    currency: EUR\n", "product": "        name: Ember coins\n",
		"variant": "            price: 4.99\n",
	}[where]
	indent := anchor[:len(anchor)-len(strings.TrimLeft(anchor, " "))]
	return strings.Replace(small, anchor, anchor+indent+strings.Join(lines, "\n"+indent)+"\n", 1)
}

func without(line string) string { return strings.Replace(small, line, "", 1) }

func TestParse_Fault_IsReportedWithItsLine(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "shop.yaml:1: no shops: begin the file with the key shops and a list of shops"},
		{
			"no shops", "shops: []\n",
			"shop.yaml:1: no shops: begin the file with the key shops and a list of shops",
		},
		{"a list", "- id: emberforge\n", `shop.yaml:1: the file: must be a mapping (key: value), not a list`},
		{"a word", "\nemberforge\n", `shop.yaml:2: the file: must be a mapping (key: value), not "emberforge"`},
		{
			"shops by ID", "shops:\n  emberforge: {}\n",
			"shop.yaml:2: shops: must be a list (lines that begin with -), not a mapping",
		},
		{
			"shop is a word", "shops:\n  - emberforge\n",
			`shop.yaml:2: item 1 of shops: must be a mapping (key: value), not "emberforge"`,
		},
		{
			"shop is empty", "shops:\n  -\n",
			`shop.yaml:2: item 1 of shops: must be a mapping (key: value), not nothing`,
		},

		{"unknown key", "customers: []\n" + small, `shop.yaml:1: customers: unknown key: the keys here are shops`},
		{
			"unknown key of a shop", in("shop", "webhook: none"),
			`shop.yaml:5: webhook: unknown key: the keys here are access, currency, id, name, off-sale, page, ` +
				`products, redemptions, refusals, time-zone, vouchers`,
		},
		{
			"unknown time zone", in("shop", "time-zone: Europe/Emberforge"),
			`shop.yaml:5: time-zone: must be the name of an IANA time zone such as Europe/Berlin, not "Europe/Emberforge"`,
		},
		{
			"nick from data that the variant does not require", in("product", "nick-from: player"),
			`shop.yaml:10: data: must require "player" and declare it with type: string, because the product's nick-from names it`,
		},
		{
			"unknown key of a variant", in("variant", "Price: 4.99"),
			`shop.yaml:12: "Price": unknown key: the keys here are amount, data, id, name, off-sale, price, sale`,
		},
		{"key twice", in("variant", "price: 5.99"), `shop.yaml:12: "price" is already on line 11: keep one of them`},
		{
			"key twice, once in quotes", in("variant", `"price": 5.99`),
			`shop.yaml:12: "price" is already on line 11: keep one of them`,
		},
		{"key is a list", in("variant", "[a, b]: 1"), `shop.yaml:12: a key must be a plain word, not a list`},
		{
			"merge key", in("variant", "<<: {off-sale: true}"),
			`shop.yaml:12: << is not supported: write the members out`,
		},

		{"no ID", without("id: emberforge\n    "), "shop.yaml:2: id: is missing"},
		{"no name", without("    name: Emberforge\n"), "shop.yaml:2: name: is missing"},
		{"no currency", without("    currency: EUR\n"), "shop.yaml:2: currency: is missing"},
		{"no variants", strings.Split(small, "        variants:")[0], "shop.yaml:6: variants: is missing"},
		{
			"empty variants", strings.Split(small, "        variants:")[0] + "        variants: []\n",
			"shop.yaml:8: variants: a product must have 1 to 50 variants, not 0",
		},
		{
			"variants are a word", strings.Split(small, "        variants:")[0] + "        variants: many\n",
			`shop.yaml:8: variants: must be a list (lines that begin with -), not "many"`,
		},
		{"no price", without("            price: 4.99\n"), "shop.yaml:9: price: is missing"},
		{
			"key without value", in("product", "description:"),
			"shop.yaml:8: description: is empty: give it a value, in quotes if it begins with #, or leave it out",
		},
		{"empty name", strings.Replace(small, "Ember coins", "''", 1), "shop.yaml:7: name: is missing"},

		{
			"malformed ID", strings.Replace(small, "id: coins", "id: coins/gold", 1),
			`shop.yaml:6: id: "coins/gold": malformed ID: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or ` +
				`digit`,
		},
		{
			"ID is a list", strings.Replace(small, "id: coins", "id: [coins]", 1),
			`shop.yaml:6: id: must be one value, not a list`,
		},
		{
			"name too long", strings.Replace(small, "500 coins", strings.Repeat("x", 129), 1),
			`shop.yaml:10: name: has 129 bytes, and at most 128 are allowed`,
		},
		{
			"unknown currency", strings.Replace(small, "EUR", "EURO", 1),
			`shop.yaml:4: currency: "EURO" is not an ISO 4217 currency: write a code such as EUR`,
		},
		{
			"product twice", small + "      - {id: coins, name: Coins, variants: [{id: 1, name: One, price: 1}]}\n",
			`shop.yaml:12: id: product "coins" is already on line 6: write it once`,
		},
		{
			"variant twice", small + "          - {id: '500', name: Again, price: 1}\n",
			`shop.yaml:12: id: variant "500" is already on line 9: write it once`,
		},
		{
			"shop twice", small + "  - {id: emberforge, name: Again, currency: EUR}\n",
			`shop.yaml:12: shop "emberforge" is already in shop.yaml:2: write it in one place only`,
		},

		{
			"price with a comma", strings.Replace(small, "4.99", "4,99", 1),
			`shop.yaml:11: price: "4,99" is not an amount of EUR: write it like 4.99`,
		},
		{
			"price in yen with digits", strings.Replace(small, "EUR", "JPY", 1),
			`shop.yaml:11: price: "4.99" is not an amount of JPY: write it like 499`,
		},

		{
			"amount is a number", in("variant", "amount: 5"),
			`shop.yaml:12: amount: must be a mapping (key: value), not "5"`,
		},
		{"amount without a maximum", in("variant", "amount: {min: 5}"), `shop.yaml:12: max: is missing`},
		{
			"amount from zero", in("variant", "amount: {min: 0, max: 5}"),
			`shop.yaml:12: amount: bounds 0 to 5: they must be whole numbers from 1 to 1000000, and the lower must ` +
				`not exceed the upper`,
		},
		{
			"amount is not whole", in("variant", "amount:", "  min: 1", "  max: 5.5"),
			`shop.yaml:14: max: must be a whole number from 1 to 1000000, not "5.5"`,
		},
		{
			"amount that costs too much",
			strings.Replace(in("variant", "amount: {max: 1000}"), "4.99", "90071992547409.00", 1),
			`shop.yaml:12: amount: 1000 times the price: amount of money is too large`,
		},

		{
			"access is a word", in("shop", "access: server"),
			`shop.yaml:5: access: must be a mapping (key: value), not "server"`,
		},
		{
			"unknown policy", in("shop", "access:", "  redeem: anyone", "  check-out: nobody"),
			`shop.yaml:7: check-out: must be anyone or server, not "nobody"`,
		},
		{
			"refusals are another word", in("shop", "refusals: none"),
			`shop.yaml:5: refusals: must be off, or a mapping such as {limit: 100, per: 10m}, not "none"`,
		},
		{"refusals without a window", in("shop", "refusals: {limit: 100}"), "shop.yaml:5: per: is missing"},
		{
			"no refusals allowed", in("shop", "refusals: {limit: 0, per: 10m}"),
			`shop.yaml:5: limit: must be a whole number from 1 to 1000000, not "0"`,
		},
		{
			"window without a unit", in("shop", "refusals:", "  limit: 100", "  per: 600"),
			`shop.yaml:7: per: must be a duration from 1s to 24h, such as 10m or 1h30m, not "600"`,
		},
		{
			"window of zero", in("shop", "refusals: {limit: 100, per: 0s}"),
			`shop.yaml:5: per: must be a duration from 1s to 24h, such as 10m or 1h30m, not "0s"`,
		},
		{
			"window too long", in("shop", "refusals: {limit: 100, per: 25h}"),
			`shop.yaml:5: per: must be a duration from 1s to 24h, such as 10m or 1h30m, not "25h"`,
		},
		{
			"window is not whole", in("shop", "refusals: {limit: 100, per: 1.5s}"),
			`shop.yaml:5: per: must be a duration from 1s to 24h, such as 10m or 1h30m, not "1.5s"`,
		},

		{
			"page is another word", in("shop", "page: none"),
			`shop.yaml:5: page: must be off, or a mapping such as {accent: "#c2410c"}, not "none"`,
		},
		{
			"accent is a word", in("shop", "page:", "  accent: red"),
			`shop.yaml:6: accent: must be a colour such as "#c2410c"`,
		},
		{
			"accent without quotes is a comment", in("shop", "page:", "  accent: #c2410c"),
			`shop.yaml:6: accent: is empty: give it a value, in quotes if it begins with #, or leave it out`,
		},
		{
			"logo that is not an https URL", in("shop", "page:", "  logo: logo.png"),
			`shop.yaml:6: logo: must be an https URL such as https://cdn.example/logo.png; percent-encode special ` +
				`characters`,
		},
		{
			"link that is not an https URL", in("shop", "page:", "  imprint: /imprint"),
			`shop.yaml:6: imprint: must be an https URL such as https://shop.example/imprint; percent-encode ` +
				`special characters`,
		},
		{"link without a URL", in("shop", "page:", "  privacy: {text: Privacy}"), `shop.yaml:6: url: is missing`},
		{"link with a long text", in("shop", "page:", "  privacy:", "    url: https://shop.example",
			"    text: "+strings.Repeat("x", 65)), `shop.yaml:8: text: has 65 bytes, and at most 64 are allowed`},
		{
			"payment page without the checkout",
			in("shop", "page:", "  accent: '#c2410c'", "  payment-url: https://pay.example/"),
			`shop.yaml:7: payment-url: must be an https URL such as ` +
				`https://pay.example/?checkout={checkout}&return={return}, with {checkout} once and {return} at ` +
				`most once, both after the host; percent-encode special characters`,
		},
		{
			"payment text is too long", in("shop", "page:", "  payment-text: "+strings.Repeat("x", 1025)),
			`shop.yaml:6: payment-text: has 1025 bytes, and at most 1024 are allowed`,
		},

		{
			"image that is not an https URL", in("product", "image: http://cdn.example/coins.png"),
			`shop.yaml:8: image: must be an https URL such as https://cdn.example/coins.png; percent-encode ` +
				`special characters`,
		},
		{
			"category of two lines", in("product", `category: "Coins\nand more"`),
			`shop.yaml:8: category: must be one line`,
		},
		{
			"position of zero", in("product", "position: 0"),
			`shop.yaml:8: position: must be a whole number from 1 to 1000000, not "0"`,
		},
		{
			"position too high", in("product", "position: 1000001"),
			`shop.yaml:8: position: must be a whole number from 1 to 1000000`,
		},
		{
			"sale is a price", in("variant", "sale: 3.99"),
			`shop.yaml:12: sale: must be a mapping (key: value), not "3.99"`,
		},
		{"sale without a price", in("variant", "sale: {until: 2026-12-01}"), `shop.yaml:12: price: is missing`},
		{
			"sale at the price", in("variant", "sale:", "  until: 2026-12-01", "  price: 4.99"),
			`shop.yaml:14: price: the sale's price must be below the variant's, 4.99 EUR`,
		},
		{
			"sale that ends before it begins",
			in("variant", "sale:", "  price: 3.99", "  from: 2026-12-01", "  until: 2026-11-27"),
			`shop.yaml:15: until: must be after from`,
		},
		{
			"sale from a word", in("variant", "sale: {price: 3.99, from: soon}"),
			`shop.yaml:12: from: "soon": must be a time such as 2026-12-24T18:00:00Z, or a date such as 2026-12-24`,
		},
		{
			"sale of a variant without a valid price",
			strings.Replace(in("variant", "sale: {price: 3.99}"), "4.99", "4,99", 1),
			`shop.yaml:11: price: "4,99" is not an amount of EUR: write it like 4.99`,
		},
		{
			"sale in a shop without a valid currency",
			strings.Replace(in("variant", "sale: {price: 3.99}"), "EUR", "EURO", 1),
			`shop.yaml:4: currency: "EURO" is not an ISO 4217 currency: write a code such as EUR`,
		},

		{
			"off sale is a word", in("variant", "off-sale: yes"),
			`shop.yaml:12: off-sale: must be true or false, not "yes"`,
		},

		{
			"data is a word", in("variant", "data: player"),
			`shop.yaml:12: data: must be a mapping (key: value), not "player"`,
		},
		{
			"data without type", in("variant", "data:", "  required: [player]"),
			`shop.yaml:12: data: /type must be "object"`,
		},
		{"data with a wrong type", in("variant", "data:", "  type: object", "  properties:", "    player:",
			"      type: text"), `shop.yaml:16: data: /properties/player/type must be one of null, boolean, number, integer, string, array, ` +
			`object, or a list of them`},
		{
			"data with a wrong item", in("variant", "data:", "  type: object", "  required:", "    - player",
				"    - 7"),
			`shop.yaml:16: data: /required/1 must be a string`,
		},
		{
			"data with a misspelt keyword", in("variant", "data:", "  type: object", "  requird: [player]"),
			`shop.yaml:14: data: /requird is not a keyword of data schemas: correct its name, or begin it with x-`,
		},
		{
			"data that requires a misspelt name",
			in("variant", "data:", "  type: object", "  properties: {player: true}", "  required:", "    - playr"),
			`shop.yaml:16: data: /required/0 is "playr", which no property is called: correct the name, or declare it ` +
				`in properties`,
		},
		{
			"data in which a member requires a misspelt name",
			in("variant", "data:", "  type: object", "  properties: {player: true, gift: true}",
				"  dependentRequired:", "    gift: [playr]"),
			`shop.yaml:16: data: /dependentRequired/gift/0 is "playr", which no property is called: correct the ` +
				`name, or declare it in properties`,
		},
		{
			"data with a key twice", in("variant", "data:", "  type: object", "  type: object"),
			`shop.yaml:14: "type" is already on line 13: keep one of them`,
		},
		{
			"data with a number that is not JSON", in("variant", "data: {type: object, maxProperties: 0x10}"),
			`shop.yaml:12: data: "0x10" is not a number in JSON: write it in digits, or in quotes`,
		},
		{
			"data too long", in("variant", "data: {type: object, title: '"+strings.Repeat("x", 8192)+"'}"),
			`shop.yaml:12: data: schema has 8220 bytes, and at most 8192 are allowed`,
		},

		{"tab", "shops:\n\t- id: a\n", "shop.yaml:2: not valid YAML: found character that cannot start any token"},
		{
			"colon in a name", strings.Replace(small, "500 coins", "Coins: 500", 1),
			"shop.yaml:10: not valid YAML: mapping values are not allowed in this context",
		},
		{
			"bracket left open", "shops: [\n  {id: a,\n",
			"shop.yaml:3: not valid YAML here, or in the list or mapping that begins here: did not find expected " +
				"node content; check indentation, brackets and quotes",
		},
		{
			"indentation", "shops:\n  - id: a\n    name: b\n   currency: c\n",
			"shop.yaml:2: not valid YAML here, or in the list or mapping that begins here: did not find expected " +
				"'-' indicator; check indentation, brackets and quotes",
		},
		{"quote left open", "shops:\n  - id: 'a\n", "shop.yaml:2: not valid YAML: found unexpected end of stream"},
		{
			"alias without an anchor", in("variant", "data: *player"),
			"shop.yaml:12: the alias *player has no value: no &player comes before it",
		},
		{
			"anchor in itself", in("variant", "data: &player", "  type: object", "  not: *player"),
			"shop.yaml:12: the anchor &player contains itself",
		},
		{
			"not UTF-8", strings.Replace(small, "500 coins", "\xff", 1),
			"shop.yaml:10: has bytes that are not text: write the file in UTF-8, without control characters",
		},
		{
			"broken second document", small + "---\nshops: {}\n",
			"shop.yaml:13: shops: must be a list (lines that begin with -), not a mapping",
		},

		{"several faults", strings.NewReplacer("Emberforge", "''", "4.99", "x", "id: coins", "id: /").Replace(in("variant", "off-sale: 1", "prize: 2")), `shop.yaml:3: name: is missing
shop.yaml:6: id: "/": malformed ID: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit
shop.yaml:11: price: "x" is not an amount of EUR: write it like 4.99
shop.yaml:12: off-sale: must be true or false, not "1"
shop.yaml:13: prize: unknown key: the keys here are amount, data, id, name, off-sale, price, sale`},
	} {
		t.Run(test.name, func(t *testing.T) { wantErrors(t, test.want, test.file) })
	}
}

// wantErrors parses a file named shop.yaml, or several named a.yaml, b.yaml and so on, and compares the faults.
func wantErrors(t *testing.T, want string, texts ...string) {
	t.Helper()
	var files []catalogfile.File
	for i, text := range texts {
		file := catalogfile.File{Name: "shop.yaml", Text: []byte(text)}
		if len(texts) > 1 {
			file.Name = string(rune('a'+i)) + ".yaml"
		}
		files = append(files, file)
	}
	shops, err := catalogfile.Parse(files...)
	if _, ok := errors.AsType[*catalogfile.Error](err); !ok || shops != nil {
		t.Fatalf("got %+v, %v; want no entries and *Errors", shops, err)
	}
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// The second product uses an anchor of the first one.
func TestParse_MistakeInAnAnchor_IsReportedOnce(t *testing.T) {
	const second = "      - {id: gems, name: Gems, variants: [%s]}\n"
	for _, test := range []struct{ name, first, second, want string }{
		{
			"a variant", "          - &variant {id: 1200, name: 1200 coins, price: 9.999}", "*variant",
			`shop.yaml:12: price: "9.999" is not an amount of EUR: write it like 4.99`,
		},
		{
			"a part of a variant", "          - &variant {id: 1200, name: 1200 coins, prize: 9.99}", "*variant",
			"shop.yaml:12: price: is missing\nshop.yaml:12: prize: unknown key: the keys here are amount, data, " +
				"id, name, off-sale, price, sale",
		},
		{
			"a repeated key", "          - &variant {id: 1200, id: 1200, name: 1200 coins, price: 9.99}", "*variant",
			`shop.yaml:12: "id" is already on line 12: keep one of them`,
		},
		{
			"a price", "          - id: 1200\n            name: 1200 coins\n            price: &price 9.999",
			"{id: 500, name: 500 gems, price: *price}",
			`shop.yaml:14: price: "9.999" is not an amount of EUR: write it like 4.99`,
		},
		{
			"a data schema", "            data: &data\n              properties: {}",
			"{id: 500, name: 500 gems, price: 1.00, data: *data}",
			`shop.yaml:12: data: /type must be "object"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantErrors(t, test.want, small+test.first+"\n"+fmt.Sprintf(second, test.second))
		})
	}
}

func TestParse_ShopInTwoFiles_IsRefused(t *testing.T) {
	wantErrors(t, `b.yaml:2: shop "emberforge" is already in a.yaml:2: write it in one place only
b.yaml:11: price: "4.999" is not an amount of EUR: write it like 4.99
c.yaml:1: no shops: begin the file with the key shops and a list of shops`,
		small, strings.Replace(small, "4.99", "4.999", 1), "")
}

func TestParse_LongAliasInDataSchema_IsRefused(t *testing.T) {
	long := strings.Repeat("x", 64_000)
	text := in("variant", "data:", "  type: object", "  title: &long "+long,
		"  enum: ["+strings.TrimSuffix(strings.Repeat("*long, ", 200), ", ")+"]")
	_, errs := catalogfile.Parse(catalogfile.File{Name: "shop.yaml", Text: []byte(text)})
	if errs == nil || !strings.Contains(errs.Error(), "schema has 12864637 bytes, and at most 8192 are allowed") {
		t.Errorf("got %.200v, want the size of the schema", errs)
	}
}

func TestParse_AliasesThatExpandTooFar_AreRefusedAtOnce(t *testing.T) {
	text := "shops:\n  - a0: &a0 [x]\n"
	for i := range 20 {
		tenTimes := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", ")
		text += fmt.Sprintf("    a%d: &a%d [%s]\n", i+1, i+1, tenTimes)
	}
	start := time.Now()
	wantErrors(t, "shop.yaml:1: the aliases expand to more than 1000000 values or 33554432 bytes: use fewer aliases",
		text)
	if took := time.Since(start); took > 30*time.Second { // expanding all aliases would take hours
		t.Errorf("took %s", took)
	}
}

func TestParse_FileThatIsTooLong_IsRefused(t *testing.T) {
	wantErrors(t, "shop.yaml:1: the file has 16777217 bytes, and at most 16777216 are allowed: split it",
		strings.Repeat("#", catalogfile.MaxFileBytes+1))
}

func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add(in("variant", "data: &a {type: object, x: [1e5, .5, 0x1, ~, '', !!str 1, *a]}"))
	f.Add(in("shop", "vouchers:", "  - {code: WELCOME-COINS, reward: coins/500}"))
	f.Add(in("shop", "vouchers:", "  - {code: STARTER-PACK, reward: [coins/500, 2*rank/vip]}",
		"  - {code: PICNIC, reward: coins/500+rank/vip}"))
	f.Add(in("shop", "page: off"))
	f.Add(in("shop", "page: {accent: '#C2410C', imprint: 'https://a.example/', privacy: {url: "+
		"'https://b.example/', text: no}, payment-text: \"a\\nb\"}"))
	f.Add("a: &a [*a]\n---\n? {a: b}\n: |+\n  c\n")
	lineBreaks := strings.NewReplacer("\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := catalogfile.Parse(catalogfile.File{Name: "shop.yaml", Text: []byte(text)})
		if err != nil {
			joined, ok := err.(interface{ Unwrap() []error })
			if !ok || len(entries) > 0 {
				t.Fatalf("%q: got entries or an error that is not joined: %v", text, err)
			}
			for _, err := range joined.Unwrap() {
				fault, ok := errors.AsType[*catalogfile.Error](err)
				if !ok || fault.Line < 1 || fault.Line > 1+strings.Count(lineBreaks.Replace(text), "\n") {
					t.Fatalf("%q: the error has no line of the file: %v", text, err)
				}
			}
			return
		}
		var plain []catalog.Shop
		for _, shop := range entries {
			plain = append(plain, shop.Shop)
		}
		if again := parsed(t, written(t, plain...)); !reflect.DeepEqual(again, plain) {
			t.Fatalf("%q: read back %+v, want %+v", text, again, plain)
		}
	})
}
