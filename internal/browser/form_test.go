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
	catalogue.WriteString("shops:\n- {id: SHOP, name: Alder Forms, currency: EUR, products: [\n" +
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

// formCase is a schema with what the shopper enters into its form, the message that the form then shows, and the data
// that the page sends.
type formCase struct {
	name, schema string
	message      string   // empty: the page shows the checkout
	messageAt    string   // the JSON Pointer of the field that shows the message; empty: it is below the form
	data         string   // empty: the page sends nothing
	enter        []string // JSON Pointers, each followed by a value
}

// accepted is a case whose data the service accepts.
func accepted(name, schema, data string, enter ...string) formCase {
	return formCase{name: name, schema: schema, data: data, enter: enter}
}

// stopped is a case that the page stops, with a message at a field.
func stopped(name, schema, at, message string, enter ...string) formCase {
	return formCase{name: name, schema: schema, messageAt: at, message: message, enter: enter}
}

// refused is a case whose data the service refuses.
func refused(name, schema, at, data string, enter ...string) formCase {
	return formCase{name: name, schema: schema, message: "does not accept", messageAt: at, data: data, enter: enter}
}

func formCases() []formCase {
	const (
		fillIn     = "Please fill this in."
		text       = `{"type": "string"}`
		capitals   = `{"type": "string", "pattern": "^[A-Z]+$"}`
		kestrel    = `{"type": "string", "pattern": "(?i)^kestrel$"}` // a pattern that JavaScript does not know
		number     = `{"type": "number"}`
		integer    = `{"type": "integer"}`
		boolean    = `{"type": "boolean"}`
		colours    = `{"enum": ["gold", "silver"]}`
		lines      = `{"type": "array", "items": {"type": "string"}}`
		integers   = `{"type": "array", "items": {"type": "integer"}}`
		home       = `{"type": "object", "required": ["city"], "properties": {`
		city       = home + `"city": ` + text + `}}`
		cityFloor  = home + `"city": ` + text + `, "floor": ` + integer + `}}`
		floorFirst = home + `"floor": ` + integer + `, "city": ` + text + `}}`
	)
	return []formCase{
		accepted("text", member("player", text), `{"player":" Alder \"é\" & 木 "}`, "/player", ` Alder "é" & 木 `),
		accepted("nothing", member("player", text), `{}`),
		stopped("required text, left empty", required("player", text), "/player", fillIn),
		stopped("text too short", member("x", `{"type": "string", "minLength": 3}`),
			"/x", "At least 3 characters", "/x", "Al"),
		stopped("one character in two UTF-16 units, too short", member("x", `{"type": "string", "minLength": 2}`),
			"/x", "At least 2 characters", "/x", "🦊"),
		accepted("three characters in six UTF-16 units", member("x", `{"type": "string", "maxLength": 3}`),
			`{"x":"🦊🦊🦊"}`, "/x", "🦊🦊🦊"),
		stopped("text too long", member("x", `{"type": "string", "maxLength": 3}`),
			"/x", "At most 3 characters", "/x", "abcd"),
		stopped("text that does not match the pattern", member("x", capitals), "/x", "expected format", "/x", "abc"),
		accepted("text that matches the pattern", member("x", capitals), `{"x":"ABC"}`, "/x", "ABC"),
		accepted("text that matches a pattern with (?i)", member("x", kestrel), `{"x":"KESTREL"}`, "/x", "KESTREL"),
		refused("text that does not match a pattern with (?i)", member("x", kestrel), "/x", `{"x":"Alder"}`, "/x", "Alder"),
		refused(`text that does not match a pattern with \z`, member("x", `{"type": "string", "pattern": "^[a-z]+\\z"}`),
			"/x", `{"x":"Alder"}`, "/x", "Alder"),
		accepted("default", member("x", `{"type": "string", "default": "Birch"}`), `{"x":"Birch"}`),
		accepted("default, emptied", member("x", `{"type": "string", "default": "Birch"}`), `{}`, "/x", ""),
		accepted("several lines", member("message", `{"type": "string", "maxLength": 280}`),
			`{"message":"Dear Birch,\nenjoy!"}`, "/message", "Dear Birch,\nenjoy!"),

		accepted("number", member("x", number), `{"x":1.5}`, "/x", "1.5"),
		accepted("number, left empty", member("x", number), `{}`),
		stopped("required number, left empty", required("x", number), "/x", fillIn),
		stopped("a letter for a number", required("x", number), "/x", "enter a number", "/x", "e"),
		stopped("number below the minimum", member("x", `{"type": "number", "minimum": 1.5}`),
			"/x", "At least 1.5", "/x", "1.2"),
		stopped("number above the maximum", member("x", `{"type": "number", "maximum": 5}`), "/x", "At most 5", "/x", "5.1"),
		stopped("number at an exclusive bound", member("x", `{"type": "number", "exclusiveMaximum": 2}`),
			"/x", "Less than 2", "/x", "2"),
		accepted("number inside exclusive bounds",
			member("x", `{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2}`), `{"x":1.9}`, "/x", "1.9"),
		stopped("integer at an exclusive bound", member("x", `{"type": "integer", "exclusiveMinimum": 0}`),
			"/x", "More than 0", "/x", "0"),
		stopped("a fraction for an integer", member("x", `{"type": "integer", "minimum": 1}`),
			"/x", "whole number", "/x", "1.5"),
		accepted("integer", member("x", `{"type": "integer", "default": 7}`), `{"x":7}`),
		accepted("multiple, with a minimum that is not a multiple",
			member("x", `{"type": "number", "multipleOf": 0.25, "minimum": 0.1}`), `{"x":0.75}`, "/x", "0.75"),
		stopped("not a multiple", member("x", `{"type": "integer", "multipleOf": 5, "minimum": 1}`),
			"/x", "multiple of 5", "/x", "7"),

		accepted("box not ticked", member("gift", boolean), `{}`),
		accepted("box ticked", member("gift", boolean), `{"gift":true}`, "/gift", ""),
		accepted("required box not ticked", required("gift", boolean), `{"gift":false}`),
		accepted("box ticked by default, then unticked", member("gift", `{"type": "boolean", "default": true}`),
			`{"gift":false}`, "/gift", ""),
		stopped("box that must be ticked", required("terms", `{"type": "boolean", "const": true}`), "/terms", fillIn),

		accepted("choice of texts", required("x", colours), `{"x":"silver"}`, "/x", "silver"),
		accepted("choice of numbers", required("x", `{"type": "integer", "enum": [10, 20]}`), `{"x":20}`, "/x", "20"),
		accepted("mixed choice", required("x", `{"enum": ["gold", 7, true, null]}`), `{"x":null}`, "/x", "null"),
		stopped("choice not made", required("x", colours), "/x", fillIn),
		accepted("optional choice not made", member("x", colours), `{}`),
		accepted("choice with a default", member("x", `{"enum": ["gold", "silver"], "default": "silver"}`), `{"x":"silver"}`),
		accepted("constant", required("x", `{"const": "gold"}`), `{"x":"gold"}`, "/x", "gold"),

		accepted("several entries of a list", member("x", `{"type": "array", "items": {"enum": ["gold", "silver", 3]}}`),
			`{"x":["gold",3]}`, "/x", "gold", "/x", "3"),
		stopped("too few entries of a list", member("x", `{"type": "array", "minItems": 2, "items": `+colours+`}`),
			"/x", "At least 2 entries", "/x", "gold"),
		accepted("no entry of a required list", required("x", `{"type": "array", "items": `+colours+`}`), `{"x":[]}`),
		accepted("a list, one entry per line",
			`{"type": "object", "properties": {"x": {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": `+
				`2}}, "$defs": {"line": {"type": "string", "minLength": 1, "maxLength": 12}}}`,
			`{"x":["one wish","another"]}`, "/x", " one wish \n\nanother"),
		stopped("a line too long", `{"type": "object", "properties": {"x": {"type": "array", "items": {"$ref": `+
			`"#/$defs/line"}}}, "$defs": {"line": {"type": "string", "maxLength": 5}}}`,
			"/x", "At most 5 characters", "/x", "short\nlonger"),
		stopped("too many lines", member("x", `{"type": "array", "items": {"type": "string"}, "maxItems": 2}`),
			"/x", "At most 2 entries", "/x", "a\nb\nc"),
		stopped("a line twice", member("x", `{"type": "array", "items": {"type": "string"}, "uniqueItems": true}`),
			"/x", "only once", "/x", "a\na"),
		refused("a line that the service refuses",
			member("x", `{"type": "array", "items": {"type": "string", "pattern": "(?i)^[a-z]+$"}}`),
			"/x", `{"x":["a","9"]}`, "/x", "a\n9"),
		stopped("required lines, left empty", required("x", lines), "/x", fillIn),

		accepted("member of an object", member("home", cityFloor),
			`{"home":{"city":"Bonn","floor":2}}`, "/home/city", "Bonn", "/home/floor", "2"),
		accepted("optional object, left empty", member("home", city), `{}`),
		stopped("required object, left empty", required("home", city), "/home/city", fillIn),
		refused("optional object, half filled", member("home", floorFirst),
			"/home/city", `{"home":{"floor":2}}`, "/home/floor", "2"),
		refused("object that the service refuses", required("home", `{"type": "object", "minProperties": 2, `+
			`"properties": {"city": {"type": "string"}, "floor": {"type": "integer"}}}`),
			"/home/city", `{"home":{"floor":2}}`, "/home/floor", "2"),
		accepted("referred schema", `{"type": "object", "properties": {"x": {"$ref": "#/$defs/a~1b%25", "title": `+
			`"Referred"}}, "$defs": {"a/b%": {"type": "integer"}}}`, `{"x":4}`, "/x", "4"),
		accepted("member name with punctuation and capitals", member("Your a/b~c Name", text),
			`{"Your a/b~c Name":"Alder"}`, "/Your a~1b~0c Name", "Alder"),
		refused("member name with punctuation, refused by the service", member("a/b~c", kestrel),
			"/a~1b~0c", `{"a/b~c":"Alder"}`, "/a~1b~0c", "Alder"),

		accepted("list typed as JSON", member("x", integers), `{"x":[1,2]}`, "/x", "[1, 2]"),
		stopped("not JSON", member("x", integers), "/x", "not valid JSON", "/x", "[1,"),
		refused("JSON that the service refuses", member("x", integers), "/x", `{"x":[1,"2"]}`, "/x", `[1, "2"]`),
		accepted("any value", member("x", `true`), `{"x":{"a":1}}`, "/x", `{"a": 1}`),
		accepted("a schema that contains itself", member("child", `{"$ref": "#"}`),
			`{"child":{"child":{}}}`, "/child", `{"child": {}}`),
		accepted("a definition that contains itself",
			`{"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", `+
				`"properties": {"x": {"$ref": "#/$defs/n"}}}}}`,
			`{"x":{"x":{"x":{"x":{}}}}}`, "/x/x/x/x", `{}`),
		refused("data that the service refuses as a whole",
			`{"type": "object", "minProperties": 2, "properties": {"x": {"type": "string"}, "y": {"type": "string"}}}`,
			"", `{"x":"Alder"}`, "/x", "Alder"),
	}
}

func TestForm_EveryKindOfField_ChecksAndSendsItsData(t *testing.T) {
	cases := formCases()
	var schemas []string
	for _, c := range cases {
		schemas = append(schemas, c.schema)
	}
	s := newShop(t, forms(schemas))
	const tabs = 4
	for first := range tabs {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			b := newTab(t, view{phone: first%2 == 1})
			b.open(s.page(t))
			for i := first; i < len(cases); i += tabs {
				b.wantForm(i, cases[i])
			}
		})
	}
}

// wantForm fills the form of a case, and checks which message it shows and which data it sends.
func (b *tab) wantForm(i int, c formCase) {
	b.t.Helper()
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

func TestForm_NickFrom_AsksForTheNickOnlyInTheData(t *testing.T) {
	s, b := visit(t, view{}, strings.Replace(emberforge, "        category: Ranks\n",
		"        category: Ranks\n        nick-from: player\n", 1))
	b.fill("#voucher [name=code]", "UNKNOWN")
	b.fill("#voucher [name=nick]", "Heron")
	b.press("Enter")
	b.wait("#voucher-result .bad")
	b.click(".buy | VIP rank, 30 days")
	b.enter("/player", "Alder")
	b.waitGone("#checkout [name=nick]")
	b.click("#checkout .primary")
	b.waitText("#purchase .total", "€7.99")
	if got := s.checkouts(t)[0].Nick; got != "Alder" {
		t.Errorf("the checkout has the nick %q, want Alder", got)
	}
}
