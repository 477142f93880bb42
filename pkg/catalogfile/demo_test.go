package catalogfile_test

import (
	"os"
	"reflect"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/voucher"
)

func demo(t *testing.T) []catalogfile.Entry {
	t.Helper()
	const name = "../../examples/demo.yaml"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	shops, err := catalogfile.Parse(catalogfile.File{Name: name, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return shops
}

func TestDemo_IsWrittenAndReadBack(t *testing.T) {
	var shops []catalog.Shop
	products := 0
	for _, shop := range demo(t) {
		shops = append(shops, shop.Shop)
		products += len(shop.Products)
		if err := shop.MissingRewards(catalog.Shop{}); err != nil {
			t.Error(err)
		}
	}
	if len(shops) != 2 || shops[0].Profile.ID != "emberforge" || shops[1].Profile.Currency != "JPY" || products < 12 {
		t.Errorf("%d products of %d shops", products, len(shops))
	}
	if again := parsed(t, written(t, shops...)); !reflect.DeepEqual(again, shops) {
		t.Errorf("read back %+v", again)
	}
}

func TestDemo_HasVouchersOfEveryKind(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, shop := range demo(t) {
		kinds := map[string]int{}
		for _, v := range shop.Vouchers {
			made, err := voucher.New(v.Terms, now)
			if err != nil {
				t.Fatal(err)
			}
			kinds[string(made.Reward.Kind)]++
			for kind, is := range map[string]bool{
				"single use":                    made.SingleUse(),
				"limited in total only":         made.Limited() && made.MaxUsesPerNick == voucher.NoLimit,
				"once per nick":                 made.MaxUses == voucher.NoLimit && made.MaxUsesPerNick == 1,
				"limited in total and per nick": made.Limited() && made.MaxUsesPerNick > 0,
				"unlimited": made.MaxUses == voucher.NoLimit &&
					made.MaxUsesPerNick == voucher.NoLimit,
				"bound to a nick":             made.Nick.Written != "",
				"expired":                     !made.ValidUntil.IsZero() && made.ValidUntil.Before(now),
				"not started":                 made.ValidFrom.After(now),
				"disabled":                    made.Disabled,
				"the same code in both shops": made.Written == "SUMMER-20",
				"an amount of a product":      made.Reward.Amount > 1,
			} {
				if is {
					kinds[kind]++
				}
			}
		}
		if len(kinds) != 4+11 { // 4 kinds of rewards, and the 11 kinds listed above
			t.Errorf("%s lacks a kind of voucher; it has these kinds: %v", shop.Profile.ID, kinds)
		}
	}
}

func TestDemo_DataSchemas_AcceptTheirData(t *testing.T) {
	schemas := map[string]string{}
	for _, shop := range demo(t) {
		for _, product := range shop.Products {
			for _, variant := range product.Variants {
				schemas[string(product.ID)+"/"+string(variant.ID)] = variant.DataSchema
			}
		}
	}
	var validator dataschema.Validator
	for _, test := range []struct {
		variant, data string
		valid         bool
	}{
		{"vip-rank/lifetime", `{"player": "Kestrel_9"}`, true},
		{"vip-rank/lifetime", `{"player": "Kestrel 9"}`, false},
		{"vip-rank/30-days", `{}`, false},
		{"t-shirt/m", `{"name": "A. Heron", "street": "Am Markt 1", "postcode": "50667", "city": "Köln", ` +
			`"country": "DE"}`, true},
		{"t-shirt/m", `{"name": "A. Heron", "street": "Am Markt 1", "postcode": "50667", "city": "Köln", ` +
			`"country": "XX"}`, false},
		{"pet/owl", `{"player": "Kestrel_9", "names": ["Cinder", "Cinder"]}`, false},
		{"server-boost/24-hours", `{"server": "survival", "anonymous": true}`, true},
		{"bento-box/red", `{}`, true},
		{"wind-chime/glass", `{"strip": ["夏の音", "涼し"]}`, true},
		{"wind-chime/glass", `{"strip": [""]}`, false},
	} {
		schema := schemas[test.variant]
		if schema == "" {
			t.Errorf("%s has no data schema", test.variant)
		}
		if err := validator.Check(schema, test.data); (err == nil) != test.valid {
			t.Errorf("%s with %s: %v, want valid %t", test.variant, test.data, err, test.valid)
		}
	}
}
