//go:build browser

package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// forms is a catalogue with a variant for each schema, and a variant without a schema. A product has at most 50
// variants.
func forms(schemas []string) string {
	var catalogue strings.Builder
	catalogue.WriteString("customers:\n- {id: CUSTOMER, name: Alder Forms, currency: EUR, products: [\n" +
		"{id: form, name: Form, variants: [{id: plain, name: Form plain, price: 1.00, amount: {min: 2, max: 5}}]}")
	for i, schema := range schemas {
		if i%50 == 0 {
			fmt.Fprintf(&catalogue, ",\n{id: form-%d, name: Form, variants: [\n", i)
		}
		fmt.Fprintf(&catalogue, "{id: v%d, name: %q, price: 1.00, data: %s}", i, formName(i), schema)
		if i%50 == 49 || i == len(schemas)-1 {
			catalogue.WriteString("]}")
		} else {
			catalogue.WriteString(",\n")
		}
	}
	catalogue.WriteString("]}\n")
	return catalogue.String()
}

func formName(i int) string { return fmt.Sprintf("Form %d!", i) }

// member returns a schema of an object with one optional member.
func member(name, schema string) string {
	return `{"type": "object", "properties": {"` + name + `": ` + schema + `}}`
}

// required returns a schema of an object with one required member.
func required(name, schema string) string {
	return `{"type": "object", "required": ["` + name + `"], "properties": {"` + name + `": ` + schema + `}}`
}

// enter fills the field for a JSON Pointer with a value. Depending on the field, it types the value, chooses the option
// with that text, or ticks the box with that label. It ticks a single box whatever the value is.
func (b *tab) enter(pointer, value string) {
	b.t.Helper()
	selector := "[data-pointer=" + quote(pointer) + "]"
	b.wait(selector)
	switch evaluate[string](b, find(selector)+".type") {
	case "select-one":
		b.choose(selector, value)
	case "checkbox":
		b.click(selector)
	case "fieldset":
		b.click(selector + " label | " + value)
	default:
		b.fill(selector, value)
	}
}

// sentData returns the data of the last request for a checkout, and how many such requests the page has sent.
func (b *tab) sentData() (data string, requests int) {
	b.t.Helper()
	sent := b.requests(`GET .*/checkout/form`)
	if len(sent) == 0 {
		return "", 0
	}
	address, err := url.Parse(sent[len(sent)-1].URL)
	if err != nil {
		b.t.Fatal(err)
	}
	return address.Query().Get("data"), len(sent)
}

// formCases are schemas, each with what the shopper enters into its form, the message that the form then shows, and the
// data that the page sends. messageAt is the JSON Pointer of the field that shows the message. If it is empty, the
// message is below the form. If a case has both a message and data, the service rejects the data.
var formCases = []struct { //nolint:gochecknoglobals // a table
	name, schema       string
	enter              []string // JSON Pointers, each followed by a value
	messageAt, message string
	data               string
}{
	{
		"text", member("player", `{"type": "string"}`),
		[]string{"/player", ` Alder "é" & 木 `},
		"", "",
		`{"player":" Alder \"é\" & 木 "}`,
	},
	{"nothing", member("player", `{"type": "string"}`), nil, "", "", `{}`},
	{"required text, left empty", required("player", `{"type": "string"}`), nil, "/player", "Please fill this in.", ""},
	{
		"text too short", member("player", `{"type": "string", "minLength": 3}`),
		[]string{"/player", "Al"},
		"/player",
		"At least 3 characters", "",
	},
	{
		"one character in two UTF-16 units, too short", member("x", `{"type": "string", "minLength": 2}`),
		[]string{"/x", "🦊"},
		"/x", "At least 2 characters", "",
	},
	{
		"three characters in six UTF-16 units", member("x", `{"type": "string", "maxLength": 3}`),
		[]string{"/x", "🦊🦊🦊"},
		"", "", `{"x":"🦊🦊🦊"}`,
	},
	{
		"text too long", member("x", `{"type": "string", "maxLength": 3}`),
		[]string{"/x", "abcd"},
		"/x",
		"At most 3 characters", "",
	},
	{
		"text that does not match the pattern", member("x", `{"type": "string", "pattern": "^[A-Z]+$"}`),
		[]string{"/x", "abc"},
		"/x", "expected format", "",
	},
	{
		"text that matches the pattern", member("x", `{"type": "string", "pattern": "^[A-Z]+$"}`),
		[]string{"/x", "ABC"},
		"", "", `{"x":"ABC"}`,
	},
	{
		"text that matches a pattern with (?i)", member("x", `{"type": "string", "pattern": "(?i)^kestrel$"}`),
		[]string{"/x", "KESTREL"},
		"", "", `{"x":"KESTREL"}`,
	},
	{
		"text that does not match a pattern with (?i)", member("x", `{"type": "string", "pattern": "(?i)^kestrel$"}`),
		[]string{"/x", "Alder"},
		"/x", "does not accept", `{"x":"Alder"}`,
	},
	{
		`text that does not match a pattern with \z`, member("x", `{"type": "string", "pattern": "^[a-z]+\\z"}`),
		[]string{"/x", "Alder"},
		"/x", "does not accept", `{"x":"Alder"}`,
	},
	{"default", member("x", `{"type": "string", "default": "Birch"}`), nil, "", "", `{"x":"Birch"}`},
	{"default, emptied", member("x", `{"type": "string", "default": "Birch"}`), []string{"/x", ""}, "", "", `{}`},
	{
		"several lines", member("message", `{"type": "string", "maxLength": 280}`),
		[]string{"/message", "Dear Birch,\nenjoy!"},
		"", "", `{"message":"Dear Birch,\nenjoy!"}`,
	},

	{"number", member("x", `{"type": "number"}`), []string{"/x", "1.5"}, "", "", `{"x":1.5}`},
	{"number, left empty", member("x", `{"type": "number"}`), nil, "", "", `{}`},
	{"required number, left empty", required("x", `{"type": "number"}`), nil, "/x", "Please fill this in.", ""},
	{
		"number below the minimum", member("x", `{"type": "number", "minimum": 1.5}`),
		[]string{"/x", "1.2"},
		"/x",
		"At least 1.5", "",
	},
	{
		"number above the maximum", member("x", `{"type": "number", "maximum": 5}`),
		[]string{"/x", "5.1"},
		"/x",
		"At most 5", "",
	},
	{
		"number at an exclusive bound", member("x", `{"type": "number", "exclusiveMaximum": 2}`),
		[]string{"/x", "2"},
		"/x", "Less than 2", "",
	},
	{
		"number inside exclusive bounds",
		member("x", `{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2}`),
		[]string{"/x", "1.9"},
		"", "", `{"x":1.9}`,
	},
	{
		"integer at an exclusive bound", member("x", `{"type": "integer", "exclusiveMinimum": 0}`),
		[]string{"/x", "0"},
		"/x", "More than 0", "",
	},
	{
		"a fraction for an integer", member("x", `{"type": "integer", "minimum": 1}`),
		[]string{"/x", "1.5"},
		"/x",
		"whole number", "",
	},
	{"a letter for a number", required("x", `{"type": "number"}`), []string{"/x", "e"}, "/x", "enter a number", ""},
	{"integer", member("x", `{"type": "integer", "default": 7}`), nil, "", "", `{"x":7}`},
	{
		"multiple, with a minimum that is not a multiple",
		member("x", `{"type": "number", "multipleOf": 0.25, "minimum": 0.1}`),
		[]string{"/x", "0.75"},
		"", "",
		`{"x":0.75}`,
	},
	{
		"not a multiple", member("x", `{"type": "integer", "multipleOf": 5, "minimum": 1}`),
		[]string{"/x", "7"},
		"/x",
		"multiple of 5", "",
	},

	{"box not ticked", member("gift", `{"type": "boolean"}`), nil, "", "", `{}`},
	{"box ticked", member("gift", `{"type": "boolean"}`), []string{"/gift", ""}, "", "", `{"gift":true}`},
	{"required box not ticked", required("gift", `{"type": "boolean"}`), nil, "", "", `{"gift":false}`},
	{
		"box ticked by default, then unticked", member("gift", `{"type": "boolean", "default": true}`),
		[]string{"/gift", ""},
		"", "", `{"gift":false}`,
	},
	{
		"box that must be ticked", required("terms", `{"type": "boolean", "const": true}`), nil, "/terms",
		"Please fill this in.", "",
	},

	{
		"choice of texts", required("x", `{"enum": ["gold", "silver"]}`),
		[]string{"/x", "silver"},
		"", "",
		`{"x":"silver"}`,
	},
	{
		"choice of numbers", required("x", `{"type": "integer", "enum": [10, 20]}`),
		[]string{"/x", "20"},
		"", "",
		`{"x":20}`,
	},
	{"mixed choice", required("x", `{"enum": ["gold", 7, true, null]}`), []string{"/x", "null"}, "", "", `{"x":null}`},
	{"choice not made", required("x", `{"enum": ["gold", "silver"]}`), nil, "/x", "Please fill this in.", ""},
	{"optional choice not made", member("x", `{"enum": ["gold", "silver"]}`), nil, "", "", `{}`},
	{
		"choice with a default", member("x", `{"enum": ["gold", "silver"], "default": "silver"}`), nil, "", "",
		`{"x":"silver"}`,
	},
	{"constant", required("x", `{"const": "gold"}`), []string{"/x", "gold"}, "", "", `{"x":"gold"}`},

	{
		"several entries of a list", member("x", `{"type": "array", "items": {"enum": ["gold", "silver", 3]}}`),
		[]string{"/x", "gold", "/x", "3"},
		"", "", `{"x":["gold",3]}`,
	},
	{
		"too few entries of a list", member("x",
			`{"type": "array", "minItems": 2, "items": {"enum": ["gold", "silver"]}}`),
		[]string{"/x", "gold"},
		"/x",
		"At least 2 entries", "",
	},
	{
		"no entry of a required list", required("x", `{"type": "array", "items": {"enum": ["gold", "silver"]}}`), nil,
		"",
		"", `{"x":[]}`,
	},
	{
		"a list, one entry per line",
		`{"type": "object", "properties": {"x": {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": ` +
			`2}}, "$defs": {"line": {"type": "string", "minLength": 1, "maxLength": 12}}}`,
		[]string{"/x", " one wish \n\nanother"},
		"", "", `{"x":["one wish","another"]}`,
	},
	{
		"a line too long", `{"type": "object", "properties": {"x": {"type": "array", "items": {"$ref": ` +
			`"#/$defs/line"}}}, "$defs": {"line": {"type": "string", "maxLength": 5}}}`,
		[]string{"/x", "short\nlonger"},
		"/x", "At most 5 characters", "",
	},
	{
		"too many lines", member("x", `{"type": "array", "items": {"type": "string"}, "maxItems": 2}`),
		[]string{"/x", "a\nb\nc"},
		"/x", "At most 2 entries", "",
	},
	{
		"a line twice", member("x", `{"type": "array", "items": {"type": "string"}, "uniqueItems": true}`),
		[]string{"/x", "a\na"},
		"/x", "only once", "",
	},
	{
		"a line that the service refuses",
		member("x", `{"type": "array", "items": {"type": "string", "pattern": "(?i)^[a-z]+$"}}`),
		[]string{"/x", "a\n9"},
		"/x", "does not accept", `{"x":["a","9"]}`,
	},
	{
		"required lines, left empty", required("x", `{"type": "array", "items": {"type": "string"}}`), nil, "/x",
		"Please fill this in.", "",
	},

	{
		"member of an object", member("home",
			`{"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "floor": {"type": `+
				`"integer"}}}`),
		[]string{"/home/city", "Bonn", "/home/floor", "2"},
		"", "",
		`{"home":{"city":"Bonn","floor":2}}`,
	},
	{
		"optional object, left empty",
		member("home", `{"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}`), nil, "",
		"", `{}`,
	},
	{
		"required object, left empty",
		required("home", `{"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}`), nil,
		"/home/city", "Please fill this in.", "",
	},
	{
		"optional object, half filled",
		member("home", `{"type": "object", "required": ["city"], "properties": {"floor": {"type": "integer"}, `+
			`"city": {"type": "string"}}}`),
		[]string{"/home/floor", "2"},
		"/home/city", "does not accept",
		`{"home":{"floor":2}}`,
	},
	{
		"object that the service refuses",
		required("home", `{"type": "object", "minProperties": 2, "properties": {"city": {"type": "string"}, `+
			`"floor": {"type": "integer"}}}`),
		[]string{"/home/floor", "2"},
		"/home/city", "does not accept",
		`{"home":{"floor":2}}`,
	},
	{"referred schema", `{"type": "object", "properties": {"x": {"$ref": "#/$defs/a~1b%25", "title": "Referred"}}, ` +
		`"$defs": {"a/b%": {"type": "integer"}}}`, []string{"/x", "4"}, "", "", `{"x":4}`},
	{
		"member name with punctuation and capitals", member("Your a/b~c Name", `{"type": "string"}`),
		[]string{"/Your a~1b~0c Name", "Alder"},
		"", "", `{"Your a/b~c Name":"Alder"}`,
	},
	{
		"member name with punctuation, refused by the service",
		member("a/b~c", `{"type": "string", "pattern": "(?i)^x$"}`),
		[]string{"/a~1b~0c", "Alder"},
		"/a~1b~0c",
		"does not accept", `{"a/b~c":"Alder"}`,
	},

	{
		"list typed as JSON", member("x", `{"type": "array", "items": {"type": "integer"}}`),
		[]string{"/x", "[1, 2]"},
		"",
		"", `{"x":[1,2]}`,
	},
	{
		"not JSON", member("x", `{"type": "array", "items": {"type": "integer"}}`),
		[]string{"/x", "[1,"},
		"/x",
		"not valid JSON", "",
	},
	{
		"JSON that the service refuses", member("x", `{"type": "array", "items": {"type": "integer"}}`),
		[]string{"/x", `[1, "2"]`},
		"/x", "does not accept", `{"x":[1,"2"]}`,
	},
	{"any value", member("x", `true`), []string{"/x", `{"a": 1}`}, "", "", `{"x":{"a":1}}`},
	{
		"a schema that contains itself", member("child", `{"$ref": "#"}`),
		[]string{"/child", `{"child": {}}`},
		"", "",
		`{"child":{"child":{}}}`,
	},
	{
		"a definition that contains itself",
		`{"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", ` +
			`"properties": {"x": {"$ref": "#/$defs/n"}}}}}`,
		[]string{"/x/x/x/x", `{}`},
		"", "",
		`{"x":{"x":{"x":{"x":{}}}}}`,
	},
	{"reference to an anchor", `{"type": "object", "properties": {"x": {"$ref": "#line"}}, "$defs": {"l": ` +
		`{"$anchor": "line", "type": "string"}}}`, []string{"/x", `"Alder"`}, "", "", `{"x":"Alder"}`},
	{
		"data that the service refuses as a whole",
		`{"type": "object", "minProperties": 2, "properties": {"x": {"type": "string"}, "y": {"type": "string"}}}`,
		[]string{"/x", "Alder"},
		"", "does not accept", `{"x":"Alder"}`,
	},
}

func TestForm_EveryKindOfField_ChecksAndSendsItsData(t *testing.T) {
	var schemas []string
	for _, c := range formCases {
		schemas = append(schemas, c.schema)
	}
	s := newShop(t, forms(schemas))
	const tabs = 4
	for first := range tabs {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			b := newTab(t, view{phone: first%2 == 1})
			b.open(s.page(t))
			for i := first; i < len(formCases); i += tabs {
				b.wantForm(i)
			}
		})
	}
}

// wantForm fills the form of a case, and checks which message it shows and which data it sends.
func (b *tab) wantForm(i int) {
	b.t.Helper()
	c := formCases[i]
	_, before := b.sentData()
	b.click(".buy | " + formName(i))
	for j := 0; j < len(c.enter); j += 2 {
		b.enter(c.enter[j], c.enter[j+1])
	}
	b.click("#checkout .primary")
	switch {
	case c.messageAt != "":
		b.waitText("#checkout .error", c.message)
		got := evaluate[string](b, `((e) => e.dataset.pointer + " says " + document.getElementById(e.id + `+
			`"-error")?.innerText)(document.activeElement)`)
		if !strings.HasPrefix(got, c.messageAt+" says ") || !strings.Contains(got, c.message) {
			b.t.Errorf("%s: the focus is on the field %q, want %q with the message %q", c.name, got, c.messageAt,
				c.message)
		}
	case c.message != "":
		b.waitText("#checkout-result .bad", c.message)
	default:
		b.wait("#purchase .total")
	}
	data, count := b.sentData()
	if isSent := count > before; isSent != (c.data != "") || isSent && data != c.data {
		b.t.Errorf("%s: sent %q (%d requests), want %q", c.name, data, count-before, c.data)
	}
	b.press("Escape")
	b.waitGone("#purchase")
}

func TestForm_Amount_StaysWithinTheVariant(t *testing.T) {
	_, b := visit(t, view{phone: true}, forms([]string{`{"type": "object"}`}))
	b.click(".buy | " + formName(0))
	b.wait("#checkout")
	b.waitGone("#checkout [name=amount]") // the amount can only be 1
	b.press("Escape")
	b.click(".buy | Form plain")
	for _, wrong := range []struct{ amount, says string }{
		{"1", "At least 2, please."},
		{"6", "At most 5, please."},
		{"2.5", "Please enter a whole number."},
		{"", "Please fill this in."},
	} {
		b.fill("#checkout [name=amount]", wrong.amount)
		b.click("#checkout .primary")
		b.waitText("#checkout .error", wrong.says)
		if got := b.focused(); !strings.HasPrefix(got, "input#") || !strings.Contains(got, "Quantity") {
			t.Errorf("amount %q: the focus is on %s, want the field Quantity", wrong.amount, got)
		}
	}
	if _, count := b.sentData(); count > 0 {
		t.Errorf("the page sent %d requests with a wrong amount, want none", count)
	}
	b.fill("#checkout [name=amount]", "5")
	b.fill("#checkout [name=data]", "Please wrap it.\n{\"not\": JSON}")
	b.click("#checkout .primary")
	b.waitText("#purchase .total", "€5.00")
	if data, _ := b.sentData(); data != "Please wrap it.\n{\"not\": JSON}" {
		t.Errorf("the shop gets the message %q, want it as typed", data)
	}
}

func TestForm_Field_IsNamedAndDescribedByItsSchema(t *testing.T) {
	t.Parallel()
	s := newShop(t, forms([]string{`{"type": "object", "required": ["player"], "properties": {
		"player": {"type": "string", "title": "Name in the game", "description": "As you write it there."},
		"postcodeOfHome": {"type": "string"},
		"colours": {"type": "array", "title": "Colours", "description": "As many as you like.", "items": {"enum": ["gold"]}},
		"home": {"type": "object", "title": "Where you live", "properties": {"city": {"type": "string"}}}}}`}))
	b := newTab(t, view{})
	b.open(s.page(t))
	b.click(".buy | " + formName(0))
	b.click("#checkout .primary")
	b.waitText("#checkout .error", "Please fill this in.")
	for pointer, want := range map[string]string{
		"/player":         "Name in the game | As you write it there. Please fill this in. | true",
		"/postcodeOfHome": "Postcode Of Home (optional) | | false",
		"/colours":        "Colours (optional) | As many as you like. | false",
		"/home/city":      "City (optional) | | false",
	} {
		got := evaluate[string](b, `((e) => [(e.labels?.[0] ?? e.querySelector("legend")).innerText,
			e.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent).join(" ").trim(),
			e.ariaInvalid].join(" | ").replace("|  |", "| |"))(document.querySelector("[data-pointer='`+pointer+`']"))`)
		if got != want {
			t.Errorf("%s is %q, want %q", pointer, got, want)
		}
	}
	b.waitText("fieldset legend", "Where you live")
}
