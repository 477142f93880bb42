package checkout

import (
	"time"

	"shopfront/pkg/catalog"
)

// Filter picks checkouts for an operator. A zero field picks all.
type Filter struct {
	Product catalog.ProductID
	Status  Status
	From    time.Time // of creation, inclusive
	Until   time.Time // of creation, exclusive
}

// Picks tells whether the checkout, as it stands at a time, is looked for.
func (f Filter) Picks(c Checkout, at time.Time) bool {
	return (f.Product == "" || f.Product == c.Product) &&
		(f.Status == "" || f.Status == c.Status(at)) &&
		!c.Created.Before(f.From) &&
		(f.Until.IsZero() || c.Created.Before(f.Until))
}
