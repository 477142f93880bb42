package checkout_test

import (
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
)

// forAnHour makes the same offers as onSale, but with a sale price of 3.99 EUR for one hour from noon.
func forAnHour(c catalog.ShopID, p catalog.ProductID, v catalog.VariantID) (catalog.Offer, error) {
	offer, err := onSale(c, p, v)
	offer.Variant.Sale = catalog.Sale{
		Price: money.Money{Minor: 399, Currency: "EUR"}, From: noon,
		Until: noon.Add(time.Hour),
	}
	return offer, err
}

func TestOpen_DuringASale_HasTheSalePrice(t *testing.T) {
	opener, _ := newOpener()
	opener.Catalogue = catalogueFunc(forAnHour)
	for received, want := range map[time.Time]int64{
		noon.Add(-time.Millisecond): 499, noon: 399, noon.Add(time.Hour - time.Millisecond): 399,
		noon.Add(time.Hour): 499,
	} {
		request := at(buy("coins", "500", 3), received)
		quoted, _, err := opener.Quote(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]checkout.Checkout{"opened": mustOpen(t, opener, request), "quoted": quoted} {
			if got.UnitPrice.Minor != want || got.Subtotal.Minor != 3*want || got.Total.Minor != 3*want {
				t.Errorf("received at %s, %s: %v each, %v in all; want %d cents each", received, what, got.UnitPrice,
					got.Total, want)
			}
		}
	}
}

// A checkout stores its price. The sale may end or be cancelled while the checkout is open.
func TestOpen_AtASalePrice_CheckoutKeepsThePriceUntilItExpires(t *testing.T) {
	opener, store := newOpener()
	opener.Catalogue = catalogueFunc(forAnHour)
	request := withKey(at(buy("coins", "500", 3), noon.Add(59*time.Minute)), "till-1")
	first := mustOpen(t, opener, request)
	for name, catalogue := range map[string]catalogueFunc{
		"the sale has ended":    forAnHour,
		"the sale is cancelled": onSale,
	} {
		opener.Catalogue = catalogue
		if got, replayed, err := opener.Open(t.Context(),
			at(request, first.Expires.Add(-time.Millisecond))); got != first || !replayed || err != nil {
			t.Errorf("%s: got %+v, %v, want the first checkout", name, got, err)
		}
	}
	if stored, err := (checkout.Checkouts{Store: store}).Show(t.Context(), emberforge,
		first.ID); stored.Total.Minor != 3*399 || err != nil {
		t.Errorf("stored at %v, %v, want 11.97 EUR", stored.Total, err)
	}
	if again := mustOpen(t, opener, at(request, first.Expires)); again.UnitPrice.Minor != 499 {
		t.Errorf("after the first checkout expired, the key opens a checkout at %v, want 4.99 EUR", again.UnitPrice)
	}
}
