// Package dataschema implements the JSON Schema (2020-12) that a variant declares for its data: which schemas the
// catalogue accepts, and whether the data of a checkout is valid.
//
// A schema is self-contained: $ref is a JSON Pointer into the schema itself. Anchors, $dynamicRef and the unevaluated
// keywords do not exist here, and any other name that is not a keyword is an error, unless it begins with x-. Numbers
// are compared exactly; a number whose exponent has more than three digits is rejected. format, contentEncoding and
// contentMediaType are only annotations, the default of 2020-12. To validate text, declare a pattern. Patterns are
// those of Go's regexp (RE2): no look-around, no back-references, linear time.
//
// Read parse.go (what each keyword means), check.go (how data is judged), fault.go (how a fault is worded), cost.go
// (which schemas could be slow) and vet.go (what else a catalogue must not have).
//
// It is a rules package: it may import neither AWS nor net/http nor a storage or HTTP package of Shopfront. Only the
// checkout functions and shopctl may link it.
package dataschema

import (
	"cmp"
	"fmt"

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
	root *schema
}

// SchemaError says where and why a text cannot be the schema of a variant.
type SchemaError struct {
	Pointer string // RFC 6901, into the schema
	Reason  string // such as: must be "object"
}

func (e *SchemaError) Error() string { return cmp.Or(e.Pointer, "schema") + " " + e.Reason }

// Compile parses a schema, or returns a *SchemaError. A schema is strict JSON of at most catalog.MaxDataSchemaBytes,
// valid under 2020-12 and of type object. Compile rejects a schema that could be slow for some data: one with endless
// references, with too many schemas once its references are followed, or with enormous patterns.
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
	root, err := parse(object)
	if err != nil {
		return nil, err
	}
	if err := checkCost(root); err != nil {
		return nil, err
	}
	return &Schema{root}, nil
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
	var found faults
	s.root.check(value, nil, &found)
	if found.n == 0 {
		return nil
	}
	return found.first.fault().ofData()
}
