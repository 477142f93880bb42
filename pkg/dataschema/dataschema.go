// Package dataschema implements the JSON Schema (2020-12) that a variant declares for its data: which schemas the
// catalogue accepts, and whether the data of a checkout is valid.
//
// A schema is self-contained: nothing is loaded from elsewhere. Numbers are compared exactly; a number whose exponent
// has more than three digits is rejected. format, contentEncoding and contentMediaType are only annotations, the
// default of 2020-12. To validate text, declare a pattern. Patterns are those of Go's regexp (RE2): no look-around, no
// back-references, linear time.
//
// It is a rules package: it may import neither AWS nor net/http nor a storage or HTTP package of Shopfront. Its
// validator is a large dependency: only the checkout functions and shopctl may link it.
package dataschema

import (
	"cmp"
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

// Bounds, besides catalog.MaxDataSchemaBytes.
const (
	// MaxDataDepth bounds how deep data is nested, in levels; {} has one level.
	MaxDataDepth = 16
	// maxSchemaDepth bounds how deep a schema is nested, in levels.
	maxSchemaDepth = 64
)

// dialect is the only dialect that a schema may name.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a compiled schema, safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// SchemaError says where and why a text cannot be the schema of a variant.
type SchemaError struct {
	Pointer string // RFC 6901, into the schema
	Reason  string // such as: must be "object"
}

func (e *SchemaError) Error() string { return cmp.Or(e.Pointer, "schema") + " " + e.Reason }

// Compile parses a schema, or returns a *SchemaError. A schema is strict JSON of at most catalog.MaxDataSchemaBytes,
// valid under 2020-12 and of type object. Its references stay inside it: $ref and $dynamicRef begin with #, and there
// is no $id. Compile rejects a schema that could be slow for some data: one with endless references, with too many
// schemas once its references are followed, or with enormous patterns.
func Compile(text string) (*Schema, error) {
	if len(text) > catalog.MaxDataSchemaBytes {
		return nil, &SchemaError{Reason: fmt.Sprintf("has %d bytes, and at most %d are allowed", len(text),
			catalog.MaxDataSchemaBytes)}
	}
	document, fault := decode(text, maxSchemaDepth)
	if fault != nil {
		return nil, &SchemaError{fault.pointer, fault.reason}
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

// checkMembers rejects members that refer to other documents, and numbers that the validator would truncate. It does so
// everywhere, even inside a constant, where such a member is not a keyword.
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
			return "must be " + dialect + " at the top of the schema, or be left out"
		}
	case "$id", "$recursiveRef":
		if isText {
			return "must be left out: the schema must be self-contained"
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties",
		"maxProperties":
		if size, err := number.Float64(); isNumber && (err != nil || size > math.MaxInt32) {
			return "is a number out of range"
		}
	}
	return ""
}

// location is the schema's address in the compiler.
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

// explain converts the compiler's error to one that names the place in the schema.
func explain(err error, document any) *SchemaError {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if violations, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			fault := firstFault(violations, document)
			return &SchemaError{Pointer: fragment(invalid.URL) + fault.pointer, Reason: fault.reason}
		}
	}
	if missing, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return &SchemaError{Reason: fmt.Sprintf("has a $ref to #%s, which does not exist", fragment(missing.URL))}
	}
	if missing, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return &SchemaError{Reason: fmt.Sprintf("has a $ref to #%s, which no $anchor names",
			fragment(missing.Reference))}
	}
	if twice, ok := errors.AsType[*jsonschema.DuplicateAnchorError](err); ok {
		return &SchemaError{
			Pointer: twice.Ptr2,
			Reason:  fmt.Sprintf("repeats the anchor %q of %s", twice.Anchor, twice.Ptr1),
		}
	}
	return &SchemaError{Reason: "cannot be used: " + strings.ReplaceAll(err.Error(), location, "")}
}

// fragment returns the JSON Pointer or the anchor at the end of a location.
func fragment(location string) string {
	_, escaped, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(escaped); err == nil {
		return pointer
	}
	return escaped
}

// Check validates data: strict JSON (RFC 7493), nested at most MaxDataDepth levels, and valid under the schema. For
// invalid data it returns a *checkout.ParameterError. The error's Pointer is the first place that fails. For a missing
// member, that is the place where the member would be. The caller must bound the length of data, because the time that
// Check takes depends on it.
func (s *Schema) Check(data string) error {
	value, fault := decode(data, MaxDataDepth)
	if fault != nil {
		return fault.ofData()
	}
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	violations, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return fmt.Errorf("validate data: %w", err)
	}
	return firstFault(violations, value).ofData()
}
