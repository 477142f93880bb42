package dataschema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"shopfront/pkg/dataschema"
)

// A large library, which no function links, judges the same data under the same schemas.
func TestCheck_AnySchema_JudgesLikeTheLibrary(t *testing.T) {
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		schema := fmt.Sprintf(`{"type": "object", "$defs": {"d": %s}, "allOf": [%s, {"properties": {"a": %s}}]}`,
			drawSchema(t, 0), drawSchema(t, 2), drawSchema(t, 2))
		compiled, err := dataschema.Compile(schema)
		if err != nil {
			t.Fatalf("Compile(%s) = %v", schema, err)
		}
		library := ofLibrary(t, schema)
		for range 5 {
			data := drawObject(t, 2)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got, want := compiled.Check(data), library.Validate(value)
			if (got == nil) != (want == nil) {
				t.Fatalf("%s under %s: Check = %v, the library says %v", data, schema, got, want)
			}
			verdicts[got == nil]++
		}
	})
	if verdicts[true] < 50 || verdicts[false] < 50 {
		t.Errorf("too few of a kind: %v", verdicts)
	}
}

func ofLibrary(t *rapid.T, schema string) *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	const location = "schema:///data"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(location, document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// drawSchema draws a schema with up to depth levels of schemas inside it.
func drawSchema(t *rapid.T, depth int) string {
	simple := []string{
		`true`, `false`, `{}`, `{"type": "string"}`, `{"type": ["null", "integer"]}`, `{"type": "number"}`,
		`{"type": "object"}`, `{"type": ["boolean", "array"]}`, `{"const": 1}`, `{"const": null}`, `{"const": {"b": [1]}}`,
		`{"enum": ["x", 0.5, [], {}]}`, `{"minLength": 2}`, `{"maxLength": 1}`, `{"pattern": "^x"}`, `{"minimum": 1}`,
		`{"maximum": 1}`, `{"exclusiveMinimum": 1}`, `{"exclusiveMaximum": 1}`, `{"multipleOf": 0.5}`, `{"minItems": 1}`,
		`{"maxItems": 1}`, `{"uniqueItems": true}`, `{"minProperties": 2}`, `{"maxProperties": 1}`, `{"required": ["a"]}`,
		`{"dependentRequired": {"a": ["b"], "x1": ["c"]}}`, `{"format": "email", "x-label": 1, "default": []}`,
	}
	if depth == 0 {
		return rapid.SampledFrom(simple).Draw(t, "schema")
	}
	drawn := rapid.SampledFrom(slices.Concat(simple[:12], []string{
		`{"$ref": "#/$defs/d"}`, `{"allOf": [@, @]}`, `{"anyOf": [@, @]}`,
		`{"oneOf": [@, @, @]}`, `{"not": @}`, `{"if": @, "then": @, "else": @}`, `{"if": @, "then": @}`,
		`{"dependentSchemas": {"a": @}}`, `{"properties": {"a": @, "b": @}}`, `{"properties": {"x1": @}, ` +
			`"patternProperties": {"^x": @}, "additionalProperties": @}`, `{"additionalProperties": @}`,
		`{"propertyNames": @}`, `{"prefixItems": [@], "items": @}`, `{"items": @, "uniqueItems": false}`, `{"contains": @}`,
		`{"contains": @, "minContains": 2}`, `{"contains": @, "minContains": 0, "maxContains": 1}`, `{"minContains": 2}`,
	})).Draw(t, "form")
	for strings.Contains(drawn, "@") {
		drawn = strings.Replace(drawn, "@", drawSchema(t, depth-1), 1)
	}
	return drawn
}

func drawObject(t *rapid.T, depth int) string {
	var members []string
	for _, name := range []string{"a", "b", "c", "x1"} {
		if rapid.Bool().Draw(t, name) {
			members = append(members, `"`+name+`": `+drawValue(t, depth-1))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func drawValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	switch {
	case depth > 0 && kind == 0:
		return drawObject(t, depth)
	case depth > 0 && kind == 1:
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = drawValue(t, depth-1)
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return rapid.SampledFrom([]string{
			"null", "true", "false", "0", "1", "1.0", "10e-1", "0.5", "-2", "1e300", `""`, `"x"`, `"é"`, `"xé"`, "[]", "{}",
			`{"b": [1.0]}`,
		}).Draw(t, "value")
	}
}
