package dynamo_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
)

// apply plans and applies a shop through a client with the options.
func (s *stockroom) apply(wanted catalog.Shop, options ...func(*dynamodb.Options)) {
	s.t.Helper()
	owner := ownerOf(emberforge, newClient(s.t, options...), backoffice.Tables{Catalogue: s.table})
	must(s.t, s.plan(wanted).Apply(s.t.Context(), owner, func() {}))
}

// plan returns a plan that applies a shop. The plan takes stored products off sale if the shop does not have them.
func (s *stockroom) plan(wanted catalog.Shop) catalog.Plan {
	s.t.Helper()
	var stored *catalog.Shop
	shop, err := s.owner(emberforge).Catalogue(s.t.Context())
	if err == nil {
		stored = &shop
	} else if !errors.Is(err, catalog.ErrNotFound) {
		s.t.Fatal(err)
	}
	plan, err := catalog.NewPlan(stored, wanted, true)
	must(s.t, err)
	return plan
}

// wantApplied fails the test unless the stored shop is the wanted one.
func (s *stockroom) wantApplied(wanted catalog.Shop) {
	s.t.Helper()
	if plan := s.plan(wanted); plan.Writes() != 0 {
		s.t.Errorf("the stored shop lacks the changes %v", plan.Changes)
	}
}

func shopOf(products ...catalog.Product) catalog.Shop {
	return catalog.Shop{Profile: profile(emberforge, "EUR"), Products: products}
}

func closed(shop catalog.Shop) catalog.Shop {
	shop.Profile.OffSale = true
	return shop
}

// priced returns the product coins with a price in cents.
func priced(minor int64) catalog.Product {
	p := product("coins")
	p.Variants[0].Price.Minor = minor
	return p
}

// A write that is still in flight when an apply returns does not undo that apply. The write may be a lost first attempt
// of that apply or of an earlier one.
func TestApply_LateWrite_UndoesNothing(t *testing.T) {
	t.Parallel()
	// in order; the first write of the second-to-last apply arrives late
	for what, applied := range map[string][]catalog.Shop{
		"the same shop twice":            {shopOf(priced(499)), shopOf(priced(499))},
		"new, then another price":        {shopOf(priced(499)), shopOf(priced(549))},
		"opened, then closed":            {closed(shopOf()), shopOf(), closed(shopOf())},
		"closed, then opened":            {shopOf(), closed(shopOf()), shopOf()},
		"two new prices":                 {shopOf(priced(499)), shopOf(priced(549)), shopOf(priced(599))},
		"new price, then the old one":    {shopOf(priced(499)), shopOf(priced(549)), shopOf(priced(499))},
		"off sale, then on sale":         {shopOf(product("cup")), shopOf(), shopOf(product("cup"))},
		"new product, then off sale":     {shopOf(), shopOf(product("cup")), shopOf()},
		"on sale, then off sale again":   {shopOf(offSale(product("cup"))), shopOf(product("cup")), shopOf()},
		"new and off sale, then on sale": {shopOf(), shopOf(offSale(product("cup"))), shopOf(product("cup"))},
		"closed and opened repeatedly":   {shopOf(), closed(shopOf()), shopOf(), closed(shopOf()), shopOf()},
	} {
		for _, write := range []string{"PutItem", "TransactWriteItems"} { // the writes of a profile and of a product
			t.Run(what+", "+write, func(t *testing.T) {
				t.Parallel()
				s := newStockroom(t)
				last := len(applied) - 1
				for _, shop := range applied[:last-1] {
					s.apply(shop)
				}
				network := &late{operation: write}
				s.apply(applied[last-1], over(network))
				s.apply(applied[last])
				if network.held != nil {
					network.deliver(t)
				}
				s.wantApplied(applied[last])
			})
		}
	}
}

// If two plans are made from the same stored shop, only the first one can be applied. A new plan for the second shop
// succeeds.
func TestApply_StalePlan_IsRejected(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct{ before, first, second catalog.Shop }{
		"profile": {
			shopOf(), closed(shopOf()),
			catalog.Shop{Profile: catalog.Profile{ID: emberforge, Name: "Emberforge Guild", Currency: "EUR"}},
		},
		"product": {shopOf(priced(499)), shopOf(priced(549)), shopOf(priced(599))},
		"new":     {shopOf(), shopOf(priced(549)), shopOf(priced(599))},
	} {
		t.Run(what, func(t *testing.T) {
			s := newStockroom(t)
			s.apply(test.before)
			plan := s.plan(test.second)
			s.apply(test.first)
			if err := plan.Apply(t.Context(), s.owner(emberforge), func() {}); !errors.Is(err, catalog.ErrChanged) {
				t.Errorf("Apply = %v, want catalog.ErrChanged", err)
			}
			s.wantApplied(test.first)
			s.apply(test.second)
			s.wantApplied(test.second)
		})
	}
}

// The SDK's retry finds what the first attempt wrote, and must not mistake it for another operator's change.
func TestApply_LostResponse_Succeeds(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	for _, step := range []struct { // each step makes one write
		write string
		shop  catalog.Shop
	}{
		{"PutItem", closed(shopOf())},
		{"PutItem", shopOf()},
		{"TransactWriteItems", shopOf(bulky("cape"))},
		{"TransactWriteItems", shopOf(offSale(bulky("cape")))},
		{"PutItem", closed(shopOf(offSale(bulky("cape"))))},
	} {
		network := losingResponses(step.write, 2)
		s.apply(step.shop, over(network))
		s.wantApplied(step.shop)
		if network.failures.Load() >= 0 {
			t.Errorf("%s was sent fewer than three times", step.write)
		}
	}
}

// A retry that arrives after another change must fail, even if an earlier attempt was applied.
func TestApply_SamePlanAfterAnotherChange_Fails(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.apply(shopOf(priced(499)))
	plan := s.plan(shopOf(priced(549)))
	for range 2 { // the second time, nothing is left to write
		must(t, plan.Apply(t.Context(), s.owner(emberforge), func() {}))
	}
	s.apply(shopOf(priced(599)))
	if err := plan.Apply(t.Context(), s.owner(emberforge), func() {}); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("the same plan again = %v, want catalog.ErrChanged", err)
	}
	s.wantApplied(shopOf(priced(599)))
}

func TestApply_EachWrite_RaisesTheVersion(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	for want, minor := range []int64{499, 549, 599} {
		s.apply(shopOf(priced(minor)))
		shop, err := s.owner(emberforge).Catalogue(t.Context())
		// a new shop is stored closed, then opened
		if err != nil || shop.Products[0].Version != int64(want+1) || shop.Profile.Version != 2 {
			t.Errorf("Shop = %+v, %v, want version %d of the product", shop, err, want+1)
		}
	}
}

// keys returns the sort keys of emberforge's items.
func (s *stockroom) keys() (keys []string) {
	s.t.Helper()
	out, err := s.client.Scan(s.t.Context(),
		&dynamodb.ScanInput{TableName: aws.String(s.table), ConsistentRead: aws.Bool(true)})
	must(s.t, err)
	for _, it := range out.Items {
		if sort, is := it["sk"].(*types.AttributeValueMemberS); is {
			keys = append(keys, sort.Value)
		}
	}
	slices.Sort(keys)
	return keys
}

// wantKeys fails the test unless the stored items are the profile and the products under these sort keys.
func (s *stockroom) wantKeys(want ...string) {
	s.t.Helper()
	want = append([]string{"customer"}, want...)
	if got := s.keys(); !slices.Equal(got, want) {
		s.t.Errorf("items are stored under %q, want %q", got, want)
	}
}

// Products off sale have keys of their own, so that the query for products on sale does not read them.
func TestApply_Product_HasOneKeyOnSaleAndAnotherOffSale(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.apply(shopOf(product("coins"), offSale(product("cup"))))
	s.wantKeys("offsale#cup", "product#coins")
	s.apply(shopOf(offSale(product("coins")), product("cup")))
	s.wantKeys("offsale#coins", "product#cup")
	shop, err := s.owner(emberforge).Catalogue(t.Context())
	if err != nil || len(shop.Products) != 2 || shop.Products[0].Version != 2 || shop.Products[1].Version != 2 {
		t.Errorf("Shop = %+v, %v, want version 2 of both", shop, err)
	}
	if _, _, err := s.catalogue.Product(t.Context(), emberforge, "coins"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("Product off sale = %v, want catalog.ErrNotFound", err)
	}
}

// If several operators put a product on and off sale at once, one copy is left, and each successful write raised its
// version by one.
func TestApply_RaceOfMoves_LeavesOneCopy(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.apply(shopOf(product("coins")))
	var moved atomic.Int64
	var movers sync.WaitGroup
	for i := range 8 {
		movers.Go(func() {
			for round := range 10 {
				shop, err := s.owner(emberforge).Catalogue(t.Context())
				if err != nil || len(shop.Products) == 0 {
					continue // read in the middle of a move
				}
				p := priced(int64(1000*i + round)) // no two writes are the same
				p.Version, p.OffSale = shop.Products[0].Version, i%2 == 0
				switch err := s.owner(emberforge).PutProduct(t.Context(), p); {
				case err == nil:
					moved.Add(1)
				case !errors.Is(err, catalog.ErrChanged):
					t.Error(err)
				}
			}
		})
	}
	movers.Wait()
	shop, err := s.owner(emberforge).Catalogue(t.Context())
	if err != nil || len(shop.Products) != 1 {
		t.Fatalf("Shop = %+v, %v", shop, err)
	}
	want := "product#coins"
	if shop.Products[0].OffSale {
		want = "offsale#coins"
	}
	s.wantKeys(want)
	if got := shop.Products[0].Version; got != 1+moved.Load() {
		t.Errorf("%d writes succeeded, but the version is %d", moved.Load(), got)
	}
}
