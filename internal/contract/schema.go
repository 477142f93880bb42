package contract

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// side says who writes the values that a schema describes.
type side int

const (
	sent     side = iota // clients: a value that was accepted must still be accepted
	returned             // the service: a value that could not occur before must not occur now
)

// effect says whether a changed schema accepts more values, and whether it accepts fewer. It may do both.
type effect struct{ wider, narrower bool }

// schema compares two schemas. A missing schema accepts any value.
func (c *comparison) schema(at string, from side, base, revision any) {
	if base == false || revision == false {
		c.judge(at, from, effect{wider: revision != false, narrower: base != false}, was("it", base, revision))
		return
	}
	b, _ := base.(object)
	r, _ := revision.(object)
	for _, keyword := range names(b, r) {
		if !isDeprecation(keyword) && !reflect.DeepEqual(member(b, keyword), member(r, keyword)) {
			c.keyword(at, keyword, from, b, r)
		}
	}
}

func (c *comparison) keyword(at, keyword string, from side, base, revision object) {
	b, r := member(base, keyword), member(revision, keyword)
	isNew := b == absent{}
	isNewOrGone := isNew || r == absent{}
	different := was(keyword, b, r)
	switch keyword {
	case "properties":
		c.each(at, keyword, from, child(base, keyword), child(revision, keyword))
	case "required":
		c.requiredFields(at, from, base, revision)
	case "items", "additionalProperties", "then", "else":
		c.schema(join(at, keyword), from, b, r)
	case "if", "not":
		if isNewOrGone {
			c.judge(at, from, effect{wider: !isNew, narrower: isNew}, different)
		} else { // a condition must accept exactly the same values as before
			c.differs(at, different, asItWas)
		}
	case "allOf", "oneOf", "anyOf":
		c.schemas(at, keyword, from, list(b), list(r))
	case "x-extensible-enum": // clients rely on its values; new ones may be added
		switch {
		case sets(list(b), list(r)).narrower:
			c.differs(at, different, mustStay)
		case isNew:
			c.differs(at, different, "")
		default:
			if added := newValues(list(b), list(r)); added != "" {
				c.differs(at, "may also be "+added, "")
			}
		}
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		b, r := number(b, math.Inf(1)), number(r, math.Inf(1))
		c.judge(at, from, effect{wider: !(r <= b), narrower: !(r >= b)}, different)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		b, r := number(b, math.Inf(-1)), number(r, math.Inf(-1))
		c.judge(at, from, effect{wider: !(r >= b), narrower: !(r <= b)}, different)
	case "type":
		c.judge(at, from, sets(types(b), types(r)), different)
	case "enum", "const", "pattern", "format", "multipleOf", "uniqueItems":
		change := effect{wider: !isNew, narrower: r != absent{}}
		if keyword == "enum" && !isNewOrGone {
			change = sets(list(b), list(r))
		}
		c.judge(at, from, change, different)
	default:
		c.differs(at, different, unlisted)
	}
}

// newValues returns the values that a list has gained, as text.
func newValues(base, revision []any) string {
	var added []string
	for _, value := range revision {
		if !has(base, value) {
			added = append(added, written(value))
		}
	}
	return strings.Join(added, ", ")
}

// judge decides whether a change is harmful. That depends on who writes the values.
func (c *comparison) judge(at string, from side, change effect, different string) {
	harm := ""
	switch {
	case from == sent && change.narrower:
		harm = ": what clients may send must stay accepted"
	case from == returned && change.wider:
		harm = ": responses must stay within what was promised"
	}
	if change != (effect{}) {
		c.differs(at, different, harm)
	}
}

// sets returns the effect of replacing one set of accepted values with another.
func sets(base, revision []any) effect {
	lacks := func(values, others []any) bool {
		return slices.ContainsFunc(others, func(other any) bool { return !has(values, other) })
	}
	return effect{wider: lacks(base, revision), narrower: lacks(revision, base)}
}

func has(values []any, value any) bool {
	return slices.ContainsFunc(values, func(other any) bool { return reflect.DeepEqual(value, other) })
}

func number(value any, missing float64) float64 {
	switch value := value.(type) {
	case absent:
		return missing
	case float64:
		return value
	default:
		return math.NaN() // no comparison with NaN is true, so the change counts as wider and narrower
	}
}

// types returns the types that a schema accepts. An integer is a number, too.
func types(value any) []any {
	var found []any
	switch value := value.(type) {
	case absent:
		return []any{"null", "boolean", "object", "array", "number", "integer", "string"}
	case []any:
		found = slices.Clone(value)
	default:
		found = []any{value}
	}
	if has(found, "number") {
		found = append(found, "integer")
	}
	return found
}

// requiredFields compares which fields are required. It ignores removed fields, because c.each reports them.
func (c *comparison) requiredFields(at string, from side, base, revision object) {
	before, now := list(base["required"]), list(revision["required"])
	for _, name := range now {
		if !has(before, name) {
			c.required(join(at, fmt.Sprintf("field %v", name)), from, true)
		}
	}
	for _, name := range before {
		field := fmt.Sprint(name)
		_, wasThere := child(base, "properties")[field]
		_, isThere := child(revision, "properties")[field]
		if !has(now, name) && (isThere || !wasThere) {
			c.required(join(at, "field "+field), from, false)
		}
	}
}

// schemas compares lists of schemas in their order. A longer allOf accepts fewer values. A longer oneOf or anyOf
// accepts more values, but an empty or missing list accepts any value.
func (c *comparison) schemas(at, keyword string, from side, base, revision []any) {
	for i := range min(len(base), len(revision)) {
		c.schema(fmt.Sprintf("%s, %s %d", at, keyword, i+1), from, base[i], revision[i])
	}
	change := effect{wider: len(revision) > len(base), narrower: len(revision) < len(base)}
	if keyword == "allOf" || len(base) == 0 || len(revision) == 0 {
		change.wider, change.narrower = change.narrower, change.wider
	}
	c.judge(at, from, change, fmt.Sprintf("%s had %d and has %d schemas", keyword, len(base), len(revision)))
}

// problems compares the problems of a response if the revision has problems of other types, and reports whether it has.
// The type of each is one of an x-extensible-enum: clients must expect types that they do not know.
func (c *comparison) problems(at string, base, revision any) bool {
	before, now := problemTypes(base), problemTypes(revision)
	isNew := func(name string) bool { return before[name] == nil }
	if before == nil || !slices.ContainsFunc(names(now, nil), isNew) {
		return false
	}
	for _, name := range names(before, now) {
		switch {
		case before[name] == nil:
			c.differs(at, "may also be "+name, "")
		case now[name] == nil:
			c.differs(at, "is not "+name+" any more", "")
		default:
			c.schema(join(at, name), returned, before[name], now[name])
		}
	}
	return true
}

// problemTypes returns the alternatives of a schema by the const of their field type. It returns nil if an alternative
// has no such const, or one that is not in an x-extensible-enum of the alternative.
func problemTypes(schema any) object {
	either, _ := schema.(object)
	alternatives := list(either["oneOf"])
	if len(either) != 1 || len(alternatives) == 0 {
		alternatives = []any{schema}
	}
	found := object{}
	for _, alternative := range alternatives {
		one, _ := alternative.(object)
		var name string
		var known []any
		for _, part := range list(one["allOf"]) {
			part, _ := part.(object)
			field := child(child(part, "properties"), "type")
			known = append(known, list(field["x-extensible-enum"])...)
			if text, is := field["const"].(string); is {
				name = text
			}
		}
		if !has(known, name) {
			return nil
		}
		found[name] = one
	}
	return found
}
