package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/pkg/catalog"
)

// shelves is a catalog.AreaStore that counts its reads.
type shelves struct {
	mu       sync.Mutex
	shops    map[catalog.ShopID]catalog.Shop
	profiles int // shops read
	products int // products read
	fails    error
	failsAt  catalog.ProductID // if set, only reading this product fails
}

func (s *shelves) Profile(_ context.Context, id catalog.ShopID) (catalog.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profiles++
	shop, known := s.shops[id]
	switch {
	case s.fails != nil && s.failsAt == "":
		return catalog.Profile{}, s.fails
	case !known:
		return catalog.Profile{}, catalog.ErrNotFound
	default:
		return shop.Profile, nil
	}
}

func (s *shelves) ProductsOnSale(
	_ context.Context, shop catalog.ShopID, after catalog.ProductID, want int,
) iter.Seq2[catalog.Product, error] {
	return func(yield func(catalog.Product, error) bool) {
		if want < 1 {
			yield(catalog.Product{}, fmt.Errorf("%d products are wanted", want))
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, product := range s.shops[shop].Products {
			if product.ID <= after || product.OffSale {
				continue
			}
			s.products++
			if s.fails != nil && product.ID == s.failsAt {
				yield(catalog.Product{}, s.fails)
				return
			}
			if !yield(product, nil) {
				return
			}
		}
	}
}

// wantReads checks how much was read since its last call.
func (s *shelves) wantReads(t *testing.T, what string, profiles, products int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.profiles != profiles || s.products != products {
		t.Errorf("%s: read %d profiles and %d products, want %d and %d", what, s.profiles, s.products, profiles,
			products)
	}
	s.profiles, s.products = 0, 0
}

// exhibition is an Area over a store with some shops, and the Area's clock.
type exhibition struct {
	*shelves
	*catalog.Area

	clock time.Time
}

func exhibit(shops ...catalog.Shop) *exhibition {
	e := &exhibition{
		shelves: &shelves{shops: make(map[catalog.ShopID]catalog.Shop)},
		clock:   time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
	for _, shop := range shops {
		e.shops[shop.Profile.ID] = shop
	}
	e.Area = catalog.NewArea(e.shelves, func() time.Time { return e.clock })
	return e
}

// list returns at most limit products of a shop in the order of their IDs, starting after the given ID.
func (e *exhibition) list(t *testing.T, id catalog.ShopID, after catalog.ProductID, limit int) []catalog.Product {
	t.Helper()
	products, _ := e.page(t, id, catalog.Place{ID: after}, limit)
	return products
}

// page returns at most limit products of a shop after a place, and the place where they end.
func (e *exhibition) page(
	t *testing.T, id catalog.ShopID, after catalog.Place, limit int,
) (products []catalog.Product, end catalog.Place) {
	t.Helper()
	listing, err := e.OnSale(t.Context(), id, after, limit)
	if err != nil {
		t.Fatal(err)
	}
	for product, err := range listing.Products {
		if err != nil {
			t.Fatal(err)
		}
		end = listing.Place(product)
		if products = append(products, product); len(products) == limit {
			break
		}
	}
	return products, end
}

// capes returns a shop that has the given number of products, of about the given size in bytes each.
func capes(id catalog.ShopID, count, size int) catalog.Shop {
	shop := catalog.Shop{Profile: emberforge()}
	shop.Profile.ID = id
	for i := range count {
		cape := coins(1)
		cape.ID, cape.Description = catalog.ProductID(fmt.Sprintf("cape-%04d", i)), strings.Repeat("x", size)
		shop.Products = append(shop.Products, cape)
	}
	return shop
}

func TestArea_UnknownOrOffSale_IsNotFound(t *testing.T) {
	closed := capes("closed", 1, 1)
	closed.Profile.OffSale = true
	e := exhibit(closed, capes("open", 1, 1))
	if listing, err := e.OnSale(t.Context(), "open", catalog.Place{},
		1); listing.Profile != e.shops["open"].Profile || err != nil {
		t.Errorf("open: %+v, %v", listing.Profile, err)
	}
	for range 3 { // only the first round reads the store
		for _, id := range []catalog.ShopID{"closed", "nobody"} {
			listing, err := e.OnSale(t.Context(), id, catalog.Place{}, 1)
			if !errors.Is(err, catalog.ErrNotFound) || listing.Profile.ID != "" || listing.Products != nil {
				t.Errorf("%s: %+v, %v", id, listing.Profile, err)
			}
		}
	}
	e.wantReads(t, "open, closed and nobody", 3, 1)
}

func TestArea_OffSale_IsNotListed(t *testing.T) {
	closed, half, open, other := coins(1, 2), coins(1, 2, 3), coins(1), coins(7)
	closed.ID, half.ID, open.ID, other.ID = "a-closed", "b-half", "c-open", "d-other"
	closed.Variants[0].OffSale, closed.Variants[1].OffSale = true, true
	half.Variants[1].OffSale = true
	other.OffSale = true
	e := exhibit(catalog.Shop{Profile: emberforge(), Products: []catalog.Product{closed, half, open, other}})
	halfShown := half
	halfShown.Variants = []catalog.Variant{half.Variants[0], half.Variants[2]}
	for range 2 { // the second round shows whether the first one has modified the store's products
		if got, want := e.list(t, "emberforge", "", 10),
			[]catalog.Product{halfShown, open}; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		e.clock = e.clock.Add(catalog.MaxAge / 2)
	}
	if got, want := e.list(t, "emberforge", "b-half", 10), []catalog.Product{open}; !reflect.DeepEqual(got, want) {
		t.Errorf("after b-half: got %+v, want %+v", got, want)
	}
}

// Whatever the limit and the cursor, an Area reads a shop only once within MaxAge. A change shows after MaxAge at the
// latest.
func TestArea_ManyPages_ReadTheCatalogueOnceInMaxAge(t *testing.T) {
	e := exhibit(capes("emberforge", 90, 4000), capes("sakura-goods", 5, 4000))
	for round := range 3 {
		changed := capes("emberforge", 90, 4000)
		changed.Products[89].Name = fmt.Sprintf("Cape %d", round)
		e.shops["emberforge"] = changed
		for i := range 90 { // one page for each product, all within MaxAge
			after := catalog.ProductID("")
			if i > 0 {
				after = e.shops["emberforge"].Products[i-1].ID
			}
			for _, limit := range []int{1, 101, 201} {
				got, want := e.list(t, "emberforge", after, limit), e.shops["emberforge"].Products[i:min(i+limit, 90)]
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("round %d, %d after %q: got %d products, want %d", round, limit, after, len(got),
						len(want))
				}
			}
			e.clock = e.clock.Add((catalog.MaxAge - 1) / 90)
		}
		e.list(t, "emberforge", "zebra", 1)
		e.wantReads(t, fmt.Sprintf("round %d", round), 1, 90)
		stale := changed.Products[89].Name
		e.shops["emberforge"] = capes("emberforge", 90, 4000)
		if got := e.list(t, "emberforge", "cape-0088", 1)[0].Name; got != stale {
			t.Errorf("a change shows as %q before MaxAge", got)
		}
		e.clock = e.clock.Add(catalog.MaxAge)
	}
	e.list(t, "sakura-goods", "", 1)
	e.list(t, "sakura-goods", "cape-0003", 1)
	e.wantReads(t, "another shop", 1, 5)
}

func TestArea_TwoShops_EachHasItsOwnProducts(t *testing.T) {
	e := exhibit(capes("emberforge", 2, 1), capes("sakura-goods", 5, 1))
	for range 2 { // the second round reads the memory
		for id, want := range map[catalog.ShopID]int{"emberforge": 2, "sakura-goods": 5} {
			if got := e.list(t, id, "", 10); len(got) != want {
				t.Errorf("%s has %d products, want %d", id, len(got), want)
			}
		}
	}
	e.wantReads(t, "two shops", 2, 7)
}

// A clock that was set back must not keep stale products in use.
func TestArea_ClockSetBack_ReadsAgain(t *testing.T) {
	e := exhibit(capes("emberforge", 2, 1))
	e.list(t, "emberforge", "", 1)
	e.clock = e.clock.Add(-time.Hour)
	e.list(t, "emberforge", "", 1)
	e.wantReads(t, "after the clock was set back an hour", 2, 4)
}

func TestArea_FailedRead_IsNotRemembered(t *testing.T) {
	out := errors.New("out of reach")
	e := exhibit(capes("emberforge", 3, 1))
	for _, at := range []catalog.ProductID{"", "cape-0001"} {
		e.fails, e.failsAt = out, at
		if _, err := e.OnSale(t.Context(), "emberforge", catalog.Place{}, 1); !errors.Is(err, out) {
			t.Errorf("failing at %q: %v", at, err)
		}
	}
	e.fails = nil
	if got := e.list(t, "emberforge", "", 10); len(got) != 3 {
		t.Errorf("%d products after the failure, want 3", len(got))
	}
}

// All shops share the bound. The shop that was read first is dropped first.
func TestArea_FullOfShops_DropsTheOldest(t *testing.T) {
	e := exhibit()
	for i := range 5 {
		shop := capes(catalog.ShopID(fmt.Sprintf("shop-%d", i)), 100, 38_000) // 3.9 MB of the 16 MB
		e.shops[shop.Profile.ID] = shop
		e.list(t, shop.Profile.ID, "", 1)
	}
	e.wantReads(t, "five shops", 5, 500)
	for _, id := range []catalog.ShopID{"shop-4", "shop-3", "shop-2", "shop-1"} {
		e.list(t, id, "", 1)
	}
	e.wantReads(t, "the last four", 0, 0)
	e.list(t, "shop-0", "", 1)
	e.list(t, "shop-1", "", 1)
	e.wantReads(t, "the first, which was dropped, and the second, which it displaced", 2, 200)
}

func TestArea_PageTexts_CountTowardsTheBound(t *testing.T) {
	const many = catalog.MaxAreaBytes/catalog.MaxPageBytes + 1
	e := exhibit()
	for i := range many {
		shop := catalog.Shop{Profile: emberforge()}
		shop.Profile.ID, shop.Profile.Page = catalog.ShopID(fmt.Sprint(i)), pageOf(catalog.MaxPageBytes)
		e.shops[shop.Profile.ID] = shop
		e.list(t, shop.Profile.ID, "", 1)
	}
	e.wantReads(t, "each once", many, 0)
	e.list(t, "0", "", 1)
	e.wantReads(t, "the first, which was dropped", 1, 0)
}

// Requests for invented shops must not fill the memory.
func TestArea_ManyUnknownShops_AreForgotten(t *testing.T) {
	e := exhibit()
	const many = catalog.MaxAreaBytes / 256
	for i := range many {
		_, _ = e.OnSale(t.Context(), catalog.ShopID(fmt.Sprint(i)), catalog.Place{}, 1)
	}
	e.wantReads(t, "each once", many, 0)
	for _, id := range []catalog.ShopID{catalog.ShopID(fmt.Sprint(many - 1)), "0"} {
		_, _ = e.OnSale(t.Context(), id, catalog.Place{}, 1)
	}
	e.wantReads(t, "the last and the first", 1, 0)
}

// A catalogue that is too large is read page by page. For ten minutes, the Area does not try again to hold it in
// memory.
func TestArea_OversizeCatalogue_IsReadPageByPage(t *testing.T) {
	const count = catalog.MaxShopBytes/40_000 + 1
	e := exhibit(capes("emberforge", count, 40_000))
	var seen []catalog.ProductID
	for after := catalog.ProductID(""); ; after = seen[len(seen)-1] {
		page := e.list(t, "emberforge", after, 10)
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			seen = append(seen, p.ID)
		}
	}
	if len(seen) != count || !slices.IsSorted(seen) {
		t.Errorf("listed %d of %d products", len(seen), count)
	}
	e.profiles, e.products = 0, 0
	e.list(t, "emberforge", "", 10)
	e.wantReads(t, "a page", 0, 10)
	e.clock = e.clock.Add(catalog.MaxAge)
	e.list(t, "emberforge", "", 10)
	e.wantReads(t, "a page after MaxAge", 1, 10)
	e.shops["emberforge"] = capes("emberforge", 12, 1)
	e.clock = e.clock.Add(10 * time.Minute)
	e.list(t, "emberforge", "", 10)
	e.list(t, "emberforge", "", 10)
	e.wantReads(t, "two pages of the smaller catalogue, after ten minutes", 1, 12)

	e.shops["emberforge"] = capes("emberforge", count, 40_000)
	e.clock = e.clock.Add(catalog.MaxAge)
	e.list(t, "emberforge", "", 1)
	e.fails, e.failsAt = errors.New("out of reach"), "cape-0001"
	listing, err := e.OnSale(t.Context(), "emberforge", catalog.Place{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, err := range listing.Products {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], e.fails) {
		t.Errorf("got %v, want a product and the error", errs)
	}
}

func TestArea_Race_EachShopperSeesTheRequestedShop(t *testing.T) {
	e := exhibit()
	for i := range 8 {
		// some shops are dropped, and some are too large to hold
		shop := capes(catalog.ShopID(fmt.Sprintf("shop-%d", i)), i+1, 1_000_000)
		e.shops[shop.Profile.ID] = shop
	}
	var shoppers sync.WaitGroup
	for i := range 8 {
		shoppers.Go(func() {
			for round := range 200 {
				count := (i+round)%8 + 1
				id := catalog.ShopID(fmt.Sprintf("shop-%d", count-1))
				if got := e.list(t, id, "", 100); len(got) != count {
					t.Errorf("%s has %d products, want %d", id, len(got), count)
				}
			}
		})
	}
	shoppers.Wait()
}

// shelf returns a shop with the products of the given IDs, each at its position.
func shelf(positions map[catalog.ProductID]int64) catalog.Shop {
	shop := catalog.Shop{Profile: emberforge()}
	for _, id := range slices.Sorted(maps.Keys(positions)) {
		product := coins(499)
		product.ID, product.Position = id, positions[id]
		shop.Products = append(shop.Products, product)
	}
	return shop
}

// walk lists a shop page by page. It calls pageEnded after each page but the last one.
func (e *exhibition) walk(t *testing.T, from catalog.Place, limit int, pageEnded func(pages int)) string {
	t.Helper()
	var seen []string
	for pages := 1; ; pages++ {
		page, end := e.page(t, "emberforge", from, limit)
		for _, product := range page {
			seen = append(seen, string(product.ID))
		}
		if len(page) < limit || len(seen) > 100 {
			return strings.Join(seen, " ")
		}
		from = end
		pageEnded(pages)
	}
}

// sorted maps product IDs to positions. Some positions are equal. Products with position 0 have no position.
func sorted() map[catalog.ProductID]int64 {
	return map[catalog.ProductID]int64{
		"ash": 0, "birch": 30, "cedar": 20, "elm": catalog.MaxPosition, "fir": 20,
		"hazel": 0, "ivy": 1, "juniper": 20,
	}
}

func TestArea_Positions_SortProductsOnPagesOfEverySize(t *testing.T) {
	e := exhibit(shelf(sorted()))
	for limit := 1; limit <= len(sorted())+1; limit++ {
		if got, want := e.walk(t, catalog.Place{}, limit, func(int) {}),
			"ivy cedar fir juniper birch elm ash hazel"; got != want {
			t.Errorf("pages of %d: %s, want %s", limit, got, want)
		}
	}
	e.wantReads(t, "all pages", 1, len(sorted()))
}

// Whatever an apply changes between two pages, each product that keeps its position is listed once. The test advances
// the clock, so that the next page shows the change.
func TestArea_ChangesBetweenPages_ListUnmovedProductsOnce(t *testing.T) {
	for name, change := range map[string]struct {
		positions map[catalog.ProductID]int64 // -1: the product is removed
		moved     string                      // these products may be listed twice, once or not at all
	}{
		"a product moves forward":      {map[catalog.ProductID]int64{"elm": 2}, "elm"},
		"a product moves back":         {map[catalog.ProductID]int64{"ivy": 40}, "ivy"},
		"a product loses its position": {map[catalog.ProductID]int64{"cedar": 0}, "cedar"},
		"a product gets a position":    {map[catalog.ProductID]int64{"hazel": 20}, "hazel"},
		"a product is removed":         {map[catalog.ProductID]int64{"fir": -1}, "fir"},
		"a product is added":           {map[catalog.ProductID]int64{"dogwood": 20}, "dogwood"},
		"all with equal positions are removed": {
			map[catalog.ProductID]int64{"cedar": -1, "fir": -1, "juniper": -1},
			"cedar fir juniper",
		},
		"all products lose their positions": {map[catalog.ProductID]int64{
			"birch": 0, "cedar": 0, "elm": 0, "fir": 0,
			"ivy": 0, "juniper": 0,
		}, "birch cedar elm fir ivy juniper"},
		"all without a position are removed": {map[catalog.ProductID]int64{"ash": -1, "hazel": -1}, "ash hazel"},
		"all without a position get one":     {map[catalog.ProductID]int64{"ash": 1, "hazel": 50}, "ash hazel"},
	} {
		for limit := 1; limit <= len(sorted()); limit++ {
			for after := 1; after <= len(sorted())/limit; after++ {
				e := exhibit(shelf(sorted()))
				got := e.walk(t, catalog.Place{}, limit, func(pages int) {
					if pages != after {
						return
					}
					changed := sorted()
					maps.Copy(changed, change.positions)
					maps.DeleteFunc(changed, func(_ catalog.ProductID, position int64) bool { return position < 0 })
					e.shops["emberforge"] = shelf(changed)
					e.clock = e.clock.Add(catalog.MaxAge)
				})
				stays := slices.DeleteFunc(strings.Fields(got),
					func(id string) bool { return slices.Contains(strings.Fields(change.moved), id) })
				want := slices.DeleteFunc(strings.Fields("ivy cedar fir juniper birch elm ash hazel"),
					func(id string) bool {
						return slices.Contains(strings.Fields(change.moved), id)
					})
				if !slices.Equal(stays, want) {
					t.Errorf("%s after page %d, at %d products a page: listed %s, want %s once each", name, after,
						limit, got, want)
				}
			}
		}
	}
}

// The cursors of a list that began before any product had a position hold only an ID.
func TestArea_PlaceWithoutPosition_GoesOnByID(t *testing.T) {
	e := exhibit(shelf(sorted()))
	for limit := 1; limit <= len(sorted()); limit++ {
		if got, want := e.walk(t, catalog.Place{ID: "birch"}, limit, func(int) {}),
			"cedar elm fir hazel ivy juniper"; got != want {
			t.Errorf("pages of %d: %s, want %s", limit, got, want)
		}
	}
	unsorted := sorted()
	for id := range unsorted {
		unsorted[id] = 0
	}
	e = exhibit(shelf(unsorted))
	got := e.walk(t, catalog.Place{}, 3, func(int) {
		e.shops["emberforge"] = shelf(sorted())
		e.clock = e.clock.Add(catalog.MaxAge)
	})
	if want := "ash birch cedar elm fir hazel ivy juniper"; got != want {
		t.Errorf("products get positions after the first page: %s, want %s", got, want)
	}
}

func TestArea_OversizeCatalogue_IsListedByID(t *testing.T) {
	large := shelf(sorted())
	for i := range large.Products {
		large.Products[i].Image, large.Products[i].Category = strings.Repeat("x", catalog.MaxShopBytes/10),
			strings.Repeat("x", catalog.MaxShopBytes/10)
	}
	e := exhibit(large)
	for limit := 1; limit <= len(sorted())+1; limit++ {
		if got, want := e.walk(t, catalog.Place{}, limit, func(int) {}),
			"ash birch cedar elm fir hazel ivy juniper"; got != want {
			t.Errorf("pages of %d: %s, want %s", limit, got, want)
		}
	}
	// If the catalogue becomes too large between two pages, the list begins again, so that nothing is missing.
	e = exhibit(shelf(sorted()))
	got := e.walk(t, catalog.Place{}, 3, func(int) {
		e.shops["emberforge"] = large
		e.clock = e.clock.Add(catalog.MaxAge)
	})
	if want := "ivy cedar fir ash birch cedar elm fir hazel ivy juniper"; got != want {
		t.Errorf("the catalogue becomes too large after the first page: %s, want %s", got, want)
	}
	// If the catalogue becomes small enough to sort, the order stays by ID.
	e = exhibit(large)
	got = e.walk(t, catalog.Place{}, 3, func(int) {
		e.shops["emberforge"] = shelf(sorted())
		e.clock = e.clock.Add(10 * time.Minute)
	})
	if want := "ash birch cedar elm fir hazel ivy juniper"; got != want {
		t.Errorf("the catalogue becomes small enough after the first page: %s, want %s", got, want)
	}
}
