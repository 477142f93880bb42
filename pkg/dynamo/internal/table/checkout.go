package table

import (
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/money"
)

// Attributes of the checkouts table, besides AttrCurrency and AttrCreated. A small checkout fits in 1 KB, the size that one
// write unit covers.
const (
	AttrID        = "id" // its first half is the sort key
	AttrProduct   = "product"
	AttrVariant   = "variant"
	AttrAmount    = "amount"
	AttrData      = "data"   // as sent; missing: empty
	AttrObject    = "object" // true if the data is a JSON object and not plain text
	AttrUnitPrice = "unitPrice"
	AttrSubtotal  = "subtotal"
	AttrDiscount  = "discount"
	AttrTotal     = "total"
	AttrStatus    = "status"    // always open; a checkout expires by time alone
	AttrExpires   = "expires"   // milliseconds
	AttrExpiresAt = "expiresAt" // seconds: the time to live, after which DynamoDB may delete the item
)

// EncodeCheckout returns the item of an open checkout.
func EncodeCheckout(customer catalog.CustomerID, c checkout.Checkout) Item {
	it := CheckoutKey(customer, c.ID.Token()).Attributes()
	it[AttrID] = Str(c.ID)
	it[AttrProduct] = Str(c.Product)
	it[AttrVariant] = Str(c.Variant)
	it[AttrAmount] = Num(c.Amount)
	it.setStr(AttrData, c.Data)
	it.setTrue(AttrObject, c.DataIsObject)
	it[AttrCurrency] = Str(c.UnitPrice.Currency)
	it[AttrUnitPrice] = Num(c.UnitPrice.Minor)
	it[AttrSubtotal] = Num(c.Subtotal.Minor)
	it[AttrDiscount] = Num(c.Discount.Minor)
	it[AttrTotal] = Num(c.Total.Minor)
	it[AttrStatus] = Str(checkout.StatusOpen)
	it[AttrCreated] = Millis(c.Created)
	it[AttrExpires] = Millis(c.Expires)
	it[AttrExpiresAt] = Num(c.Expires.Add(checkout.Retention + time.Second - 1).Unix()) // rounded up, never too early
	return it
}

// DecodeCheckout reads a checkout.
func DecodeCheckout(it Item) checkout.Checkout {
	amount := func(name string) money.Money {
		return money.Money{Minor: it.Num(name), Currency: money.Currency(it.Str(AttrCurrency))}
	}
	return checkout.Checkout{
		ID: checkout.ID(it.Str(AttrID)), Product: catalog.ProductID(it.Str(AttrProduct)), Variant: catalog.VariantID(it.Str(AttrVariant)),
		Amount: it.Num(AttrAmount), Data: it.Str(AttrData), DataIsObject: it.Bool(AttrObject),
		UnitPrice: amount(AttrUnitPrice), Subtotal: amount(AttrSubtotal), Discount: amount(AttrDiscount), Total: amount(AttrTotal),
		Created: it.Time(AttrCreated), Expires: it.Time(AttrExpires),
	}
}
