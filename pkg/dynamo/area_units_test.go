package dynamo_test

import (
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
)

// merch returns a product whose item takes 4 KB.
func merch(number int) catalog.Product {
	p := product(catalog.ProductID(fmt.Sprintf("merch-%04d", number)))
	p.Variants[0].DataSchema = strings.Repeat("x", 3905)
	return p
}

// The shop is read at most once in catalog.MaxAge, no matter how many pages shoppers request. Products off sale take no
// read units. docs/operating/capacity.md uses these figures.
func TestArea_ShopOf90Products_Takes45AndAHalfReadUnits(t *testing.T) {
	t.Parallel()
	meter, client := metered(t)
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"))
	for i := range 90 {
		must(t, s.owner(emberforge).PutProduct(t.Context(), merch(i)))
	}
	clock := time.Now()
	area := catalog.NewArea(dynamo.NewCatalogue(client, s.table, mathrand.Int64N), func() time.Time { return clock })
	wantUnits := func(what string, calls int, readUnits float64) {
		t.Helper()
		metered := meter.Take()
		var units memdynamo.Units
		for _, call := range metered {
			units = units.Plus(call.Units)
		}
		if len(metered) != calls || units != (memdynamo.Units{Read: readUnits}) {
			t.Errorf("%s: %d calls with %+v, want %d with %v read units", what, len(metered), units, calls, readUnits)
		}
	}
	for i := range 90 {
		listing, err := area.OnSale(t.Context(), emberforge, catalog.Place{ID: merch(i).ID}, 201-i)
		must(t, err)
		if found := ids(t, listing.Products); len(found) != 89-i {
			t.Errorf("OnSale lists %d products after %s, want %d", len(found), merch(i).ID, 89-i)
		}
	}
	wantUnits("90 pages", 2, 45.5)
	for i := range 100 {
		must(t, s.owner(emberforge).PutProduct(t.Context(), offSale(merch(1000+i))))
	}
	clock = clock.Add(catalog.MaxAge)
	if _, err := area.OnSale(t.Context(), emberforge, catalog.Place{}, 1); err != nil {
		t.Fatal(err)
	}
	wantUnits("with 100 products off sale", 2, 45.5)
	for range 10 {
		if _, err := area.OnSale(t.Context(), "nobody", catalog.Place{}, 1); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("OnSale of an unknown shop = %v, want catalog.ErrNotFound", err)
		}
	}
	wantUnits("an unknown shop", 1, 0.5)
}
