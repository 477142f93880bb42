package table

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

func coins() (catalog.Product, Item) {
	product := catalog.Product{
		ID: "coins", Name: "Ember coins", Description: "The coins of the realm.", Version: 2,
		Variants: []catalog.Variant{
			{
				ID: "500", Name: "500 coins", Price: money.Money{Minor: 499, Currency: "EUR"}, MinAmount: 1,
				MaxAmount: 10,
			},
		},
	}
	return product, Item{
		PartitionKey: Str("emberforge"), SortKey: Str("product#coins"), "name": Str("Ember coins"),
		"description": Str("The coins of the realm."),
		"currency":    Str("EUR"), "version": Num(2),
		"variants": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: Item{
				"id": Str("500"), "name": Str("500 coins"), "price": Num(499), "least": Num(1), "most": Num(10),
			}},
		}},
	}
}

func TestShop_StoredFormWithoutPage_NeverChanges(t *testing.T) {
	t.Parallel()
	profile := catalog.Profile{
		ID: "emberforge", Name: "Emberforge", Currency: "EUR", OffSale: true, TimeZone: "Europe/Berlin", Version: 2,
	}
	stored := Item{
		PartitionKey: Str("emberforge"), SortKey: Str("customer"), "name": Str("Emberforge"), "currency": Str("EUR"),
		"offSale": Bool(true), "timeZone": Str("Europe/Berlin"), "version": Num(2),
	}
	checkProfile(t, profile, stored)
}

func TestShop_StoredPage_NeverChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		page   catalog.Page
		stored Item
	}{
		{catalog.Page{Off: true}, Item{"off": Bool(true)}},
		{catalog.Page{Accent: "#c2410c"}, Item{"accent": Str("#c2410c")}},
		{
			catalog.Page{Privacy: catalog.Link{URL: "https://emberforge.example/privacy"}},
			Item{"privacy": Str("https://emberforge.example/privacy")},
		},
		{
			catalog.Page{
				Accent: "#c2410c", Logo: "https://cdn.example/logo.png",
				Imprint:     catalog.Link{URL: "https://emberforge.example/imprint", Text: "Impressum"},
				Privacy:     catalog.Link{URL: "https://emberforge.example/privacy", Text: "Datenschutz"},
				PaymentURL:  "https://pay.example/?checkout={checkout}&return={return}",
				PaymentText: "Transfer the total.\nName the number {number}.",
			},
			Item{
				"accent": Str("#c2410c"), "logo": Str("https://cdn.example/logo.png"),
				"imprint": Str("https://emberforge.example/imprint"), "imprintText": Str("Impressum"),
				"privacy": Str("https://emberforge.example/privacy"), "privacyText": Str("Datenschutz"),
				"paymentURL":  Str("https://pay.example/?checkout={checkout}&return={return}"),
				"paymentText": Str("Transfer the total.\nName the number {number}."),
			},
		},
	} {
		checkProfile(t, catalog.Profile{
			ID: "emberforge", Name: "Emberforge", Currency: "EUR", Version: 1,
			Page: test.page,
		}, Item{
			PartitionKey: Str("emberforge"), SortKey: Str("customer"), "name": Str("Emberforge"),
			"currency": Str("EUR"), "version": Num(1),
			"page": &types.AttributeValueMemberM{Value: test.stored},
		})
	}
}

func checkProfile(t *testing.T, profile catalog.Profile, stored Item) {
	t.Helper()
	if got := EncodeProfile(profile); !reflect.DeepEqual(got, stored) {
		t.Errorf("stored as %v, want %v", got, stored)
	}
	if got := DecodeProfile(stored); got != profile {
		t.Errorf("read as %+v, want %+v", got, profile)
	}
}

// One read unit covers 4 KB, so a profile with the longest name and ID and a page of MaxPageBytes must fit into 4 KB.
// DynamoDB documents the sizes: the bytes of names and values, 1 byte for true, 3 for a map, 1 for each of the map's
// attributes, and at most 21 for a number.
func TestShop_LargestProfile_IsReadInOneUnit(t *testing.T) {
	t.Parallel()
	var size func(Item) int
	size = func(it Item) (bytes int) {
		for name, value := range it {
			bytes += len(name)
			switch v := value.(type) {
			case *types.AttributeValueMemberS:
				bytes += len(v.Value)
			case *types.AttributeValueMemberM:
				bytes += 3 + len(v.Value) + size(v.Value)
			default:
				bytes += 21
			}
		}
		return bytes
	}
	largest := catalog.Profile{
		ID: catalog.ShopID(strings.Repeat("x", 64)), Name: strings.Repeat("x", catalog.MaxNameBytes),
		Currency: "EUR", OffSale: true, Version: 1 << 60, TimeZone: "America/Argentina/ComodRivadavia", // the longest
		Page: catalog.Page{
			Accent: "x", Logo: "x", Imprint: catalog.Link{URL: "x", Text: "x"},
			Privacy: catalog.Link{URL: "x", Text: "x"}, PaymentURL: "x",
			PaymentText: strings.Repeat("x", catalog.MaxPageBytes-7),
		},
	}
	if got := size(EncodeProfile(largest)); got > 4096 {
		t.Errorf("the largest profile takes %d bytes, want at most 4096", got)
	}
}

func TestProduct_StoredFormWithoutDetails_NeverChanges(t *testing.T) {
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
	product.NickFrom, stored["nickFrom"] = "player", Str("player")
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
		{
			"for a weekend", time.UnixMilli(1795737600000).UTC(), time.UnixMilli(1795996800001).UTC(),
			Item{"saleFrom": Num(1795737600000), "saleUntil": Num(1795996800001)},
		},
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
