package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema has the JSON Schema keywords that the docs page can express.
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
	KnownValues []jsontext.Value `json:"x-extensible-enum"` // more may be added
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
	// Discriminator is not shown: each alternative states its own constant.
	Discriminator struct {
		Property string            `json:"propertyName"`
		Mapping  map[string]string `json:"mapping"`
	} `json:"discriminator"`
	retirement
}

// types is one type name or a list of them.
type types []string

// UnmarshalJSONFrom reads a string or a list of strings.
func (t *types) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	if decoder.PeekKind() == '[' {
		return json.UnmarshalDecode(decoder, (*[]string)(t))
	}
	var one string
	err := json.UnmarshalDecode(decoder, &one)
	*t = types{one}
	return err
}

// phrase is a piece of a sentence about a value: plain text, a literal, or a link to a schema.
type phrase struct {
	Text    string
	Literal string
	Schema  string
}

// Form describes in words what a value must be. Descriptions and members are shown elsewhere.
func (s schema) Form() []phrase {
	var parts [][]phrase
	add := func(part ...phrase) { parts = append(parts, part) }
	addLiterals := func(lead string, values []jsontext.Value) {
		if len(values) > 0 {
			add(append([]phrase{{Text: lead}}, literals(values)...)...)
		}
	}
	switch {
	case s.Ref != "":
		add(phrase{Schema: s.refName()})
	case s.Items != nil:
		add(append([]phrase{{Text: "array of "}}, s.Items.Form()...)...)
	case len(s.OneOf) > 0:
		alternatives := make([][]phrase, len(s.OneOf))
		for i, alternative := range s.OneOf {
			alternatives[i] = alternative.Form()
		}
		add(join(alternatives, " or ")...)
	case len(s.Type) > 0:
		add(phrase{Text: strings.Join(s.Type, " or ")})
	}
	for _, part := range s.AllOf {
		if part.Ref != "" {
			add(phrase{Text: "also a "}, phrase{Schema: part.refName()})
		}
	}
	if s.Format != "" {
		add(phrase{Text: s.Format})
	}
	if s.Const != nil {
		addLiterals("always ", []jsontext.Value{s.Const})
	}
	addLiterals("one of ", s.Enum)
	addLiterals("such as ", s.KnownValues)
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
		addLiterals("default ", []jsontext.Value{s.Default})
	}
	if s.Additional != nil && !*s.Additional {
		add(phrase{Text: "no other members"})
	}
	addLiterals("for example ", s.Examples)
	return join(parts, ", ")
}

// refName returns the name of the schema that this one refers to.
func (s schema) refName() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// between expresses bounds in words. The unit is in the singular.
func between(low, high *int64, unit string) string {
	count := func(n int64) string {
		if n != 1 && unit != "" {
			return fmt.Sprint(n) + unit + "s"
		}
		return fmt.Sprint(n) + unit
	}
	switch {
	case low != nil && high != nil && *low == *high:
		return count(*low)
	case low != nil && high != nil:
		return fmt.Sprintf("%d to %s", *low, count(*high))
	case low != nil:
		return "at least " + count(*low)
	case high != nil:
		return "at most " + count(*high)
	default:
		return ""
	}
}

func literals(values []jsontext.Value) []phrase {
	parts := make([][]phrase, len(values))
	for i, value := range values {
		parts[i] = []phrase{{Literal: plainText(value)}}
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

// plainText returns the text of a JSON string, and other JSON unchanged. Without a value it returns "".
func plainText(value jsontext.Value) string {
	var text string
	if value.Kind() == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// Nested returns the unnamed schemas whose members belong to this one: itself, its items, its alternatives.
func (s schema) Nested() []schema {
	var nested []schema
	if len(s.Properties) > 0 || len(s.AllOf) > 0 || s.If != nil || s.Then != nil {
		nested = append(nested, s)
	}
	if s.Items != nil {
		nested = append(nested, s.Items.Nested()...)
	}
	for _, alternative := range s.OneOf {
		nested = append(nested, alternative.Nested()...)
	}
	return nested
}

// Requires reports whether a member is required.
func (s schema) Requires(member string) bool { return slices.Contains(s.Required, member) }

// condition lists the members that are required, or have a certain schema, when another member has a certain value.
type condition struct {
	Member, Verb, Value string
	Required            []string
	Properties          members[schema]
}

// Conditions reads the conditions in allOf. The if has the form {properties: {M: {const: V}}} or {properties: {M:
// {pattern: P}}}. The then has the form {required: [...]} or {properties: {N: {$ref: S}}}. Any other condition is an
// error, because the page cannot express it.
func (s schema) Conditions() ([]condition, error) {
	if s.If != nil || s.Then != nil {
		return nil, fmt.Errorf("the docs page shows conditions only inside allOf: %+v", s)
	}
	var found []condition
	for _, part := range s.AllOf {
		if part.Ref != "" {
			continue
		}
		c, isShown := part.condition()
		if !isShown {
			return nil, fmt.Errorf("the docs page cannot express this part of an allOf: %+v", part)
		}
		found = append(found, c)
	}
	return found, nil
}

func (s schema) condition() (c condition, isShown bool) {
	if s.If == nil || s.Then == nil || len(s.If.Properties) != 1 {
		return condition{}, false
	}
	on := s.If.Properties[0]
	c = condition{on.Name, "is", plainText(on.Value.Const), s.Then.Required, s.Then.Properties}
	if on.Value.Const == nil {
		c.Verb, c.Value = "matches", on.Value.Pattern
	}
	isPlain := !slices.ContainsFunc(c.Properties, func(p member[schema]) bool { return p.Value.Ref == "" })
	return c, isPlain && c.Value != "" && (len(c.Required) == 0) != (len(c.Properties) == 0)
}
