package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Errors of writes, which have then changed nothing.
var (
	// ErrCurrencyFixed says that a customer is kept with another currency.
	ErrCurrencyFixed = errors.New("a customer's currency never changes")
	// ErrChanged says that something else is kept than was read when the plan was made.
	ErrChanged = errors.New("its catalogue was changed meanwhile: apply again")
)

// ApplyStore is what applying a shop needs of the kept catalogue. Errors other than those named are the store's own.
//
// A put creates what has version 0, and else replaces what is kept in that version; then the next version is kept. It returns
// ErrChanged where another is, unless that is what the put writes: it was done, and the answer was lost. No attempt of a put
// is applied once a later version is kept.
type ApplyStore interface {
	// Shop returns all that is kept of a customer, on sale or not; ErrNotFound for an unknown one.
	Shop(ctx context.Context, id CustomerID) (Shop, error)
	// PutCustomer creates or replaces a customer, without its products. It returns ErrCurrencyFixed where one is kept with
	// another currency.
	PutCustomer(ctx context.Context, customer Customer) error
	// PutProduct creates or replaces a product with all its variants, which has at least one. It returns ErrCurrencyFixed as
	// PutCustomer does.
	PutProduct(ctx context.Context, customer CustomerID, product Product) error
}

// Plan is what applying a shop changes, and the writes that do it. A plan without changes has no writes.
type Plan struct {
	Customer CustomerID `json:"customer"`
	Changes  []Change   `json:"changes"` // the customer's first, then by product and variant
	writes   []write
}

// write is one put: of the customer or of a product.
type write struct {
	customer *Customer
	product  *Product
}

// NewPlan compares a wanted shop with what the store keeps of it.
//
// The wanted shop wins wherever it says something: what it mentions is on sale again unless it says otherwise. Kept
// products and variants that it does not mention stay as they are; with prune they are taken off sale. Nothing is ever
// deleted. It returns FieldErrors where the wanted shop breaks a bound, or a product together with its kept variants (its
// field is then products[ID].variants), and a *FieldError with ErrCurrencyFixed where the currency is another.
func NewPlan(ctx context.Context, store ApplyStore, wanted Shop, prune bool) (Plan, error) {
	if err := wanted.Validate(); err != nil {
		return Plan{}, err
	}
	kept, err := store.Shop(ctx, wanted.Customer.ID)
	isNew := errors.Is(err, ErrNotFound)
	if err != nil && !isNew {
		return Plan{}, fmt.Errorf("read customer %s: %w", wanted.Customer.ID, err)
	}
	if !isNew && kept.Customer.Currency != wanted.Customer.Currency {
		return Plan{}, &FieldError{"currency", fmt.Errorf("%w: it is %s", ErrCurrencyFixed, kept.Customer.Currency)}
	}
	plan := Plan{Customer: wanted.Customer.ID, Changes: []Change{}}
	if err := plan.addProducts(kept.Products, wanted, prune); err != nil {
		return Plan{}, err
	}
	if isNew {
		plan.addNewCustomer(wanted.Customer)
	} else {
		plan.addCustomer(kept.Customer, wanted.Customer)
	}
	return plan, nil
}

// addNewCustomer opens a new shop when all of it is there: an interrupted plan leaves a closed one, with its currency
// already fixed, and the next one completes it.
func (p *Plan) addNewCustomer(wanted Customer) {
	p.Changes = slices.Insert(p.Changes, 0, Change{Customer: wanted.ID, Action: Created, To: string(wanted.Currency) + offSaleNote(wanted.OffSale)})
	closed := wanted
	closed.OffSale, closed.Version = true, 0
	p.writes = slices.Insert(p.writes, 0, write{customer: &closed})
	if !wanted.OffSale {
		wanted.Version = closed.Version + 1
		p.writes = append(p.writes, write{customer: &wanted})
	}
}

// addCustomer closes a shop before its products change, and opens it after.
func (p *Plan) addCustomer(kept, wanted Customer) {
	changes := compareCustomers(kept, wanted)
	if len(changes) == 0 {
		return
	}
	p.Changes = slices.Insert(p.Changes, 0, changes...)
	wanted.Version = kept.Version
	if kept.OffSale && !wanted.OffSale {
		p.writes = append(p.writes, write{customer: &wanted})
	} else {
		p.writes = slices.Insert(p.writes, 0, write{customer: &wanted})
	}
}

func (p *Plan) addProducts(keptProducts []Product, wanted Shop, prune bool) error {
	kept := make(map[ProductID]Product, len(keptProducts))
	result := make(map[ProductID]Product, len(keptProducts)+len(wanted.Products))
	for _, product := range keptProducts {
		kept[product.ID] = product
		product.OffSale = product.OffSale || prune
		result[product.ID] = product
	}
	var found FieldErrors
	for _, product := range wanted.Products {
		product.Version = kept[product.ID].Version
		product.Variants = mergeVariants(kept[product.ID].Variants, product.Variants, prune)
		result[product.ID] = product
		found.add(fmt.Sprintf("products[%s].variants", product.ID), checkMerged(product, wanted.Customer))
	}
	for _, id := range slices.Sorted(maps.Keys(result)) {
		after := result[id]
		before, isKept := kept[id]
		changes := createProduct(after)
		if isKept {
			changes = compareProducts(before, after)
		}
		if len(changes) > 0 {
			p.writes = append(p.writes, write{product: &after})
		}
		for _, change := range changes {
			change.Customer, change.Product = p.Customer, id
			p.Changes = append(p.Changes, change)
		}
	}
	return found.orNil()
}

// mergeVariants puts the wanted variants first, in their order, and behind them the kept ones that are not wanted.
func mergeVariants(kept, wanted []Variant, prune bool) []Variant {
	merged := slices.Clone(wanted)
	for _, variant := range kept {
		if _, isWanted := findVariant(wanted, variant.ID); isWanted {
			continue
		}
		variant.OffSale = variant.OffSale || prune
		merged = append(merged, variant)
	}
	return merged
}

// checkMerged reports what only the kept variants can have broken: the wanted ones were valid on their own.
func checkMerged(product Product, customer Customer) error {
	if err := product.Validate(customer.Currency); err != nil {
		return fmt.Errorf("together with the variants kept from earlier, which are never deleted: %w; begin a new product", err)
	}
	return nil
}

func findVariant(variants []Variant, id VariantID) (Variant, bool) {
	at := slices.IndexFunc(variants, func(v Variant) bool { return v.ID == id })
	if at < 0 {
		return Variant{}, false
	}
	return variants[at], true
}

// Writes is how many items Apply writes.
func (p Plan) Writes() int { return len(p.writes) }

// Apply does the plan's writes, one after the other, and calls wrote after each. Where it is interrupted, at whatever
// write, the shop is consistent, and a new plan of the same shop completes it to the same state.
//
// It returns ErrChanged where what it would write was written by another since the plan was made.
func (p Plan) Apply(ctx context.Context, store ApplyStore, wrote func()) error {
	for done, w := range p.writes {
		var err error
		if w.customer != nil {
			err = store.PutCustomer(ctx, *w.customer)
		} else {
			err = store.PutProduct(ctx, p.Customer, *w.product)
		}
		if err != nil {
			return fmt.Errorf("customer %s, after %d of %d writes: %w", p.Customer, done, len(p.writes), err)
		}
		wrote()
	}
	return nil
}
