package dataschema_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
)

// patience is far longer than bounded work takes, even on a busy machine under the race detector. Work without a bound
// takes hours.
const patience = 3 * time.Minute

// rank is the schema of a rank in a game: who gets it, and on which server.
const rank = `{
	"type": "object",
	"required": ["player", "server"],
	"properties": {
		"player": {"type": "string", "pattern": "^[A-Za-z0-9_]{3,16}$"},
		"server": {"enum": ["survival", "creative"]},
		"gift": {"type": "boolean"}
	},
	"additionalProperties": false
}`

func TestCheck(t *testing.T) {
	for _, test := range []struct{ name, schema, data, pointer, reason string }{
		{"valid", rank, `{"player": "Kestrel_9", "server": "survival"}`, "", ""},
		{
			"valid with white space around", rank, " {\n\t\"player\": \"Kestrel_9\", \"server\": \"survival\"} \n", "",
			"",
		},
		{"missing", rank, `{"server": "survival"}`, "/player", "is required"},
		{"several missing: the first by name", rank, `{}`, "/player", "is required"},
		{
			"pattern", rank, `{"player": "x", "server": "survival"}`, "/player",
			"must match the pattern ^[A-Za-z0-9_]{3,16}$",
		},
		{"type", rank, `{"player": 9, "server": "survival"}`, "/player", "must be a string"},
		{"null is a value", rank, `{"player": null, "server": "survival"}`, "/player", "must be a string"},
		{"enum", rank, `{"player": "Kestrel_9", "server": "pvp"}`, "/server", `must be one of "survival","creative"`},
		{
			"names are case-sensitive", rank, `{"player": "Kestrel_9", "server": "survival", "Gift": true}`, "/Gift",
			"is not allowed",
		},
		{
			"several faults: the first place", rank, `{"zone": 1, "player": "x", "gift": "yes"}`, "/gift",
			"must be a boolean",
		},
		{"not an object", rank, `["Kestrel_9"]`, "", "must be an object"},

		{"empty", rank, ``, "", "is not valid JSON"},
		{"only space", rank, ` `, "", "is not valid JSON"},
		{"cut off", rank, `{"player": "Kes`, "/player", "is not valid JSON"},
		{"trailing data", rank, `{"player": "Kestrel_9", "server": "survival"} {}`, "", "is not valid JSON"},
		{"trailing comma", rank, `{"player": "Kestrel_9",}`, "", "is not valid JSON"},
		{"comment", rank, `{} // none`, "", "is not valid JSON"},
		{"name without quotes", rank, `{player: "Kestrel_9"}`, "", "is not valid JSON"},
		{"duplicate name", rank, `{"player": "Kestrel_9", "player": "Heron"}`, "/player", "appears twice"},
		{
			"duplicate name, escaped", rank, `{"player": "Kestrel_9", "pl\u0061yer": "Heron"}`, "/player",
			"appears twice",
		},
		{"invalid UTF-8", rank, "{\"player\": \"Kestrel\xff\"}", "/player", "is not valid JSON"},
		{"lone surrogate", rank, `{"player": "\ud800"}`, "/player", "is not valid JSON"},
		{"byte order mark", rank, "\ufeff{}", "", "is not valid JSON"},
		{"NaN", rank, `{"player": NaN}`, "/player", "is not valid JSON"},
		{"nested as deep as allowed", `{"type": "object"}`, nested(dataschema.MaxDataDepth), "", ""},
		{
			"nested too deep", `{"type": "object"}`, nested(dataschema.MaxDataDepth + 1),
			strings.Repeat("/a", dataschema.MaxDataDepth), "is nested deeper than 16 levels",
		},
		{
			"nested absurdly deep", `{"type": "object"}`, `{"a":` + strings.Repeat("[", 1_000_000),
			"/a" + strings.Repeat("/0", 15), "is nested deeper than 16 levels",
		},

		{"pointer is escaped", object(`"a/b~c": {"type": "string"}`), `{"a/b~c": 1}`, "/a~1b~0c", "must be a string"},
		{
			"item of an array", object(`"sizes": {"items": {"enum": ["S", "M"]}}`), `{"sizes": ["S", "XL"]}`,
			"/sizes/1",
			`must be one of "S","M"`,
		},
		{
			"items in the order of their numbers", object(`"n": {"items": {"const": 1}}`),
			`{"n": [1,1,2,1,1,1,1,1,1,1,2]}`, "/n/2", "must be 1",
		},
		{"least items", object(`"n": {"minItems": 1}`), `{"n": []}`, "/n", "must have at least 1 item"},
		{"most items", object(`"n": {"maxItems": 2}`), `{"n": [1,2,3]}`, "/n", "must have at most 2 items"},
		{"repeated items", object(`"n": {"uniqueItems": true}`), `{"n": [1, 2, 1.0]}`, "/n", "must not repeat an item"},
		{
			"repeated items among many", object(`"n": {"uniqueItems": true}`),
			`{"n": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,10e0]}`, "/n", "must not repeat an item",
		},
		{
			"contains", object(`"n": {"contains": {"const": 7}}`), `{"n": [1]}`, "/n",
			"must have an item of the required form",
		},
		{"least members", `{"type": "object", "minProperties": 1}`, `{}`, "", "must have at least 1 member"},
		{"most members", `{"type": "object", "maxProperties": 1}`, `{"a":1,"b":2}`, "", "must have at most 1 member"},
		{
			"least length counts characters", object(`"a": {"minLength": 3}`), `{"a": "äß"}`, "/a",
			"must have at least 3 characters",
		},
		{"most length counts characters", object(`"a": {"maxLength": 3}`), `{"a": "äß𝄞"}`, "", ""},
		{
			"a long pattern is not quoted", object(`"a": {"pattern": "^(` + strings.Repeat("ab", 60) + `)$"}`),
			`{"a": "c"}`, "/a", "must match the required pattern",
		},
		{"several types", object(`"a": {"type": ["string", "null"]}`), `{"a": 1}`, "/a", "must be null or a string"},
		{"forbidden", object(`"a": false`), `{"a": 1}`, "/a", "is not allowed"},
		{"not", object(`"a": {"not": {"const": "admin"}}`), `{"a": "admin"}`, "/a", "has a form that is not allowed"},
		{
			"any of, short", object(`"a": {"anyOf": [{"type": "integer"}, {"const": "max"}]}`), `{"a": true}`, "/a",
			`must be an integer or must be "max"`,
		},
		{
			"any of, long", object(`"a": {"anyOf": [{"required": ["b"]}, {"required": ["c"]}]}`), `{"a": {}}`, "/a",
			"matches none of the allowed forms",
		},
		{
			"one of, none", object(`"a": {"oneOf": [{"minimum": 10}, {"type": "string"}]}`), `{"a": 1}`, "/a",
			"matches none of the allowed forms",
		},
		{
			"one of, several", object(`"a": {"oneOf": [{"minimum": 10}, {"type": "integer"}]}`), `{"a": 11}`, "/a",
			"matches several forms, and must match exactly one",
		},
		{
			"dependent required", `{"type": "object", "dependentRequired": {"gift": ["to"]}}`, `{"gift": true}`, "/to",
			`is required together with "gift"`,
		},
		{
			"if and then", `{"type": "object", "if": {"required": ["gift"]}, "then": {"required": ["to"]}}`,
			`{"gift": 1}`,
			"/to", "is required",
		},
		{
			"names of members", `{"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}`, `{"a": 1, "B": 2}`,
			"/B",
			"has a name that must match the pattern ^[a-z]+$",
		},
		{"reference", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": ` +
			`"string"}}}`, `{"a": 1}`, "/a", "must be a string"},
		{
			"a tree refers to itself", tree, `{"children": [{"children": [{"children": [7]}]}]}`,
			"/children/0/children/0/children/0", "must be an object",
		},
		{
			"a format is an annotation", object(`"mail": {"type": "string", "format": "email"}`), `{"mail": "none"}`,
			"",
			"",
		},
		{
			"an encoding is an annotation",
			object(`"a": {"contentEncoding": "base64", "contentMediaType": "application/json"}`), `{"a": "%%%"}`, "",
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			schema, err := dataschema.Compile(test.schema)
			if err != nil {
				t.Fatal(err)
			}
			want := checkout.ParameterError{}
			if test.reason != "" {
				want = checkout.ParameterError{
					Parameter: checkout.ParameterData, Pointer: test.pointer,
					Reason: test.reason,
				}
			}
			// Check several times, because the validator visits members in random order.
			for range 5 {
				got := checkout.ParameterError{}
				if err := schema.Check(test.data); err != nil {
					got = faultOf(t, err)
				}
				if got != want {
					t.Fatalf("%.200s gives %#v, want %#v", test.data, got, want)
				}
			}
		})
	}
}

func faultOf(t *testing.T, err error) checkout.ParameterError {
	t.Helper()
	fault, ok := errors.AsType[*checkout.ParameterError](err)
	if !ok {
		t.Fatalf("got %v, want a *checkout.ParameterError", err)
	}
	return *fault
}

const tree = `{"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}`

func object(properties string) string {
	return `{"type": "object", "properties": {` + properties + `}}`
}

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth-1) + `{}` + strings.Repeat(`}`, depth-1)
}

func TestCheck_Numbers_AreComparedExactly(t *testing.T) {
	for _, test := range []struct {
		schema, number string
		valid          bool
	}{
		{`{"const": 9007199254740993}`, "9007199254740993", true},
		{`{"const": 9007199254740993}`, "9007199254740992", false},
		{`{"const": 9007199254740992}`, "9007199254740993", false},
		{`{"enum": [9007199254740993]}`, "9007199254740992", false},
		{`{"maximum": 9007199254740992}`, "9007199254740993", false},
		{`{"exclusiveMinimum": 9007199254740992}`, "9007199254740993", true},
		{`{"const": 0.1}`, "0.1000000000000000055511151231257827", false},
		{`{"const": 100}`, "1e2", true},
		{`{"const": 1}`, "1.000", true},
		{`{"const": 0}`, "-0", true},
		{`{"const": 0}`, "0.00e7", true},
		{`{"const": -0.0120}`, "-12e-3", true},
		{`{"const": -0.0120}`, "12e-3", false},
		{`{"const": 120}`, "0.0012E+5", true},
		{`{"const": 1205}`, "12050.0e-1", true},
		{`{"const": 1205}`, "1205e1", false},
		{`{"const": "12e1"}`, "120", false},
		{`{"multipleOf": 0.01}`, "4.99", true},
		{`{"multipleOf": 0.01}`, "4.995", false},
		{`{"multipleOf": 3}`, "300000000000000000000000000000000000003", true},
		{`{"multipleOf": 3}`, "300000000000000000000000000000000000004", false},
		{`{"type": "integer"}`, "1e400", true},
		{`{"type": "integer"}`, "1e-400", false},
		{`{"type": "integer"}`, "5.0", true},
		{`{"minimum": 1e400}`, "1e399", false},
		{`{"type": "number"}`, "1e999", true},
		{`{"type": "number"}`, "1e0000000000000000000007", true},
	} {
		schema, err := dataschema.Compile(object(`"n": ` + test.schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Check(`{"n": ` + test.number + `}`); (err == nil) != test.valid {
			t.Errorf("%s under %s: %v, want valid %t", test.number, test.schema, err, test.valid)
		}
	}
}

func TestCheck_HugeNumbers_AreRejectedAtOnce(t *testing.T) {
	schema, err := dataschema.Compile(object(`"n": {"type": "integer", "multipleOf": 7, "minimum": 3}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{
		"1e1000", "1E+1000000000", "1e-1000000000", "-1.5e999999999999999999999",
		"0e1000000000",
	} {
		start := time.Now()
		err := schema.Check(`{"n": ` + number + `}`)
		var fault *checkout.ParameterError
		if !errors.As(err, &fault) || fault.Pointer != "/n" || fault.Reason != "is a number out of range" {
			t.Errorf("%s: Check = %v, want a number out of range", number, err)
		}
		if took := time.Since(start); took > patience {
			t.Errorf("Check of %s took %s", number, took)
		}
		if _, err := dataschema.Compile(object(`"n": {"maximum": ` + number + `}`)); err == nil {
			t.Errorf("a schema with %s is accepted", number)
		}
	}
}

// Anybody can send 338 numbers of a thousand digits in 2 KiB.
func TestCheck_HugeNumbersAndManySchemas_TakeLittleMemory(t *testing.T) {
	const most = 300 << 20 // bytes; each of 400 schemas may take 2 KB for each number
	data := `{"a": [` + strings.TrimSuffix(strings.Repeat("1e999,", 338), ",") + `]}`
	for name, schema := range map[string]string{
		"values of the list": `"allOf": [` + many(`{"enum": [%d]}`, 400) + `]`,
		"values of an item":  `"items": {"allOf": [` + many(`{"const": %d}`, 400) + `]}`,
		"bounds":             `"items": {"allOf": [` + many(`{"minimum": %d}`, 400) + `]}`,
		"multiples":          `"items": {"allOf": [` + many(`{"multipleOf": 1%d}`, 300) + `]}`,
		"unique items":       `"allOf": [` + many(`{"uniqueItems": true, "minItems": %d}`, 200) + `]`,
	} {
		schema, err := dataschema.Compile(object(`"a": {` + schema + `}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = schema.Check(data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s: Check took %d MB, want at most %d", name, took>>20, most>>20)
		}
	}
}

func TestCompile(t *testing.T) {
	const (
		noKeyword = "is not a keyword of data schemas: correct its name, or begin it with x-"
		noType    = "must be one of null, boolean, number, integer, string, array, object, or a list of them"
	)
	for _, test := range []struct{ name, schema, pointer, reason string }{
		{"empty", ``, "", "is not valid JSON"},
		{"not JSON", `type: object`, "", "is not valid JSON"},
		{"trailing data", `{"type": "object"}}`, "", "is not valid JSON"},
		{
			"duplicate name", `{"type": "object", "properties": {"a": true, "a": false}}`, "/properties/a",
			"appears twice",
		},
		{"boolean", `true`, "", "must be an object"},
		{"no type", `{}`, "/type", `must be "object"`},
		{"other type", `{"type": "string"}`, "/type", `must be "object"`},
		{"more types", `{"type": ["object", "null"]}`, "/type", `must be "object"`},
		{
			"too long", `{"type": "object", "$comment": "` + strings.Repeat("x", catalog.MaxDataSchemaBytes) + `"}`, "",
			"has 8226 bytes, and at most 8192 are allowed",
		},
		{"too deep", nested(65), strings.Repeat("/a", 64), "is nested deeper than 64 levels"},

		{"unknown type", object(`"a": {"type": "text"}`), "/properties/a/type", noType},
		{
			"keyword of the wrong type", object(`"a": {"minLength": "3"}`), "/properties/a/minLength",
			"must be an integer",
		},
		{"negative length", object(`"a": {"minLength": -3}`), "/properties/a/minLength", "must be at least 0"},
		{
			"length out of range", object(`"a": {"minLength": 18446744073709551617}`), "/properties/a/minLength",
			"is a number out of range",
		},
		{"required is not a list", `{"type": "object", "required": "player"}`, "/required", "must be an array"},
		{"property is not a schema", object(`"a": "string"`), "/properties/a", "must be a boolean or an object"},
		{
			"unused definition", `{"type": "object", "$defs": {"a": {"minLength": 1.5}}}`, "/$defs/a/minLength",
			"must be an integer",
		},
		{"no types", object(`"a": {"type": []}`), "/properties/a/type", noType},
		{"same type twice", object(`"a": {"type": ["null", "null"]}`), "/properties/a/type/1", "appears twice"},
		{"no forms", object(`"a": {"anyOf": []}`), "/properties/a/anyOf", "must have at least 1 item"},
		{"multiple of nothing", object(`"a": {"multipleOf": 0}`), "/properties/a/multipleOf", "must be more than 0"},
		{"null", `{"type": "object", "properties": null}`, "/properties", "must be an object"},
		{"misspelt keyword", `{"type": "object", "requird": ["player"]}`, "/requird", noKeyword},
		{"keyword in other case", object(`"a": {"minlength": 3}`), "/properties/a/minlength", noKeyword},
		{"keyword that only other validators know", object(`"a": {"$anchor": "n"}`), "/properties/a/$anchor", noKeyword},
		{
			"schema in a list", object(`"a": {"items": [{"type": "text"}]}`), "/properties/a/items",
			"must be a boolean or an object",
		},
		{
			"malformed pattern", object(`"a": {"pattern": "("}`), "/properties/a/pattern",
			"is not a valid pattern: error parsing regexp: missing closing ): `(`",
		},
		{
			"look-ahead", object(`"a": {"pattern": "(?=b)"}`), "/properties/a/pattern",
			"is not a valid pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		},
		{
			"enormous pattern", object(`"a": {"pattern": "((a|bc|c){100}){9}"}`), "/properties/a/pattern",
			"is not a valid pattern: its repetitions take 7090 steps per character, and at most 4096 are allowed",
		},
		{
			"enormous pattern for names",
			`{"type": "object", "patternProperties": {"x{999}y{999}z{999}u{999}v{999}": true}}`,
			"/patternProperties/x{999}y{999}z{999}u{999}v{999}",
			"is not a valid pattern: its repetitions take 10001 steps per character, and at most 4096 are allowed",
		},

		{
			"other dialect", `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}`, "/$schema",
			"must be https://json-schema.org/draft/2020-12/schema at the top of the schema, or be left out",
		},
		{
			"dialect from elsewhere", `{"$schema": "https://emberforge.example/meta", "type": "object"}`, "/$schema",
			"must be https://json-schema.org/draft/2020-12/schema at the top of the schema, or be left out",
		},
		{
			"dialect below the top", object(`"a": {"$schema": "https://json-schema.org/draft/2020-12/schema"}`),
			"/properties/a/$schema", "must be https://json-schema.org/draft/2020-12/schema at the top of the " +
				"schema, or be left out",
		},
		{
			"own address", `{"$id": "https://emberforge.example/rank", "type": "object"}`, "/$id",
			"must be left out: the schema must be self-contained",
		},
		{
			"reference to the web", object(`"a": {"$ref": "https://emberforge.example/player.json"}`),
			"/properties/a/$ref", "must stay inside the schema: it begins with #",
		},
		{
			"reference to a file", object(`"a": {"$ref": "file:///etc/passwd"}`), "/properties/a/$ref",
			"must stay inside the schema: it begins with #",
		},
		{
			"relative reference", object(`"a": {"$ref": "data#/type"}`), "/properties/a/$ref",
			"must stay inside the schema: it begins with #",
		},
		{
			"reference to a missing definition", object(`"a": {"$ref": "#/$defs/none"}`), "/properties/a/$ref",
			"refers to #/$defs/none, where there is no schema",
		},
		{
			"reference to something else", object(`"a": {"$ref": "#/type"}`), "/properties/a/$ref",
			"refers to #/type, where there is no schema",
		},

		{"refers to itself", `{"type": "object", "$ref": "#"}`, "", "refers to itself without end"},
		{
			"refers to itself through others",
			`{"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": ` +
				`{"not": {"$ref": "#/$defs/a"}}}}`, "/$defs/a", "refers to itself without end",
		},
		{
			"references that multiply", doubling(40), "",
			"is too complex: with its references followed, it has more than 500 schemas",
		},
		{
			"tree whose references multiply",
			`{"type": "object", "anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}`,
			"", "is too complex: with its references followed, it has more than 500 schemas",
		},
		{
			"patterns that multiply", object(many(`"p%d": {"pattern": "^\\w{1,999}$"}`, 12)), "",
			"is too complex: its patterns take more than 10000 steps per character",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			_, err := dataschema.Compile(test.schema)
			var fault *dataschema.SchemaError
			if !errors.As(err, &fault) || fault.Pointer != test.pointer || fault.Reason != test.reason {
				t.Errorf("%.200s gives %#v, want %q %q", test.schema, err, test.pointer, test.reason)
			}
			if took := time.Since(start); took > patience {
				t.Errorf("rejecting the schema took %s", took)
			}
		})
	}
}

// doubling returns a schema with n definitions. Each of them applies the next one twice.
func doubling(n int) string {
	var defs strings.Builder
	for i := range n {
		fmt.Fprintf(&defs, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"type": "object", "$ref": "#/$defs/d0", "$defs": {%s "d%d": true}}`, defs.String(), n)
}

func many(format string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ", ")
}

func TestCompile_ValidSchemas_AreAccepted(t *testing.T) {
	for name, schema := range map[string]string{
		"any object":            `{"type": "object"}`,
		"with its dialect":      `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}`,
		"a rank":                rank,
		"a tree":                tree,
		"a property named $ref": object(`"$ref": {"type": "string"}, "$id": {"type": "string"}`),
		"unknown keywords":      object(`"a": {"x-label": "Player"}`),
		"as long as allowed": `{"type": "object", "$comment": "` +
			strings.Repeat("x", catalog.MaxDataSchemaBytes-34) + `"}`,
		"many simple properties": object(many(`"p%d": {"type": "string", "maxLength": 20}`, 150)),
	} {
		if _, err := dataschema.Compile(schema); err != nil {
			t.Errorf("%s: Compile = %v", name, err)
		}
	}
}

func TestCheck_WorstSchemaAndData_AreQuick(t *testing.T) {
	data := `{"a": [` + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + `]}`
	long := `{"a": "` + strings.Repeat("a", 200) + `!"}`
	for _, test := range []struct{ name, schema, data string }{
		{
			"each of many items meets many schemas",
			object(`"a": {"items": {"anyOf": [` + many(`{"const":2%d}`, 490) + `]}}`), data,
		},
		{
			"each of many items fails many schemas",
			object(`"a": {"items": {"allOf": [` + many(`{"const":2%d}`, 490) + `]}}`), data,
		},
		{"many items must be unique", object(`"a": {"uniqueItems": true}`), data},
		{"patterns try every start", object(`"a": {"pattern": "(a?){250}b", "allOf": [` +
			many(`{"pattern": "(a?){25%d}b"}`, 8) + `]}`), long},
	} {
		t.Run(test.name, func(t *testing.T) {
			schema, err := dataschema.Compile(test.schema)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_ = schema.Check(test.data)
			if took := time.Since(start); took > patience {
				t.Errorf("Check took %s, want at most %s", took, patience)
			}
		})
	}
}
