package catalog

import "fmt"

// Shop is a shop with all its products, as in a catalogue file.
type Shop struct {
	Profile  Profile
	Products []Product // in ID order, each ID once
}

// Validate checks every bound of the shop and its products. It returns all faults as FieldErrors, with paths such as
// products[3].variants[2].price.
func (s Shop) Validate() error {
	var found FieldErrors
	s.Profile.validate(found.add)
	seen := make(map[ProductID]bool, len(s.Products))
	for i, product := range s.Products {
		at := fmt.Sprintf("products[%d].", i)
		product.validate(s.Profile.Currency, func(field string, err error) { found.add(at+field, err) })
		if seen[product.ID] {
			found.add(at+"id", fmt.Errorf("product %q appears twice", product.ID))
		}
		seen[product.ID] = true
	}
	return found.orNil()
}
