package checkout

import (
	"time"

	"shopfront/pkg/catalog"
)

// Filter selects checkouts for an operator. A zero field selects all.
type Filter struct {
	Product catalog.ProductID
	Variant catalog.VariantID
	Status  Status
	From    time.Time // the earliest Checkout.Created, inclusive
	Until   time.Time // the latest Checkout.Created, exclusive
}

// Picks reports whether the filter selects the checkout, given the checkout's status at the given time.
func (f Filter) Picks(c Checkout, at time.Time) bool {
	return (f.Product == "" || f.Product == c.Product) &&
		(f.Variant == "" || f.Variant == c.Variant) &&
		(f.Status == "" || f.Status == c.Status(at)) &&
		!c.Created.Before(f.From) &&
		(f.Until.IsZero() || c.Created.Before(f.Until))
}
