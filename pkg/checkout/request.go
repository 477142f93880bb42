package checkout

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Names of a request's parameters.
const (
	ParameterAmount   = "amount"
	ParameterData     = "data"
	ParameterCode     = "code"
	ParameterNick     = "nick"
	ParameterReplaces = "replaces"
)

// MaxDataBytes bounds the decoded data of a request, in bytes.
const MaxDataBytes = 2 << 10

// defaultAmount is the amount of a request without one.
const defaultAmount = 1

// Request asks for an amount of a variant to be checked out.
type Request struct {
	Shop    catalog.ShopID
	Product catalog.ProductID
	Variant catalog.VariantID
	Amount  int64 // from ParseAmount; 0 if not given
	Data    Data  // from ParseData; the zero Data if not given
	// Code is the voucher code that gives a discount. The checkout holds a use of it. Empty: none.
	Code voucher.Code
	// Nick is the shopper; the zero Nick if not given. If the product has a nick-from, the nick is that member of the
	// data, whether or not it is given here.
	Nick voucher.Nick
	// Replaces is the ID of an older checkout to replace. The new checkout can take over the hold of the older one.
	// Empty: none.
	Replaces ID
	Paused   voucher.Pause // what the shop's owner has paused
	// Source identifies the sender, who can have at most MaxHoldsPerSource live holds; zero: no limit.
	Source access.Source
	// Key identifies retries of the same request. Without a key, every request is new. Keys are unique per shop, and
	// the keys of the shop's server are separate (see ByServer). While the checkout of a key is open, a request with
	// the key and another product, variant, amount, data, code or nick gets ErrKeyInUse. Once the checkout was ordered
	// or replaced, every request with the key gets ErrKeyInUse.
	Key idempotency.Key
	// ByServer means that the shop's own server sent the request. The keys of strangers are separate, so that a
	// stranger who guesses a key of the server can neither get nor block the server's checkout.
	ByServer bool
	// At is when the request was received, in UTC and whole milliseconds. The rules use it as the current time.
	At time.Time
}

// amount returns the requested amount, or the default.
func (r Request) amount() int64 {
	if r.Amount == 0 {
		return defaultAmount
	}
	return r.Amount
}

// ParameterError says which parameter of a request is wrong and why, in words for the client.
type ParameterError struct {
	Parameter string // such as ParameterAmount
	Pointer   string // the place in the data that is wrong (RFC 6901); empty means all of it
	Reason    string // such as: must be at least 1
}

func (e *ParameterError) Error() string {
	if e.Pointer != "" {
		return e.Parameter + " " + e.Pointer + " " + e.Reason
	}
	return e.Parameter + " " + e.Reason
}

// ParseAmount parses a whole number from 1 to catalog.MaxAmount, in ASCII digits without sign or leading zeros. Any
// other string is a *ParameterError.
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

// Data is what the shop needs to deliver a variant, as the request gave it. The zero Data means "not given", which
// differs from an empty string.
type Data struct {
	text  string
	given bool
}

// ParseData accepts at most MaxDataBytes of UTF-8; any other string is a *ParameterError. The content is validated once
// the variant is known.
func ParseData(text string) (Data, error) {
	if len(text) > MaxDataBytes {
		return Data{}, dataError("", fmt.Sprintf("must have at most %d bytes", MaxDataBytes))
	}
	if !utf8.ValidString(text) {
		return Data{}, dataError("", "must be UTF-8")
	}
	return Data{text: text, given: true}, nil
}

// orAbsent returns the data, or its default: an empty JSON object for a variant that takes objects, and an empty string
// otherwise.
func (d Data) orAbsent(takesObject bool) string {
	if !d.given && takesObject {
		return "{}"
	}
	return d.text
}

// nick returns the nick in a member of the data. It returns the zero Nick if there is none, which the DataChecker
// reports. The error is a *ParameterError.
func (d Data) nick(member string) (voucher.Nick, error) {
	nick, err := asNick(d.members()[member])
	if field, is := errors.AsType[*voucher.FieldError](err); is {
		err = dataError(pointerTo(member), field.Err.Error())
	}
	return nick, err
}

// checkNick requires that the nick of the request, if it has one, is that in a member of the data. An empty name of the
// member means that the data has no nick.
func checkNick(request Request, member string) error {
	if member == "" {
		return nil
	}
	nick, err := request.Data.nick(member)
	if err == nil && nick.Compared != request.Nick.Compared {
		err = dataError(pointerTo(member), "must be the nick of the request, or the request must have no nick")
	}
	return err
}

// names reports whether a member of the data is the nick.
func (d Data) names(nick voucher.Nick) bool {
	for _, member := range d.members() {
		if found, err := asNick(member); err == nil && found.Compared == nick.Compared {
			return true
		}
	}
	return false
}

func (d Data) members() (members map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(d.text), &members) // no members if the data is no object
	return members
}

func asNick(value json.RawMessage) (voucher.Nick, error) {
	var text string
	_ = json.Unmarshal(value, &text) // no nick if the value is no string
	return voucher.ParseNick(text)
}

// pointerTo returns the JSON Pointer to a member of the data.
func pointerTo(member string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(member)
}

func dataError(pointer, reason string) error {
	return &ParameterError{Parameter: ParameterData, Pointer: pointer, Reason: reason}
}
