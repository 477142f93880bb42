package pages

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestSchema_Form_IsInWords(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                    "",
		`{"type": "string"}`:                    "string",
		`{"type": ["string", "null"]}`:          "string or null",
		`{"$ref": "#/components/schemas/Time"}`: "[Time]",
		`{"type": "array", "maxItems": 200, "items": {"$ref": "#/components/schemas/Product"}}`: "array of [Product], at most 200 items",
		`{"type": "array", "minItems": 1, "items": {"type": "string"}}`:                         "array of string, at least 1 item",
		`{"oneOf": [{"$ref": "#/components/schemas/Redemption"}, {"type": "null"}]}`:            "[Redemption] or null",
		`{"type": "integer", "minimum": 1, "maximum": 100}`:                                     "integer, 1 to 100",
		`{"type": "integer", "minimum": 0, "default": 0}`:                                       "integer, at least 0, default '0'",
		`{"type": "string", "minLength": 1}`:                                                    "string, at least 1 character",
		`{"type": "string", "minLength": 1, "maxLength": 80}`:                                   "string, 1 to 80 characters",
		`{"type": "string", "minLength": 3, "maxLength": 3}`:                                    "string, 3 characters",
		`{"type": "string", "format": "date-time", "pattern": "^[A-Z]{3}$"}`:                    "string, date-time, matches '^[A-Z]{3}$'",
		`{"type": "string", "const": "open"}`:                                                   "string, always 'open'",
		`{"enum": ["percent_off", 20, null]}`:                                                   "one of 'percent_off', '20', 'null'",
		`{"type": "string", "x-extensible-enum": ["product", "percent_off"]}`:                   "string, such as 'product', 'percent_off'",
		`{"type": "string", "examples": ["4.99 EUR", "500 JPY"]}`:                               "string, for example '4.99 EUR', '500 JPY'",
		`{"type": "object", "additionalProperties": false}`:                                     "object, no other members",
		`{"type": "object", "additionalProperties": true}`:                                      "object",
		`{"allOf": [{"$ref": "#/components/schemas/Problem"}]}`:                                 "also a [Problem]",
	} {
		var s schema
		if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var words strings.Builder
		for _, p := range s.Form() {
			switch {
			case p.Schema != "":
				words.WriteString("[" + p.Schema + "]")
			case p.Literal != "":
				words.WriteString("'" + p.Literal + "'")
			default:
				words.WriteString(p.Text)
			}
		}
		if got := words.String(); got != want {
			t.Errorf("%s is described as %s, want %s", text, got, want)
		}
	}
}

// The page shows the members and conditions of every schema, at any depth. If it cannot show something, rendering
// fails.
func TestSchema_MembersAndConditions_AreShownOrAnError(t *testing.T) {
	layout, err := parseTemplates()
	if err != nil {
		t.Fatal(err)
	}
	const fails = "fails"
	for text, want := range map[string]string{
		`{"$ref": "#/components/schemas/Money"}`:                                     "",
		`{"oneOf": [{"$ref": "#/components/schemas/Redemption"}, {"type": "null"}]}`: "",
		`{"properties": {"customer": {"properties": {"id": {"type": "string"}}}}}`: "customer optional: id " +
			"optional: string",
		`{"type": "array", "items": {"properties": {"id": {"type": "string"}}}}`:    "id optional: string",
		`{"oneOf": [{"properties": {"id": {"type": "string"}}}, {"type": "null"}]}`: "id optional: string",
		`{"required": ["id"], "properties": {"id": {"type": "string"}}}`:            "id required: string",
		`{"properties": {"id": {"deprecated": true, "x-sunset": "2028-03-01"}}}`: "id optional, " +
			"deprecated, may be removed from 2028-03-01 on:",
		`{"allOf": [{"$ref": "#/components/schemas/Problem"}]}`:                          "",
		`{"properties": {"price": {"allOf": [{"$ref": "#/components/schemas/Money"}]}}}`: "price optional: also a Money",
		`{"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}, "then": {"required": ["variant"]}}]}`: "" +
			"If kind is product: variant is required.",
		`{"properties": {"reward": {"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}, "then": ` +
			`{"required": ["a", "b"]}}]}}}`: "" +
			"reward optional: If kind is product: a, b are required.",
		`{"allOf": [{"if": {"properties": {"type": {"pattern": "^order"}}}, "then": {"properties": {"data": ` +
			`{"$ref": "#/components/schemas/Order"}}}}]}`: "" +
			"If type matches ^order: data has the schema Order .",
		`{"allOf": [{"if": {"properties": {"kind": {"type": "string"}}}, "then": {"required": ["variant"]}}]}`: fails,
		`{"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}, "then": {"properties": {"amount": ` +
			`{"minimum": 1}}}}]}`: fails,
		`{"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}, "then": {"required": ["a"], ` +
			`"properties": {"b": {"$ref": "c"}}}}]}`: fails,
		`{"allOf": [{"if": {"required": ["kind"]}, "then": {"required": ["variant"]}}]}`:      fails,
		`{"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}}]}`:                 fails,
		`{"allOf": [{"properties": {"kind": {"const": "product"}}}]}`:                         fails,
		`{"if": {"required": ["nick"]}, "then": {"required": ["code"]}}`:                      fails,
		`{"properties": {"price": {"if": {"required": ["a"]}, "then": {"required": ["b"]}}}}`: fails,
		`{"items": {"oneOf": [{"type": "null"}, {"then": {"required": ["code"]}}]}}`:          fails,
	} {
		var s schema
		if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		shown, err := execute(layout, "nested", s)
		words := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(shown), " ")), " ")
		words = strings.NewReplacer(" :", ":", " ,", ",").Replace(words)
		if (err != nil) != (want == fails) || err == nil && words != want {
			t.Errorf("%s is shown as %q, %v, want %q", text, words, err, want)
		}
	}
}
