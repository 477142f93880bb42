package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

// fakeStore is a catalog.ApplyStore in memory for one shop. One of its writes can fail.
type fakeStore struct {
	profile  *catalog.Profile
	products map[catalog.ProductID]catalog.Product
	writes   int
	breaksAt int // the number of the write that fails, counted from 1; 0: every write succeeds
}

var errBroken = errors.New("connection lost")

// shop returns the stored shop, or nil.
func (s *fakeStore) shop() *catalog.Shop {
	if s.profile == nil {
		return nil
	}
	shop := catalog.Shop{Profile: *s.profile}
	for _, id := range slices.Sorted(maps.Keys(s.products)) {
		shop.Products = append(shop.Products, s.products[id])
	}
	return &shop
}

func (s *fakeStore) PutProfile(_ context.Context, profile catalog.Profile) error {
	if err := s.count(); err != nil {
		return err
	}
	if s.profile != nil && s.profile.Currency != profile.Currency {
		return catalog.ErrCurrencyFixed
	}
	if s.profile == nil && profile.Version != 0 || s.profile != nil && profile.Version != s.profile.Version {
		return catalog.ErrChanged
	}
	profile.Version++
	s.profile = &profile
	return nil
}

func (s *fakeStore) PutProduct(_ context.Context, product catalog.Product) error {
	if err := s.count(); err != nil {
		return err
	}
	if s.profile == nil {
		return fmt.Errorf("product %s of a shop that does not exist", product.ID)
	}
	if err := product.Validate(s.profile.Currency); err != nil {
		return err
	}
	if product.Version != s.products[product.ID].Version {
		return catalog.ErrChanged
	}
	product.Version++
	if s.products == nil {
		s.products = map[catalog.ProductID]catalog.Product{}
	}
	s.products[product.ID] = product
	return nil
}

func (s *fakeStore) count() error {
	s.writes++
	if s.writes == s.breaksAt {
		return errBroken
	}
	return nil
}

func (s *fakeStore) clone() *fakeStore {
	return &fakeStore{profile: s.profile, products: maps.Clone(s.products)}
}

// apply plans and applies a shop, and returns the changes as text, one a line.
func apply(t testing.TB, s *fakeStore, wanted catalog.Shop, prune bool) string {
	t.Helper()
	plan, err := catalog.NewPlan(s.shop(), wanted, prune)
	if err != nil {
		t.Fatal(err)
	}
	wrote := 0
	if err := plan.Apply(t.Context(), s, func() { wrote++ }); err != nil {
		t.Fatal(err)
	}
	if wrote != plan.Writes() || (len(plan.Changes) == 0) != (wrote == 0) {
		t.Errorf("%d changes, and %d of %d planned writes", len(plan.Changes), wrote, plan.Writes())
	}
	var lines []string
	for _, change := range plan.Changes {
		lines = append(lines, change.String())
	}
	return strings.Join(lines, "\n")
}

func shopOf(products ...catalog.Product) catalog.Shop {
	return catalog.Shop{Profile: emberforge(), Products: products}
}

func ranks(ids ...catalog.VariantID) catalog.Product {
	product := catalog.Product{ID: "vip-rank", Name: "VIP rank"}
	for _, id := range ids {
		product.Variants = append(product.Variants, catalog.Variant{
			ID: id, Name: "VIP " + string(id), Price: euro(999), MinAmount: 1, MaxAmount: 1,
			DataSchema: `{"type":"object"}`,
		})
	}
	return product
}

func TestPlan_Changes_SayWhatApplyingDoes(t *testing.T) {
	for _, test := range []struct {
		name   string
		wanted func() catalog.Shop
		prune  bool
		want   string
	}{
		{name: "nothing changed", wanted: func() catalog.Shop { return shopOf(coins(499, 999), ranks("30-days")) }},
		{name: "a file that mentions nothing changes nothing", wanted: func() catalog.Shop { return shopOf() }},
		{name: "prune of a whole shop", wanted: func() catalog.Shop { return shopOf() }, prune: true, want: `
emberforge/coins: taken off sale
emberforge/vip-rank: taken off sale`},
		{name: "prune of a variant", wanted: func() catalog.Shop { return shopOf(coins(499), ranks("30-days")) }, prune: true, want: `
emberforge/coins/999: taken off sale`},
		{name: "fields of a product", wanted: func() catalog.Shop {
			shop := shopOf(coins(499, 999), ranks("30-days"))
			shop.Profile.Name = "Emberforge Guild"
			shop.Products[0].Name, shop.Products[0].Description = "Coins", ""
			shop.Products[0].Variants[1].Price = euro(949)
			shop.Products[0].Variants[1].MinAmount = 2
			shop.Products[1].Variants[0].DataSchema = `{"type":"object","required":["player"]}`
			shop.Products[1].Variants[0].OffSale = true
			return shop
		}, want: `
emberforge: name Emberforge -> Emberforge Guild
emberforge/coins: name Ember coins -> Coins
emberforge/coins: description removed
emberforge/coins/999: price 9.99 EUR -> 9.49 EUR
emberforge/coins/999: amount 1 to 10 -> 2 to 10
emberforge/vip-rank/30-days: data changed
emberforge/vip-rank/30-days: taken off sale`},
		{name: "details of a product, and a sale", wanted: func() catalog.Shop {
			shop := shopOf(coins(499, 999), ranks("30-days", "lifetime"))
			shop.Products[0].Image, shop.Products[0].Category, shop.Products[0].Position = "https://cdn.example/coins.png", "Coins", 10
			shop.Products[0].Variants[0].Sale = catalog.Sale{Price: euro(399), From: friday}
			shop.Products[1].Variants[1].Sale = catalog.Sale{Price: euro(799), Until: friday}
			shop.Products[1].Variants[1].OffSale = true
			return shop
		}, want: `
emberforge/coins: image none -> https://cdn.example/coins.png
emberforge/coins: category none -> Coins
emberforge/coins: position none -> 10
emberforge/coins/499: sale none -> 3.99 EUR from 2026-11-27T00:00:00Z
emberforge/vip-rank/lifetime: new, 9.99 EUR, sale 7.99 EUR until 2026-11-27T00:00:00Z, off sale`},
		{name: "a new variant between the others", wanted: func() catalog.Shop { return shopOf(coins(499, 749, 999)) }, want: `
emberforge/coins/749: new, 7.49 EUR`},
		{name: "another order", wanted: func() catalog.Shop { return shopOf(coins(999, 499)) }, want: `
emberforge/coins: order 499, 999 -> 999, 499`},
		{name: "a new product, off sale for now", wanted: func() catalog.Shop {
			shop := shopOf(ranks("30-days", "lifetime"))
			shop.Products[0].ID, shop.Products[0].OffSale = "mvp-rank", true
			shop.Products[0].Variants[1].OffSale = true
			return shop
		}, want: `
emberforge/mvp-rank: new, VIP rank, off sale
emberforge/mvp-rank/30-days: new, 9.99 EUR
emberforge/mvp-rank/lifetime: new, 9.99 EUR, off sale`},
		{name: "the shop closes", wanted: func() catalog.Shop {
			shop := shopOf()
			shop.Profile.OffSale = true
			return shop
		}, want: `
emberforge: taken off sale`},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := &fakeStore{}
			if got := apply(t, store, shopOf(coins(499, 999), ranks("30-days")), false); !strings.HasPrefix(got,
				"emberforge: new, EUR\n") {
				t.Errorf("the first apply changes\n%s\nwant a new shop first", got)
			}
			if got, want := apply(t, store, test.wanted(), test.prune), strings.TrimSpace(test.want); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got := apply(t, store, test.wanted(), test.prune); got != "" {
				t.Errorf("applying twice changes\n%s", got)
			}
		})
	}
}

func TestPlan_PriceOfZeroOrTenfold_IsUnlikely(t *testing.T) {
	const isNew = -1
	for _, test := range []struct {
		before, after int64
		want          bool
	}{
		{499, 0, true},
		{499, 4990, true},
		{499, 49, true},
		{4990, 499, true},
		{0, 499, true},
		{isNew, 0, true},
		{499, 4989, false},
		{499, 50, false},
		{isNew, 1, false},
		{isNew, 100_000, false},
	} {
		store, wanted := &fakeStore{}, coins(test.after)
		if test.before != isNew {
			was := coins(test.before)
			apply(t, store, shopOf(was), false)
			wanted.Variants[0].ID, wanted.Variants[0].Name = was.Variants[0].ID, was.Variants[0].Name
		}
		plan, err := catalog.NewPlan(store.shop(), shopOf(wanted), false)
		if err != nil {
			t.Fatal(err)
		}
		if last := plan.Changes[len(plan.Changes)-1]; last.Unlikely != test.want {
			t.Errorf("from %d to %d: %s: unlikely %t, want %t", test.before, test.after, last, last.Unlikely, test.want)
		}
	}
}

// A file replaces all details of a product and its variants. For example, a file without the sale ends the sale.
func TestPlan_DetailsLeftOut_AreRemoved(t *testing.T) {
	store, wanted := &fakeStore{}, coins(499)
	wanted.Image, wanted.Category, wanted.Position = "https://cdn.example/coins.png", "Coins", 10
	wanted.Variants[0].Sale = catalog.Sale{Price: euro(399)}
	apply(t, store, shopOf(wanted), false)
	const want = `emberforge/coins: image https://cdn.example/coins.png -> none
emberforge/coins: category Coins -> none
emberforge/coins: position 10 -> none
emberforge/coins/499: sale 3.99 EUR -> none`
	if got := apply(t, store, shopOf(coins(499)), false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := store.products["coins"].Variants[0].Sale; got != (catalog.Sale{}) {
		t.Errorf("the sale %s is stored, want none", got)
	}
}

// A short file of a shop must not wipe what an earlier file set.
func TestPlan_FieldsLeftOut_AreUnlikely(t *testing.T) {
	full := shopOf(coins(499))
	full.Profile.TimeZone = "Europe/Berlin"
	full.Profile.Page = catalog.Page{
		Accent: "#c2410c", Logo: "https://cdn.example/logo.png",
		Imprint: catalog.Link{URL: "https://emberforge.example/imprint"}, Privacy: catalog.Link{URL: "https://emberforge.example/privacy"},
		PaymentURL: "https://pay.example/{checkout}", PaymentText: "Transfer the total.",
	}
	product := &full.Products[0]
	product.Image, product.Category, product.Position = "https://cdn.example/coins.png", "Coins", 10
	product.Variants[0].Sale = catalog.Sale{Price: euro(399)}
	product.Variants[0].DataSchema = `{"required":["player"],"properties":{"player":{"type":"string"}}}`
	product.NickFrom = "player"
	short := shopOf(catalog.Product{ID: product.ID, Name: product.Name, Variants: []catalog.Variant{{
		ID: "499", Name: product.Variants[0].Name, Price: euro(499), MinAmount: 1, MaxAmount: 1,
	}}})
	withoutPage := short
	withoutPage.Profile.Page.Off = true
	for _, test := range []struct {
		name                      string
		stored, wanted            catalog.Shop
		wantChanges, wantUnlikely int
	}{
		{"everything but names and prices is left out", full, short, 15, 15},
		{"everything is set", short, full, 15, 0},
		{"the word off for the page is left out", withoutPage, short, 1, 1},
		{"the page is switched off", short, withoutPage, 1, 0},
	} {
		store := &fakeStore{}
		apply(t, store, test.stored, false)
		plan, err := catalog.NewPlan(store.shop(), test.wanted, false)
		if err != nil {
			t.Fatal(err)
		}
		unlikely := 0
		for _, change := range plan.Changes {
			if change.Unlikely {
				unlikely++
			}
		}
		if len(plan.Changes) != test.wantChanges || unlikely != test.wantUnlikely {
			t.Errorf("%s: %d changes, %d of them unlikely: %v", test.name, len(plan.Changes), unlikely, plan.Changes)
		}
	}
}

func TestPlan_Page_IsComparedFieldByField(t *testing.T) {
	stored, wanted := &fakeStore{}, shopOf(coins(499))
	apply(t, stored, wanted, false)
	for _, step := range []struct {
		page catalog.Page
		want string
	}{
		{catalog.Page{
			Accent: "#c2410c", Logo: "https://cdn.example/logo.png",
			Imprint:    catalog.Link{URL: "https://emberforge.example/imprint"},
			Privacy:    catalog.Link{URL: "https://emberforge.example/privacy", Text: "Datenschutz"},
			PaymentURL: "https://pay.example/{checkout}", PaymentText: "Transfer the total.",
		}, `emberforge: page.accent none -> #c2410c
emberforge: page.logo none -> https://cdn.example/logo.png
emberforge: page.imprint none -> https://emberforge.example/imprint
emberforge: page.privacy none -> https://emberforge.example/privacy (Datenschutz)
emberforge: page.payment-url none -> https://pay.example/{checkout}
emberforge: page.payment-text added`},
		{catalog.Page{Accent: "#c2410c", PaymentText: "Pay when you collect it."}, `emberforge: page.logo https://cdn.example/logo.png -> none
emberforge: page.imprint https://emberforge.example/imprint -> none
emberforge: page.privacy https://emberforge.example/privacy (Datenschutz) -> none
emberforge: page.payment-url https://pay.example/{checkout} -> none
emberforge: page.payment-text changed`},
		{catalog.Page{Off: true}, `emberforge: page on -> off
emberforge: page.accent #c2410c -> none
emberforge: page.payment-text removed`},
		{catalog.Page{Off: true}, ``},
		{catalog.Page{}, `emberforge: page off -> on`},
	} {
		wanted.Profile.Page = step.page
		if got := apply(t, stored, wanted, false); got != step.want {
			t.Errorf("got\n%s\nwant\n%s", got, step.want)
		}
		if got := stored.profile.Page; got != step.page {
			t.Errorf("%+v is stored, want %+v", got, step.page)
		}
	}
}

func TestPlan_SaleAtATenthOfThePrice_IsUnlikely(t *testing.T) {
	for sale, want := range map[int64]bool{0: true, 49: true, 50: false, 498: false} {
		for what, before := range map[string][]catalog.Product{"a new variant": nil, "a variant": {coins(499)}} {
			store, wanted := &fakeStore{}, coins(499)
			apply(t, store, shopOf(before...), false)
			wanted.Variants[0].Sale = catalog.Sale{Price: euro(sale)}
			plan, err := catalog.NewPlan(store.shop(), shopOf(wanted), false)
			if err != nil {
				t.Fatal(err)
			}
			if last := plan.Changes[len(plan.Changes)-1]; last.Variant != "499" || last.Unlikely != want {
				t.Errorf("%s: %s: unlikely %t, want %t", what, last, last.Unlikely, want)
			}
		}
	}
}

func TestPlan_OffSaleProductInTheFile_IsOnSaleAgain(t *testing.T) {
	store := &fakeStore{}
	apply(t, store, shopOf(coins(499, 999), ranks("30-days")), false)
	apply(t, store, shopOf(coins(499)), true)
	if !store.products["vip-rank"].OffSale || !store.products["coins"].Variants[1].OffSale {
		t.Fatalf("after prune the store has %+v, want everything off sale that the file leaves out", store.products)
	}
	got := apply(t, store, shopOf(coins(499, 999), ranks("lifetime")), false)
	const want = `emberforge/coins/999: on sale again
emberforge/vip-rank: on sale again
emberforge/vip-rank/lifetime: new, 9.99 EUR`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if rank := store.products["vip-rank"]; len(rank.Variants) != 2 || rank.Variants[0].ID != "lifetime" ||
		rank.Variants[1].OffSale {
		t.Errorf("got %+v, want the variant that the file leaves out at the end and still on sale", rank)
	}
}

func TestPlan_AnotherCurrency_IsRejected(t *testing.T) {
	store := &fakeStore{}
	apply(t, store, shopOf(), false)
	wanted := shopOf()
	wanted.Profile.Currency = "JPY"
	_, err := catalog.NewPlan(store.shop(), wanted, false)
	field, ok := errors.AsType[*catalog.FieldError](err)
	if !ok || field.Field != "currency" || !errors.Is(err, catalog.ErrCurrencyFixed) ||
		!strings.Contains(err.Error(), "it is EUR") {
		t.Errorf("got %v, want ErrCurrencyFixed for the field currency", err)
	}
}

func TestPlan_StoredVariants_CountTowardsTheBounds(t *testing.T) {
	store := &fakeStore{}
	apply(t, store, shopOf(coins(upTo(30)...)), false)
	var others []int64
	for i := range int64(21) {
		others = append(others, 100+i)
	}
	before := maps.Clone(store.products)
	_, err := catalog.NewPlan(store.shop(), shopOf(ranks("30-days"), coins(others...)), true)
	found, ok := errors.AsType[catalog.FieldErrors](err)
	if !ok || found[0].Field != "products[coins].variants" || !strings.Contains(err.Error(), "50 variants, not 51") {
		t.Errorf("got %v, want too many variants of coins", err)
	}
	if !reflect.DeepEqual(store.products, before) {
		t.Error("something was written")
	}
	apply(t, store, shopOf(coins(others[:20]...)), true)
	if n := len(store.products["coins"].Variants); n != catalog.MaxVariants {
		t.Errorf("the product has %d variants, want %d", n, catalog.MaxVariants)
	}
}

func TestPlan_BeyondTheBounds_IsRejected(t *testing.T) {
	wanted := shopOf(coins(499))
	wanted.Products[0].Variants[0].Price.Currency = "JPY"
	if _, err := catalog.NewPlan(nil, wanted, false); !errors.Is(err, money.ErrMixedCurrencies) {
		t.Errorf("got %v, want ErrMixedCurrencies", err)
	}
}

func TestApply_IncompleteShop_IsClosed(t *testing.T) {
	wanted := shopOf(coins(499), ranks("30-days"))
	reopened := func() *fakeStore {
		store := &fakeStore{}
		closed := shopOf(coins(499))
		closed.Profile.OffSale = true
		apply(t, store, closed, false)
		return store
	}
	for name, start := range map[string]func() *fakeStore{
		"new":          func() *fakeStore { return &fakeStore{} },
		"opened again": reopened,
	} {
		plan, err := catalog.NewPlan(start().shop(), wanted, false)
		if err != nil {
			t.Fatal(err)
		}
		for breaksAt := 1; breaksAt <= plan.Writes(); breaksAt++ {
			store := start()
			store.writes, store.breaksAt = 0, breaksAt
			if err := plan.Apply(t.Context(), store, func() {}); !errors.Is(err, errBroken) {
				t.Fatalf("%s: %v", name, err)
			}
			if store.profile != nil && !store.profile.OffSale {
				t.Errorf("a shop that is %s is open after %d of %d writes", name, breaksAt-1, plan.Writes())
			}
		}
	}
}

func TestPlan_JSON_HasTheChanges(t *testing.T) {
	store := &fakeStore{}
	apply(t, store, shopOf(coins(499)), false)
	wanted := shopOf(coins(499))
	wanted.Products[0].Variants[0].Price = euro(549)
	for _, test := range []struct {
		wanted catalog.Shop
		want   string
	}{
		{wanted, `{"customer":"emberforge","changes":[{"customer":"emberforge","product":"coins","variant":"499",` +
			`"action":"update","field":"price","from":"4.99 EUR","to":"5.49 EUR"}]}`},
		{shopOf(), `{"customer":"emberforge","changes":[]}`},
	} {
		plan, err := catalog.NewPlan(store.shop(), test.wanted, false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(plan); err != nil || string(got) != test.want {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
}

// Whatever was applied before, applying a shop twice changes nothing the second time. If the first time is interrupted
// at any write, applying again reaches the same state. Nothing is ever deleted.
func TestApply_AnyFile_LeavesAConsistentShop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := &fakeStore{}
		for range rapid.IntRange(0, 3).Draw(rt, "applied before") {
			apply(t, store, anyShop(rt), rapid.Bool().Draw(rt, "prune"))
		}
		wanted, prune := anyShop(rt), rapid.Bool().Draw(rt, "prune")
		whole := store.clone()
		apply(t, whole, wanted, prune)
		if again := apply(t, whole, wanted, prune); again != "" {
			rt.Fatalf("applying twice changes\n%s", again)
		}
		checkResult(rt, store, whole, wanted, prune)

		plan, err := catalog.NewPlan(store.shop(), wanted, prune)
		if err != nil {
			rt.Fatal(err)
		}
		for breaksAt := 1; breaksAt <= plan.Writes(); breaksAt++ {
			broken := store.clone()
			broken.breaksAt = breaksAt
			if err := plan.Apply(t.Context(), broken, func() {}); !errors.Is(err, errBroken) {
				rt.Fatalf("write %d: %v", breaksAt, err)
			}
			apply(t, broken, wanted, prune)
			if !reflect.DeepEqual(broken.products, whole.products) || *broken.profile != *whole.profile {
				rt.Fatalf("after a failure at write %d and another apply: %+v, want %+v", breaksAt, broken, whole)
			}
		}
	})
}

// checkResult derives the wanted state in the simplest way, and compares it with the state after the apply.
func checkResult(t *rapid.T, before, after *fakeStore, wanted catalog.Shop, prune bool) {
	profile := *after.profile
	if profile.Version = 0; profile != wanted.Profile {
		t.Fatalf("profile %+v, want %+v", profile, wanted.Profile)
	}
	mentioned := map[catalog.ProductID]catalog.Product{}
	for _, product := range wanted.Products {
		mentioned[product.ID] = product
		got := after.products[product.ID]
		got.Variants, got.Version = got.Variants[:len(product.Variants)], 0
		if !reflect.DeepEqual(got, product) {
			t.Fatalf("product %+v, want %+v, perhaps followed by other variants", got, product)
		}
	}
	for id, stored := range before.products {
		product, isMentioned := mentioned[id]
		if got := after.products[id].OffSale; !isMentioned && got != (stored.OffSale || prune) {
			t.Fatalf("product %s, which the file does not mention, is off sale: %t", id, got)
		}
		for _, want := range stored.Variants {
			if indexOf(product.Variants, want.ID) >= 0 {
				continue
			}
			want.OffSale = want.OffSale || prune && isMentioned
			variants := after.products[id].Variants
			if at := indexOf(variants, want.ID); at < 0 || variants[at] != want {
				t.Fatalf("variant %s/%s, which the file does not mention, has changed: want %+v among %+v", id, want.ID,
					want, variants)
			}
		}
	}
}

func indexOf(variants []catalog.Variant, id catalog.VariantID) int {
	return slices.IndexFunc(variants, func(v catalog.Variant) bool { return v.ID == id })
}

func anyShop(t *rapid.T) catalog.Shop {
	shop := catalog.Shop{Profile: catalog.Profile{
		ID: "emberforge", Name: rapid.SampledFrom([]string{"Emberforge", "Emberforge Guild"}).Draw(t, "name"),
		Currency: "EUR", OffSale: rapid.Bool().Draw(t, "closed"),
		Page: catalog.Page{Accent: rapid.SampledFrom([]string{"", "#c2410c"}).Draw(t, "accent")},
	}}
	ids := rapid.SliceOfDistinct(rapid.SampledFrom([]catalog.ProductID{"coins", "t-shirt", "vip-rank"}),
		rapid.ID).Draw(t, "products")
	for _, id := range ids {
		product := catalog.Product{ID: id, Name: string(id), OffSale: rapid.Bool().Draw(t, "off sale")}
		variants := rapid.SliceOfNDistinct(rapid.SampledFrom([]catalog.VariantID{"500", "1200", "m", "l"}), 1, 4,
			rapid.ID).Draw(t, "variants")
		for _, variant := range variants {
			product.Variants = append(product.Variants, catalog.Variant{
				ID: variant, Name: string(variant), Price: euro(rapid.Int64Range(100, 102).Draw(t, "price")),
				MinAmount: 1, MaxAmount: rapid.Int64Range(1, 2).Draw(t, "most"),
				OffSale: rapid.Bool().Draw(t, "off sale"),
			})
		}
		shop.Products = append(shop.Products, product)
	}
	return shop
}
