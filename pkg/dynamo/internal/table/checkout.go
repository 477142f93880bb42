package table

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
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
	AttrStatus    = "status"    // open, ordered or cancelled; a checkout expires by time alone
	AttrExpires   = "expires"   // milliseconds
	AttrExpiresAt = "expiresAt" // seconds: the time to live, after which DynamoDB may delete the item; an order has none

	AttrOrdered   = "ordered" // milliseconds, # and the token, so that an index can sort orders by time
	AttrPayment   = "payment" // provider, # and reference; missing: nothing was paid
	AttrFulfilled = "fulfilled"
	AttrCancelled = "cancelled"
	AttrReason    = "reason" // why the order was cancelled
)

// OrdersIndex is the index of the checkouts table that sorts the orders of a customer by AttrOrdered. It holds whole items.
const OrdersIndex = "orders"

// Values of AttrStatus.
const (
	StatusOpen      = "open"
	StatusOrdered   = "ordered"
	StatusCancelled = "cancelled"
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
	it[AttrStatus] = Str(StatusOpen)
	it[AttrCreated] = Millis(c.Created)
	it[AttrExpires] = Millis(c.Expires)
	it[AttrExpiresAt] = Num(c.Expires.Add(checkout.Retention + time.Second - 1).Unix()) // rounded up, never too early
	return it
}

// DecodeCheckout reads a checkout, with its order if it has one.
func DecodeCheckout(it Item) checkout.Checkout {
	amount := func(name string) money.Money {
		return money.Money{Minor: it.Num(name), Currency: money.Currency(it.Str(AttrCurrency))}
	}
	c := checkout.Checkout{
		ID: checkout.ID(it.Str(AttrID)), Product: catalog.ProductID(it.Str(AttrProduct)), Variant: catalog.VariantID(it.Str(AttrVariant)),
		Amount: it.Num(AttrAmount), Data: it.Str(AttrData), DataIsObject: it.Bool(AttrObject),
		UnitPrice: amount(AttrUnitPrice), Subtotal: amount(AttrSubtotal), Discount: amount(AttrDiscount), Total: amount(AttrTotal),
		Created: it.Time(AttrCreated), Expires: it.Time(AttrExpires),
	}
	if c.DataIsObject && c.Data == "" { // somebody erased it
		c.Data = "{}"
	}
	if it.Has(AttrOrdered) {
		c.Order = decodeOrder(it)
	}
	return c
}

// OrderedAt returns the value of AttrOrdered.
func OrderedAt(at time.Time, token idempotency.Token) string {
	return fmt.Sprintf("%013d#%s", at.UnixMilli(), token)
}

// maxOrdered is the last time that has 13 digits of milliseconds, in the year 2286.
const maxOrdered = 9_999_999_999_999

// OrderedBefore returns a bound of AttrOrdered. It sorts after the orders that were placed before a time, and before all other orders.
func OrderedBefore(at time.Time) string {
	millis := at.Add(time.Millisecond - 1).UnixMilli() // rounded up, because orders are placed at whole milliseconds
	return fmt.Sprintf("%013d", min(max(millis, 0), maxOrdered))
}

// OrderedEver returns a bound of AttrOrdered that sorts after every order.
func OrderedEver() string { return OrderedBefore(time.UnixMilli(maxOrdered)) }

// OrderPosition returns where an order is in OrdersIndex.
func OrderPosition(it Item) checkout.OrderPosition {
	placed, token, _ := strings.Cut(it.Str(AttrOrdered), "#")
	millis, _ := strconv.ParseInt(placed, 10, 64) // Shopfront writes nothing else
	return checkout.OrderPosition{Placed: time.UnixMilli(millis).UTC(), Token: idempotency.Token(token)}
}

func decodeOrder(it Item) *checkout.Order {
	provider, reference, _ := strings.Cut(it.Str(AttrPayment), "#")
	order := &checkout.Order{
		Payment: checkout.Payment{Provider: provider, Reference: reference}, Placed: OrderPosition(it).Placed, Reason: it.Str(AttrReason),
	}
	if it.Has(AttrFulfilled) {
		order.Fulfilled = it.Time(AttrFulfilled)
	}
	if it.Has(AttrCancelled) {
		order.Cancelled = it.Time(AttrCancelled)
	}
	return order
}
