package contract

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// side tells who writes the values that a schema describes.
type side int

const (
	sent     side = iota // clients: what was taken must still be taken
	answered             // the service: nothing may come that could not come before
	fixed                // a condition, which works both ways
)

// shift says what a change does to the values that a schema takes: some more, some no longer.
type shift struct{ wider, narrower bool }

// visit is a pair of schemas that are being compared, for schemas may refer to themselves.
type visit struct {
	base, revision uintptr
	side           side
}

// schema compares two schemas, of which a missing one takes anything.
func (p *promises) schema(at string, s side, base, revision any) {
	if base == false || revision == false {
		p.shifted(at, s, shift{wider: revision != false, narrower: base != false}, was("it", base, revision))
		return
	}
	step := visit{address(base), address(revision), s}
	if p.open[step] {
		return
	}
	p.open[step] = true
	defer delete(p.open, step)
	b, r := p.base.at(base), p.revision.at(revision)
	for _, keyword := range names(b, r) {
		p.keyword(at, keyword, s, b, r)
	}
}

func address(schema any) uintptr {
	if object, isObject := schema.(map[string]any); isObject {
		return reflect.ValueOf(object).Pointer()
	}
	return 0
}

func (p *promises) keyword(at, keyword string, s side, base, revision tree) {
	b, r := base.member(keyword), revision.member(keyword)
	switch keyword {
	case "properties":
		p.fields(at, s, p.base.at(b), p.revision.at(r))
	case "required":
		p.requiredFields(at, s, base, revision)
	case "items", "additionalProperties", "then", "else":
		p.schema(at+", "+keyword, s, b, r)
	case "if", "not":
		if b == (absent{}) || r == (absent{}) {
			p.shifted(at, s, constraint(b, r), was(keyword, b, r))
		} else {
			p.schema(at+", "+keyword, fixed, b, r)
		}
	case "allOf", "oneOf", "anyOf":
		p.schemas(at, keyword, s, list(b), list(r))
	case "x-extensible-enum": // clients know its values; it may gain some
		if !p.same(b, r, maxDepth) {
			p.differs(at, was(keyword, b, r))
		}
		for _, value := range list(b) {
			if !has(list(r), value) {
				p.problem(at, fmt.Sprintf("%s has %s no more: clients count on it, so put it back", keyword, written(value)))
			}
		}
	default:
		if isWords(keyword) {
			return
		}
		if change, judged := shifts(keyword, b, r); judged {
			p.shifted(at, s, change, was(keyword, b, r))
		} else if !p.same(b, r, maxDepth) {
			p.differs(at, was(keyword, b, r))
			p.problem(at, was(keyword, b, r)+unlisted)
		}
	}
}

// shifted judges what is different by who writes the values.
func (p *promises) shifted(at string, s side, change shift, different string) {
	if change != (shift{}) {
		p.differs(at, different)
	}
	switch {
	case s == sent && change.narrower:
		p.problem(at, different+": what clients may send must stay accepted")
	case s == answered && change.wider:
		p.problem(at, different+": answers must stay within what was promised")
	case s == fixed && (change.wider || change.narrower):
		p.problem(at, different+asItWas)
	}
}

const asItWas = ": it must stay as it was"

// shifts says what a keyword's change does, for keywords of which that is known.
func shifts(keyword string, base, revision any) (change shift, judged bool) {
	switch keyword {
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		b, r := number(base, math.Inf(1)), number(revision, math.Inf(1))
		return shift{wider: !(r <= b), narrower: !(r >= b)}, true
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		b, r := number(base, math.Inf(-1)), number(revision, math.Inf(-1))
		return shift{wider: !(r >= b), narrower: !(r <= b)}, true
	case "type":
		return sets(types(base), types(revision)), true
	case "enum":
		if base == (absent{}) || revision == (absent{}) {
			return constraint(base, revision), true
		}
		return sets(list(base), list(revision)), true
	case "const", "pattern", "format", "multipleOf", "uniqueItems":
		return constraint(base, revision), true
	default:
		return shift{}, false
	}
}

// constraint is a keyword that takes fewer values than none.
func constraint(base, revision any) shift {
	if reflect.DeepEqual(base, revision) {
		return shift{}
	}
	return shift{wider: base != (absent{}), narrower: revision != (absent{})}
}

func sets(base, revision []any) shift {
	lacks := func(values, others []any) bool {
		return slices.ContainsFunc(others, func(other any) bool { return !has(values, other) })
	}
	return shift{wider: lacks(base, revision), narrower: lacks(revision, base)}
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
		return math.NaN()
	}
}

// types are the types that a schema takes; a number may be an integer.
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

// fields may join. The conditions of a schema have no fields to be removed or to join.
func (p *promises) fields(at string, s side, base, revision tree) {
	for _, name := range names(base, revision) {
		at := at + ", field " + name
		switch {
		case base[name] == nil && s == fixed:
			p.problem(at, was("it", absent{}, revision[name])+asItWas)
		case base[name] == nil:
			p.kept(at, nil, p.revision.at(revision[name]))
		case revision[name] == nil:
			p.gone(at, name, p.base.at(base[name]))
		default:
			p.kept(at, p.base.at(base[name]), p.revision.at(revision[name]))
			p.schema(at, s, base[name], revision[name])
		}
	}
}

// requiredFields leaves those that are gone to fields.
func (p *promises) requiredFields(at string, s side, base, revision tree) {
	before, now := list(base["required"]), list(revision["required"])
	if change := sets(before, now); change != (shift{}) {
		p.differs(at, was("required", base.member("required"), revision.member("required")))
	}
	fields, left := p.base.at(base["properties"]), p.revision.at(revision["properties"])
	for _, name := range now {
		if !has(before, name) && s != answered {
			p.problem(fmt.Sprintf("%s, field %v", at, name), mustBeSent)
		}
	}
	for _, name := range before {
		field := fmt.Sprint(name)
		if gone := fields[field] != nil && left[field] == nil; !gone && !has(now, name) && s != sent {
			p.problem(at+", field "+field, mayBeMissing)
		}
	}
}

const (
	mustBeSent   = "must be sent now: clients do not send it, so make it optional"
	mayBeMissing = "may be missing now: clients count on it, so require it"
)

// schemas compares them in their order. One more part takes fewer values; one more alternative takes more, unless it is the first.
func (p *promises) schemas(at, keyword string, s side, base, revision []any) {
	for i := range min(len(base), len(revision)) {
		p.schema(fmt.Sprintf("%s, %s %d", at, keyword, i+1), s, base[i], revision[i])
	}
	what, change := "alternatives", shift{wider: len(revision) > len(base), narrower: len(revision) < len(base)}
	if keyword == "allOf" {
		what = "parts"
	}
	if keyword == "allOf" || len(base) == 0 || len(revision) == 0 {
		change.wider, change.narrower = change.narrower, change.wider
	}
	more := "more"
	if len(revision) < len(base) {
		more = "fewer"
	}
	p.shifted(at, s, change, fmt.Sprintf("%s has %s %s", keyword, more, what))
}
