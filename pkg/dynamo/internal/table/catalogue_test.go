package table

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

func coins() (catalog.Product, Item) {
	product := catalog.Product{ID: "coins", Name: "Ember coins", Description: "The coins of the realm.", Version: 2, Variants: []catalog.Variant{
		{ID: "500", Name: "500 coins", Price: money.Money{Minor: 499, Currency: "EUR"}, MinAmount: 1, MaxAmount: 10},
	}}
	return product, Item{
		PartitionKey: Str("emberforge"), SortKey: Str("product#coins"), "name": Str("Ember coins"), "description": Str("The coins of the realm."),
		"currency": Str("EUR"), "version": Num(2), "variants": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: Item{
				"id": Str("500"), "name": Str("500 coins"), "price": Num(499), "least": Num(1), "most": Num(10),
			}},
		}},
	}
}

// Items that release 10 stored stay readable. A product without details is still stored as it was then.
func TestProduct_StoredFormOfRelease10_NeverChanges(t *testing.T) {
	t.Parallel()
	product, stored := coins()
	if got := EncodeProduct("emberforge", product); !reflect.DeepEqual(got, stored) {
		t.Errorf("stored as %v, want %v", got, stored)
	}
	if got := DecodeProduct(stored); !reflect.DeepEqual(got, product) {
		t.Errorf("read as %+v, want %+v", got, product)
	}
}

func TestProduct_StoredDetails_NeverChange(t *testing.T) {
	t.Parallel()
	product, stored := coins()
	product.Image, product.Category, product.Position = "https://cdn.example/coins.png", "Coins", 7
	stored["image"], stored["category"], stored["position"] = Str("https://cdn.example/coins.png"), Str("Coins"), Num(7)
	variants, _ := stored["variants"].(*types.AttributeValueMemberL)
	variant, _ := variants.Value[0].(*types.AttributeValueMemberM)
	product.Variants[0].Sale.Price = money.Money{Currency: "EUR"}
	variant.Value["salePrice"] = Num(0)
	for _, test := range []struct {
		name        string
		from, until time.Time
		added       Item
	}{
		{name: "without times"},
		{"from 1970 on", time.UnixMilli(0).UTC(), time.Time{}, Item{"saleFrom": Num(0)}},
		{"for a weekend", time.UnixMilli(1795737600000).UTC(), time.UnixMilli(1795996800001).UTC(), Item{"saleFrom": Num(1795737600000), "saleUntil": Num(1795996800001)}},
	} {
		product.Variants[0].Sale.From, product.Variants[0].Sale.Until = test.from, test.until
		maps.Copy(variant.Value, test.added)
		if got := EncodeProduct("emberforge", product); !reflect.DeepEqual(got, stored) {
			t.Errorf("%s: stored as %v, want %v", test.name, got, stored)
		}
		if got := DecodeProduct(stored); !reflect.DeepEqual(got, product) {
			t.Errorf("%s: read as %+v, want %+v", test.name, got, product)
		}
	}
}
