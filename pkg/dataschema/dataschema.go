// Package dataschema holds the JSON Schema (2020-12) that a variant declares for its data: what the catalogue accepts as
// one, and whether the data of a checkout is valid under it.
//
// Nothing is ever loaded: a schema stands on its own. Numbers are compared exactly; one whose exponent has more than three
// digits is refused. A format, as well as a contentEncoding or contentMediaType, is an annotation, the default of 2020-12:
// declare a pattern to have text checked. Patterns are those of Go's regexp (RE2): no look-around, no back-references, and
// linear time.
//
// It is a noun: it may import neither AWS nor net/http nor a storage or HTTP package of Shopfront. The validator that it
// carries is large, so that only the checkout functions and the command may link it.
package dataschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"shopfront/pkg/catalog"
)

// Bounds beside that of the schema's size, catalog.MaxDataSchemaBytes.
const (
	// MaxDataDepth is how deep data may be nested; {} is 1 deep.
	MaxDataDepth = 16
	// maxSchemaDepth is how deep a schema may be nested.
	maxSchemaDepth = 64
)

// dialect is the only one that a schema may name.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a compiled schema, safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// SchemaError says where a text is not a schema that a variant can declare, and why.
type SchemaError struct {
	Pointer string // RFC 6901, into the schema
	Reason  string // such as: must be "object"
}

func (e *SchemaError) Error() string { return place("schema", e.Pointer) + " " + e.Reason }

// ValueError says where data is not valid, and why, in words that are fit for the client that sent it.
type ValueError struct {
	Pointer string // RFC 6901, into the data: the first place that fails; a missing member's is where it would stand
	Reason  string // such as: is required
}

func (e *ValueError) Error() string { return place("data", e.Pointer) + " " + e.Reason }

// Fault tells place and reason to callers that do not import this package.
func (e *ValueError) Fault() (pointer, reason string) { return e.Pointer, e.Reason }

func place(whole, pointer string) string {
	if pointer == "" {
		return whole
	}
	return pointer
}

// Compile reads a schema, or returns a *SchemaError. A schema is strict JSON of at most catalog.MaxDataSchemaBytes, valid
// under 2020-12 and of type object, whose references stay inside it ($ref and $dynamicRef begin with #, there is no $id)
// and which cannot take long to apply, whatever the data: neither endless references nor ones that fan out, and no
// enormous pattern.
func Compile(text string) (*Schema, error) {
	if len(text) > catalog.MaxDataSchemaBytes {
		return nil, &SchemaError{Reason: fmt.Sprintf("has %d bytes, the most is %d", len(text), catalog.MaxDataSchemaBytes)}
	}
	document, fault := decode(text, maxSchemaDepth)
	if fault != nil {
		return nil, (*SchemaError)(fault)
	}
	object, isObject := document.(map[string]any)
	if !isObject {
		return nil, &SchemaError{Reason: "must be an object"}
	}
	if object["type"] != "object" {
		return nil, &SchemaError{Pointer: "/type", Reason: `must be "object"`}
	}
	if err := checkMembers(object, ""); err != nil {
		return nil, err
	}
	compiled, err := compile(object)
	if err != nil {
		return nil, err
	}
	if err := checkCost(compiled); err != nil {
		return nil, err
	}
	return &Schema{compiled: compiled}, nil
}

// checkMembers refuses what could lead out of the schema, and numbers that the validator would cut off. It does so
// wherever such a member stands, even where it is not a keyword but part of a constant.
func checkMembers(value any, at jsontext.Pointer) error {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			here := at.AppendToken(name)
			if reason := refuseMember(name, value[name], at == ""); reason != "" {
				return &SchemaError{Pointer: string(here), Reason: reason}
			}
			if err := checkMembers(value[name], here); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range value {
			if err := checkMembers(item, at.AppendToken(strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

func refuseMember(name string, value any, isTop bool) (reason string) {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch name {
	case "$ref", "$dynamicRef":
		if isText && !strings.HasPrefix(text, "#") {
			return "must stay inside the schema: it begins with #"
		}
	case "$schema":
		if isText && (!isTop || strings.TrimSuffix(text, "#") != dialect) {
			return "must be " + dialect + " and stand at the top, or be left out"
		}
	case "$id", "$recursiveRef":
		if isText {
			return "must be left out: the schema stands on its own"
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		if size, err := number.Float64(); isNumber && (err != nil || size > math.MaxInt32) {
			return "is a number out of range"
		}
	}
	return ""
}

// location is the schema's address in the compiler; nothing else has one.
const location = "schema:///data"

func compile(object map[string]any) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(compilePattern)
	if err := compiler.AddResource(location, object); err != nil {
		return nil, &SchemaError{Reason: err.Error()}
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		return nil, explain(err, object)
	}
	return compiled, nil
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("nothing is loaded from outside of the schema")
}

// explain finds the place in the schema that the compiler's error is about.
func explain(err error, document any) *SchemaError {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if violations, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			fault := firstFault(violations, document)
			return &SchemaError{Pointer: fragment(invalid.URL) + fault.Pointer, Reason: fault.Reason}
		}
	}
	if missing, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return &SchemaError{Reason: fmt.Sprintf("has a $ref to #%s, where nothing is", fragment(missing.URL))}
	}
	if missing, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return &SchemaError{Reason: fmt.Sprintf("has a $ref to #%s, which no $anchor names", fragment(missing.Reference))}
	}
	if twice, ok := errors.AsType[*jsonschema.DuplicateAnchorError](err); ok {
		return &SchemaError{Pointer: twice.Ptr2, Reason: fmt.Sprintf("names the anchor %q of %s again", twice.Anchor, twice.Ptr1)}
	}
	return &SchemaError{Reason: "cannot be used: " + strings.ReplaceAll(err.Error(), location, "")}
}

// fragment is the JSON Pointer, or the anchor, at the end of a location.
func fragment(location string) string {
	_, escaped, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(escaped); err == nil {
		return pointer
	}
	return escaped
}

// Check tells whether data is valid: strict JSON (RFC 7493) nested at most MaxDataDepth deep, and valid under the schema.
// Otherwise it returns a *ValueError. How long data may be is the caller's rule; it bounds how long Check takes.
func (s *Schema) Check(data string) error {
	value, fault := decode(data, MaxDataDepth)
	if fault != nil {
		return fault
	}
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	violations, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return fmt.Errorf("validate data: %w", err)
	}
	return firstFault(violations, value)
}
