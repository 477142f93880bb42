package dataschema

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// schema is a parsed schema. A nil schema is an absent keyword, and accepts everything.
type schema struct {
	at      jsontext.Pointer
	isFalse bool
	// keywords have values of these types: int, number, bool, string, []string, map[string][]string, types, values,
	// pattern, map[pattern]*schema, *schema, []*schema or map[string]*schema. $ref is the schema that it refers to.
	keywords map[string]any
}

// types are the names of types. values have the keyOf allowed values, and the reason for others.
type (
	types  []string
	values struct {
		allowed map[string]bool
		reason  string
	}
)

// get returns a keyword's value, or the zero value if the schema lacks the keyword.
func get[T any](s *schema, keyword string) T {
	value, _ := s.keywords[keyword].(T)
	return value
}

// parser keeps the first mistake of a schema and goes on, so that its methods need not return errors.
type parser struct {
	schemas map[jsontext.Pointer]*schema
	err     error // a *SchemaError, or nil
}

func parse(object map[string]any) (*schema, error) {
	p := parser{schemas: map[jsontext.Pointer]*schema{}}
	root := p.schema(object, "")
	for _, at := range slices.Sorted(maps.Keys(p.schemas)) {
		if reference, has := p.schemas[at].keywords["$ref"].(string); has {
			p.schemas[at].keywords["$ref"] = p.resolve(reference, at.AppendToken("$ref"))
		}
	}
	return root, p.err
}

func (p *parser) resolve(reference string, at jsontext.Pointer) *schema {
	fragment, isInternal := strings.CutPrefix(reference, "#")
	pointer, err := url.PathUnescape(fragment)
	target := p.schemas[jsontext.Pointer(pointer)]
	switch {
	case !isInternal:
		p.fail(at, "must stay inside the schema: it begins with #")
	case err != nil || target == nil:
		p.fail(at, "refers to "+reference+", where there is no schema")
	}
	return target
}

func (p *parser) fail(at jsontext.Pointer, reason string) {
	if p.err == nil {
		p.err = &SchemaError{string(at), reason}
	}
}

func (p *parser) schema(value any, at jsontext.Pointer) *schema {
	s := &schema{at: at}
	p.schemas[at] = s
	switch value := value.(type) {
	case bool:
		s.isFalse = !value
	case map[string]any:
		s.keywords = each(value, at, p.keyword)
	default:
		p.fail(at, "must be a boolean or an object")
	}
	return s
}

// each parses the members of an object in the order of their names.
func each[T any](
	object map[string]any, at jsontext.Pointer, one func(name string, value any, at jsontext.Pointer) T,
) map[string]T {
	parsed := make(map[string]T, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		parsed[name] = one(name, object[name], at.AppendToken(name))
	}
	return parsed
}

func (p *parser) keyword(name string, value any, at jsontext.Pointer) any {
	switch name {
	case "type":
		return p.types(value, at)
	case "enum":
		return newValues(as[[]any](p, value, at, "an array"))
	case "const":
		return newValues([]any{value})
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
		"maxContains":
		return p.size(value, at)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return as[number](p, value, at, "a number")
	case "multipleOf":
		unit := as[number](p, value, at, "a number")
		if unit.text == "0" || strings.HasPrefix(unit.text, "-") {
			p.fail(at, "must be more than 0")
		}
		return unit
	case "pattern":
		return p.pattern(as[string](p, value, at, "a string"), at)
	case "required":
		return p.texts("", value, at)
	case "dependentRequired":
		return each(as[map[string]any](p, value, at, "an object"), at, p.texts)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return p.list(value, at)
	case "not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames":
		return p.schema(value, at)
	case "$defs", "properties", "dependentSchemas":
		return p.named(value, at)
	case "patternProperties":
		patterns := map[pattern]*schema{}
		for name, sub := range p.named(value, at) {
			patterns[p.pattern(name, sub.at)] = sub
		}
		return patterns
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return as[bool](p, value, at, "a boolean")
	case "$ref", "$comment", "title", "description", "format", "contentEncoding", "contentMediaType":
		return as[string](p, value, at, "a string")
	default:
		p.annotation(name, value, at)
		return nil
	}
}

func (p *parser) annotation(name string, value any, at jsontext.Pointer) {
	switch {
	case name == "$schema":
		if text, _ := value.(string); at != "/$schema" || strings.TrimSuffix(text, "#") != dialect {
			p.fail(at, "must be "+dialect+" at the top of the schema, or be left out")
		}
	case name == "$id":
		p.fail(at, "must be left out: the schema must be self-contained")
	case name != "default" && name != "examples" && !strings.HasPrefix(name, "x-"):
		p.fail(at, "is not a keyword of data schemas: correct its name, or begin it with x-")
	}
}

// as reads a value of one type. If it has another type, as reports that and returns the zero value.
func as[T any](p *parser, value any, at jsontext.Pointer, wanted string) T {
	typed, is := value.(T)
	if !is {
		p.fail(at, "must be "+wanted)
	}
	return typed
}

func (p *parser) size(value any, at jsontext.Pointer) int {
	limit := as[number](p, value, at, "an integer")
	if limit.value == nil {
		return 0
	}
	n, err := strconv.Atoi(limit.value.RatString())
	switch {
	case n < 0:
		p.fail(at, "must be at least 0")
	case n > math.MaxInt32:
		p.fail(at, "is a number out of range")
	case err != nil:
		p.fail(at, "must be an integer")
	}
	return n
}

func (p *parser) texts(_ string, value any, at jsontext.Pointer) []string {
	list := as[[]any](p, value, at, "an array")
	texts := make([]string, len(list))
	for i, item := range list {
		at := at.AppendToken(strconv.Itoa(i))
		if texts[i] = as[string](p, item, at, "a string"); slices.Contains(texts[:i], texts[i]) {
			p.fail(at, "appears twice")
		}
	}
	return texts
}

func (p *parser) named(value any, at jsontext.Pointer) map[string]*schema {
	return each(as[map[string]any](p, value, at, "an object"), at,
		func(_ string, value any, at jsontext.Pointer) *schema { return p.schema(value, at) })
}

func (p *parser) list(value any, at jsontext.Pointer) []*schema {
	list := as[[]any](p, value, at, "an array")
	if len(list) == 0 {
		p.fail(at, "must have at least 1 item")
	}
	schemas := make([]*schema, len(list))
	for i, item := range list {
		schemas[i] = p.schema(item, at.AppendToken(strconv.Itoa(i)))
	}
	return schemas
}

// types reads the keyword type. A reason names the types in the order of all.
func (p *parser) types(value any, at jsontext.Pointer) types {
	all := []string{"null", "boolean", "number", "integer", "string", "array", "object"}
	if _, isOne := value.(string); isOne {
		value = []any{value}
	}
	names := p.texts("", value, at)
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(all, name) }) {
		p.fail(at, "must be one of "+strings.Join(all, ", ")+", or a list of them")
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(slices.Index(all, a), slices.Index(all, b)) })
	return names
}

func newValues(list []any) values {
	allowed := make(map[string]bool, len(list))
	for _, value := range list {
		allowed[keyOf(value)] = true
	}
	return values{allowed, oneOfValues(list)}
}

func (p *parser) pattern(text string, at jsontext.Pointer) pattern {
	compiled, err := compilePattern(text)
	if err != nil {
		p.fail(at, "is not a valid pattern: "+err.Error())
		return pattern{Regexp: new(regexp.Regexp)}
	}
	return compiled
}
