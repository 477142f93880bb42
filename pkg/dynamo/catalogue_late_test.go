package dynamo_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/backoffice"
)

// apply plans and applies a shop through a client with the options.
func (s *stockroom) apply(wanted catalog.Shop, options ...func(*dynamodb.Options)) {
	s.t.Helper()
	shops := backoffice.NewCatalogue(newClient(s.t, options...), s.table)
	if err := s.plan(wanted).Apply(s.t.Context(), shops, func() {}); err != nil {
		s.t.Fatal(err)
	}
}

// plan plans to apply a shop with prune.
func (s *stockroom) plan(wanted catalog.Shop) catalog.Plan {
	s.t.Helper()
	plan, err := catalog.NewPlan(s.t.Context(), s.shops, wanted, true)
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

// wantApplied fails unless the shop is stored as it was applied.
func (s *stockroom) wantApplied(wanted catalog.Shop) {
	s.t.Helper()
	if plan := s.plan(wanted); plan.Writes() != 0 {
		s.t.Errorf("left to do: %v", plan.Changes)
	}
}

// dropVersions leaves the items as shopctl 0.1.0 would have written them.
func (s *stockroom) dropVersions() {
	s.t.Helper()
	out, err := s.client.Scan(s.t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.table), ConsistentRead: aws.Bool(true)})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, it := range out.Items {
		delete(it, "version")
		if _, err := s.client.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(s.table), Item: it}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func shopOf(products ...catalog.Product) catalog.Shop {
	return catalog.Shop{Customer: profile(emberforge, "EUR"), Products: products}
}

func closed(shop catalog.Shop) catalog.Shop {
	shop.Customer.OffSale = true
	return shop
}

func priced(minor int64) catalog.Product {
	p := product("coins")
	p.Variants[0].Price.Minor = minor
	return p
}

// Once an apply has returned, a write that is still in flight does not undo it. That write may be the lost first attempt of the
// apply's own write, or of an earlier apply's.
func TestApply_LateWrite_UndoesNothing(t *testing.T) {
	t.Parallel()
	for what, applied := range map[string][]catalog.Shop{ // applied in this order; the first write of the last but one arrives late
		"new":                     {shopOf(priced(499)), shopOf(priced(499))},
		"new, and a price":        {shopOf(priced(499)), shopOf(priced(549))},
		"opened and closed":       {closed(shopOf()), shopOf(), closed(shopOf())},
		"closed and opened":       {shopOf(), closed(shopOf()), shopOf()},
		"price":                   {shopOf(priced(499)), shopOf(priced(549)), shopOf(priced(599))},
		"price, and back":         {shopOf(priced(499)), shopOf(priced(549)), shopOf(priced(499))},
		"pruned, and on sale":     {shopOf(product("cup")), shopOf(), shopOf(product("cup"))},
		"new product, and pruned": {shopOf(), shopOf(product("cup")), shopOf()},
		"changed twice before":    {shopOf(), closed(shopOf()), shopOf(), closed(shopOf()), shopOf()},
	} {
		for _, versions := range []bool{true, false} {
			name := what
			if !versions {
				name += ", kept without versions"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newStockroom(t)
				last := len(applied) - 1
				for _, shop := range applied[:last-1] {
					s.apply(shop)
				}
				if !versions {
					s.dropVersions()
				}
				network := &late{operation: "PutItem"}
				s.apply(applied[last-1], func(o *dynamodb.Options) { o.HTTPClient = network })
				s.apply(applied[last])
				network.deliver(t)
				s.wantApplied(applied[last])
			})
		}
	}
}

// If two plans are made at the same time, the second one to be applied fails. Planned anew, it succeeds.
func TestApply_StalePlan_IsRejected(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct{ before, first, second catalog.Shop }{
		"profile": {shopOf(), closed(shopOf()), catalog.Shop{Customer: catalog.Customer{ID: emberforge, Name: "Emberforge Guild", Currency: "EUR"}}},
		"product": {shopOf(priced(499)), shopOf(priced(549)), shopOf(priced(599))},
		"new":     {shopOf(), shopOf(priced(549)), shopOf(priced(599))},
	} {
		t.Run(what, func(t *testing.T) {
			s := newStockroom(t)
			s.apply(test.before)
			plan := s.plan(test.second)
			s.apply(test.first)
			if err := plan.Apply(t.Context(), s.shops, func() {}); !errors.Is(err, catalog.ErrChanged) {
				t.Errorf("Apply = %v, want catalog.ErrChanged", err)
			}
			s.wantApplied(test.first)
			s.apply(test.second)
			s.wantApplied(test.second)
		})
	}
}

// The SDK's retry finds what the first attempt wrote. It must not take that for a change by somebody else.
func TestApply_LostResponse_Succeeds(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	for _, step := range []catalog.Shop{ // each takes one write
		closed(shopOf()), shopOf(), shopOf(bulky("cape")), shopOf(offSale(bulky("cape"))), closed(shopOf(offSale(bulky("cape")))),
	} {
		network := &unreliable{operation: "PutItem", behind: true}
		network.failures.Store(2)
		s.apply(step, over(network))
		s.wantApplied(step)
	}
}

// An attempt that arrives after another change must fail, even if the attempt before it was applied.
func TestApply_WriteAppliedTwice_KeepsTheWriteInBetween(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	s.apply(shopOf(priced(499)))
	plan := s.plan(shopOf(priced(549)))
	if err := plan.Apply(t.Context(), s.shops, func() {}); err != nil {
		t.Fatal(err)
	}
	s.apply(shopOf(priced(599)))
	if err := plan.Apply(t.Context(), s.shops, func() {}); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("the same plan again = %v, want catalog.ErrChanged", err)
	}
	s.wantApplied(shopOf(priced(599)))
}

// Versions start at 1, which is not stored. Items from before there were versions have that version too.
func TestApply_EachWrite_RaisesTheVersion(t *testing.T) {
	t.Parallel()
	s := newStockroom(t)
	for want, minor := range []int64{499, 549, 599} {
		s.apply(shopOf(priced(minor)))
		shop, err := s.shops.Shop(t.Context(), emberforge)
		if err != nil || shop.Products[0].Version != int64(want+1) || shop.Customer.Version != 2 { // closed and opened
			t.Errorf("Shop = %+v, %v, want version %d of the product", shop, err, want+1)
		}
	}
	s.dropVersions()
	shop, err := s.shops.Shop(t.Context(), emberforge)
	want := shopOf(priced(599))
	want.Customer.Version, want.Products[0].Version = 1, 1
	if !reflect.DeepEqual(shop, want) || err != nil {
		t.Errorf("Shop = %+v, %v, want %+v", shop, err, want)
	}
}
