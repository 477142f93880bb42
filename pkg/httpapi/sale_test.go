package httpapi_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
)

// shelf is the stored catalogue of one shop, with products in ID order. Every read sees the latest change.
type shelf struct{ fakeCatalogue }

func (s shelf) Profile(context.Context, catalog.ShopID) (catalog.Profile, error) {
	return s.profile, nil
}

func (s shelf) ProductsOnSale(
	_ context.Context, _ catalog.ShopID, after catalog.ProductID, _ int,
) iter.Seq2[catalog.Product, error] {
	return func(yield func(catalog.Product, error) bool) {
		for _, p := range s.products {
			if p.ID > after && !yield(p, nil) {
				return
			}
		}
	}
}

func (s shelf) Product(
	_ context.Context, _ catalog.ShopID, id catalog.ProductID,
) (catalog.Profile, catalog.Product, error) {
	at := slices.IndexFunc(s.products, func(p catalog.Product) bool { return p.ID == id })
	return s.profile, s.products[at], nil
}

// area returns a new catalog.Area, which has cached nothing of the shelf yet.
func (s shelf) area() *catalog.Area { return catalog.NewArea(s, now) }

// lostStore is a checkout.Store that stores nothing.
type lostStore struct{ checkout.Store }

func (lostStore) Open(_ context.Context, opening checkout.Opening) (checkout.Checkout, error) {
	return opening.Checkout, nil
}

func euro(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }

// coinsOnSale returns a product that costs 3.99 EUR instead of 4.99 EUR during a sale.
func coinsOnSale(from, until time.Time) catalog.Product {
	return catalog.Product{ID: "coins", Name: "Coins", Variants: []catalog.Variant{{
		ID: "500", Name: "500 coins", Price: euro(499), Sale: catalog.Sale{Price: euro(399), From: from, Until: until},
		MinAmount: 1, MaxAmount: 10,
	}}}
}

func TestCheckoutArea_Details_AreShownIfTheyAreSet(t *testing.T) {
	const before, after = `{"customer":{"id":"emberforge","name":"Emberforge","currency":"EUR"},` +
		`"products":[{"id":"coins","name":"Coins",`, `}]}],"next":null}`
	const variant = `"variants":[{"id":"500","name":"500 coins","price":{"minor":499,"currency":"EUR",` +
		`"display":"4.99 EUR"},`
	const onSale = `"variants":[{"id":"500","name":"500 coins","price":{"minor":399,"currency":"EUR",` +
		`"display":"3.99 EUR"},` +
		`"originalPrice":{"minor":499,"currency":"EUR","display":"4.99 EUR"},`
	const amounts = `"minAmount":1,"maxAmount":10,"checkout":"/shop/emberforge/checkout/coins/500"`
	always, received := time.Time{}, now().Truncate(time.Millisecond)
	detailed := coinsOnSale(received, received)
	detailed.Image, detailed.Category, detailed.Position = "https://cdn.example/coins.png?a=1&b=2", "Coins & more", 7
	regular := coinsOnSale(always, always)
	regular.Variants[0].Sale = catalog.Sale{}
	for name, test := range map[string]struct {
		product catalog.Product
		want    string
	}{
		"nothing": {regular, variant + amounts},
		"image, category": {
			detailed,
			`"image":"https://cdn.example/coins.png?a=1&b=2","category":"Coins & more",` + variant + amounts,
		},
		"an endless sale": {coinsOnSale(always, always), onSale + amounts},
		"a sale that ends": {
			coinsOnSale(always, received.AddDate(0, 0, 1)),
			onSale + `"saleEndsAt":"2026-11-22T12:00:00.123Z",` + amounts,
		},
		"a sale to come": {coinsOnSale(received.Add(time.Millisecond), always), variant + amounts},
		"a past sale":    {coinsOnSale(always, received), variant + amounts},
	} {
		s := newService(t)
		a := s.send(s.CheckoutArea(shelf{emberforge(test.product)}.area()), get(areaPath))
		if want := before + test.want + after; a.body != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, a.body, want)
		}
	}
}

// The area reads the catalogue once. After that, only the time of the requests changes.
func TestSale_AreaAndCheckouts_HaveOnePriceAtEveryInstant(t *testing.T) {
	friday := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	until := friday.Add(3 * time.Millisecond)
	stored := shelf{emberforge(coinsOnSale(friday, until))}
	area := catalog.NewArea(stored, func() time.Time { return friday })
	opener := checkout.Opener{Catalogue: catalog.Catalogue{Store: stored}, Store: lostStore{}, Random: rand.Reader}
	for at, want := range map[time.Time]int64{
		friday.Add(-time.Millisecond): 499, friday.Add(-time.Nanosecond): 499, friday: 399,
		friday.Add(time.Nanosecond):  399,
		until.Add(-time.Millisecond): 399, until.Add(-time.Nanosecond): 399, until: 499, until.Add(time.Hour): 499,
	} {
		s := newService(t)
		s.Now = func() time.Time { return at }
		var shown struct {
			Products []struct {
				Variants []struct {
					Price struct {
						Minor int64 `json:"minor"`
					} `json:"price"`
				} `json:"variants"`
			} `json:"products"`
		}
		if err := json.Unmarshal([]byte(s.send(s.CheckoutArea(area), get(areaPath)).body), &shown); err != nil {
			t.Fatal(err)
		}
		if got := shown.Products[0].Variants[0].Price.Minor; got != want {
			t.Errorf("at %s, the area has %d, want %d", at, got, want)
		}
		for path, handler := range map[string]http.Handler{
			"/coins/500":         s.Checkout(opener),
			"/coins/variant/500": s.CheckoutVariant(opener),
		} {
			a := s.send(handler, get(areaPath+path+"?amount=2"))
			if !strings.Contains(a.body, fmt.Sprintf(`"unitPrice":{"minor":%d,`, want)) ||
				!strings.Contains(a.body, fmt.Sprintf(`"total":{"minor":%d,`, 2*want)) {
				t.Errorf("at %s, %s has %s, want %d", at, path, a.body, want)
			}
		}
	}
}

// The shop ends the sale after the area has read it.
func TestSale_ChangesBetweenAreaAndCheckout_CheckoutHasTheNewPrice(t *testing.T) {
	area := shelf{emberforge(coinsOnSale(time.Time{}, time.Time{}))}.area()
	if _, a := show(t, area, areaPath); !strings.Contains(a.body, `"price":{"minor":399,`) {
		t.Fatalf("the area has %s", a.body)
	}
	ended := coinsOnSale(time.Time{}, time.Time{})
	ended.Variants[0].Sale = catalog.Sale{}
	opener := checkout.Opener{
		Catalogue: catalog.Catalogue{Store: shelf{emberforge(ended)}}, Store: lostStore{},
		Random: rand.Reader,
	}
	s := newService(t)
	if a := s.send(s.Checkout(opener), get(areaPath+"/coins/500")); !strings.Contains(a.body,
		`"unitPrice":{"minor":499,`) {
		t.Errorf("the checkout has %s", a.body)
	}
}

func TestCheckoutArea_ETag_ChangesWhenASaleBegins(t *testing.T) {
	area := shelf{emberforge(coinsOnSale(now().Truncate(time.Second).Add(time.Second), time.Time{}))}.area()
	_, before := show(t, area, areaPath)
	s := newService(t)
	s.Now = func() time.Time { return now().Add(time.Second) }
	if a := s.send(s.CheckoutArea(area),
		get(areaPath, "If-None-Match", before.header.Get("ETag"))); a.status != http.StatusOK {
		t.Errorf("got %d for the page from before the sale, want 200", a.status)
	}
}

// placed returns capes. Every third cape has no position. Later capes have lower positions than earlier ones, and so
// come first. But some neighbours share a position.
func placed(count int) []catalog.Product {
	products := capes(count)
	for i := range products {
		if i%3 > 0 {
			products[i].Position = int64(count - i/2)
		}
	}
	return products
}

func TestCheckoutArea_NextLinks_KeepTheOrderOfPositions(t *testing.T) {
	const count = 13
	area := shelf{emberforge(placed(count)...)}.area()
	want := "cape-010 cape-011 cape-008 cape-007 cape-004 cape-005 cape-002 cape-001 cape-000 cape-003 cape-006 " +
		"cape-009 cape-012"
	for limit := 1; limit <= count+1; limit++ {
		var seen []string
		for p := range walk(t, area, fmt.Sprintf("%s?limit=%d", areaPath, limit)) {
			for _, product := range p.Products {
				seen = append(seen, product.ID)
			}
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("pages of %d: got %s, want %s", limit, got, want)
		}
	}
}
