package pages

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestFormInWords(t *testing.T) {
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
	} {
		var s schema
		if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var words strings.Builder
		for _, p := range s.form() {
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
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestConditionsInWords(t *testing.T) {
	for text, want := range map[string]int{
		`{"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}, "then": {"required": ["variant"]}}]}`: 1,
		`{"allOf": [{"$ref": "#/components/schemas/Problem"}]}`:                                                  0,
		`{"allOf": [{"if": {"properties": {"kind": {"type": "string"}}}, "then": {"required": ["variant"]}}]}`:   -1,
		`{"allOf": [{"if": {"required": ["kind"]}, "then": {"required": ["variant"]}}]}`:                         -1,
		`{"allOf": [{"if": {"properties": {"kind": {"const": "product"}}}}]}`:                                    -1,
		`{"allOf": [{"properties": {"kind": {"const": "product"}}}]}`:                                            -1,
	} {
		var s schema
		if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		found, err := s.conditions()
		if (err != nil) != (want < 0) || err == nil && len(found) != want {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

func TestWhatWouldNotBeShownIsAnError(t *testing.T) {
	for text, want := range map[string]struct{ component, inPlace bool }{
		`{"$ref": "#/components/schemas/Money"}`:                                              {true, true},
		`{"oneOf": [{"$ref": "#/components/schemas/Redemption"}, {"type": "null"}]}`:          {true, true},
		`{"properties": {"customer": {"properties": {"id": {"type": "string"}}}}}`:            {true, false},
		`{"type": "array", "items": {"properties": {"id": {"type": "string"}}}}`:              {true, false},
		`{"allOf": [{"$ref": "#/components/schemas/Problem"}]}`:                               {true, false},
		`{"oneOf": [{"properties": {"id": {"type": "string"}}}, {"type": "null"}]}`:           {false, false},
		`{"properties": {"price": {"allOf": [{"$ref": "#/components/schemas/Money"}]}}}`:      {false, false},
		`{"if": {"required": ["nick"]}, "then": {"required": ["code"]}}`:                      {false, false},
		`{"properties": {"price": {"if": {"required": ["a"]}, "then": {"required": ["b"]}}}}`: {false, false},
		`{"items": {"oneOf": [{"allOf": []}, {"then": {"required": ["code"]}}]}}`:             {false, false},
	} {
		var s schema
		if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		if component, inPlace := s.check(true), s.checkInPlace(); (component == nil) != want.component || (inPlace == nil) != want.inPlace {
			t.Errorf("%s: as a component %v, in its place %v", text, component, inPlace)
		}
	}
}
