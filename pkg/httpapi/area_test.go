package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shopfront/pkg/catalog"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/money"
)

// fakeCatalogue is an httpapi.Catalogue with one shop, whose products are in ID order.
type fakeCatalogue struct {
	profile  catalog.Profile
	products []catalog.Product
	err      error // if set, ends the list of products
	wanted   *int  // if set, receives how many products were requested
}

func (w fakeCatalogue) OnSale(
	_ context.Context, id catalog.ShopID, after catalog.Place, want int,
) (catalog.Listing, error) {
	if id != w.profile.ID {
		return catalog.Listing{}, catalog.ErrNotFound
	}
	if w.wanted != nil {
		*w.wanted = want
	}
	return catalog.Listing{Profile: w.profile, ByID: true, Products: func(yield func(catalog.Product, error) bool) {
		for _, p := range w.products {
			if p.ID > after.ID && !yield(p, nil) {
				return
			}
		}
		if w.err != nil {
			yield(catalog.Product{}, w.err)
		}
	}}, nil
}

func emberforge(products ...catalog.Product) fakeCatalogue {
	return fakeCatalogue{
		profile:  catalog.Profile{ID: "emberforge", Name: "Emberforge", Currency: "EUR"},
		products: products,
	}
}

func capes(count int) []catalog.Product {
	products := make([]catalog.Product, count)
	for i := range products {
		products[i] = catalog.Product{
			ID: catalog.ProductID(fmt.Sprintf("cape-%03d", i)), Name: "Cape",
			Variants: []catalog.Variant{{
				ID: "red", Name: "Red", Price: money.Money{Minor: 1999, Currency: "EUR"}, MinAmount: 1, MaxAmount: 5,
			}},
		}
	}
	return products
}

type page struct {
	Products []struct {
		ID string `json:"id"`
	} `json:"products"`
	Next *string `json:"next"`
}

// show requests a page, which must succeed.
func (w fakeCatalogue) show(t *testing.T, target string) (page, response) {
	t.Helper()
	return show(t, w, target)
}

func show(t *testing.T, catalogue httpapi.Catalogue, target string) (page, response) {
	t.Helper()
	s := newService(t)
	a := s.send(s.CheckoutArea(catalogue), get(target))
	var p page
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %.200s, %v", target, a.status, a.body, err)
	}
	return p, a
}

// walk yields a page and all pages that its next links lead to.
func (w fakeCatalogue) walk(t *testing.T, target string) iter.Seq2[page, response] {
	t.Helper()
	return walk(t, w, target)
}

func walk(t *testing.T, catalogue httpapi.Catalogue, target string) iter.Seq2[page, response] {
	t.Helper()
	return func(yield func(page, response) bool) {
		for {
			p, a := show(t, catalogue, target)
			if !yield(p, a) || p.Next == nil {
				return
			}
			if target = *p.Next; !strings.HasPrefix(target, areaPath+"?") {
				t.Fatalf("next is %q", target)
			}
		}
	}
}

const areaPath = "/shop/emberforge/checkout"

func TestCheckoutArea_HoldsWhatAStorefrontNeeds(t *testing.T) {
	shop := emberforge(
		catalog.Product{ID: "coins", Name: "Coins", Variants: []catalog.Variant{
			{
				ID: "500", Name: "500 coins", Price: money.Money{Minor: 499, Currency: "EUR"}, MinAmount: 2,
				MaxAmount: 64,
			},
		}},
		catalog.Product{
			ID: "vip-rank", Name: "VIP <rank> & more", Description: "Perks.\nAnd a title.", NickFrom: "player",
			Variants: []catalog.Variant{{
				ID: "30-days", Name: "30 days", Price: money.Money{Minor: 999, Currency: "EUR"}, MinAmount: 1,
				MaxAmount:  1,
				DataSchema: `{"type":"object","required":["player"]}`,
			}},
		},
	)
	s := newService(t)
	a := s.send(s.CheckoutArea(shop), get(areaPath))
	a.want(t, http.StatusOK, `{"customer":{"id":"emberforge","name":"Emberforge","currency":"EUR"},"products":[`+
		`{"id":"coins","name":"Coins","variants":[{"id":"500","name":"500 coins","price":{"minor":499,`+
		`"currency":"EUR","display":"4.99 EUR"},`+
		`"minAmount":2,"maxAmount":64,"checkout":"/shop/emberforge/checkout/coins/500"}]},`+
		`{"id":"vip-rank","name":"VIP <rank> & more","description":"Perks.\nAnd a title.",`+
		`"nickFrom":"player","variants":[{"id":"30-days","name":"30 days",`+
		`"price":{"minor":999,"currency":"EUR","display":"9.99 EUR"},"minAmount":1,"maxAmount":1,`+
		`"dataSchema":{"type":"object","required":["player"]},`+
		`"checkout":"/shop/emberforge/checkout/vip-rank/30-days"}]}],"next":null}`)
	a.wantHeader(t, "Content-Type", "application/json")
	a.wantHeader(t, "Cache-Control", "no-cache")
	if line := s.logged(t); line["outcome"] != "shown" || line["customer"] != "emberforge" {
		t.Errorf("logged %v", line)
	}
}

func TestCheckoutArea_NothingOnSale_IsEmpty(t *testing.T) {
	s := newService(t)
	s.send(s.CheckoutArea(emberforge()), get(areaPath)).want(t, http.StatusOK,
		`{"customer":{"id":"emberforge","name":"Emberforge","currency":"EUR"},"products":[],"next":null}`)
}

func TestCheckoutArea_NextLinks_LeadToTheLastPage(t *testing.T) {
	tests := map[string]struct{ products, pages, perPage int }{
		"":           {250, 3, 100},
		"?limit=1":   {3, 3, 1},
		"?limit=100": {100, 1, 100},
		"?limit=99":  {100, 2, 99},
		"?limit=200": {400, 2, 200},
	}
	for query, test := range tests {
		t.Run(query, func(t *testing.T) {
			var seen []string
			pages := 0
			for p := range emberforge(capes(test.products)...).walk(t, areaPath+query) {
				pages++
				if len(p.Products) > test.perPage {
					t.Errorf("the page has %d products", len(p.Products))
				}
				for _, product := range p.Products {
					seen = append(seen, product.ID)
				}
			}
			if pages != test.pages || len(seen) != test.products || !slices.IsSorted(seen) ||
				len(slices.Compact(seen)) != test.products {
				t.Errorf("got %d products on %d pages, want %d on %d", len(seen), pages, test.products, test.pages)
			}
		})
	}
}

func TestCheckoutArea_Page_ReadsOnlyOneMoreProductThanItShows(t *testing.T) {
	shop := emberforge(capes(3)...)
	shop.wanted = new(int)
	shop.err = errors.New("read beyond the page")
	if p, _ := shop.show(t, areaPath+"?limit=2"); len(p.Products) != 2 || p.Next == nil || *shop.wanted != 3 {
		t.Errorf("got %d products, next %v; asked the catalogue for %d", len(p.Products), p.Next, *shop.wanted)
	}
}

// Lambda limits the size of a response, including the escapes that its JSON adds.
func TestCheckoutArea_LargeProducts_EndThePageBelow4MB(t *testing.T) {
	for what, text := range map[string]string{"plain": "xx", "quotes": `\"`, "angles": "<>"} {
		t.Run(what, func(t *testing.T) {
			products := capes(45)
			for i := range products {
				products[i].Variants[0].DataSchema = `{"type":"object","description":"` + strings.Repeat(text, 50_000) +
					`"}`
			}
			seen, pages := 0, 0
			for p, a := range emberforge(products...).walk(t, areaPath) {
				pages++
				seen += len(p.Products)
				carried, err := json.Marshal(a.body)
				if len(carried) >= 4_000_000 || err != nil {
					t.Errorf("a page of %d bytes takes %d in Lambda's response, %v", len(a.body), len(carried), err)
				}
			}
			if seen != 45 || pages < 2 || pages > 9 {
				t.Errorf("%d products on %d pages", seen, pages)
			}
		})
	}
}

func TestCheckoutArea_MatchingETag_Is304(t *testing.T) {
	shop := emberforge(capes(3)...)
	_, first := shop.show(t, areaPath)
	etag := first.header.Get("ETag")
	if len(etag) != 24 || etag[0] != '"' || etag[23] != '"' {
		t.Fatalf("ETag %s is not strong", etag)
	}
	for _, headers := range [][]string{
		{"If-None-Match", etag},
		{"If-None-Match", "W/" + etag},
		{"If-None-Match", `"other", ` + etag},
		{"If-None-Match", `"other"`, "If-None-Match", etag}, // two header lines
		{"If-None-Match", "*"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			s := newService(t)
			a := s.send(s.CheckoutArea(shop), request(method, areaPath, "", headers...))
			a.want(t, http.StatusNotModified, "")
			a.wantHeader(t, "ETag", etag)
			a.wantHeader(t, "Cache-Control", "no-cache")
			a.wantHeader(t, "Content-Type", "")
		}
	}
	for _, stale := range []string{`"other"`, strings.Trim(etag, `"`), "", `""`, strings.ToUpper(etag)} {
		s := newService(t)
		s.send(s.CheckoutArea(shop), get(areaPath, "If-None-Match", stale)).want(t, http.StatusOK, first.body)
	}
}

func TestCheckoutArea_ETag_DependsOnThePage(t *testing.T) {
	etag := func(shop fakeCatalogue, target string) string {
		_, a := shop.show(t, target)
		return a.header.Get("ETag")
	}
	shop := emberforge(capes(3)...)
	dearer := emberforge(capes(3)...)
	dearer.products[1].Variants[0].Price.Minor++
	renamed := shop
	renamed.profile.Name = "Ember & Forge"
	tags := []string{
		etag(shop, areaPath), etag(dearer, areaPath), etag(renamed, areaPath),
		etag(shop, areaPath+"?limit=2"), etag(emberforge(), areaPath),
	}
	for i, tag := range tags {
		if slices.Contains(tags[i+1:], tag) {
			t.Errorf("two of these pages have the same ETag: %q", tags)
		}
	}
	if etag(shop, areaPath) != tags[0] {
		t.Error("the ETag of an unchanged page has changed")
	}
}

func TestCheckoutArea_MalformedRequests_AreRejected(t *testing.T) {
	tests := []rejected{
		{"unknown shop", get("/shop/nobody/checkout"), "not-found"},
		{"malformed shop", get("/shop/ember%20forge/checkout"), "not-found"},
		{"trailing slash", get(areaPath + "/"), "not-found"},
		{"unknown parameter", get(areaPath + "?page=2"), "malformed-request"},
		{"limit 0", get(areaPath + "?limit=0"), "invalid"},
		{"limit 201", get(areaPath + "?limit=201"), "invalid"},
		{"limit 05", get(areaPath + "?limit=05"), "invalid"},
		{"empty limit", get(areaPath + "?limit="), "invalid"},
		{"empty cursor", get(areaPath + "?cursor="), "malformed-request"},
		{"cursor that is not base64url", get(areaPath + "?cursor=%2F%2F"), "malformed-request"},
		{"padded cursor", get(areaPath + "?cursor=" + cursor("emberforge/coins") + "%3D"), "malformed-request"},
		{"cursor of another shop", get(areaPath + "?cursor=" + cursor("sakura-goods/coins")), "malformed-request"},
		{"cursor without product", get(areaPath + "?cursor=" + cursor("emberforge")), "malformed-request"},
		{"cursor with an empty product", get(areaPath + "?cursor=" + cursor("emberforge/")), "malformed-request"},
		{"cursor with two slashes", get(areaPath + "?cursor=" + cursor("emberforge/coins/500")), "malformed-request"},
		{"cursor with a position only", get(areaPath + "?cursor=" + cursor("emberforge/7/")), "malformed-request"},
		{
			"cursor with a huge position", get(areaPath + "?cursor=" + cursor("emberforge/9223372036854775808/coins")),
			"malformed-request",
		},
		{
			"long cursor", get(areaPath + "?cursor=" + cursor("emberforge/"+strings.Repeat("c", 65))),
			"malformed-request",
		},
		{"POST", post(areaPath, `{}`), "method-not-allowed"},
	}
	wantRejected(t, tests, func(s service) http.Handler { return s.CheckoutArea(emberforge(capes(3)...)) })
}

// No product cape-000.5 is on sale, as if it was taken off sale after the cursor was made.
func TestCheckoutArea_CursorOfAProductOffSale_ContinuesAfterIt(t *testing.T) {
	cursor := base64.RawURLEncoding.EncodeToString([]byte("emberforge/cape-000.5"))
	p, _ := emberforge(capes(3)...).show(t, areaPath+"?cursor="+cursor)
	if len(p.Products) != 2 || p.Products[0].ID != "cape-001" {
		t.Errorf("got %v", p.Products)
	}
}

func TestCheckoutArea_StoreFailsMidway_SendsNoProducts(t *testing.T) {
	for status, err := range map[int]error{503: throttled{}, 500: errors.New("SECRET-DETAIL")} {
		shop := emberforge(capes(3)...)
		shop.err = err
		s := newService(t)
		if a := s.send(s.CheckoutArea(shop), get(areaPath)); a.status != status || strings.Contains(a.body, "cape") ||
			strings.Contains(a.body, "SECRET") {
			t.Errorf("%d %s; want %d", a.status, a.body, status)
		}
	}
}
