package dataschema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decode reads one JSON value: nil, bool, number, string, []any or map[string]any. It is strict (RFC 7493): duplicate
// names, invalid UTF-8 and trailing data are errors.
func decode(text string, maxDepth int) (any, *fault) {
	d := decoder{jsontext.NewDecoder(bytes.NewBufferString(text)), maxDepth}
	value, err := d.value()
	if err != nil {
		return nil, asFault(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &fault{reason: "is not valid JSON"}
	}
	return value, nil
}

func asFault(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	f := &fault{reason: "is not valid JSON"}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f.pointer = string(syntactic.JSONPointer)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		f.reason = "appears twice"
	}
	return f
}

type decoder struct {
	*jsontext.Decoder
	maxDepth int
}

func (d decoder) value() (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return d.object()
	case jsontext.KindBeginArray:
		return d.array()
	case jsontext.KindString:
		return token.String(), nil
	case jsontext.KindNumber:
		if text := token.String(); !isHuge(text) {
			return newNumber(text), nil
		}
		return nil, d.fault("is a number out of range")
	case jsontext.KindTrue:
		return true, nil
	case jsontext.KindFalse:
		return false, nil
	case jsontext.KindNull:
		return nil, nil //nolint:nilnil // nil is the value of null
	default:
		return nil, fmt.Errorf("unexpected token %s", token.Kind())
	}
}

func (d decoder) object() (any, error) {
	if err := d.checkDepth(); err != nil {
		return nil, err
	}
	members := map[string]any{}
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if members[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return members, err
}

func (d decoder) array() (any, error) {
	if err := d.checkDepth(); err != nil {
		return nil, err
	}
	items := []any{}
	for d.PeekKind() != jsontext.KindEndArray {
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := d.ReadToken()
	return items, err
}

func (d decoder) checkDepth() error {
	if d.StackDepth() > d.maxDepth {
		return d.fault(fmt.Sprintf("is nested deeper than %d levels", d.maxDepth))
	}
	return nil
}

func (d decoder) fault(reason string) *fault {
	return &fault{string(d.StackPointer()), reason}
}

// isHuge reports whether a number's exponent has more than three digits. Such a number is short, but comparing it
// exactly would take gigabytes of memory.
func isHuge(number string) bool {
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return false
	}
	return len(strings.TrimLeft(number[at+1:], "+-0")) > 3
}

// number is an exact number. Equal numbers have equal texts.
type number struct {
	text  string
	value *big.Rat
}

// newNumber parses a number of JSON. The text gets one form, such as 499e-2. The value is not formatted, because a
// number of five characters can have a thousand digits.
func newNumber(text string) number {
	value, _ := new(big.Rat).SetString(text) // it accepts every number of JSON
	if value.Sign() == 0 {
		return number{"0", value}
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	exponent, _ := strconv.Atoi(power) // it has at most three digits; empty: 0
	digits := strings.TrimRight(whole+fraction, "0")
	exponent += len(whole) - len(digits)
	sign := strings.Repeat("-", (1-value.Sign())/2)
	return number{sign + strings.TrimLeft(digits, "0") + "e" + strconv.Itoa(exponent), value}
}

// GoString is for keyOf.
func (n number) GoString() string { return n.text }

// MarshalJSON formats a number exactly: a number from JSON has finitely many digits.
func (n number) MarshalJSON() ([]byte, error) {
	digits, _ := n.value.FloatPrec()
	return []byte(n.value.FloatString(digits)), nil
}

// quoted formats a number for a reason.
func (n number) quoted() string {
	if text := asJSON(n); len(text) <= maxQuoted {
		return text
	}
	return "the allowed limit"
}
