// Package catalog holds what a shop sells: customers, their products and variants, and the rules of what is on sale.
//
// It is a noun: it imports the standard library and package money, and may import neither AWS nor net/http nor a
// storage or HTTP package of Shopfront.
package catalog

import (
	"context"
	"errors"
	"iter"
	"slices"

	"shopfront/pkg/money"
)

// ErrNotFound says that a customer, product or variant is unknown or off sale; callers treat the two alike.
var ErrNotFound = errors.New("not in the catalogue")

// Customer is a shop account.
type Customer struct {
	ID   CustomerID
	Name string // at most MaxNameBytes
	// Currency is that of every price and discount of the customer; it never changes.
	Currency money.Currency
	OffSale  bool // hides the whole shop
	// Version rises with each write of the customer; 0: it is not kept yet.
	Version int64
}

// Product is something sold, in one or more variants.
type Product struct {
	ID          ProductID
	Name        string // at most MaxNameBytes
	Description string // at most MaxDescriptionBytes
	OffSale     bool
	Variants    []Variant // 1 to MaxVariants, in the order in which they are shown
	Version     int64     // rises with each write of the product; 0: it is not kept yet
}

// Variant is the form in which a product is sold: a size, a duration, a pack.
type Variant struct {
	ID    VariantID
	Name  string      // at most MaxNameBytes
	Price money.Money // for one
	// MinAmount and MaxAmount bound, inclusively, how many one checkout takes; 1 <= MinAmount <= MaxAmount.
	MinAmount, MaxAmount int64
	// DataSchema is the JSON Schema, as compact JSON, of the data that a checkout must bring; empty takes any text.
	DataSchema string
	OffSale    bool
}

// Offer is a variant on sale, with the product and the customer that sell it.
type Offer struct {
	Customer Customer
	Product  Product
	Variant  Variant
}

// Store is what the shop's side needs of the kept catalogue. Errors other than those named are the store's own and mean
// that the answer is unknown.
type Store interface {
	// Customer returns ErrNotFound for an unknown one.
	Customer(ctx context.Context, id CustomerID) (Customer, error)
	// Product returns the customer and its product in one read, ErrNotFound if either is unknown.
	Product(ctx context.Context, customer CustomerID, product ProductID) (Customer, Product, error)
	// ProductsOnSale yields the customer's products that are not off sale, in ID order, beginning behind after (empty:
	// at the start). want says about how many the caller will take. It stops at the first error.
	ProductsOnSale(ctx context.Context, customer CustomerID, after ProductID, want int) iter.Seq2[Product, error]
}

// Catalogue answers what a shopper may see and buy.
type Catalogue struct {
	Store Store
}

// Customer is the shop account, or ErrNotFound where it is unknown or off sale.
func (c Catalogue) Customer(ctx context.Context, id CustomerID) (Customer, error) {
	customer, err := c.Store.Customer(ctx, id)
	if err != nil {
		return Customer{}, err
	}
	if customer.OffSale {
		return Customer{}, ErrNotFound
	}
	return customer, nil
}

// Products yields what is on sale in ID order, beginning behind after: products without their variants that are off
// sale, and without products of which no variant is left. want says about how many the caller will take.
func (c Catalogue) Products(ctx context.Context, customer CustomerID, after ProductID, want int) iter.Seq2[Product, error] {
	return func(yield func(Product, error) bool) {
		for product, err := range c.Store.ProductsOnSale(ctx, customer, after, want) {
			product.Variants = onSale(product.Variants)
			if err == nil && len(product.Variants) == 0 {
				continue
			}
			if !yield(product, err) || err != nil {
				return
			}
		}
	}
}

// onSale leaves what the store handed out as it is.
func onSale(variants []Variant) []Variant {
	if !slices.ContainsFunc(variants, func(v Variant) bool { return v.OffSale }) {
		return variants
	}
	return slices.DeleteFunc(slices.Clone(variants), func(v Variant) bool { return v.OffSale })
}

// Offer finds a variant that is on sale: neither it nor its product nor its customer is unknown or off sale, else
// ErrNotFound.
func (c Catalogue) Offer(ctx context.Context, customerID CustomerID, productID ProductID, variantID VariantID) (Offer, error) {
	customer, product, err := c.Store.Product(ctx, customerID, productID)
	if err != nil {
		return Offer{}, err
	}
	at := slices.IndexFunc(product.Variants, func(v Variant) bool { return v.ID == variantID })
	if customer.OffSale || product.OffSale || at < 0 || product.Variants[at].OffSale {
		return Offer{}, ErrNotFound
	}
	return Offer{Customer: customer, Product: product, Variant: product.Variants[at]}, nil
}
