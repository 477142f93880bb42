package catalog_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"

	"shopfront/pkg/catalog"
)

// store is a catalog.Store with one shop.
type store struct {
	shop  catalog.Shop
	fails error // if set, returned instead of the last product
}

func (s store) Customer(_ context.Context, id catalog.CustomerID) (catalog.Customer, error) {
	if id != s.shop.Customer.ID {
		return catalog.Customer{}, catalog.ErrNotFound
	}
	return s.shop.Customer, nil
}

func (s store) Product(ctx context.Context, customerID catalog.CustomerID, id catalog.ProductID) (catalog.Customer, catalog.Product, error) {
	if s.fails != nil {
		return catalog.Customer{}, catalog.Product{}, s.fails
	}
	customer, err := s.Customer(ctx, customerID)
	if err != nil {
		return catalog.Customer{}, catalog.Product{}, err
	}
	at := slices.IndexFunc(s.shop.Products, func(p catalog.Product) bool { return p.ID == id })
	if at < 0 {
		return catalog.Customer{}, catalog.Product{}, catalog.ErrNotFound
	}
	return customer, s.shop.Products[at], nil
}

func (s store) ProductsOnSale(_ context.Context, _ catalog.CustomerID, after catalog.ProductID, _ int) iter.Seq2[catalog.Product, error] {
	return func(yield func(catalog.Product, error) bool) {
		for i, product := range s.shop.Products {
			if s.fails != nil && i == len(s.shop.Products)-1 {
				yield(catalog.Product{}, s.fails)
				return
			}
			if product.ID > after && !product.OffSale && !yield(product, nil) {
				return
			}
		}
	}
}

func TestOffer_CustomerProductAndVariant_MustBeOnSale(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*catalog.Shop)
		want   error
	}{
		{"on sale", func(*catalog.Shop) {}, nil},
		{"customer unknown", func(s *catalog.Shop) { s.Customer.ID = "sakura-goods" }, catalog.ErrNotFound},
		{"customer off sale", func(s *catalog.Shop) { s.Customer.OffSale = true }, catalog.ErrNotFound},
		{"product unknown", func(s *catalog.Shop) { s.Products[0].ID = "gems" }, catalog.ErrNotFound},
		{"product off sale", func(s *catalog.Shop) { s.Products[0].OffSale = true }, catalog.ErrNotFound},
		{"variant unknown", func(s *catalog.Shop) { s.Products[0].Variants[1].ID = "1000" }, catalog.ErrNotFound},
		{"variant off sale", func(s *catalog.Shop) { s.Products[0].Variants[1].OffSale = true }, catalog.ErrNotFound},
		{"another variant off sale", func(s *catalog.Shop) { s.Products[0].Variants[0].OffSale = true }, nil},
		{"another case is another variant", func(s *catalog.Shop) { s.Products[0].ID = "Coins" }, catalog.ErrNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			shop := catalog.Shop{Customer: emberforge(), Products: []catalog.Product{coins(499, 999)}}
			test.change(&shop)
			shown := catalog.Catalogue{Store: store{shop: shop}}
			offer, err := shown.Offer(t.Context(), "emberforge", "coins", "999")
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			want := catalog.Offer{}
			if test.want == nil {
				want = catalog.Offer{Customer: shop.Customer, Product: shop.Products[0], Variant: shop.Products[0].Variants[1]}
			}
			if !reflect.DeepEqual(offer, want) {
				t.Errorf("got %+v, want %+v", offer, want)
			}
		})
	}
}

func TestCustomer_OffSale_IsNotFound(t *testing.T) {
	shop := catalog.Shop{Customer: emberforge()}
	shown := catalog.Catalogue{Store: store{shop: shop}}
	if customer, err := shown.Customer(t.Context(), "emberforge"); err != nil || customer != shop.Customer {
		t.Errorf("got %+v, %v", customer, err)
	}
	if _, err := shown.Customer(t.Context(), "sakura-goods"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	shop.Customer.OffSale = true
	shown = catalog.Catalogue{Store: store{shop: shop}}
	if customer, err := shown.Customer(t.Context(), "emberforge"); !errors.Is(err, catalog.ErrNotFound) || customer != (catalog.Customer{}) {
		t.Errorf("off sale: %+v, %v", customer, err)
	}
}

func TestProducts_OnlyOnSale_AreListed(t *testing.T) {
	closed, half, open, other := coins(1, 2), coins(1, 2, 3), coins(1), coins(7)
	closed.ID, half.ID, open.ID, other.ID = "a-closed", "b-half", "c-open", "d-other"
	closed.Variants[0].OffSale, closed.Variants[1].OffSale = true, true
	half.Variants[1].OffSale = true
	other.OffSale = true
	shop := catalog.Shop{Customer: emberforge(), Products: []catalog.Product{closed, half, open, other}}
	shown := catalog.Catalogue{Store: store{shop: shop}}

	list := func(after catalog.ProductID) (products []catalog.Product) {
		for product, err := range shown.Products(t.Context(), "emberforge", after, 10) {
			if err != nil {
				t.Fatal(err)
			}
			products = append(products, product)
		}
		return products
	}
	halfShown := half
	halfShown.Variants = []catalog.Variant{half.Variants[0], half.Variants[2]}
	for range 2 { // the first reading must not have modified the store's products
		if got, want := list(""), []catalog.Product{halfShown, open}; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
	if got, want := list("b-half"), []catalog.Product{open}; !reflect.DeepEqual(got, want) {
		t.Errorf("after b-half: got %+v, want %+v", got, want)
	}
	for product, err := range shown.Products(t.Context(), "emberforge", "", 1) {
		if err != nil || product.ID != "b-half" {
			t.Errorf("got %s, %v", product.ID, err)
		}
		break
	}
}

func TestProducts_Error_EndsTheList(t *testing.T) {
	out := errors.New("out of reach")
	last := coins(2)
	last.ID = "gems"
	shown := catalog.Catalogue{Store: store{
		shop:  catalog.Shop{Customer: emberforge(), Products: []catalog.Product{coins(1), last}},
		fails: out,
	}}
	var errs []error
	for _, err := range shown.Products(t.Context(), "emberforge", "", 10) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], out) {
		t.Errorf("got %v, want a product and the error", errs)
	}
	if _, err := shown.Offer(t.Context(), "emberforge", "coins", "1"); !errors.Is(err, out) {
		t.Errorf("Offer: %v", err)
	}
}
