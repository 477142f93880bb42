package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
)

func emberforge() catalog.Customer {
	return catalog.Customer{ID: "emberforge", Name: "Emberforge", Currency: "EUR"}
}

func euro(minor int64) money.Money { return money.Money{Minor: minor, Currency: "EUR"} }

// coins returns a product with a variant on sale for each price in minor units. The price names the variant.
func coins(prices ...int64) catalog.Product {
	product := catalog.Product{ID: "coins", Name: "Ember coins", Description: "The coins of the realm."}
	for _, price := range prices {
		product.Variants = append(product.Variants, catalog.Variant{
			ID: catalog.VariantID(fmt.Sprint(price)), Name: fmt.Sprintf("%d coins", price), Price: euro(price), MinAmount: 1, MaxAmount: 10,
		})
	}
	return product
}

func TestValidate_WithinTheBounds_IsValid(t *testing.T) {
	for name, change := range map[string]func(*catalog.Shop){
		"as it is":                     func(*catalog.Shop) {},
		"no products":                  func(s *catalog.Shop) { s.Products = nil },
		"a product for free":           func(s *catalog.Shop) { s.Products[0].Variants[0].Price = euro(0) },
		"50 variants":                  func(s *catalog.Shop) { s.Products[0] = coins(upTo(catalog.MaxVariants)...) },
		"longest name":                 func(s *catalog.Shop) { s.Customer.Name = strings.Repeat("é", 64) },
		"longest description":          func(s *catalog.Shop) { s.Products[0].Description = strings.Repeat("x", catalog.MaxDescriptionBytes) },
		"description of several lines": func(s *catalog.Shop) { s.Products[0].Description = "Coins.\n\nNot refundable.\n" },
		"longest schema": func(s *catalog.Shop) {
			s.Products[0].Variants[0].DataSchema = strings.Repeat("x", catalog.MaxDataSchemaBytes)
		},
		"widest amount": func(s *catalog.Shop) { s.Products[0].Variants[0].MaxAmount = catalog.MaxAmount },
		"one amount only": func(s *catalog.Shop) {
			s.Products[0].Variants[0].MinAmount, s.Products[0].Variants[0].MaxAmount = 10, 10
		},
		"highest subtotal": func(s *catalog.Shop) {
			s.Products[0].Variants[0].Price, s.Products[0].Variants[0].MaxAmount = euro(money.MaxMinor/10), 10
		},
		"everything off sale": func(s *catalog.Shop) {
			s.Customer.OffSale, s.Products[0].OffSale, s.Products[0].Variants[0].OffSale = true, true, true
		},
	} {
		shop := catalog.Shop{Customer: emberforge(), Products: []catalog.Product{coins(499)}}
		change(&shop)
		if err := shop.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func upTo(n int64) []int64 {
	var numbers []int64
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

func TestValidate_BeyondABound_NamesTheField(t *testing.T) {
	variant := func(s *catalog.Shop) *catalog.Variant { return &s.Products[0].Variants[0] }
	for _, test := range []struct {
		field, reason string
		change        func(*catalog.Shop)
	}{
		{"id", `".": malformed ID`, func(s *catalog.Shop) { s.Customer.ID = "." }},
		{"name", "is missing", func(s *catalog.Shop) { s.Customer.Name = " \t" }},
		{"name", "has 129 bytes, and at most 128 are allowed", func(s *catalog.Shop) { s.Customer.Name = strings.Repeat("x", 129) }},
		{"name", "must be one line", func(s *catalog.Shop) { s.Customer.Name = "Ember\nforge" }},
		{"name", "has characters that cannot be displayed", func(s *catalog.Shop) { s.Customer.Name = "Ember\x1b[31m" }},
		{"name", "has characters that cannot be displayed", func(s *catalog.Shop) { s.Customer.Name = "Ember\xff" }},
		{"currency", "not an ISO 4217 currency", func(s *catalog.Shop) { s.Customer.Currency = "EURO"; s.Products = nil }},

		{"products[0].id", "malformed ID", func(s *catalog.Shop) { s.Products[0].ID = "" }},
		{"products[1].id", `product "coins" appears twice`, func(s *catalog.Shop) { s.Products = append(s.Products, s.Products[0]) }},
		{"products[0].name", "is missing", func(s *catalog.Shop) { s.Products[0].Name = "" }},
		{"products[0].description", "has 1025 bytes", func(s *catalog.Shop) { s.Products[0].Description = strings.Repeat("x", 1025) }},
		{"products[0].variants", "a product must have 1 to 50 variants, not 0", func(s *catalog.Shop) { s.Products[0].Variants = nil }},
		{"products[0].variants", "a product must have 1 to 50 variants, not 51", func(s *catalog.Shop) { s.Products[0] = coins(upTo(51)...) }},
		{"products[0].variants", "at most 389120 are allowed", func(s *catalog.Shop) {
			s.Products[0] = coins(upTo(catalog.MaxVariants)...)
			for i := range s.Products[0].Variants {
				s.Products[0].Variants[i].DataSchema = strings.Repeat("x", catalog.MaxDataSchemaBytes)
			}
		}},

		{"products[0].variants[0].id", "malformed ID", func(s *catalog.Shop) { variant(s).ID = "5 00" }},
		{"products[0].variants[1].id", `variant "499" appears twice`, func(s *catalog.Shop) { s.Products[0] = coins(499, 499) }},
		{"products[0].variants[0].name", "is missing", func(s *catalog.Shop) { variant(s).Name = "" }},
		{"products[0].variants[0].price", "USD, but the customer has EUR", func(s *catalog.Shop) { variant(s).Price.Currency = "USD" }},
		{"products[0].variants[0].price", "negative", func(s *catalog.Shop) { variant(s).Price.Minor = -1 }},
		{"products[0].variants[0].amount", "too large", func(s *catalog.Shop) { variant(s).Price = euro(money.MaxMinor/10 + 1) }},
		{"products[0].variants[0].amount", "bounds 0 to 10", func(s *catalog.Shop) { variant(s).MinAmount = 0 }},
		{"products[0].variants[0].amount", "bounds 11 to 10", func(s *catalog.Shop) { variant(s).MinAmount = 11 }},
		{"products[0].variants[0].amount", "bounds 1 to 1000001", func(s *catalog.Shop) { variant(s).MaxAmount = catalog.MaxAmount + 1 }},
		{"products[0].variants[0].data", "the schema has 8193 bytes", func(s *catalog.Shop) { variant(s).DataSchema = strings.Repeat("x", 8193) }},
	} {
		shop := catalog.Shop{Customer: emberforge(), Products: []catalog.Product{coins(499)}}
		test.change(&shop)
		found, ok := errors.AsType[catalog.FieldErrors](shop.Validate())
		if !ok || !slices.ContainsFunc(found, func(e *catalog.FieldError) bool {
			return e.Field == test.field && strings.Contains(e.Err.Error(), test.reason)
		}) {
			t.Errorf("got %v, want %s: %s", found, test.field, test.reason)
		}
	}
}

func TestValidate_SeveralFaults_AreAllReported(t *testing.T) {
	shop := catalog.Shop{Customer: emberforge(), Products: []catalog.Product{coins(499), coins(999)}}
	shop.Customer.Name = ""
	shop.Products[0].Name = ""
	shop.Products[1].Variants[0].Price.Currency = "JPY"
	err := shop.Validate()
	const want = `name: is missing
products[0].name: is missing
products[1].variants[0].price: amounts of money have different currencies: JPY, but the customer has EUR
products[1].id: product "coins" appears twice`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if !errors.Is(err, money.ErrMixedCurrencies) {
		t.Error("errors.Is does not find what is wrong")
	}
}

func TestValidate_CustomerAndProduct_AreValidatedSeparately(t *testing.T) {
	if err := emberforge().Validate(); err != nil {
		t.Error(err)
	}
	if err := coins(499).Validate("EUR"); err != nil {
		t.Error(err)
	}
	if err := coins(499).Validate("JPY"); !errors.Is(err, money.ErrMixedCurrencies) {
		t.Errorf("got %v, want ErrMixedCurrencies", err)
	}
}
