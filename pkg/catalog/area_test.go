package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/pkg/catalog"
)

// shelves is a catalog.AreaStore that counts what is read of it.
type shelves struct {
	mu       sync.Mutex
	shops    map[catalog.CustomerID]catalog.Shop
	profiles int // reads of a customer
	products int // products read
	fails    error
	failsAt  catalog.ProductID // if set, reading fails at this product only
}

func (s *shelves) Customer(_ context.Context, id catalog.CustomerID) (catalog.Customer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.profiles++
	shop, known := s.shops[id]
	switch {
	case s.fails != nil && s.failsAt == "":
		return catalog.Customer{}, s.fails
	case !known:
		return catalog.Customer{}, catalog.ErrNotFound
	default:
		return shop.Customer, nil
	}
}

func (s *shelves) ProductsOnSale(_ context.Context, customer catalog.CustomerID, after catalog.ProductID, want int) iter.Seq2[catalog.Product, error] {
	return func(yield func(catalog.Product, error) bool) {
		if want < 1 {
			yield(catalog.Product{}, fmt.Errorf("%d products are wanted", want))
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, product := range s.shops[customer].Products {
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
		t.Errorf("%s: read %d profiles and %d products, want %d and %d", what, s.profiles, s.products, profiles, products)
	}
	s.profiles, s.products = 0, 0
}

// exhibition is an Area of some shops, with a clock.
type exhibition struct {
	*shelves
	*catalog.Area

	clock time.Time
}

func exhibit(shops ...catalog.Shop) *exhibition {
	e := &exhibition{shelves: &shelves{shops: make(map[catalog.CustomerID]catalog.Shop)}, clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	for _, shop := range shops {
		e.shops[shop.Customer.ID] = shop
	}
	e.Area = catalog.NewArea(e.shelves, func() time.Time { return e.clock })
	return e
}

// list returns at most limit of a shop's products after the given one.
func (e *exhibition) list(t *testing.T, id catalog.CustomerID, after catalog.ProductID, limit int) (products []catalog.Product) {
	t.Helper()
	_, found, err := e.OnSale(t.Context(), id, after, limit)
	if err != nil {
		t.Fatal(err)
	}
	for product, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		if products = append(products, product); len(products) == limit {
			break
		}
	}
	return products
}

// capes returns a shop with count products of about size bytes each.
func capes(id catalog.CustomerID, count, size int) catalog.Shop {
	shop := catalog.Shop{Customer: emberforge()}
	shop.Customer.ID = id
	for i := range count {
		cape := coins(1)
		cape.ID, cape.Description = catalog.ProductID(fmt.Sprintf("cape-%04d", i)), strings.Repeat("x", size)
		shop.Products = append(shop.Products, cape)
	}
	return shop
}

func TestArea_UnknownOrOffSale_IsNotFound(t *testing.T) {
	closed := capes("closed", 1, 1)
	closed.Customer.OffSale = true
	e := exhibit(closed, capes("open", 1, 1))
	if customer, _, err := e.OnSale(t.Context(), "open", "", 1); customer != e.shops["open"].Customer || err != nil {
		t.Errorf("open: %+v, %v", customer, err)
	}
	for range 3 { // only the first time reads the store
		for _, id := range []catalog.CustomerID{"closed", "nobody"} {
			if customer, products, err := e.OnSale(t.Context(), id, "", 1); !errors.Is(err, catalog.ErrNotFound) || customer.ID != "" || products != nil {
				t.Errorf("%s: %+v, %v", id, customer, err)
			}
		}
	}
	e.wantReads(t, "open, closed and nobody", 3, 1)
}

func TestArea_OnlyOnSale_IsListed(t *testing.T) {
	closed, half, open, other := coins(1, 2), coins(1, 2, 3), coins(1), coins(7)
	closed.ID, half.ID, open.ID, other.ID = "a-closed", "b-half", "c-open", "d-other"
	closed.Variants[0].OffSale, closed.Variants[1].OffSale = true, true
	half.Variants[1].OffSale = true
	other.OffSale = true
	e := exhibit(catalog.Shop{Customer: emberforge(), Products: []catalog.Product{closed, half, open, other}})
	halfShown := half
	halfShown.Variants = []catalog.Variant{half.Variants[0], half.Variants[2]}
	for range 2 { // the second time it must not read again, and the first time must not have modified the store's products
		if got, want := e.list(t, "emberforge", "", 10), []catalog.Product{halfShown, open}; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		e.clock = e.clock.Add(catalog.MaxAge / 2)
	}
	if got, want := e.list(t, "emberforge", "b-half", 10), []catalog.Product{open}; !reflect.DeepEqual(got, want) {
		t.Errorf("after b-half: got %+v, want %+v", got, want)
	}
}

// Whatever the limit and the cursor, an Area reads a customer only once within MaxAge. A change shows after MaxAge at the latest.
func TestArea_ManyPages_AreReadOnceInMaxAge(t *testing.T) {
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
					t.Fatalf("round %d, %d after %q: got %d products, want %d", round, limit, after, len(got), len(want))
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
	e.wantReads(t, "another customer", 1, 5)
}

func TestArea_TwoCustomers_EachHasItsOwnProducts(t *testing.T) {
	e := exhibit(capes("emberforge", 2, 1), capes("sakura-goods", 5, 1))
	for range 2 { // the second time from memory
		for id, want := range map[catalog.CustomerID]int{"emberforge": 2, "sakura-goods": 5} {
			if got := e.list(t, id, "", 10); len(got) != want {
				t.Errorf("%s has %d products, want %d", id, len(got), want)
			}
		}
	}
	e.wantReads(t, "two customers", 2, 7)
}

// A clock that was set back must not keep stale products in use.
func TestArea_ClockSetBack_ReadsAgain(t *testing.T) {
	e := exhibit(capes("emberforge", 2, 1))
	e.list(t, "emberforge", "", 1)
	e.clock = e.clock.Add(-time.Hour)
	e.list(t, "emberforge", "", 1)
	e.wantReads(t, "an hour back", 2, 4)
}

func TestArea_FailedRead_IsNotRemembered(t *testing.T) {
	out := errors.New("out of reach")
	e := exhibit(capes("emberforge", 3, 1))
	for _, at := range []catalog.ProductID{"", "cape-0001"} {
		e.fails, e.failsAt = out, at
		if _, _, err := e.OnSale(t.Context(), "emberforge", "", 1); !errors.Is(err, out) {
			t.Errorf("failing at %q: %v", at, err)
		}
	}
	e.fails = nil
	if got := e.list(t, "emberforge", "", 10); len(got) != 3 {
		t.Errorf("%d products after the failure, want 3", len(got))
	}
}

// All customers share the bound. Whoever was read first is dropped first.
func TestArea_FullOfShops_DropsTheOldest(t *testing.T) {
	e := exhibit()
	for i := range 5 {
		shop := capes(catalog.CustomerID(fmt.Sprintf("shop-%d", i)), 100, 38_000) // 3.9 MB of the 16
		e.shops[shop.Customer.ID] = shop
		e.list(t, shop.Customer.ID, "", 1)
	}
	e.wantReads(t, "five shops", 5, 500)
	for _, id := range []catalog.CustomerID{"shop-4", "shop-3", "shop-2", "shop-1"} {
		e.list(t, id, "", 1)
	}
	e.wantReads(t, "the last four", 0, 0)
	e.list(t, "shop-0", "", 1)
	e.list(t, "shop-1", "", 1)
	e.wantReads(t, "the first, which was dropped, and the second, which it displaced", 2, 200)
}

// Requests for invented customers must not fill the memory.
func TestArea_ManyUnknownCustomers_AreForgotten(t *testing.T) {
	e := exhibit()
	const many = catalog.MaxAreaBytes / 256
	for i := range many {
		_, _, _ = e.OnSale(t.Context(), catalog.CustomerID(fmt.Sprint(i)), "", 1)
	}
	e.wantReads(t, "each once", many, 0)
	for _, id := range []catalog.CustomerID{catalog.CustomerID(fmt.Sprint(many - 1)), "0"} {
		_, _, _ = e.OnSale(t.Context(), id, "", 1)
	}
	e.wantReads(t, "the last and the first", 1, 0)
}

// A catalogue that is too large is read page by page. The attempt to hold it is not repeated for ten minutes.
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
	_, products, err := e.OnSale(t.Context(), "emberforge", "", 3)
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, err := range products {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], e.fails) {
		t.Errorf("got %v, want a product and the error", errs)
	}
}

func TestArea_Race_EveryoneSeesTheirShop(t *testing.T) {
	e := exhibit()
	for i := range 8 {
		shop := capes(catalog.CustomerID(fmt.Sprintf("shop-%d", i)), i+1, 1_000_000) // some are dropped, some too large
		e.shops[shop.Customer.ID] = shop
	}
	var shoppers sync.WaitGroup
	for i := range 8 {
		shoppers.Go(func() {
			for round := range 200 {
				count := (i+round)%8 + 1
				id := catalog.CustomerID(fmt.Sprintf("shop-%d", count-1))
				if got := e.list(t, id, "", 100); len(got) != count {
					t.Errorf("%s has %d products, want %d", id, len(got), count)
				}
			}
		})
	}
	shoppers.Wait()
}
