package checkout

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
)

// Names of a request's parameters.
const (
	ParameterAmount = "amount"
	ParameterData   = "data"
)

// MaxDataBytes bounds the data of a request, decoded.
const MaxDataBytes = 2 << 10

// defaultAmount is the amount of a request that has none.
const defaultAmount = 1

// Request asks for an amount of a variant to be checked out.
type Request struct {
	Customer catalog.CustomerID
	Product  catalog.ProductID
	Variant  catalog.VariantID
	Amount   int64 // as ParseAmount returns it; 0: not given
	Data     Data  // as ParseData returns it; the zero Data: not given
	// Key marks a repetition of the same request; empty: every request is a new one. It belongs to the customer: with
	// another product, variant, amount or data it is in use already.
	Key idempotency.Key
	// At is when the request was received, in UTC and whole milliseconds: the time that is compared.
	At time.Time
}

// amount is the amount asked for, given or not.
func (r Request) amount() int64 {
	if r.Amount == 0 {
		return defaultAmount
	}
	return r.Amount
}

// ParameterError says which parameter of a request is wrong and why, in words that are fit for the client that sent it.
type ParameterError struct {
	Parameter string // ParameterAmount or ParameterData
	Pointer   string // RFC 6901, into the data: the place that is wrong; empty: the whole
	Reason    string // such as: must be at least 1
}

func (e *ParameterError) Error() string {
	if e.Pointer != "" {
		return e.Parameter + " " + e.Pointer + " " + e.Reason
	}
	return e.Parameter + " " + e.Reason
}

// ParseAmount reads an amount: a whole number from 1 to catalog.MaxAmount, in ASCII digits without sign or leading zeros.
// Anything else is a *ParameterError.
func ParseAmount(text string) (int64, error) {
	if text == "" || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, amountError("must be a whole number above zero, in digits without a leading zero")
	}
	amount, err := strconv.ParseInt(text, 10, 64)
	if err != nil || amount > catalog.MaxAmount {
		return 0, amountError("is too large")
	}
	return amount, nil
}

func checkAmount(amount int64, variant catalog.Variant) error {
	if amount < variant.MinAmount {
		return amountError("must be at least %d", variant.MinAmount)
	}
	if amount > variant.MaxAmount {
		return amountError("must be at most %d", variant.MaxAmount)
	}
	return nil
}

func amountError(format string, args ...any) error {
	return &ParameterError{Parameter: ParameterAmount, Reason: fmt.Sprintf(format, args...)}
}

// Data is what a variant needs to know from the shopper to be delivered, as the request had it. The zero Data was not given,
// which is something else than an empty text.
type Data struct {
	text  string
	given bool
}

// ParseData accepts a text of at most MaxDataBytes of UTF-8; anything else is a *ParameterError. What it says is judged
// when the variant is known.
func ParseData(text string) (Data, error) {
	if len(text) > MaxDataBytes {
		return Data{}, dataError("", fmt.Sprintf("must have at most %d bytes", MaxDataBytes))
	}
	if !utf8.ValidString(text) {
		return Data{}, dataError("", "must be UTF-8")
	}
	return Data{text: text, given: true}, nil
}

// orAbsent is the data as a variant reads it: where none was given, an empty JSON object for a variant that takes objects,
// and an empty text for one that takes any.
func (d Data) orAbsent(takesObject bool) string {
	if !d.given && takesObject {
		return "{}"
	}
	return d.text
}

func dataError(pointer, reason string) error {
	return &ParameterError{Parameter: ParameterData, Pointer: pointer, Reason: reason}
}
