package catalog_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"shopfront/pkg/catalog"
)

// store is a catalog.Store with one shop.
type store struct {
	shop  catalog.Shop
	fails error // if set, returned instead of a product
}

func (s store) Product(
	_ context.Context, shopID catalog.ShopID, id catalog.ProductID,
) (catalog.Profile, catalog.Product, error) {
	if s.fails != nil {
		return catalog.Profile{}, catalog.Product{}, s.fails
	}
	at := slices.IndexFunc(s.shop.Products, func(p catalog.Product) bool { return p.ID == id })
	if shopID != s.shop.Profile.ID || at < 0 {
		return catalog.Profile{}, catalog.Product{}, catalog.ErrNotFound
	}
	return s.shop.Profile, s.shop.Products[at], nil
}

func TestOffer_ShopProductAndVariant_MustBeOnSale(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*catalog.Shop)
		want   error
	}{
		{"on sale", func(*catalog.Shop) {}, nil},
		{"shop unknown", func(s *catalog.Shop) { s.Profile.ID = "sakura-goods" }, catalog.ErrNotFound},
		{"shop off sale", func(s *catalog.Shop) { s.Profile.OffSale = true }, catalog.ErrNotFound},
		{"product unknown", func(s *catalog.Shop) { s.Products[0].ID = "gems" }, catalog.ErrNotFound},
		{"product off sale", func(s *catalog.Shop) { s.Products[0].OffSale = true }, catalog.ErrNotFound},
		{"variant unknown", func(s *catalog.Shop) { s.Products[0].Variants[1].ID = "1000" }, catalog.ErrNotFound},
		{"variant off sale", func(s *catalog.Shop) { s.Products[0].Variants[1].OffSale = true }, catalog.ErrNotFound},
		{"another variant off sale", func(s *catalog.Shop) { s.Products[0].Variants[0].OffSale = true }, nil},
		{"product ID in another case", func(s *catalog.Shop) { s.Products[0].ID = "Coins" }, catalog.ErrNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			shop := catalog.Shop{Profile: emberforge(), Products: []catalog.Product{coins(499, 999)}}
			test.change(&shop)
			shown := catalog.Catalogue{Store: store{shop: shop}}
			offer, err := shown.Offer(t.Context(), "emberforge", "coins", "999")
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			want := catalog.Offer{}
			if test.want == nil {
				want = catalog.Offer{
					Profile: shop.Profile, Product: shop.Products[0],
					Variant: shop.Products[0].Variants[1],
				}
			}
			if !reflect.DeepEqual(offer, want) {
				t.Errorf("got %+v, want %+v", offer, want)
			}
		})
	}
}

func TestOffer_StoreFails_ReturnsItsError(t *testing.T) {
	out := errors.New("out of reach")
	shown := catalog.Catalogue{Store: store{fails: out}}
	if _, err := shown.Offer(t.Context(), "emberforge", "coins", "1"); !errors.Is(err, out) {
		t.Errorf("got %v, want the store's error", err)
	}
}
