package catalogfile_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/money"
)

func TestWrite_IsReadBack(t *testing.T) {
	shop := catalog.Shop{
		Profile: catalog.Profile{ID: "emberforge", Name: "Emberforge", Currency: "EUR", TimeZone: "Europe/Berlin"},
		Products: []catalog.Product{
			{
				ID: "coins", Name: "Ember coins", Description: "The coins of the realm.\nNot refundable.",
				Image: "https://cdn.example/coins.png?a=1&b=[2]#top", Category: "Coins: all", Position: 10,
				Variants: []catalog.Variant{
					{
						ID: "500", Name: "500 coins", Price: money.Money{Minor: 499, Currency: "EUR"}, MinAmount: 1,
						MaxAmount: 10,
						Sale: catalog.Sale{
							Price: money.Money{Minor: 350, Currency: "EUR"},
							From:  time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC),
							Until: time.Date(2026, 11, 30, 23, 59, 59, 999e6, time.UTC),
						},
					},
					{
						ID: "1200", Name: "1,200 coins", Price: money.Money{Minor: 999, Currency: "EUR"}, MinAmount: 1,
						MaxAmount: 1,
						Sale:      catalog.Sale{Price: money.Money{Currency: "EUR"}},
					},
				},
			},
			{
				ID: "vip-rank", Name: "VIP: the rank", OffSale: true, NickFrom: "player",
				Variants: []catalog.Variant{{
					ID: "30-days", Name: "30 days", Price: money.Money{Minor: 500, Currency: "EUR"}, MinAmount: 1,
					MaxAmount: 1, OffSale: true,
					DataSchema: `{"type":"object","required":["player"],"properties":{"player":{"type":"string",` +
						`"pattern":"^[a-z]{3,16}$"},` +
						`"seed":{"maximum":9007199254740993,"minimum":-1e400},"no":{"const":"no"}},` +
						`"additionalProperties":false}`,
				}},
			},
		},
	}
	const want = `shops:
  - id: emberforge
    name: Emberforge
    currency: EUR
    time-zone: Europe/Berlin
    products:
      - id: coins
        name: Ember coins
        description: |-
          The coins of the realm.
          Not refundable.
        image: https://cdn.example/coins.png?a=1&b=[2]#top
        category: 'Coins: all'
        position: 10
        variants:
          - id: "500"
            name: 500 coins
            price: 4.99
            sale: {price: 3.50, from: "2026-11-27T00:00:00Z", until: "2026-11-30T23:59:59.999Z"}
            amount: {min: 1, max: 10}
          - id: "1200"
            name: 1,200 coins
            price: 9.99
            sale: {price: 0.00}
      - id: vip-rank
        name: 'VIP: the rank'
        off-sale: true
        nick-from: player
        variants:
          - id: 30-days
            name: 30 days
            price: 5.00
            data:
              type: object
              required: [player]
              properties:
                player:
                  type: string
                  pattern: ^[a-z]{3,16}$
                seed:
                  maximum: 9007199254740993
                  minimum: -1e400
                no:
                  const: no
              additionalProperties: false
            off-sale: true
`
	if got := written(t, shop); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := parsed(t, want); !reflect.DeepEqual(got, []catalog.Shop{shop}) {
		t.Errorf("read back: %+v", got)
	}
}

func TestWrite_DataSchemaThatIsNotJSON_IsRefused(t *testing.T) {
	for _, schema := range []string{`{`, `{"type":"object"} {}`, `{"a":1,"a":2}`, `]`} {
		shop := catalog.Shop{Products: []catalog.Product{{
			ID:       "coins",
			Variants: []catalog.Variant{{ID: "500", DataSchema: schema}},
		}}}
		if err := catalogfile.Write(&strings.Builder{}, catalogfile.Entry{Shop: shop}); err == nil ||
			!strings.Contains(err.Error(), "variant 500") {
			t.Errorf("%s: Write = %v, want an error that names the variant", schema, err)
		}
	}
}

func TestWrite_AnyShop_IsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shops := []catalog.Shop{anyShop(t, "emberforge", "EUR"), anyShop(t, "sakura-goods", "JPY")}
		file := written(t, shops...)
		if got := parsed(t, file); !reflect.DeepEqual(got, shops) {
			t.Fatalf("got\n%+v\nwant\n%+v\nfrom\n%s", got, shops, file)
		}
	})
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func written(t failer, shops ...catalog.Shop) string {
	t.Helper()
	var file strings.Builder
	var entries []catalogfile.Entry
	for _, shop := range shops {
		entries = append(entries, catalogfile.Entry{Shop: shop})
	}
	if err := catalogfile.Write(&file, entries...); err != nil {
		t.Fatalf("%v", err)
	}
	return file.String()
}

func parsed(t failer, text string) []catalog.Shop {
	t.Helper()
	parsed, err := catalogfile.Parse(catalogfile.File{Name: "shop.yaml", Text: []byte(text)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var shops []catalog.Shop
	for _, shop := range parsed {
		shops = append(shops, shop.Shop)
	}
	return shops
}

func anyShop(t *rapid.T, id catalog.ShopID, currency money.Currency) catalog.Shop {
	shop := catalog.Shop{Profile: catalog.Profile{
		ID: id, Name: anyName(t), Currency: currency, OffSale: rapid.Bool().Draw(t, "off sale"), Page: anyPage(t),
	}}
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,6}`), 0, 3, rapid.ID).Draw(t,
		"products")
	for _, id := range ids {
		shop.Products = append(shop.Products, catalog.Product{
			ID: catalog.ProductID(id), Name: anyName(t), Description: anyText(t, catalog.MaxDescriptionBytes),
			OffSale: rapid.Bool().Draw(t, "off sale"), Variants: anyVariants(t, currency),
			Image: rapid.SampledFrom([]string{
				"", "https://cdn.example/",
				"https://cdn.example:8443/a?b:%20,c[d]#e",
			}).Draw(t, "image"),
			Category: anyCategory(t),
			Position: rapid.Int64Range(0, catalog.MaxPosition).Draw(t, "position"),
		})
	}
	slices.SortFunc(shop.Products, func(a, b catalog.Product) int { return cmp.Compare(a.ID, b.ID) })
	return shop
}

func anyPage(t *rapid.T) catalog.Page {
	if rapid.Bool().Draw(t, "no page") {
		return catalog.Page{Off: true}
	}
	link := rapid.Custom(func(t *rapid.T) catalog.Link {
		return catalog.Link{
			URL:  "https://emberforge.example/a?b:%20,c[d]#e",
			Text: rapid.SampledFrom([]string{"", "no", "off", anyCategory(t)}).Draw(t, "text"),
		}
	})
	paymentText := anyText(t, catalog.MaxDescriptionBytes)
	if strings.TrimSpace(paymentText) == "" {
		paymentText = ""
	}
	links := rapid.OneOf(rapid.Just(catalog.Link{}), link)
	return catalog.Page{
		Accent: rapid.SampledFrom([]string{"", "#c2410c", "#000000"}).Draw(t, "accent"),
		Logo: rapid.SampledFrom([]string{
			"", "https://cdn.example/",
			"https://cdn.example:8443/a?b:%20,c[d]#e",
		}).Draw(t, "logo"),
		Imprint: links.Draw(t, "imprint"), Privacy: links.Draw(t, "privacy"),
		PaymentURL: rapid.SampledFrom([]string{
			"", "https://pay.example/{checkout}",
			"https://pay.example/?a={checkout}&b={return}#top",
		}).Draw(t, "payment URL"),
		PaymentText: paymentText,
	}
}

func anyVariants(t *rapid.T, currency money.Currency) []catalog.Variant {
	var variants []catalog.Variant
	// Some IDs look like other types in YAML.
	ids := rapid.OneOf(
		rapid.SampledFrom([]string{
			"500", "1e400", "0x10", "no", "true", "null", "2027-01-31", "007", "1.50", "1_000",
			"30-days",
		}),
		rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,6}`),
	)
	for _, id := range rapid.SliceOfNDistinct(ids, 1, 3, rapid.ID).Draw(t, "variants") {
		least := rapid.Int64Range(1, 5).Draw(t, "least")
		price := money.Money{Minor: rapid.Int64Range(0, money.MaxMinor/1000).Draw(t, "price"), Currency: currency}
		variants = append(variants, catalog.Variant{
			ID: catalog.VariantID(id), Name: anyName(t), OffSale: rapid.Bool().Draw(t, "off sale"), Price: price,
			Sale:      anySale(t, price),
			MinAmount: least, MaxAmount: rapid.Int64Range(least, 1000).Draw(t, "most"),
			DataSchema: anySchema(t),
		})
	}
	return variants
}

// anySale draws a sale, or none if it would not lower the price.
func anySale(t *rapid.T, price money.Money) catalog.Sale {
	sale := catalog.Sale{Price: money.Money{
		Minor:    rapid.Int64Range(0, price.Minor).Draw(t, "sale price"),
		Currency: price.Currency,
	}}
	if sale.Price == price {
		return catalog.Sale{}
	}
	from := rapid.Int64Range(946_684_800_000, 4_102_444_800_000).Draw(t, "from") // 2000 to 2100
	if rapid.Bool().Draw(t, "has a beginning") {
		sale.From = time.UnixMilli(from).UTC()
	}
	if rapid.Bool().Draw(t, "has an end") {
		sale.Until = time.UnixMilli(from + rapid.Int64Range(1, 1e12).Draw(t, "lasts")).UTC()
	}
	return sale
}

// anyText draws text that a catalogue allows, often with characters that are special in YAML.
func anyText(t *rapid.T, most int) string {
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{
			"Ember", " ", "\n", ": ", " #", "- ", "'", `"`, "|", ">", "&a", "*a", "!!int", "{", "}", "[", "]", ",", "?",
			"%", "@", "`", "~", "null",
			"true", "no", "<<", "---", "...", "1e400", "0x1F", "\\", "\u2028", "\ufeff", "\u00a0", "\u3000", "\u200b",
			"ß", "\U0001F525", "=", "\n\n", "\n ",
		}),
		rapid.String(),
	)
	text := strings.Join(rapid.SliceOfN(pieces, 0, 6).Draw(t, "text"), "")
	text = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || 0x7f <= r && r < 0xa0) {
			return -1
		}
		return r
	}, text), "")
	for len(text) > most {
		text = text[:len(text)/2]
		text = strings.ToValidUTF8(text, "")
	}
	return text
}

func anyName(t *rapid.T) string { return anyLine(t, catalog.MaxNameBytes) }

func anyCategory(t *rapid.T) string {
	if rapid.Bool().Draw(t, "no category") {
		return ""
	}
	return anyLine(t, catalog.MaxCategoryBytes)
}

func anyLine(t *rapid.T, most int) string {
	line := strings.ReplaceAll(anyText(t, most-1), "\n", "")
	if strings.TrimSpace(line) == "" {
		return line + "x"
	}
	return line
}

// anySchema draws a compact schema with arbitrary JSON in it, or no schema.
func anySchema(t *rapid.T) string {
	if rapid.Bool().Draw(t, "no schema") {
		return ""
	}
	schema := fmt.Sprintf(`{"type":"object","title":%s,"x-any":%s}`, quotedJSON(anyText(t, 200)), anyJSON(t, 3))
	if _, err := dataschema.Compile(schema); err != nil {
		t.Fatalf("Compile(%s) = %v", schema, err)
	}
	return schema
}

func anyJSON(t *rapid.T, depth int) string {
	kinds := 4
	if depth == 0 {
		kinds = 2
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{
			"null", "true", "false", "0", "-0", "1.50", "9007199254740993", "123456789012345678901234567890", "1e400",
			"1E+5", "-2.5e-300",
		}).Draw(t, "value")
	case 1, 2:
		return quotedJSON(anyText(t, 50))
	case 3:
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = anyJSON(t, depth-1)
		}
		return "[" + strings.Join(items, ",") + "]"
	default:
		var members []string
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			name := anyText(t, 20) + strings.Repeat("'", i)
			members = append(members, quotedJSON(fmt.Sprint(i, name))+":"+anyJSON(t, depth-1))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
}

// quotedJSON returns a string in JSON with as few escapes as possible. Data schemas are stored in this form.
func quotedJSON(text string) string {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	short := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029")
	return short.Replace(strings.TrimSuffix(quoted.String(), "\n"))
}
