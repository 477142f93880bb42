package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema is a JSON Schema with the keywords that the docs page puts into words.
type schema struct {
	Ref         string           `json:"$ref"`
	Description string           `json:"description"`
	Type        types            `json:"type"`
	Format      string           `json:"format"`
	Pattern     string           `json:"pattern"`
	MinLength   *int64           `json:"minLength"`
	MaxLength   *int64           `json:"maxLength"`
	Minimum     *int64           `json:"minimum"`
	Maximum     *int64           `json:"maximum"`
	MinItems    *int64           `json:"minItems"`
	MaxItems    *int64           `json:"maxItems"`
	Const       jsontext.Value   `json:"const"`
	Enum        []jsontext.Value `json:"enum"`
	KnownValues []jsontext.Value `json:"x-extensible-enum"` // others may come
	Default     jsontext.Value   `json:"default"`
	Examples    []jsontext.Value `json:"examples"`
	Items       *schema          `json:"items"`
	Required    []string         `json:"required"`
	Properties  members[schema]  `json:"properties"`
	Additional  *bool            `json:"additionalProperties"`
	OneOf       []schema         `json:"oneOf"`
	AllOf       []schema         `json:"allOf"`
	If          *schema          `json:"if"`
	Then        *schema          `json:"then"`
	// Discriminator is not shown: the alternatives say themselves what tells them apart.
	Discriminator struct {
		Property string            `json:"propertyName"`
		Mapping  map[string]string `json:"mapping"`
	} `json:"discriminator"`
	retirement
}

// types is one type, or a list of them.
type types []string

// UnmarshalJSONFrom reads a text or a list of texts.
func (t *types) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	if decoder.PeekKind() == '[' {
		return json.UnmarshalDecode(decoder, (*[]string)(t))
	}
	var one string
	err := json.UnmarshalDecode(decoder, &one)
	*t = types{one}
	return err
}

// schemaName is the component that a schema refers to, empty where it is none.
func (s schema) schemaName() string {
	return strings.TrimPrefix(s.Ref, "#/components/schemas/")
}

// phrase is a part of what a schema's form is in words: text, a literal, or the name of another schema.
type phrase struct {
	Text    string
	Literal string
	Schema  string
}

// form says in words what a value must be, without what has a place of its own: descriptions and properties.
func (s schema) form() []phrase {
	var parts [][]phrase
	add := func(part ...phrase) { parts = append(parts, part) }
	switch {
	case s.Ref != "":
		add(phrase{Schema: s.schemaName()})
	case s.Items != nil:
		add(append([]phrase{{Text: "array of "}}, s.Items.form()...)...)
	case len(s.OneOf) > 0:
		add(alternatives(s.OneOf)...)
	case len(s.Type) > 0:
		add(phrase{Text: strings.Join(s.Type, " or ")})
	}
	if s.Format != "" {
		add(phrase{Text: s.Format})
	}
	if s.Const != nil {
		add(phrase{Text: "always "}, literal(s.Const))
	}
	if len(s.Enum) > 0 {
		add(append([]phrase{{Text: "one of "}}, literals(s.Enum)...)...)
	}
	if len(s.KnownValues) > 0 {
		add(append([]phrase{{Text: "such as "}}, literals(s.KnownValues)...)...)
	}
	for _, bound := range []struct {
		min, max *int64
		unit     string
	}{{s.Minimum, s.Maximum, ""}, {s.MinLength, s.MaxLength, " character"}, {s.MinItems, s.MaxItems, " item"}} {
		if text := between(bound.min, bound.max, bound.unit); text != "" {
			add(phrase{Text: text})
		}
	}
	if s.Pattern != "" {
		add(phrase{Text: "matches "}, phrase{Literal: s.Pattern})
	}
	if s.Default != nil {
		add(phrase{Text: "default "}, literal(s.Default))
	}
	if s.Additional != nil && !*s.Additional {
		add(phrase{Text: "no other members"})
	}
	if len(s.Examples) > 0 {
		add(append([]phrase{{Text: "for example "}}, literals(s.Examples)...)...)
	}
	return join(parts, ", ")
}

func alternatives(schemas []schema) []phrase {
	parts := make([][]phrase, len(schemas))
	for i, s := range schemas {
		parts[i] = s.form()
	}
	return join(parts, " or ")
}

// between puts bounds into words. The unit is that of one.
func between(low, high *int64, unit string) string {
	switch {
	case low != nil && high != nil && *low == *high:
		return count(*low, unit)
	case low != nil && high != nil:
		return fmt.Sprintf("%d to %s", *low, count(*high, unit))
	case low != nil:
		return "at least " + count(*low, unit)
	case high != nil:
		return "at most " + count(*high, unit)
	default:
		return ""
	}
}

func count(n int64, unit string) string {
	if n != 1 && unit != "" {
		unit += "s"
	}
	return fmt.Sprint(n) + unit
}

func literal(value jsontext.Value) phrase { return phrase{Literal: plainText(value)} }

func literals(values []jsontext.Value) []phrase {
	parts := make([][]phrase, len(values))
	for i, value := range values {
		parts[i] = []phrase{literal(value)}
	}
	return join(parts, ", ")
}

func join(parts [][]phrase, separator string) []phrase {
	var joined []phrase
	for i, part := range parts {
		if i > 0 {
			joined = append(joined, phrase{Text: separator})
		}
		joined = append(joined, part...)
	}
	return joined
}

// plainText is a JSON string's text, or other JSON as it is; of nothing it is empty.
func plainText(value jsontext.Value) string {
	if value == nil {
		return ""
	}
	var text string
	if value.Kind() == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return value.String()
}

// condition is what a schema asks for in the case that a member has one value.
type condition struct {
	Member, Value string
	Required      []string
}

// conditions are those of a schema's allOf, where each part is a reference or of this form: if {properties: {M: {const: V}}},
// then {required: [...]}.
func (s schema) conditions() ([]condition, error) {
	var found []condition
	for _, part := range s.AllOf {
		if part.Ref != "" {
			continue
		}
		if part.If == nil || part.Then == nil || len(part.If.Properties) != 1 || part.If.Properties[0].Value.Const == nil ||
			len(part.Then.Required) == 0 || len(part.Then.Properties) > 0 {
			return nil, fmt.Errorf("the docs page has no words for this part of an allOf: %+v", part)
		}
		member := part.If.Properties[0]
		found = append(found, condition{member.Name, plainText(member.Value.Const), part.Then.Required})
	}
	return found, nil
}

// check wants nothing in a schema that would not be shown. Only a component has a place for its members and conditions;
// what stands elsewhere is said in a few words.
func (s schema) check(component bool) error {
	if s.If != nil || s.Then != nil || !component && len(s.AllOf) > 0 {
		return fmt.Errorf("the docs page has no words for this combination of schemas: %+v", s)
	}
	parts := slices.Clone(s.OneOf)
	if s.Items != nil {
		parts = append(parts, *s.Items)
	}
	for _, alternative := range s.OneOf {
		if alternative.Nested() != nil {
			return fmt.Errorf("the docs page shows an alternative's members only if it has a name: %+v", alternative)
		}
	}
	for _, property := range s.Properties {
		parts = append(parts, property.Value)
	}
	for _, part := range parts {
		if err := part.check(false); err != nil {
			return err
		}
	}
	return nil
}

// checkInPlace wants a schema that a parameter, a header or a body can have: its members are shown where it has a name.
func (s schema) checkInPlace() error {
	if s.Nested() != nil {
		return fmt.Errorf("the docs page shows the members of a schema only among the components: %+v", s)
	}
	return s.check(false)
}

// inherited are the schemas that a schema's allOf refers to.
func (s schema) inherited() []string {
	var names []string
	for _, part := range s.AllOf {
		if part.Ref != "" {
			names = append(names, part.schemaName())
		}
	}
	return names
}

// problem is a schema that gives members of Problem their values.
type problem struct {
	Schema string
	Status string
	Kinds  []problemKind
}

type problemKind struct{ Type, Title string }

// problemSchema is what the schemas of single problems refer to.
const problemSchema = "Problem"

// problems are in the order of their status. A schema may be of several, whose types and titles are listed in one order.
func (d document) problems() ([]problem, error) {
	var found []problem
	for _, s := range d.Components.Schemas {
		if !slices.Contains(s.Value.inherited(), problemSchema) {
			continue
		}
		var values members[schema]
		for _, part := range s.Value.AllOf {
			values = append(values, part.Properties...)
		}
		types, titles, statuses := valuesOf(values, "type"), valuesOf(values, "title"), valuesOf(values, "status")
		if len(types) == 0 || len(types) != len(titles) || len(statuses) != 1 {
			return nil, fmt.Errorf("schema %s: a problem has a type, a title and a status", s.Name)
		}
		p := problem{Schema: s.Name, Status: statuses[0]}
		for i := range types {
			p.Kinds = append(p.Kinds, problemKind{types[i], titles[i]})
		}
		found = append(found, p)
	}
	slices.SortStableFunc(found, func(a, b problem) int { return cmp.Compare(a.Status, b.Status) })
	return found, nil
}

func valuesOf(members members[schema], name string) []string {
	s, _ := members.get(name)
	return s.values()
}

// values are all that a schema lets a value be.
func (s schema) values() []string {
	if s.Const != nil {
		return []string{plainText(s.Const)}
	}
	var values []string
	for _, value := range s.Enum {
		values = append(values, plainText(value))
	}
	return values
}
