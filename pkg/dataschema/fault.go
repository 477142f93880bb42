package dataschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"shopfront/pkg/checkout"
)

// maxQuoted bounds how much of the schema a reason quotes, in bytes.
const maxQuoted = 100

// fault is the place of a violation, a JSON Pointer (RFC 6901), and the reason, in words for the client.
type fault struct{ pointer, reason string }

func (f *fault) Error() string { return f.pointer + " " + f.reason }

func (f *fault) ofData() error {
	return &checkout.ParameterError{Parameter: checkout.ParameterData, Pointer: f.pointer, Reason: f.reason}
}

// firstFault picks the violation whose place comes first in value. The validator visits members in random order, but
// the same data must always get the same response.
func firstFault(violations *jsonschema.ValidationError, value any) *fault {
	faults := faultList{value: value}
	faults.collect(violations)
	if len(faults.found) == 0 {
		return &fault{reason: "is not valid"}
	}
	first := slices.MinFunc(faults.found, func(a, b violation) int {
		return cmp.Or(slices.CompareFunc(a.at, b.at, compareTokens), cmp.Compare(a.reason, b.reason))
	})
	return &fault{first.pointer(), first.reason}
}

type violation struct {
	at     []string
	reason string
}

func (v violation) pointer() string {
	var pointer jsontext.Pointer
	for _, token := range v.at {
		pointer = pointer.AppendToken(token)
	}
	return string(pointer)
}

// compareTokens orders an array's items, and members whose names are numbers, by number.
func compareTokens(a, b string) int {
	if isNumber(a) && isNumber(b) {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

func isNumber(token string) bool { return token != "" && strings.Trim(token, "0123456789") == "" }

type faultList struct {
	value any
	found []violation
}

func (l *faultList) add(at []string, reason string) {
	l.found = append(l.found, violation{slices.Clone(at), reason})
}

func (l *faultList) addMembers(object, names []string, reason string) {
	for _, name := range names {
		l.add(append(slices.Clone(object), name), reason)
	}
}

func (l *faultList) collect(v *jsonschema.ValidationError) {
	at := v.InstanceLocation
	switch k := v.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range v.Causes {
			l.collect(cause)
		}
	case *kind.AnyOf:
		l.add(at, alternatives(v))
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			l.add(at, "matches several forms, and must match exactly one")
		} else {
			l.add(at, alternatives(v))
		}
	case *kind.Required:
		l.addMembers(at, k.Missing, "is required")
	case *kind.DependentRequired:
		l.addMembers(at, k.Missing, fmt.Sprintf("is required together with %.*q", maxQuoted, k.Prop))
	case *kind.Dependency:
		l.addMembers(at, k.Missing, fmt.Sprintf("is required together with %.*q", maxQuoted, k.Prop))
	case *kind.AdditionalProperties:
		l.addMembers(at, k.Properties, "is not allowed")
	case *kind.PropertyNames:
		l.addName(at, k.Property, v.Causes)
	default:
		l.add(at, reason(v.ErrorKind))
	}
}

// addName adds a name that is not allowed, and searches for the object that has the name. The validator's location is
// unreliable for this kind of violation: if the validator checked several objects, only the location's length is right.
func (l *faultList) addName(at []string, name string, causes []*jsonschema.ValidationError) {
	why := "has a name that is not allowed"
	if len(causes) == 1 {
		why = "has a name that " + reason(causes[0].ErrorKind)
	}
	if member, found := findMember(l.value, len(at), name); found {
		l.add(member, why)
	} else {
		l.add(nil, why)
	}
}

// findMember returns the place of the first member with this name in an object that is depth levels below value.
func findMember(value any, depth int, name string) (at []string, found bool) {
	object, _ := value.(map[string]any)
	if depth == 0 {
		_, found = object[name]
		return []string{name}, found
	}
	for _, member := range slices.SortedFunc(maps.Keys(object), compareTokens) {
		if at, found := findMember(object[member], depth-1, name); found {
			return append([]string{member}, at...), true
		}
	}
	items, _ := value.([]any)
	for i, item := range items {
		if at, found := findMember(item, depth-1, name); found {
			return append([]string{strconv.Itoa(i)}, at...), true
		}
	}
	return nil, false
}

// alternatives returns the reason for a value that matches none of several forms. If the forms are few and simple, the
// reason lists them: "must be a string or must be null".
func alternatives(v *jsonschema.ValidationError) string {
	const short = 3
	var reasons []string
	for _, cause := range v.Causes {
		switch cause.ErrorKind.(type) {
		case *kind.Type, *kind.Enum, *kind.Const, *kind.Format:
		default:
			return "matches none of the allowed forms"
		}
		if !slices.Equal(cause.InstanceLocation, v.InstanceLocation) {
			return "matches none of the allowed forms"
		}
		if r := reason(cause.ErrorKind); !slices.Contains(reasons, r) {
			reasons = append(reasons, r)
		}
	}
	if len(reasons) == 0 || len(reasons) > short {
		return "matches none of the allowed forms"
	}
	return strings.Join(reasons, " or ")
}

func reason(violated jsonschema.ErrorKind) string {
	switch k := violated.(type) {
	case *kind.Type:
		return "must be " + oneOfTypes(k.Want)
	case *kind.Enum:
		return oneOfValues(k.Want)
	case *kind.Const:
		return oneOfValues([]any{k.Want})
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.Format:
		return fmt.Sprintf("is not a valid %s: %v", k.Want, k.Err)
	case *kind.MinProperties:
		return "must have at least " + count(k.Want, "member")
	case *kind.MaxProperties:
		return "must have at most " + count(k.Want, "member")
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "item")
	case *kind.UniqueItems:
		return "must not repeat an item"
	case *kind.Contains:
		return "must have an item of the required form"
	case *kind.MinContains:
		return "must have at least " + count(k.Want, "item") + " of the required form"
	case *kind.MaxContains:
		return "must have at most " + count(k.Want, "item") + " of the required form"
	case *kind.MinLength:
		return "must have at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + count(k.Want, "character")
	case *kind.Pattern:
		return "must match " + quotedPattern(k.Want)
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	default:
		return "is not valid"
	}
}

func quotedPattern(pattern string) string {
	if len(pattern) <= maxQuoted {
		return "the pattern " + pattern
	}
	return "the required pattern"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// decimal formats a number exactly. A number from JSON has finitely many digits.
func decimal(number *big.Rat) string {
	digits, _ := number.FloatPrec()
	if text := number.FloatString(digits); len(text) <= maxQuoted {
		return text
	}
	return "the allowed limit"
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
	text, err := json.Marshal(allowed)
	switch {
	case err != nil || len(text) > maxQuoted:
		return "is not one of the allowed values"
	case len(allowed) == 1:
		return "must be " + string(text[1:len(text)-1])
	default:
		return "must be one of " + string(text[1:len(text)-1])
	}
}
