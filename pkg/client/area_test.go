package client_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

// productJSON returns a product that is sold at a price in minor units.
func productJSON(id string, price int) string {
	return fmt.Sprintf(`{"id":%q,"name":"<%s>","variants":[{"id":"500","name":"Small","price":{"minor":%d,`+
		`"currency":"EUR","display":"-"},`+
		`"minAmount":1,"maxAmount":64,"dataSchema":{"type":"object"},"checkout":"/shop/emberforge/checkout/%s/500"}]}`,
		id, id, price, id)
}

// pageJSON returns a page. next is the path of the next page in quotes, or null.
func pageJSON(next string, products ...string) string {
	return fmt.Sprintf(
		`{"customer":{"id":"emberforge","name":"Emberforge","currency":"EUR"},"products":[%s],"next":%s}`,
		strings.Join(products, ","), next,
	)
}

// area serves a checkout area with two pages: first coins at the given price, then ranks.
func area(coins int) step {
	return func(s *service, w http.ResponseWriter, r *http.Request) {
		body := pageJSON(`"/shop/emberforge/checkout?limit=1&cursor=Y29pbnM"`, productJSON("coins", coins))
		switch r.URL.RawQuery {
		case "":
		case "limit=1&cursor=Y29pbnM":
			body = pageJSON("null", productJSON("vip-rank", 799))
		default:
			body = ""
		}
		etag := fmt.Sprintf(`"%x"`, crc32.ChecksumIEEE([]byte(body)))
		if r.Header.Get("If-None-Match") == etag {
			w.Header().Set("ETag", etag)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		answers(http.StatusOK, body, "ETag", etag)(s, w, r)
	}
}

// shown returns the pages and what a shopper sees on them.
func shown(t *testing.T, c *client.Client, known ...client.Page) (pages []client.Page, lines []string) {
	t.Helper()
	for page, err := range c.CheckoutArea(t.Context(), known...) {
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
		for _, product := range page.Products {
			for _, v := range product.Variants {
				lines = append(lines, fmt.Sprintf("%s: %s %s/%s %d %s %d-%d %s", page.Shop.Name, product.Name,
					product.ID, v.ID,
					v.Price.Minor, v.Price.Currency, v.MinAmount, v.MaxAmount, v.DataSchema))
			}
		}
	}
	return pages, lines
}

func TestCheckoutArea_UnchangedPagesAreNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serve(t, area(499), problem("unavailable", 503), area(499), area(499), area(499), area(549))
		pages, lines := shown(t, c)
		want := []string{
			`Emberforge: <coins> coins/500 499 EUR 1-64 {"type":"object"}`,
			`Emberforge: <vip-rank> vip-rank/500 799 EUR 1-64 {"type":"object"}`,
		}
		if !slices.Equal(lines, want) {
			t.Errorf("shown %q, want %q", lines, want)
		}
		pages, lines = shown(t, c, pages...)
		if !slices.Equal(lines, want) {
			t.Errorf("shown %q, want %q", lines, want)
		}
		_, lines = shown(t, c, pages...)
		if want[0] = strings.Replace(want[0], "499", "549", 1); !slices.Equal(lines, want) {
			t.Errorf("shown %q, want %q", lines, want)
		}
		var got []string
		for _, r := range s.seen() {
			got = append(got, fmt.Sprintf("%s %s %t", r.method, r.uri, r.header["If-None-Match"] != nil))
			if r.header["Idempotency-Key"] != nil {
				t.Errorf("headers %v", r.header)
			}
		}
		const first, second = "GET /base/shop/emberforge/checkout",
			"GET /base/shop/emberforge/checkout?limit=1&cursor=Y29pbnM"
		wantRequests := []string{
			first + " false", second + " false", second + " false", first + " true",
			second + " true", first + " true", second + " true",
		}
		if !slices.Equal(got, wantRequests) {
			t.Errorf("requests %q, want %q", got, wantRequests)
		}
	})
}

func TestCheckoutArea_PagesOfAnotherShopAreNotReused(t *testing.T) {
	s, c := serve(t, area(499))
	pages, _ := shown(t, c)
	pages[0].Shop.ID = "sakura-goods"
	shown(t, c, append(pages, client.Page{})...)
	if r := s.seen()[2]; r.header["If-None-Match"] != nil {
		t.Errorf("headers %v", r.header)
	}
}

func TestCheckoutArea_Pages_AreReadOnlyIfWellFormed(t *testing.T) {
	coins, rank := productJSON("coins", 499), productJSON("vip-rank", 799)
	const second = `"/shop/emberforge/checkout?cursor=Y2"`
	one := func(products ...string) []string { return []string{pageJSON("null", products...)} }
	next := func(path string) []string { return []string{pageJSON(path, coins)} }
	changed := func(old, replacement string) []string {
		return []string{strings.Replace(pageJSON("null", coins), old, replacement, 1)}
	}
	largest := changed("<coins>", strings.Repeat("c", 4_000_000-len(changed("<coins>", "")[0])))
	for name, test := range map[string]struct {
		bodies []string
		pages  int
		ok     bool // otherwise the list ends with a *ResponseError
	}{
		"no products":                 {one(), 1, true},
		"products in any order":       {one(rank, coins), 1, true},
		"a product moves to page two": {append(next(second), one(rank, coins)...), 2, true},
		"4 MB":                        {largest, 1, true},
		"more than 4 MB":              {[]string{largest[0] + " "}, 0, false},

		"next is missing":               {changed(`"next"`, `"then"`), 0, false},
		"next is a number":              {next(`2`), 0, false},
		"next is a URL":                 {next(`"https://shop.example` + second[1:]), 0, false},
		"next has a host":               {next(`"//shop.example` + second[1:]), 0, false},
		"next is the first page":        {next(`"/shop/emberforge/checkout"`), 0, false},
		"next is a checkout":            {next(`"/shop/emberforge/checkout/coins/500?amount=64"`), 0, false},
		"next is not a path":            {next(`"/shop/emberforge/checkout?cursor=\u0000"`), 0, false},
		"another shop's next page":      {next(`"/shop/sakura-goods/checkout?cursor=Y2"`), 0, false},
		"page two leads to itself":      {next(second), 1, false},
		"an empty page before the last": {[]string{pageJSON(second)}, 0, false},
		"the pages go in a circle": {
			slices.Concat(next(second), next(`"/shop/emberforge/checkout?cursor=Y3"`), next(second)), 2, false,
		},

		"another shop":                          {changed("emberforge", "sakura-goods"), 0, false},
		"a product comes twice":                 {one(coins, coins), 0, false},
		"a product without variants":            {one(`{"id":"coins","name":"Coins","variants":[]}`), 0, false},
		"a variant without price":               {changed(`"price"`, `"cost"`), 0, false},
		"a variant in another currency":         {one(strings.Replace(coins, "EUR", "JPY", 1)), 0, false},
		"a variant without an amount":           {changed(`"maxAmount":64`, `"maxAmount":0`), 0, false},
		"a price that is a float":               {changed(`"minor":499`, `"minor":4.99`), 0, false},
		"a sale with a malformed end":           {changed(`"minAmount"`, `"saleEndsAt":"soon","minAmount"`), 0, false},
		"an original price in another currency": {one(onSale(599, "JPY")), 0, false},
		"an original price that is not higher":  {one(onSale(499, "EUR")), 0, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			var steps []step
			for _, body := range test.bodies {
				steps = append(steps, answers(200, body))
			}
			_, c := serve(t, steps...)
			wantPages(t, c.CheckoutArea(t.Context()), test.pages, test.ok)
		})
	}
}

func TestCheckoutArea_ErrorOnTheSecondPage_EndsTheList(t *testing.T) {
	_, c := serve(t, answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`, productJSON("coins", 499))),
		problem("malformed-request", 400))
	pages, err := collect(t, c.CheckoutArea(t.Context()))
	if len(pages) != 1 || !errors.Is(err, client.ErrMalformedRequest) {
		t.Errorf("%+v, %v", pages, err)
	}
}

// onSale returns a product at 4.99 EUR with an original price.
func onSale(original int, currency string) string {
	price := fmt.Sprintf(`"originalPrice":{"minor":%d,"currency":%q,"display":"-"},"minAmount"`, original, currency)
	return strings.Replace(productJSON("coins", 499), `"minAmount"`, price, 1)
}

func TestCheckoutArea_DetailsAndSale_AreRead(t *testing.T) {
	detailed := strings.NewReplacer(
		`"variants"`, `"image":"https://cdn.example/coins.png","category":"Coins","nickFrom":"player","variants"`,
		`"minAmount"`, `"saleEndsAt":"2026-11-30T00:00:00.001Z","minAmount"`,
	).Replace(onSale(599, "EUR"))
	_, c := serve(t, answers(200, pageJSON("null", detailed, productJSON("vip-rank", 799))))
	pages, _ := shown(t, c)
	coins, rank := pages[0].Products[0], pages[0].Products[1]
	if v := coins.Variants[0]; coins.Image != "https://cdn.example/coins.png" || coins.Category != "Coins" || coins.NickFrom != "player" ||
		v.OriginalPrice != (client.Money{Minor: 599, Currency: "EUR", Display: "-"}) ||
		!v.SaleEndsAt.Equal(time.Date(2026, 11, 30, 0, 0, 0, int(time.Millisecond), time.UTC)) {
		t.Errorf("got %+v", coins)
	}
	if v := rank.Variants[0]; rank.Image != "" || rank.Category != "" || rank.NickFrom != "" || v.OriginalPrice != (client.Money{}) ||
		!v.SaleEndsAt.IsZero() {
		t.Errorf("without details: %+v", rank)
	}
}
