package dataschema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"shopfront/pkg/checkout"
)

// maxQuoted bounds how much of the schema a reason quotes, in bytes.
const maxQuoted = 100

// fault is a place, a JSON Pointer (RFC 6901), and what is wrong there, in words for the client.
type fault struct{ pointer, reason string }

func (f *fault) Error() string { return f.pointer + " " + f.reason }

func (f *fault) ofData() error {
	return &checkout.ParameterError{Parameter: checkout.ParameterData, Pointer: f.pointer, Reason: f.reason}
}

type violation struct {
	at     []string
	reason string
	isForm bool // of type, enum or const
}

func (v violation) fault() *fault {
	var pointer jsontext.Pointer
	for _, token := range v.at {
		pointer = pointer.AppendToken(token)
	}
	return &fault{string(pointer), v.reason}
}

// faults counts violations, and keeps the one whose place comes first in the data. Members are visited in random order,
// but the same data must always get the same response.
type faults struct {
	n     int
	first violation
}

func (f *faults) add(at []string, reason string, isForm bool) {
	order := cmp.Or(slices.CompareFunc(at, f.first.at, compareTokens), cmp.Compare(reason, f.first.reason))
	if f.n++; f.n == 1 || order < 0 {
		f.first = violation{slices.Clone(at), reason, isForm}
	}
}

// compareTokens orders an array's items, and members whose names are numbers, by number.
func compareTokens(a, b string) int {
	if isNumber(a) && isNumber(b) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

func isNumber(token string) bool { return token != "" && strings.Trim(token, "0123456789") == "" }

// matchForms returns how many forms a value matches, and the reason for a value that matches none. If the forms are few
// and simple, the reason lists them: "must be a string or must be null".
func matchForms(forms []*schema, value any, at []string) (matching int, none string) {
	const short = 3
	var reasons []string
	isSimple := true
	for _, form := range forms {
		var found faults
		form.check(value, at, &found)
		switch {
		case found.n == 0:
			matching++
		case found.n > 1 || !found.first.isForm || len(found.first.at) > len(at):
			isSimple = false
		case !slices.Contains(reasons, found.first.reason):
			reasons = append(reasons, found.first.reason)
		}
	}
	if !isSimple || len(reasons) > short {
		return matching, "matches none of the allowed forms"
	}
	return matching, strings.Join(reasons, " or ")
}

func quoted(name string) string { return fmt.Sprintf("%.*q", maxQuoted, name) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func oneOfTypes(types []string) string {
	named := make([]string, len(types))
	for i, name := range types {
		switch name {
		case "null":
			named[i] = name
		case "array", "integer", "object":
			named[i] = "an " + name
		default:
			named[i] = "a " + name
		}
	}
	return strings.Join(named, " or ")
}

func oneOfValues(allowed []any) string {
	text := asJSON(allowed)
	switch {
	case len(text) > maxQuoted:
		return "is not one of the allowed values"
	case len(allowed) == 1:
		return "must be " + text[1:len(text)-1]
	default:
		return "must be one of " + text[1:len(text)-1]
	}
}
