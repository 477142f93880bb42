package dataschema_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
)

func TestValidator_ManySchemas_EachChecksItsOwnData(t *testing.T) {
	var validator dataschema.Validator
	// More schemas than the validator caches, twice, so that it evicts schemas and compiles them again.
	for range 2 {
		for size := range 200 {
			schema := object(fmt.Sprintf(`"size": {"const": %d}`, size))
			if err := validator.Check(schema, fmt.Sprintf(`{"size": %d}`, size)); err != nil {
				t.Fatalf("size %d under its own schema: Check = %v", size, err)
			}
			var fault *checkout.ParameterError
			if err := validator.Check(schema, fmt.Sprintf(`{"size": %d}`, size+1)); !errors.As(err, &fault) ||
				fault.Pointer != "/size" {
				t.Fatalf("size %d under the schema of size %d: Check = %v, want an error at /size", size+1, size, err)
			}
		}
	}
}

func TestValidator_ConcurrentUse_IsSafe(t *testing.T) {
	var validator dataschema.Validator
	var racers sync.WaitGroup
	for racer := range 8 {
		racers.Go(func() {
			for i := range 50 {
				schema := object(fmt.Sprintf(`"size": {"const": %d}`, (racer+i)%10))
				if err := validator.Check(schema, fmt.Sprintf(`{"size": %d}`, (racer+i)%10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	racers.Wait()
}

func TestValidator_EmptySchema_AcceptsAnyData(t *testing.T) {
	var validator dataschema.Validator
	for _, data := range []string{"", "to Heron, with love", "{", "\xff"} {
		if err := validator.Check("", data); err != nil {
			t.Errorf("Check(%q) = %v", data, err)
		}
	}
}

func TestValidator_UnusableSchema_IsNotTheClientsFault(t *testing.T) {
	var validator dataschema.Validator
	for range 2 {
		err := validator.Check(`{"type": "string"}`, `{}`)
		var client *checkout.ParameterError
		var schema *dataschema.SchemaError
		if errors.As(err, &client) || !errors.As(err, &schema) {
			t.Errorf("got %v, want a *SchemaError", err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, data := range []string{
		`{}`, `{"player": "Kestrel_9", "server": "survival", "gift": true}`, `{"player": 1e1000000000}`,
		`{"a~/b": [1.0, -0]}`,
		`{"player": "\ud800"}`, "{\"player\": \"\xff\"}", `[[[[`, `{"player": "x", "player": "y"}`, `null`,
		`9007199254740993`,
	} {
		f.Add(data)
	}
	names := `{"type": "object", "propertyNames": {"maxLength": 3}, "additionalProperties": {"propertyNames": ` +
		`{"maxLength": 2}}}`
	var validator dataschema.Validator
	f.Fuzz(func(t *testing.T, data string) {
		for _, schema := range []string{
			rank, tree, names,
			`{"type": "object", "additionalProperties": {"multipleOf": 0.01}}`,
		} {
			first := validator.Check(schema, data)
			if first == nil {
				if !jsontext.Value(data).IsValid() {
					t.Fatalf("%q is not JSON, but Check accepts it", data)
				}
				continue
			}
			fault := faultOf(t, first)
			if !isFitForAClient(fault) {
				t.Fatalf("Check(%q) = %#v, which is not fit for a client", data, fault)
			}
			if again := faultOf(t, validator.Check(schema, data)); again != fault {
				t.Fatalf("Check(%q) = %#v, then %#v; want the same error", data, fault, again)
			}
		}
	})
}

func isFitForAClient(fault checkout.ParameterError) bool {
	return jsontext.Pointer(fault.Pointer).IsValid() &&
		fault.Reason != "" && len(fault.Reason) <= 300 && !strings.Contains(fault.Reason, "schema:")
}

func FuzzCompile(f *testing.F) {
	for _, schema := range []string{
		rank, tree, doubling(5), `{"type": "object", "$ref": "#"}`,
		`{"type": "object", "$ref": "#/$defs/a%25b", "$defs": {"a%b": {"pattern": "^\\p{L}{1,30}$"}}}`,
		`{"type": "object", "minProperties": 1e30, "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"$ref": "#"}}}`,
		`{"type": "object", "properties": {"a": {"pattern": "^(?:a|b[|)]|(?i)c)*\\Qd|e\\E$", "const": 1e-999}}}`,
	} {
		f.Add(schema)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = dataschema.Vet(text)
		schema, err := dataschema.Compile(text)
		if err != nil {
			var fault *dataschema.SchemaError
			if !errors.As(err, &fault) || !jsontext.Pointer(fault.Pointer).IsValid() || fault.Reason == "" {
				t.Fatalf("Compile(%q) = %v, want a *SchemaError with a pointer and a reason", text, err)
			}
			return
		}
		for _, data := range []string{`{}`, `{"a": {"a": {"b": [1, "x", null]}}, "c": true}`} {
			var fault *checkout.ParameterError
			if err := schema.Check(data); err != nil && !errors.As(err, &fault) {
				t.Fatalf("Check under the schema %q = %v, want a *ParameterError", text, err)
			}
		}
	})
}
