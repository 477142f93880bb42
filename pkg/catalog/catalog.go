// Package catalog holds shops, their products and variants, and the rules of what is on sale.
//
// It is a rules package: besides the standard library it imports only package money. It must not import AWS, net/http,
// or Shopfront's storage and HTTP packages.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shopfront/pkg/money"
)

// ErrNotFound means that a shop, product or variant is unknown or off sale.
var ErrNotFound = errors.New("not in the catalogue")

// Profile is a shop, without its products.
type Profile struct {
	ID   ShopID
	Name string // at most MaxNameBytes
	// Currency is the currency of all prices and discounts of the shop. It never changes.
	Currency money.Currency
	OffSale  bool // hides the whole shop
	// TimeZone is the name of an IANA time zone, such as Europe/Berlin; empty: UTC.
	TimeZone string
	Page     Page
	// Version rises by one with each write of the shop; 0 means that it is not stored yet.
	Version int64
}

// Location returns the time zone, or an error if it does not exist. A function does not call it: it has no time zones.
func (c Profile) Location() (*time.Location, error) {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil || zone == time.Local {
		return nil, fmt.Errorf("must be the name of an IANA time zone such as Europe/Berlin, not %.60q", c.TimeZone)
	}
	return zone, nil
}

// Product is something sold, in one or more variants.
type Product struct {
	ID          ProductID
	Name        string // at most MaxNameBytes
	Description string // at most MaxDescriptionBytes
	Image       string // an https URL of at most MaxImageBytes; empty: no image
	Category    string // one line of at most MaxCategoryBytes; empty: no category
	// Position sorts the products of a shop, from 1 to MaxPosition. Position 0 means no position; such products come
	// last.
	Position int64
	OffSale  bool
	// NickFrom names the member of a checkout's data that is the shopper's nick: a string that the data schemas of all
	// variants require. Empty: none.
	NickFrom string
	Variants []Variant // 1 to MaxVariants, in display order
	Version  int64     // rises with each write of the product; 0 means that it is not stored yet
}

// Variant is a form in which a product is sold, for example a size, a duration or a pack.
type Variant struct {
	ID    VariantID
	Name  string      // at most MaxNameBytes
	Price money.Money // for an amount of one, unless a sale is in force
	Sale  Sale        // zero: no sale
	// MinAmount and MaxAmount bound, inclusively, the amount of one checkout; 1 <= MinAmount <= MaxAmount.
	MinAmount, MaxAmount int64
	// DataSchema is the JSON Schema of a checkout's data, as compact JSON. If it is empty, the data is any string.
	DataSchema string
	OffSale    bool
}

// Sale is a lower price for a time.
type Sale struct {
	Price money.Money // for an amount of one, at least 0 and below the variant's price
	// The sale is in force from From on, and has ended at Until. Both are in UTC and whole milliseconds, in the years
	// 2000 to 9999. A sale with a zero From has always been in force, and a sale with a zero Until never ends.
	From, Until time.Time
}

// String formats the sale for people: 3.99 EUR from 2026-11-27T00:00:00Z until 2026-12-01T00:00:00Z. Without a sale it
// returns an empty string.
func (s Sale) String() string {
	if s == (Sale{}) {
		return ""
	}
	text := s.Price.String()
	if !s.From.IsZero() {
		text += " from " + s.From.Format(time.RFC3339Nano)
	}
	if !s.Until.IsZero() {
		text += " until " + s.Until.Format(time.RFC3339Nano)
	}
	return text
}

// SaleAt returns the sale that is in force at a time, if there is one.
func (v Variant) SaleAt(t time.Time) (Sale, bool) {
	if v.Sale == (Sale{}) || t.Before(v.Sale.From) || !v.Sale.Until.IsZero() && !t.Before(v.Sale.Until) {
		return Sale{}, false
	}
	return v.Sale, true
}

// PriceAt returns the price in force at a time, for an amount of one.
func (v Variant) PriceAt(t time.Time) money.Money {
	if sale, onSale := v.SaleAt(t); onSale {
		return sale.Price
	}
	return v.Price
}

// Offer is a variant on sale, with the product and the shop that sell it.
type Offer struct {
	Profile Profile
	Product Product
	Variant Variant
}

// Store is the part of the stored catalogue that a checkout needs. It returns the errors named here, or the store's own
// if a read failed.
type Store interface {
	// Product returns a shop and its product in one read, or ErrNotFound if either is unknown. For a product off sale
	// it may return ErrNotFound, too.
	Product(ctx context.Context, shop ShopID, product ProductID) (Profile, Product, error)
}

// Catalogue finds what a shopper may buy.
type Catalogue struct {
	Store Store
}

// onSale returns the variants on sale, and does not modify the store's slice.
func onSale(variants []Variant) []Variant {
	if !slices.ContainsFunc(variants, func(v Variant) bool { return v.OffSale }) {
		return variants
	}
	return slices.DeleteFunc(slices.Clone(variants), func(v Variant) bool { return v.OffSale })
}

// Offer finds a variant on sale. It returns ErrNotFound if the variant, its product or its shop is unknown or off sale.
func (c Catalogue) Offer(
	ctx context.Context, shopID ShopID, productID ProductID, variantID VariantID,
) (Offer, error) {
	profile, product, err := c.Store.Product(ctx, shopID, productID)
	if err != nil {
		return Offer{}, err
	}
	at := slices.IndexFunc(product.Variants, func(v Variant) bool { return v.ID == variantID })
	if profile.OffSale || product.OffSale || at < 0 || product.Variants[at].OffSale {
		return Offer{}, ErrNotFound
	}
	return Offer{Profile: profile, Product: product, Variant: product.Variants[at]}, nil
}
