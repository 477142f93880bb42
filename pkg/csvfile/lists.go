package csvfile

import (
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// RedemptionWriter writes a list of redemptions.
type RedemptionWriter struct{ Writer }

// NewRedemptionWriter begins a list with its header.
func NewRedemptionWriter(file io.Writer) RedemptionWriter {
	return RedemptionWriter{NewWriter(file, "redemption_id", "redeemed_at", "status", "code", "nick", "reward",
		"reward_minor", "reward_currency",
		"batch", "undone_at", "undo_reason", "imported", "undone_by")}
}

// Write writes a redemption. The parameter batch is the batch of the redeemed voucher.
func (w RedemptionWriter) Write(r voucher.Redemption, batch string) error {
	status := "redeemed"
	if !r.Undone.IsZero() {
		status = "undone"
	}
	minor, currency := amountOff(r.Reward)
	return w.Row(r.ID, wire.Time(r.At), status, r.Code, r.Nick, r.Reward.String(), minor, currency,
		batch, wire.Time(r.Undone), r.UndoReason, strconv.FormatBool(r.Imported), r.UndoneBy)
}

// CheckoutWriter writes a list of checkouts.
type CheckoutWriter struct{ Writer }

// NewCheckoutWriter begins a list with its header.
func NewCheckoutWriter(file io.Writer) CheckoutWriter {
	return CheckoutWriter{NewWriter(file, "checkout_id", "number", "created_at", "expires_at", "status", "product",
		"variant", "amount",
		"unit_price_minor", "subtotal_minor", "discount_minor", "total_minor", "currency", "code", "nick", "data")}
}

// Write writes a checkout with its status at the given time.
func (w CheckoutWriter) Write(c checkout.Checkout, at time.Time) error {
	return w.Row(string(c.ID), string(c.ID.Number()), wire.Time(c.Created), wire.Time(c.Expires), string(c.Status(at)),
		string(c.Product), string(c.Variant),
		strconv.FormatInt(c.Amount, 10), formatMinor(c.UnitPrice), formatMinor(c.Subtotal), formatMinor(c.Discount),
		formatMinor(c.Total),
		string(c.Total.Currency), c.Code, c.Nick, dataJSON(c))
}

// OrderWriter writes a list of orders.
type OrderWriter struct{ Writer }

// NewOrderWriter begins a list with its header.
func NewOrderWriter(file io.Writer) OrderWriter {
	return OrderWriter{NewWriter(file, "order_id", "number", "created_at", "ordered_at", "fulfilled_at", "cancelled_at",
		"status", "product", "variant", "amount",
		"unit_price_minor", "subtotal_minor", "discount_minor", "total_minor", "currency", "code", "nick", "data",
		"payment_provider", "payment_reference", "cancel_reason")}
}

// Write writes a checkout that was ordered.
func (w OrderWriter) Write(c checkout.Checkout) error {
	o := c.Order
	return w.Row(string(c.ID), string(c.ID.Number()), wire.Time(c.Created), wire.Time(o.Placed),
		wire.Time(o.Fulfilled), wire.Time(o.Cancelled), string(o.Status()),
		string(c.Product), string(c.Variant), strconv.FormatInt(c.Amount, 10),
		formatMinor(c.UnitPrice), formatMinor(c.Subtotal), formatMinor(c.Discount), formatMinor(c.Total),
		string(c.Total.Currency),
		c.Code, c.Nick, dataJSON(c), o.Payment.Provider, o.Payment.Reference, o.Reason)
}

// dataJSON returns a checkout's data as in the HTTP interface: an object, or a JSON string.
func dataJSON(c checkout.Checkout) string {
	if c.DataIsObject {
		return c.Data
	}
	// it fails only for text that is not UTF-8, which no request contains
	quoted, _ := jsontext.AppendQuote(nil, c.Data)
	return string(quoted)
}
