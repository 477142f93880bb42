package dataschema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"shopfront/pkg/dataschema"
)

func TestVet_RequiredNames(t *testing.T) {
	for _, test := range []struct{ name, schema, pointer string }{
		{"declared", rank, ""},
		{"misspelt", `{"type": "object", "properties": {"player": true}, "required": ["playr"]}`, "/required/0"},
		{"second of two", `{"type": "object", "properties": {"a": true}, "required": ["a", "b"]}`, "/required/1"},
		{"no properties and no others", `{"type": "object", "additionalProperties": false, "required": ["a"]}`, "/required/0"},
		{"no properties", `{"type": "object", "required": ["a"]}`, ""},
		{"others are allowed", `{"type": "object", "properties": {"a": true}, "additionalProperties": {}, ` +
			`"required": ["b"]}`, ""},
		{"of a pattern", `{"type": "object", "patternProperties": {"^line\\d$": true}, "required": ["line1"]}`, ""},
		{"of another pattern", `{"type": "object", "patternProperties": {"^line\\d$": true}, "properties": {}, ` +
			`"required": ["line"]}`, "/required/0"},
		{
			"nested", object(`"to": {"items": {"properties": {"name": {}}, "required": ["nam"]}}`),
			"/properties/to/items/required/0",
		},
		{"the object has the properties", `{"type": "object", "properties": {"mail": {}, "phone": {}}, ` +
			`"anyOf": [{"required": ["mail"]}, {"required": ["phone"]}]}`, ""},
		{"a form misspells them", `{"type": "object", "properties": {"mail": {}, "phone": {}}, ` +
			`"anyOf": [{"required": ["mail"]}, {"required": ["fone"]}]}`, "/anyOf/1/required/0"},
		{"a definition has the properties", `{"type": "object", "$ref": "#/$defs/a", "required": ["b"], ` +
			`"$defs": {"a": {"properties": {"b": {}}}}}`, ""},
		{
			"a tree", `{"type": "object", "properties": {"children": {"items": {"$ref": "#"}}}, "required": ["child"]}`,
			"/required/0",
		},
	} {
		if got := vetted(t, test.schema); got != test.pointer {
			t.Errorf("%s: the fault is at %q, want %q", test.name, got, test.pointer)
		}
	}
}

// vetted returns where Vet finds a fault, or "".
func vetted(t *testing.T, schema string) string {
	t.Helper()
	err := dataschema.Vet(schema)
	if err == nil {
		return ""
	}
	fault, is := errors.AsType[*dataschema.SchemaError](err)
	if !is {
		t.Fatalf("Vet(%s) = %v, want a *SchemaError", schema, err)
	}
	return fault.Pointer
}

func patternSchema(t *testing.T, pattern string) string {
	t.Helper()
	quoted, err := json.Marshal(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return object(`"player": {"type": "string", "pattern": ` + string(quoted) + `}`)
}

func TestVet_PatternThatCouldFreezeTheShopPage_IsRefused(t *testing.T) {
	for _, pattern := range []string{
		`^(a+)+$`, `(a|a)*`, `(a*)*`, `(.*a){20}`, `(a?){30}`, `^(a|ab)*(bc|c)*$`, `(a|[ab])+$`, `(?:a|a)*b`, `(\d+)*x`,
		`^(\w+\s?)*$`, `([a-z]+)*`, `(?:x+x+)+y`, `((a|b)|(a|c))*`, `^(?P<name>a|a)+$`, `(\)|\))*`, `([|]|[|])*`,
		`(\w*-?)*`, `.*.*.*.*b`, `a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?b`, `(a{1,9}){1,9}b`, `(ab|ab)*`, `(é|é)*`,
		`(|a)+b`, `(?i:a|A)*`, `^x(|){30}$`, `x(a?|b?){30}`,
	} {
		if got := vetted(t, patternSchema(t, pattern)); got != "/properties/player/pattern" {
			t.Errorf("%s: the fault is at %q", pattern, got)
		}
	}
}

func TestVet_OrdinaryPatterns_AreAccepted(t *testing.T) {
	for _, pattern := range []string{
		`^[A-Za-z0-9_]{3,16}$`,                     // Minecraft
		`^\.?[A-Za-z0-9_]{2,16}$`,                  // Minecraft with Bedrock's prefix
		`^.{2,32}#[0-9]{4}$`, `^[a-z0-9._]{2,32}$`, // Discord, once and now
		`^STEAM_[0-5]:[01]:\d+$`, `^7656119\d{10}$`, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
		`^[^@\s]+@[^@\s]+\.[^@\s]+$`, `^[\w.+-]+@([\w-]+\.)+[A-Za-z]{2,}$`, `^[a-z0-9]+(-[a-z0-9]+)*$`,
		`^\p{L}+([ '-]\p{L}+)*$`, `^\+?[0-9]+( [0-9]+)*$`, `^(\d{1,3}\.){3}\d{1,3}$`,
		`^((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)$`, `^#([0-9a-f]{3}){1,2}$`, `^-?\d+(,-?\d+){2}$`,
		`^https://[^/]+/.*$`, `^(survival|creative|skyblock)$`, `^\d{4}-\d{2}-\d{2}$`, `^\s*.+\s*$`, `^(S|M|L|X{1,3}L)$`,
		`^[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}$`, `^([A-Z]{2} )?\d{5}$`, `\S`, ``, `^[^\x00-\x1f|]*$`,
	} {
		if got := vetted(t, patternSchema(t, pattern)); got != "" {
			t.Errorf("%s is refused at %s", pattern, got)
		}
	}
}
