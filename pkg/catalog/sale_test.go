package catalog_test

import (
	"testing"
	"time"

	"shopfront/pkg/catalog"
)

// The sale of Black Friday 2026 lasts from friday to monday.
var (
	friday = time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)                     //nolint:gochecknoglobals // a constant in all but syntax
	monday = time.Date(2026, 11, 30, 0, 0, 0, int(time.Millisecond), time.UTC) //nolint:gochecknoglobals // a constant in all but syntax
)

func TestPriceAt_Sale_IsInForceAtFromAndHasEndedAtUntil(t *testing.T) {
	const tick = time.Nanosecond
	always, never := time.Time{}, time.Time{}
	for _, test := range []struct {
		name        string
		from, until time.Time
		at          time.Time
		onSale      bool
	}{
		{"before it begins", friday, monday, friday.Add(-tick), false},
		{"at its beginning", friday, monday, friday, true},
		{"before it ends", friday, monday, monday.Add(-tick), true},
		{"at its end", friday, monday, monday, false},
		{"at its beginning, in another time zone", friday, monday, friday.In(time.FixedZone("Berlin", 3600)), true},
		{"without a beginning", always, monday, friday.Add(-tick), true},
		{"without a beginning, at its end", always, monday, monday, false},
		{"without an end", friday, never, monday.AddDate(7000, 0, 0), true},
		{"without an end, before it begins", friday, never, friday.Add(-tick), false},
		{"without both", always, never, friday, true},
	} {
		for _, price := range []int64{399, 0} {
			v := coins(499).Variants[0]
			v.Sale = catalog.Sale{Price: euro(price), From: test.from, Until: test.until}
			wantSale, wantPrice := catalog.Sale{}, v.Price
			if test.onSale {
				wantSale, wantPrice = v.Sale, euro(price)
			}
			if sale, onSale := v.SaleAt(test.at); sale != wantSale || onSale != test.onSale {
				t.Errorf("%s: SaleAt = %+v, %t, want %+v", test.name, sale, onSale, wantSale)
			}
			if got := v.PriceAt(test.at); got != wantPrice {
				t.Errorf("%s: PriceAt = %v, want %v", test.name, got, wantPrice)
			}
		}
	}
	if v := coins(499).Variants[0]; v.PriceAt(friday) != v.Price {
		t.Errorf("without a sale: PriceAt = %v, want %v", v.PriceAt(friday), v.Price)
	}
}

func TestSale_String_NamesPriceAndPeriod(t *testing.T) {
	for want, sale := range map[string]catalog.Sale{
		"":                                   {},
		"3.99 EUR":                           {Price: euro(399)},
		"0.00 EUR from 2026-11-27T00:00:00Z": {Price: euro(0), From: friday},
		"3.99 EUR until 2026-11-30T00:00:00.001Z": {Price: euro(399), Until: monday},
		"3.99 EUR from 2026-11-27T00:00:00Z until 2026-11-30T00:00:00.001Z": {
			Price: euro(399), From: friday,
			Until: monday,
		},
	} {
		if got := sale.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
