package catalogfile

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Bounds of a document after its YAML aliases were replaced by the values that they stand for.
const (
	maxExpanded      = 1_000_000 // values; a file with some 20,000 products has about as many
	maxExpandedBytes = 2 * MaxFileBytes
)

// appendJSON writes a YAML value as compact JSON, with members in their order and numbers as written. It reports YAML
// that JSON cannot express: repeated keys, keys that are not strings, merges, tags and, in a data schema, numbers such
// as 0x10.
func (r *reader) appendJSON(text []byte, node *yaml.Node, inData bool) []byte {
	node = resolve(node)
	r.values++
	switch {
	case r.open[node]:
		r.fail(node.Line, "the anchor &%s contains itself", node.Anchor)
		return text
	case r.values > maxExpanded || len(text) > maxExpandedBytes:
		return text
	case isTagged(node):
		r.fail(node.Line, "the tag %s is not supported: remove it", node.Tag)
		return append(text, "null"...)
	case node.Kind == yaml.ScalarNode:
		return r.appendScalar(text, node, inData)
	}
	r.open[node] = true
	defer delete(r.open, node)
	if node.Kind == yaml.MappingNode {
		return r.appendObject(text, node, inData)
	}
	text = append(text, '[')
	for i, item := range node.Content {
		if i > 0 {
			text = append(text, ',')
		}
		text = r.appendJSON(text, item, inData)
	}
	return append(text, ']')
}

func (r *reader) appendObject(text []byte, node *yaml.Node, inData bool) []byte {
	text = append(text, '{')
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, line := resolve(node.Content[i]), node.Content[i].Line
		switch {
		case key.Tag == "!!merge":
			r.fail(line, "<< is not supported: write the members out")
		case key.Kind != yaml.ScalarNode || isTagged(key) || isNull(key):
			r.fail(line, "a key must be a plain word, not %s", kindOf(key))
		case lines[key.Value] > 0:
			r.fail(line, "%.60q is already on line %d: keep one of them", key.Value, lines[key.Value])
		default:
			if len(lines) > 0 {
				text = append(text, ',')
			}
			lines[key.Value] = line
			text = append(appendQuoted(text, key.Value), ':')
			text = r.appendJSON(text, node.Content[i+1], inData || key.Value == "data")
		}
	}
	return append(text, '}')
}

func (r *reader) appendScalar(text []byte, node *yaml.Node, inData bool) []byte {
	isPlain := node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch {
	case node.Tag == "!!null":
		return append(text, "null"...)
	case node.Tag == "!!bool":
		return strconv.AppendBool(text, strings.EqualFold(node.Value, "true"))
	case isPlain && isJSONNumber(node.Value) && (inData || !strings.ContainsAny(node.Value, "eE")):
		// Outside of data, a number such as 1e9 becomes a string, because the validator would expand it to all its
		// digits.
		return append(text, node.Value...)
	case isPlain && inData && (node.Tag == "!!int" || node.Tag == "!!float"):
		r.fail(node.Line, "data: %.40q is not a number in JSON: write it in digits, or in quotes", node.Value)
	}
	return appendQuoted(text, node.Value)
}

// appendQuoted appends a JSON string. It cannot fail, because text that is not UTF-8 was rejected earlier.
func appendQuoted(text []byte, value string) []byte {
	text, _ = jsontext.AppendQuote(text, value)
	return text
}

// isJSONNumber accepts numbers of any size. YAML calls a number that is too large for a float64, such as 1e400, a
// string.
func isJSONNumber(text string) bool {
	value := jsontext.Value(text)
	return value.Kind() == jsontext.KindNumber && value.IsValid() && strings.TrimSpace(text) == text
}
