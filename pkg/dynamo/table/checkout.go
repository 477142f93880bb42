package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// Attributes of the checkouts table, besides AttrCurrency and AttrCreated. A small checkout fits in 1 KB, the size that
// one write unit covers.
const (
	AttrID        = "id" // see CheckoutKey
	AttrProduct   = "product"
	AttrVariant   = "variant"
	AttrAmount    = "amount"
	AttrData      = "data"   // as sent; missing: the data is empty
	AttrObject    = "object" // true: the data is a JSON object; missing: plain text
	AttrUnitPrice = "unitPrice"
	AttrSubtotal  = "subtotal"
	AttrDiscount  = "discount"
	AttrTotal     = "total"
	AttrBuyer     = "buyer"     // HashNick of the nick; AttrNick is the nick as written
	AttrByServer  = "byServer"  // true: the shop's server made the checkout; missing: a stranger did
	AttrUse       = "use"       // the hold, see EncodeUse; missing: the checkout has no code
	AttrShares    = "shares"    // true: another checkout held the use before; missing: none did
	AttrStatus    = "status"    // open, ordered, cancelled, replaced or released; expired: open
	AttrExpires   = "expires"   // milliseconds
	AttrExpiresAt = "expiresAt" // seconds; from then on, DynamoDB may delete the item; missing: the item is an order

	AttrOrdered   = "ordered" // milliseconds, # and the token: the index sorts orders by it
	AttrShelf     = "shelf"   // see ShelfOf; missing, as AttrOrdered: the checkout was not ordered
	AttrPayment   = "payment" // provider, # and reference; missing: nothing was paid
	AttrPaid      = "paid"    // the stated amount of the payment, also of a PaymentKey; missing: none was stated
	AttrSpent     = "spent"   // of a PaymentKey: the sum of the totals of its orders
	AttrFulfilled = "fulfilled"
	AttrCancelled = "cancelled"
	AttrReason    = "reason" // why the order was cancelled
)

// OrdersIndex is the name of the index of the checkouts table that sorts the orders of each AttrShelf by
// AttrOrdered. It contains whole items.
const OrdersIndex = "orders"

// Values of AttrStatus.
const (
	StatusOpen      = "open"
	StatusOrdered   = "ordered"
	StatusCancelled = "cancelled"
	StatusReplaced  = "replaced"
	StatusReleased  = "released"
)

// EncodeCheckout returns the item of an open checkout.
func EncodeCheckout(shop catalog.ShopID, c checkout.Checkout) Item {
	it := CheckoutKey(shop, c.ID.Token()).Attributes()
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
	it.setStr(AttrCode, c.Code)
	it.setStr(AttrReward, c.Reward.String()) // an amount off is in the checkout's currency
	if nick, err := voucher.ParseNick(c.Nick); err == nil && c.Nick != "" {
		it[AttrNick], it[AttrBuyer] = Str(c.Nick), Str(HashNick(nick))
	}
	if c.Hold != nil {
		it[AttrUse] = EncodeUse(*c.Hold)
	}
	it.setTrue(AttrByServer, c.ByServer)
	it.setTrue(AttrShares, c.SharesUse)
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
		ID: checkout.ID(it.Str(AttrID)), Product: catalog.ProductID(it.Str(AttrProduct)),
		Variant: catalog.VariantID(it.Str(AttrVariant)),
		Amount:  it.Num(AttrAmount), Data: it.Str(AttrData), DataIsObject: it.Bool(AttrObject),
		UnitPrice: amount(AttrUnitPrice), Subtotal: amount(AttrSubtotal), Discount: amount(AttrDiscount),
		Total: amount(AttrTotal),
		Code:  it.Str(AttrCode), Nick: it.Str(AttrNick), Hold: decodeUse(it.Str(AttrUse)),
		ByServer: it.Bool(AttrByServer), SharesUse: it.Bool(AttrShares),
		Replaced: it.Str(AttrStatus) == StatusReplaced, Released: it.Str(AttrStatus) == StatusReleased,
		Created: it.Time(AttrCreated), Expires: it.Time(AttrExpires),
	}
	if reward, err := decodeReward(it.Str(AttrReward), c.UnitPrice.Currency); err == nil {
		c.Reward = reward
	}
	if c.DataIsObject && c.Data == "" { // somebody erased the data
		c.Data = "{}"
	}
	if it.Has(AttrOrdered) {
		c.Order = decodeOrder(it)
	}
	return c
}

// EncodeUse returns the value of AttrUse: the hold's kind, ID and counter, and the time when it lapses in milliseconds
// in base 36. Dots separate the parts.
func EncodeUse(hold voucher.Hold) types.AttributeValue {
	return Str(string(hold.Kind) + "." + hold.ID + "." + holdTerms(hold))
}

// EncodeHold returns the value of a hold in the item of a nick.
func EncodeHold(hold voucher.Hold) types.AttributeValue { return Str(holdTerms(hold)) }

func holdTerms(hold voucher.Hold) string {
	return strconv.Itoa(hold.Counter) + "." + strconv.FormatInt(hold.Until.UnixMilli(), 36)
}

func decodeUse(text string) *voucher.Hold {
	kind, rest, _ := strings.Cut(text, ".")
	id, terms, is := strings.Cut(rest, ".")
	if !is {
		return nil
	}
	hold, err := decodeHold(voucher.HoldKind(kind), id, terms)
	if err != nil {
		return nil
	}
	return &hold
}

func decodeHold(kind voucher.HoldKind, id, terms string) (voucher.Hold, error) {
	counter, until, _ := strings.Cut(terms, ".")
	return parseHold(kind, id, counter, until, 36)
}

// parseHold reads the numbers of a hold. until is a time in milliseconds, written in the given base.
func parseHold(kind voucher.HoldKind, id, counter, until string, base int) (voucher.Hold, error) {
	number, badCounter := strconv.Atoi(counter)
	millis, badTime := strconv.ParseInt(until, base, 64)
	if err := errors.Join(badCounter, badTime); err != nil {
		return voucher.Hold{}, fmt.Errorf("malformed hold: %w", err)
	}
	return voucher.Hold{Kind: kind, ID: id, Counter: number, Until: time.UnixMilli(millis).UTC()}, nil
}

// DecodeNickUses reads the item of a nick. kind is the kind of the voucher's holds.
func DecodeNickUses(kind voucher.HoldKind, it Item) (voucher.NickUses, error) {
	uses := voucher.NickUses{Taken: int(it.Num(AttrTaken)), Undone: int(it.Num(AttrUndone))}
	for name := range it {
		id, is := strings.CutPrefix(name, HoldPrefix)
		if !is {
			continue
		}
		hold, err := decodeHold(kind, id, it.Str(name))
		if err != nil {
			return voucher.NickUses{}, err
		}
		uses.Holds = append(uses.Holds, hold)
	}
	slices.SortFunc(uses.Holds, func(a, b voucher.Hold) int { return cmp.Compare(a.ID, b.ID) })
	return uses, nil
}

// DecodeHoldItem reads an item that is stored under a HoldKey. holder is the HashNick of the nick that has the hold, if
// nicks have a limit.
func DecodeHoldItem(kind voucher.HoldKind, it Item) (hold voucher.Hold, holder string, err error) {
	_, rest, _ := strings.Cut(it.Str(SortKey), HoldInfix)
	parts := strings.SplitN(rest, "#", 3)
	if len(parts) != 3 {
		return voucher.Hold{}, "", errors.New("malformed sort key of a hold")
	}
	hold, err = parseHold(kind, parts[2], parts[0], parts[1], 10)
	return hold, it.Str(AttrHolder), err
}

// OrderedAt returns the value of AttrOrdered for an order that was placed at a time.
func OrderedAt(at time.Time, token idempotency.Token) string {
	return fmt.Sprintf("%013d#%s", at.UnixMilli(), token)
}

// maxOrdered is the last time whose milliseconds have 13 digits, in the year 2286.
const maxOrdered = 9_999_999_999_999

// OrderedBefore returns a bound of AttrOrdered. It sorts after the orders that were placed before the time, and before
// all other orders.
func OrderedBefore(at time.Time) string {
	millis := at.Add(time.Millisecond - 1).UnixMilli() // rounded up, because the times of orders are whole milliseconds
	return fmt.Sprintf("%013d", min(max(millis, 0), maxOrdered))
}

// OrderedEver returns a bound of AttrOrdered that sorts after every order.
func OrderedEver() string { return OrderedBefore(time.UnixMilli(maxOrdered)) }

// OrderPosition returns the position of an order in OrdersIndex.
func OrderPosition(it Item) checkout.OrderPosition {
	placed, token, _ := strings.Cut(it.Str(AttrOrdered), "#")
	millis, _ := strconv.ParseInt(placed, 10, 64) // always a number, because only Shopfront writes the attribute
	return checkout.OrderPosition{Placed: time.UnixMilli(millis).UTC(), Token: idempotency.Token(token)}
}

// EncodePayment returns the value of AttrPayment. It also ends the sort key of a PaymentKey.
func EncodePayment(payment checkout.Payment) string {
	return payment.Provider + "#" + payment.Reference
}

// DecodePayment reads a payment from the value of EncodePayment and the item that has its stated amount.
func DecodePayment(encoded string, it Item) checkout.Payment {
	provider, reference, _ := strings.Cut(encoded, "#")
	payment := checkout.Payment{Provider: provider, Reference: reference}
	if it.Has(AttrPaid) {
		payment.Amount = money.Money{Minor: it.Num(AttrPaid), Currency: money.Currency(it.Str(AttrCurrency))}
	}
	return payment
}

func decodeOrder(it Item) *checkout.Order {
	return &checkout.Order{
		Payment: DecodePayment(it.Str(AttrPayment), it), Placed: OrderPosition(it).Placed,
		Fulfilled: it.timeOrZero(AttrFulfilled), Cancelled: it.timeOrZero(AttrCancelled), Reason: it.Str(AttrReason),
	}
}
