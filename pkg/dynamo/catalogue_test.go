package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/money"
)

const sakura catalog.ShopID = "sakura-goods"

func profile(id catalog.ShopID, currency money.Currency) catalog.Profile {
	return catalog.Profile{ID: id, Name: "Shop of " + string(id), Currency: currency}
}

// product returns a product with one variant, for 4.99 EUR.
func product(id catalog.ProductID) catalog.Product {
	return catalog.Product{ID: id, Name: "Product " + string(id), Variants: []catalog.Variant{{
		ID: "500", Name: "500 pieces", Price: money.Money{Minor: 499, Currency: "EUR"}, MinAmount: 1, MaxAmount: 64,
	}}}
}

func offSale(p catalog.Product) catalog.Product {
	p.OffSale = true
	return p
}

// bulky returns a product of about 200 KB.
func bulky(id catalog.ProductID) catalog.Product {
	p := product(id)
	template := p.Variants[0]
	for i := range 25 {
		template.ID = catalog.VariantID(fmt.Sprintf("size-%d", i))
		template.DataSchema = `{"type":"object","description":"` + strings.Repeat("x", 8000) + `"}`
		p.Variants = append(p.Variants, template)
	}
	return p
}

// stockroom is a catalogue table, with the owners' access (shops) and the functions' store (catalogue) on it.
type stockroom struct {
	t         testing.TB
	client    *dynamodb.Client
	table     string
	shops     *backoffice.Deployment
	catalogue *dynamo.Catalogue
}

func newStockroom(t testing.TB) *stockroom {
	client, table := newTable(t)
	return &stockroom{
		t: t, client: client, table: table,
		shops:     backoffice.NewDeployment(client, backoffice.Tables{Catalogue: table}, mathrand.Int64N),
		catalogue: dynamo.NewCatalogue(client, table, mathrand.Int64N),
	}
}

// owner returns a shop as its owner works on it.
func (s *stockroom) owner(shop catalog.ShopID) *backoffice.Shop {
	return s.shops.Open(catalog.Profile{ID: shop})
}

func (s *stockroom) put(profile catalog.Profile, products ...catalog.Product) {
	s.t.Helper()
	must(s.t, s.owner(profile.ID).PutProfile(s.t.Context(), profile))
	for _, p := range products {
		must(s.t, s.owner(profile.ID).PutProduct(s.t.Context(), p))
	}
}

// replace overwrites a shop and products that are already stored.
func (s *stockroom) replace(profile catalog.Profile, products ...catalog.Product) {
	s.t.Helper()
	shop, err := s.owner(profile.ID).Catalogue(s.t.Context())
	must(s.t, err)
	profile.Version = shop.Profile.Version
	versions := make(map[catalog.ProductID]int64)
	for _, kept := range shop.Products {
		versions[kept.ID] = kept.Version
	}
	for i, p := range products {
		p.Version = versions[p.ID]
		products[i] = p
	}
	s.put(profile, products...)
}

func ids(t testing.TB, products iter.Seq2[catalog.Product, error]) []catalog.ProductID {
	t.Helper()
	var found []catalog.ProductID
	for p, err := range products {
		must(t, err)
		found = append(found, p.ID)
	}
	return found
}

func TestCatalogue_IsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	yen := func(minor int64) money.Money { return money.Money{Minor: minor, Currency: "JPY"} }
	profile := catalog.Profile{ID: sakura, Name: "桜グッズ", Currency: "JPY", OffSale: true, Page: catalog.Page{
		Accent: "#be123c", Imprint: catalog.Link{URL: "https://sakura.example/", Text: "特定商取引法"},
		PaymentText: "銀行振込\nお名前とIDを記入",
	}}
	from, until := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	shirt := catalog.Product{
		ID: "t-shirt", Name: "T-shirt", Description: "Cotton.\nPrinted to order.", OffSale: true,
		Image: "https://cdn.example/t-shirt.png", Category: "服", Position: catalog.MaxPosition,
		Variants: []catalog.Variant{
			{
				ID: "XL", Name: "XL", Price: yen(3500), MinAmount: 1, MaxAmount: 10, DataSchema: `{"type":"object"}`,
				OffSale: true,
			},
			{ID: "M", Name: "M", Price: yen(0), MinAmount: 2, MaxAmount: catalog.MaxAmount},
			{ID: "L", Name: "L", Price: yen(3500), Sale: catalog.Sale{Price: yen(0)}, MinAmount: 1, MaxAmount: 10},
			{
				ID: "S", Name: "S", Price: yen(3500), Sale: catalog.Sale{Price: yen(3499), From: from, Until: until},
				MinAmount: 1, MaxAmount: 10,
			},
		},
	}
	card := catalog.Product{ID: "gift-card", Name: "Gift card", Variants: []catalog.Variant{
		{ID: "max", Name: "Largest", Price: yen(money.MaxMinor), MinAmount: 1, MaxAmount: 1},
	}}
	s.put(profile, shirt, card)
	profile.Version, shirt.Version, card.Version = 1, 1, 1

	if got, err := s.catalogue.Profile(t.Context(), sakura); got != profile || err != nil {
		t.Errorf("Profile = %+v, %v, want %+v", got, err, profile)
	}
	gotProfile, gotProduct, err := s.catalogue.Product(t.Context(), sakura, "gift-card")
	if gotProfile != profile || !reflect.DeepEqual(gotProduct, card) || err != nil {
		t.Errorf("Product = %+v, %+v, %v", gotProfile, gotProduct, err)
	}
	want := catalog.Shop{Profile: profile, Products: []catalog.Product{card, shirt}}
	if got, err := s.owner(sakura).Catalogue(t.Context()); !reflect.DeepEqual(got, want) || err != nil {
		t.Errorf("Shop = %+v, %v, want %+v", got, err, want)
	}
}

func TestCatalogue_UnknownShopOrProduct_IsNotFound(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"), product("coins"))
	s.put(profile(sakura, "EUR"), product("t-shirt"))
	// This product has no shop, as after a mistake in the AWS console.
	must(t, s.owner("ghost").PutProduct(t.Context(), product("coins")))
	for _, ask := range []struct {
		shop    catalog.ShopID
		product catalog.ProductID
	}{{"nobody", "coins"}, {emberforge, "t-shirt"}, {emberforge, "coin"}, {emberforge, "coins-2"}, {"ghost", "coins"}} {
		if _, _, err := s.catalogue.Product(t.Context(), ask.shop, ask.product); !errors.Is(err,
			catalog.ErrNotFound) {
			t.Errorf("Product(%s, %s) = %v, want catalog.ErrNotFound", ask.shop, ask.product, err)
		}
	}
	for _, shop := range []catalog.ShopID{"nobody", "ghost", "EMBERFORGE"} {
		if _, err := s.catalogue.Profile(t.Context(), shop); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("Profile(%s) = %v, want catalog.ErrNotFound", shop, err)
		}
		if _, err := s.owner(shop).Catalogue(t.Context()); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("Shop(%s) = %v, want catalog.ErrNotFound", shop, err)
		}
	}
}

func TestCatalogue_ShopAndProduct_AreReadInOneCall(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"), product("coins"))
	network, option := counted()
	catalogue := dynamo.NewCatalogue(newClient(t, option), s.table, mathrand.Int64N)
	if _, _, err := catalogue.Product(t.Context(), emberforge, "coins"); err != nil || network.calls.Load() != 1 {
		t.Errorf("Product took %d calls, %v; want 1 call", network.calls.Load(), err)
	}
}

// throttled leaves one key unprocessed in each of the first three calls of BatchGetItem.
type throttled struct {
	dynamo.CatalogueAPI
	asked int
}

func (s *throttled) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	s.asked++
	for table, keys := range in.RequestItems {
		if s.asked > 3 {
			break
		}
		left := types.KeysAndAttributes{Keys: keys.Keys[:1], ConsistentRead: keys.ConsistentRead}
		keys.Keys = keys.Keys[1:]
		if len(keys.Keys) == 0 {
			return &dynamodb.BatchGetItemOutput{UnprocessedKeys: map[string]types.KeysAndAttributes{table: left}}, nil
		}
		out, err := s.CatalogueAPI.BatchGetItem(ctx,
			&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: keys}}, options...)
		if err == nil {
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{table: left}
		}
		return out, err
	}
	return s.CatalogueAPI.BatchGetItem(ctx, in, options...)
}

func TestCatalogue_UnprocessedKeys_AreReadAgain(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"), product("coins"))
	store := &throttled{CatalogueAPI: s.client}
	shopProfile, coins, err := dynamo.NewCatalogue(store, s.table, mathrand.Int64N).Product(t.Context(), emberforge,
		"coins")
	if shopProfile.Currency != "EUR" || coins.ID != "coins" || err != nil || store.asked != 4 {
		t.Errorf("Product = %+v, %+v, %v in %d calls", shopProfile, coins, err, store.asked)
	}
}

func TestProductsOnSale_FollowTheGivenProduct_InIDOrder(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"),
		product("coins"), product("Zebra"), product("coins.old"), product("coins-2"), product("9"),
		offSale(product("cup")), product("vip_rank"))
	all := []catalog.ProductID{"9", "Zebra", "coins", "coins-2", "coins.old", "vip_rank"}
	tests := map[catalog.ProductID]int{ // how many products on sale the listing skips
		"": 0, "0": 0, "9": 1, "coins": 3, "coins-": 3, "coins-2": 4, "coins.old": 5, "cup": 5, "vip_rank": 6, "zzz": 6,
	}
	for after, before := range tests {
		for _, firstRead := range []int{-1, 0, 1, 2, 100, 1 << 40} {
			if got := ids(t, s.catalogue.ProductsOnSale(t.Context(), emberforge, after, firstRead)); !slices.Equal(got,
				all[before:]) {
				t.Errorf("after %q, reading %d products first: %q, want %q", after, firstRead, got, all[before:])
			}
		}
	}
}

func TestProductsOnSale_PageOf1MB_IsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"))
	var all, onSale []catalog.ProductID
	for i := range 24 {
		p := bulky(catalog.ProductID(fmt.Sprintf("cape-%02d", i)))
		p.OffSale = i%3 == 0
		s.put(profile(emberforge, "EUR"), p)
		all = append(all, p.ID)
		if !p.OffSale {
			onSale = append(onSale, p.ID)
		}
	}
	network, option := counted()
	catalogue := dynamo.NewCatalogue(newClient(t, option), s.table, mathrand.Int64N)
	if got := ids(t, catalogue.ProductsOnSale(t.Context(), emberforge, "", 100)); !slices.Equal(got, onSale) {
		t.Errorf("on sale: %q", got)
	}
	if calls := network.calls.Load(); calls < 3 {
		t.Errorf("%d calls, want at least 3, because the products take at least three pages", calls)
	}
	shop, err := s.owner(emberforge).Catalogue(t.Context())
	if err != nil || len(shop.Products) != len(all) {
		t.Errorf("Shop has %d products, %v, want %d", len(shop.Products), err, len(all))
	}
}

func TestProductsOnSale_AreReadOnDemand(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"), product("a"), product("b"), product("c"), product("d"), product("e"))
	network, option := counted()
	catalogue := dynamo.NewCatalogue(newClient(t, option), s.table, mathrand.Int64N)
	taken := 0
	for _, err := range catalogue.ProductsOnSale(t.Context(), emberforge, "", 2) {
		must(t, err)
		if taken++; taken == 2 {
			break
		}
	}
	if calls := network.calls.Load(); calls != 1 {
		t.Errorf("%d calls for two of five products, want 1", calls)
	}
}

// An area skips products whose variants are all off sale. A long run of them must not take a call for each.
func TestProductsOnSale_MoreThanWanted_TakesFewCalls(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	var want []catalog.ProductID
	for i := range 200 {
		p := product(catalog.ProductID(fmt.Sprintf("season-%03d", i)))
		s.put(profile(emberforge, "EUR"), p)
		want = append(want, p.ID)
	}
	network, option := counted()
	catalogue := dynamo.NewCatalogue(newClient(t, option), s.table, mathrand.Int64N)
	if got := ids(t, catalogue.ProductsOnSale(t.Context(), emberforge, "", 2)); !slices.Equal(got, want) {
		t.Errorf("on sale: %q", got)
	}
	if calls := network.calls.Load(); calls > 8 {
		t.Errorf("%d calls, want at most 8", calls)
	}
}

// The largest product that Validate accepts must fit in an item. DynamoDB limits items to 400 KB.
func TestApply_LargestValidProduct_IsStored(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	largest := catalog.Product{
		ID: catalog.ProductID(strings.Repeat("p", 64)), Name: strings.Repeat("n", catalog.MaxNameBytes),
		Description: strings.Repeat("d", catalog.MaxDescriptionBytes), OffSale: true,
	}
	left := catalog.MaxProductBytes - len(largest.Description) - catalog.MaxVariants*(catalog.MaxNameBytes+256)
	for i := range catalog.MaxVariants {
		schema := min(left, catalog.MaxDataSchemaBytes)
		left -= schema
		largest.Variants = append(largest.Variants, catalog.Variant{
			ID: catalog.VariantID(fmt.Sprintf("%064d", i)), Name: strings.Repeat("v", catalog.MaxNameBytes),
			OffSale:   true,
			Price:     money.Money{Minor: money.MaxMinor / catalog.MaxAmount, Currency: "EUR"},
			MinAmount: catalog.MaxAmount, MaxAmount: catalog.MaxAmount, DataSchema: strings.Repeat("s", schema),
		})
	}
	must(t, largest.Validate("EUR"))
	shopProfile := profile(catalog.ShopID(strings.Repeat("c", 64)), "EUR")
	s.put(shopProfile, largest)
	largest.Version = 1
	got, err := s.owner(shopProfile.ID).Catalogue(t.Context())
	if err != nil || !reflect.DeepEqual(got.Products, []catalog.Product{largest}) {
		t.Errorf("the product that is read back differs, or cannot be read: %v", err)
	}
	i := slices.IndexFunc(largest.Variants,
		func(v catalog.Variant) bool { return len(v.DataSchema) < catalog.MaxDataSchemaBytes })
	largest.Variants[i].DataSchema += "s"
	if err := largest.Validate("EUR"); err == nil {
		t.Error("a product with one byte more is also valid, so this was not the largest")
	}
}

func TestApply_CurrencyOfAShop_NeverChanges(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	kept := profile(emberforge, "EUR")
	changed := profile(emberforge, "USD")
	changed.Name = "Emberforge Inc."
	for range 3 {
		s.put(kept)
		kept.Version++
		for changed.Version = range kept.Version + 2 {
			if err := s.owner(emberforge).PutProfile(t.Context(), changed); !errors.Is(err, catalog.ErrCurrencyFixed) {
				t.Errorf("PutProfile = %v, want catalog.ErrCurrencyFixed", err)
			}
		}
		if got, err := s.catalogue.Profile(t.Context(), emberforge); got != kept || err != nil {
			t.Errorf("the shop became %+v, %v", got, err)
		}
	}
	changed.Currency, changed.Version = "EUR", kept.Version
	s.put(changed)
	changed.Version++
	if got, err := s.catalogue.Profile(t.Context(), emberforge); got != changed || err != nil {
		t.Errorf("Profile = %+v, %v, want %+v", got, err, changed)
	}
}

func TestApply_RaceToSetTheCurrency_HasOneWinner(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	currencies := []money.Currency{"EUR", "USD", "JPY", "GBP"}
	errs := make([]error, 16)
	var racers sync.WaitGroup
	for i := range errs {
		racers.Go(func() {
			errs[i] = s.owner(emberforge).PutProfile(t.Context(), profile(emberforge, currencies[i%len(currencies)]))
		})
	}
	racers.Wait()
	kept, err := s.catalogue.Profile(t.Context(), emberforge)
	must(t, err)
	for i, err := range errs {
		won := currencies[i%len(currencies)] == kept.Currency
		if won != (err == nil) || !won && !errors.Is(err, catalog.ErrCurrencyFixed) {
			t.Errorf("PutProfile with %s = %v, but %s is stored", currencies[i%len(currencies)], err, kept.Currency)
		}
	}
}

func TestApply_SecondTime_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	wanted := catalog.Shop{
		Profile:  profile(emberforge, "EUR"),
		Products: []catalog.Product{product("coins"), offSale(product("cup"))},
	}
	network := losingResponses("PutItem", 2) // the first write is sent three times but gets one response
	owner := ownerOf(emberforge, newClient(t, over(network)), backoffice.Tables{Catalogue: s.table})
	plan, err := catalog.NewPlan(nil, wanted, false)
	must(t, err)
	must(t, plan.Apply(t.Context(), owner, func() {}))
	// a new shop is stored off sale, then on sale
	wanted.Profile.Version, wanted.Products[0].Version, wanted.Products[1].Version = 2, 1, 1
	stored, err := owner.Catalogue(t.Context())
	if !reflect.DeepEqual(stored, wanted) || err != nil {
		t.Errorf("Catalogue = %+v, %v, want %+v", stored, err, wanted)
	}
	again, err := catalog.NewPlan(&stored, wanted, true)
	if err != nil || again.Writes() != 0 || len(again.Changes) != 0 {
		t.Errorf("the second plan has %d writes, %v, %v", again.Writes(), again.Changes, err)
	}
}

func TestShops_LargeCatalogues_AllAreListed(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	want := make(map[catalog.ShopID]catalog.Profile)
	for i := range 8 {
		shopProfile := profile(catalog.ShopID(fmt.Sprintf("shop-%d", i)), "EUR")
		shopProfile.OffSale = i == 3
		s.put(shopProfile, bulky("cape"), product("customer")) // 1.6 MB in total: two pages
		shopProfile.Version = 1
		want[shopProfile.ID] = shopProfile
	}
	got := make(map[catalog.ShopID]catalog.Profile)
	listed, err := s.shops.Shops(t.Context())
	must(t, err)
	for _, shopProfile := range listed {
		if _, twice := got[shopProfile.ID]; twice {
			t.Errorf("%s is listed twice", shopProfile.ID)
		}
		got[shopProfile.ID] = shopProfile
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestCatalogue_OtherShopsProducts_AreInvisible(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	mine, theirs := product("coins"), product("coins")
	theirs.Name, theirs.Variants[0].Price = "Coins of another shop", money.Money{Minor: 500, Currency: "JPY"}
	former := product("t-shirt")
	former.OffSale = true
	s.put(profile(emberforge, "EUR"), mine)
	for _, other := range []catalog.ShopID{sakura, "Emberforge", "emberforge-2", "emberforg"} {
		s.put(profile(other, "JPY"), theirs, former, product("only-"+catalog.ProductID(other)))
	}
	mine.Version = 1
	shopProfile, got, err := s.catalogue.Product(t.Context(), emberforge, "coins")
	if shopProfile.ID != emberforge || !reflect.DeepEqual(got, mine) || err != nil {
		t.Errorf("Product = %+v, %+v, %v", shopProfile, got, err)
	}
	if got := ids(t, s.catalogue.ProductsOnSale(t.Context(), emberforge, "", 100)); !slices.Equal(got,
		[]catalog.ProductID{"coins"}) {
		t.Errorf("on sale: %q", got)
	}
	if shop, err := s.owner(emberforge).Catalogue(t.Context()); err != nil || len(shop.Products) != 1 {
		t.Errorf("Shop = %+v, %v", shop, err)
	}
}

// A catalogue that is out of reach must not look like an empty or unknown one.
func TestCatalogue_OutOfReach_IsUnavailable(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.put(profile(emberforge, "EUR"), product("coins"))
	owner := func(operation string) *backoffice.Shop {
		return ownerOf(emberforge, cutOff(t, operation), backoffice.Tables{Catalogue: s.table})
	}
	shopper := func(operation string) *dynamo.Catalogue {
		return dynamo.NewCatalogue(cutOff(t, operation), s.table, mathrand.Int64N)
	}
	wantEachUnavailable(t, map[string]func(context.Context) error{
		"customer": func(ctx context.Context) error {
			_, err := shopper("GetItem").Profile(ctx, emberforge)
			return err
		},
		"product": func(ctx context.Context) error {
			_, _, err := shopper("BatchGetItem").Product(ctx, emberforge, "coins")
			return err
		},
		"products": func(ctx context.Context) error {
			for _, err := range shopper("Query").ProductsOnSale(ctx, emberforge, "", 1) {
				return err
			}
			return nil
		},
		"shop": func(ctx context.Context) error {
			_, err := owner("Query").Catalogue(ctx)
			return err
		},
		"shops": func(ctx context.Context) error {
			tables := backoffice.Tables{Catalogue: s.table}
			_, err := backoffice.NewDeployment(cutOff(t, "Scan"), tables, mathrand.Int64N).Shops(ctx)
			return err
		},
		"put profile": func(ctx context.Context) error {
			return owner("PutItem").PutProfile(ctx, profile(emberforge, "EUR"))
		},
		"put product": func(ctx context.Context) error {
			return owner("TransactWriteItems").PutProduct(ctx, product("coins"))
		},
	})
}

func TestCatalogue_MissingTable_IsAnError(t *testing.T) {
	t.Parallel()
	catalogue := dynamo.NewCatalogue(newClient(t), "no-such-table", mathrand.Int64N)
	_, err := catalogue.Profile(t.Context(), emberforge)
	notFound := (*types.ResourceNotFoundException)(nil)
	if !errors.As(err, &notFound) || errors.Is(err, catalog.ErrNotFound) || aws.ToString(notFound.Message) == "" {
		t.Errorf("Profile = %v, want DynamoDB's own error", err)
	}
}
