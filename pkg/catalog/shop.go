package catalog

// Shop is a whole customer: what an operator writes down, applies and is shown.
type Shop struct {
	Customer Customer
	Products []Product // in ID order
}
