package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Errors of writes. A write that returns one of them has changed nothing.
var (
	// ErrCurrencyFixed means that the stored shop has another currency.
	ErrCurrencyFixed = errors.New("a shop's currency never changes")
	// ErrChanged means that somebody has changed the stored item since the plan read it.
	ErrChanged = errors.New("the stored catalogue has changed since it was read: apply again")
)

// ApplyStore writes the catalogue of one shop. It returns the errors named here or the store's own.
//
// A put of version 0 creates the item, and fails if the item exists. A put of version n replaces the item, and fails if
// a version above n is stored. A put that succeeds stores version n+1. A put that fails returns ErrChanged, with one
// exception: if the stored item equals what the put would write, it returns nil, because an earlier attempt succeeded
// and its response was lost.
type ApplyStore interface {
	// PutProfile creates or replaces the shop, without its products. It returns ErrCurrencyFixed if the stored shop
	// has another currency.
	PutProfile(ctx context.Context, profile Profile) error
	// PutProduct creates or replaces a product with all its variants, at least one. It returns ErrCurrencyFixed like
	// PutProfile.
	PutProduct(ctx context.Context, product Product) error
}

// Plan holds the changes that applying a shop makes, and the writes that make them. A plan without changes has no
// writes.
type Plan struct {
	Shop    ShopID   `json:"customer"`
	Changes []Change `json:"changes"` // the shop's first, then by product and variant
	writes  []write
}

// write is one put: of the shop or of a product.
type write struct {
	profile *Profile
	product *Product
}

// NewPlan compares a wanted shop with the stored one, which has all its products, on sale or not. stored is nil if the
// shop does not exist.
//
// The wanted shop replaces the products and variants that it contains, and puts them on sale again unless it says
// off-sale. Other stored products and variants stay as they are; with prune they go off sale. Nothing is ever deleted.
//
// NewPlan returns FieldErrors if the wanted shop exceeds a bound. If a product exceeds a bound only together with its
// stored variants, the field is products[ID].variants. If the currency differs, the error is a *FieldError with
// ErrCurrencyFixed.
func NewPlan(stored *Shop, wanted Shop, prune bool) (Plan, error) {
	if err := wanted.Validate(); err != nil {
		return Plan{}, err
	}
	var products []Product
	if stored != nil {
		products = stored.Products
		if currency := stored.Profile.Currency; currency != wanted.Profile.Currency {
			return Plan{}, &FieldError{"currency", fmt.Errorf("%w: it is %s", ErrCurrencyFixed, currency)}
		}
	}
	plan := Plan{Shop: wanted.Profile.ID, Changes: []Change{}}
	if err := plan.addProducts(products, wanted, prune); err != nil {
		return Plan{}, err
	}
	if stored == nil {
		plan.addNewShop(wanted.Profile)
	} else {
		plan.addShop(stored.Profile, wanted.Profile)
	}
	return plan, nil
}

// addNewShop opens a new shop after all its products are written. An interrupted plan leaves a closed shop whose
// currency is fixed, and the next plan completes it.
func (p *Plan) addNewShop(wanted Profile) {
	p.Changes = slices.Insert(p.Changes, 0,
		Change{Shop: wanted.ID, Action: Created, To: string(wanted.Currency) + offSaleNote(wanted.OffSale)})
	closed := wanted
	closed.OffSale, closed.Version = true, 0
	p.writes = slices.Insert(p.writes, 0, write{profile: &closed})
	if !wanted.OffSale {
		wanted.Version = closed.Version + 1
		p.writes = append(p.writes, write{profile: &wanted})
	}
}

// addShop writes the shop's changes first, except that it opens a closed shop only after the products are written.
func (p *Plan) addShop(stored, wanted Profile) {
	changes := compareProfiles(stored, wanted)
	if len(changes) == 0 {
		return
	}
	p.Changes = slices.Insert(p.Changes, 0, changes...)
	wanted.Version = stored.Version
	if stored.OffSale && !wanted.OffSale {
		p.writes = append(p.writes, write{profile: &wanted})
	} else {
		p.writes = slices.Insert(p.writes, 0, write{profile: &wanted})
	}
}

func (p *Plan) addProducts(storedProducts []Product, wanted Shop, prune bool) error {
	stored := make(map[ProductID]Product, len(storedProducts))
	result := make(map[ProductID]Product, len(storedProducts)+len(wanted.Products))
	for _, product := range storedProducts {
		stored[product.ID] = product
		product.OffSale = product.OffSale || prune
		result[product.ID] = product
	}
	var found FieldErrors
	for _, product := range wanted.Products {
		product.Version = stored[product.ID].Version
		product.Variants = mergeVariants(stored[product.ID].Variants, product.Variants, prune)
		result[product.ID] = product
		found.add(fmt.Sprintf("products[%s].variants", product.ID), checkMerged(product, wanted.Profile))
	}
	for _, id := range slices.Sorted(maps.Keys(result)) {
		after := result[id]
		before, isStored := stored[id]
		changes := createProduct(after)
		if isStored {
			changes = compareProducts(before, after)
		}
		if len(changes) > 0 {
			p.writes = append(p.writes, write{product: &after})
		}
		for _, change := range changes {
			change.Shop, change.Product = p.Shop, id
			p.Changes = append(p.Changes, change)
		}
	}
	return found.orNil()
}

// mergeVariants returns the wanted variants in their order, followed by the stored variants that are not among them.
func mergeVariants(stored, wanted []Variant, prune bool) []Variant {
	merged := slices.Clone(wanted)
	for _, variant := range stored {
		if _, isWanted := findVariant(wanted, variant.ID); isWanted {
			continue
		}
		variant.OffSale = variant.OffSale || prune
		merged = append(merged, variant)
	}
	return merged
}

// checkMerged validates a product again together with its stored variants. The wanted variants alone were valid.
func checkMerged(product Product, profile Profile) error {
	if err := product.Validate(profile.Currency); err != nil {
		return fmt.Errorf("together with its stored variants, which are never deleted: %w; start a new product instead",
			err)
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

// Writes returns how many items Apply writes.
func (p Plan) Writes() int { return len(p.writes) }

// Apply makes the plan's writes one by one and calls wrote after each. If Apply is interrupted, the stored shop is
// still consistent, and applying the wanted shop again completes it.
//
// It returns ErrChanged if somebody else has changed an item since the plan read it.
func (p Plan) Apply(ctx context.Context, store ApplyStore, wrote func()) error {
	for done, w := range p.writes {
		var err error
		if w.profile != nil {
			err = store.PutProfile(ctx, *w.profile)
		} else {
			err = store.PutProduct(ctx, *w.product)
		}
		if err != nil {
			return fmt.Errorf("shop %s, after %d of %d writes: %w", p.Shop, done, len(p.writes), err)
		}
		wrote()
	}
	return nil
}
