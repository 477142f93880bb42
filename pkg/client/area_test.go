package client_test

import (
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
				lines = append(lines, fmt.Sprintf("%s: %s %s/%s %d %s %d-%d %s", page.Customer.Name, product.Name,
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

func TestCheckoutArea_PagesOfAnotherCustomerAreNotReused(t *testing.T) {
	s, c := serve(t, area(499))
	pages, _ := shown(t, c)
	pages[0].Customer.ID = "sakura-goods"
	shown(t, c, append(pages, client.Page{})...)
	if r := s.seen()[2]; r.header["If-None-Match"] != nil {
		t.Errorf("headers %v", r.header)
	}
}

func TestCheckoutArea_Responses(t *testing.T) {
	coins, rank := productJSON("coins", 499), productJSON("vip-rank", 799)
	largest := pageJSON("null", strings.Replace(coins, "<coins>",
		strings.Repeat("c", 4_000_000-len(pageJSON("null", coins))+len("<coins>")), 1))
	for name, test := range map[string]struct {
		steps []step
		pages int
		is    error // nil: a *ResponseError, or no error if ok
		ok    bool
	}{
		"no products":         {[]step{answers(200, pageJSON("null"))}, 1, nil, true},
		"4 MB":                {[]step{answers(200, largest)}, 1, nil, true},
		"more than 4 MB":      {[]step{answers(200, largest+" ")}, 0, nil, false},
		"an unknown customer": {[]step{problem("not-found", 404)}, 0, client.ErrNotFound, false},
		"an error on the second page": {[]step{
			answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`, coins)),
			problem("malformed-request", 400),
		}, 1, client.ErrMalformedRequest, false},
		"another customer": {[]step{answers(200,
			strings.Replace(pageJSON("null", coins), "emberforge", "sakura-goods", 1))}, 0, nil, false},
		"next is missing": {[]step{answers(200,
			strings.Replace(pageJSON("null", coins), `"next"`, `"then"`, 1))}, 0, nil, false},
		"next is a URL": {[]step{answers(200,
			pageJSON(`"https://shop.example/shop/emberforge/checkout?cursor=Y2"`, coins))}, 0, nil, false},
		"next has a host": {[]step{answers(200,
			pageJSON(`"//shop.example/shop/emberforge/checkout?cursor=Y2"`, coins))}, 0, nil, false},
		"another customer's next page": {[]step{answers(200,
			pageJSON(`"/shop/sakura-goods/checkout?cursor=Y2"`, coins))}, 0, nil, false},
		"next is a checkout": {[]step{answers(200,
			pageJSON(`"/shop/emberforge/checkout/coins/500?amount=64"`, coins))}, 0, nil, false},
		"next is the first page": {
			[]step{answers(200, pageJSON(`"/shop/emberforge/checkout"`, coins))},
			0, nil,
			false,
		},
		"next is a number": {[]step{answers(200, pageJSON(`2`, coins))}, 0, nil, false},
		"next is not a path": {[]step{answers(200,
			pageJSON(`"/shop/emberforge/checkout?cursor=\u0000"`, coins))}, 0, nil, false},
		"page two leads to itself": {[]step{answers(200,
			pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`, coins))}, 1, nil, false},
		"an empty page before the last": {
			[]step{answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`))},
			0,
			nil, false,
		},
		"a product comes twice": {[]step{answers(200, pageJSON("null", coins, coins))}, 0, nil, false},
		"products in any order": {[]step{answers(200, pageJSON("null", rank, coins))}, 1, nil, true},
		"a product moves to page two": {[]step{
			answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`, coins)),
			answers(200, pageJSON("null", rank, coins)),
		}, 2, nil, true},
		"the pages go in a circle": {[]step{
			answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`, coins)),
			answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y3"`, rank)),
			answers(200, pageJSON(`"/shop/emberforge/checkout?cursor=Y2"`, coins)),
		}, 2, nil, false},
		"an original price in another currency": {[]step{answers(200,
			pageJSON("null", onSale(`{"minor":599,"currency":"JPY","display":"-"}`)))}, 0, nil, false},
		"an original price that is not higher": {[]step{answers(200,
			pageJSON("null", onSale(`{"minor":499,"currency":"EUR","display":"-"}`)))}, 0, nil, false},
		"a sale with a malformed end": {
			[]step{answers(200,
				pageJSON("null", strings.Replace(coins, `"minAmount"`, `"saleEndsAt":"soon","minAmount"`, 1)))},
			0, nil,
			false,
		},
		"a product without variants": {[]step{answers(200,
			pageJSON("null", `{"id":"coins","name":"Coins","variants":[]}`))}, 0, nil, false},
		"a variant without price": {[]step{answers(200,
			pageJSON("null", strings.Replace(coins, `"price"`, `"cost"`, 1)))}, 0, nil, false},
		"a variant in another currency": {[]step{answers(200,
			pageJSON("null", strings.Replace(coins, `EUR`, `JPY`, 1)))}, 0, nil, false},
		"a variant without an amount": {[]step{answers(200,
			pageJSON("null", strings.Replace(coins, `"maxAmount":64`, `"maxAmount":0`, 1)))}, 0, nil, false},
		"a price that is a float": {[]step{answers(200,
			pageJSON("null", strings.Replace(coins, `"minor":499`, `"minor":4.99`, 1)))}, 0, nil, false},
		"not modified, without an ETag": {[]step{answers(304, "")}, 0, nil, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, c := serve(t, test.steps...)
			wantPages(t, c.CheckoutArea(t.Context()), test.pages, test.ok, test.is)
		})
	}
}

// onSale returns a product at 4.99 EUR with an original price.
func onSale(original string) string {
	return strings.Replace(productJSON("coins", 499), `"minAmount"`, `"originalPrice":`+original+`,"minAmount"`, 1)
}

func TestCheckoutArea_DetailsAndSale_AreRead(t *testing.T) {
	detailed := strings.NewReplacer(
		`"variants"`, `"image":"https://cdn.example/coins.png","category":"Coins","variants"`,
		`"minAmount"`, `"saleEndsAt":"2026-11-30T00:00:00.001Z","minAmount"`,
	).Replace(onSale(`{"minor":599,"currency":"EUR","display":"5.99 EUR"}`))
	_, c := serve(t, answers(200, pageJSON("null", detailed, productJSON("vip-rank", 799))))
	pages, _ := shown(t, c)
	coins, rank := pages[0].Products[0], pages[0].Products[1]
	want := client.Money{Minor: 599, Currency: "EUR", Display: "5.99 EUR"}
	if v := coins.Variants[0]; coins.Image != "https://cdn.example/coins.png" || coins.Category != "Coins" ||
		v.OriginalPrice != want ||
		!v.SaleEndsAt.Equal(time.Date(2026, 11, 30, 0, 0, 0, int(time.Millisecond), time.UTC)) {
		t.Errorf("got %+v", coins)
	}
	if v := rank.Variants[0]; rank.Image != "" || rank.Category != "" || v.OriginalPrice != (client.Money{}) ||
		!v.SaleEndsAt.IsZero() {
		t.Errorf("without details: %+v", rank)
	}
}
