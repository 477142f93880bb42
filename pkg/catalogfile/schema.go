package catalogfile

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"shopfront/pkg/catalog"
)

// enough is how many bytes of a data schema are written: more than catalog.MaxDataSchemaBytes, so that what has more is
// refused, however often it repeats what has an anchor.
const enough = 2 * catalog.MaxDataSchemaBytes

// appendJSON writes a YAML value as compact JSON, with its numbers as they are written, and reports what JSON cannot hold.
func (r *reader) appendJSON(text []byte, node *yaml.Node) []byte {
	node = resolve(node)
	switch {
	case len(text) > enough:
		return text
	case node.Kind == yaml.MappingNode:
		return r.appendObject(text, node)
	case isTagged(node):
		r.fail(node.Line, "data: must be what JSON has too, not %s", kindOf(node))
		return text
	case node.Kind == yaml.SequenceNode:
		text = append(text, '[')
		for i, item := range node.Content {
			if i > 0 {
				text = append(text, ',')
			}
			text = r.appendJSON(text, item)
		}
		return append(text, ']')
	default:
		return r.appendScalar(text, node)
	}
}

func (r *reader) appendObject(text []byte, node *yaml.Node) []byte {
	members, _ := r.members(node, "data")
	text = append(text, '{')
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendQuoted(text, m.key)
		text = append(text, ':')
		text = r.appendJSON(text, m.value)
	}
	return append(text, '}')
}

func (r *reader) appendScalar(text []byte, node *yaml.Node) []byte {
	isPlain := node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch {
	case node.Tag == "!!null":
		return append(text, "null"...)
	case node.Tag == "!!bool":
		return strconv.AppendBool(text, node.Value[0] == 't' || node.Value[0] == 'T')
	case isPlain && isJSONNumber(node.Value):
		return append(text, node.Value...)
	case node.Tag == "!!int" || node.Tag == "!!float":
		r.fail(node.Line, "data: %.40q is not a number in JSON: write it in digits, or in quotes", node.Value)
		return text
	default:
		return appendQuoted(text, node.Value)
	}
}

// appendQuoted cannot fail: what is not UTF-8 is refused before.
func appendQuoted(text []byte, value string) []byte {
	text, _ = jsontext.AppendQuote(text, value)
	return text
}

// isJSONNumber tells numbers however large: YAML's own resolution takes 1e400 for text.
func isJSONNumber(text string) bool {
	value := jsontext.Value(text)
	return value.Kind() == jsontext.KindNumber && value.IsValid() && strings.TrimSpace(text) == text
}

// lineAt is where the JSON Pointer leads to in the YAML of a value, or as far as there is something.
func lineAt(node *yaml.Node, line int, pointer string) int {
	for token := range jsontext.Pointer(pointer).Tokens() {
		node = resolve(node)
		switch node.Kind {
		case yaml.MappingNode:
			at := keyIndex(node, token)
			if at < 0 {
				return line
			}
			line, node = node.Content[at].Line, node.Content[at+1]
		case yaml.SequenceNode:
			at, err := strconv.Atoi(token)
			if err != nil || at < 0 || at >= len(node.Content) {
				return line
			}
			node = node.Content[at]
			line = node.Line
		default:
			return line
		}
	}
	return line
}

func keyIndex(node *yaml.Node, key string) int {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if resolve(node.Content[i]).Value == key {
			return i
		}
	}
	return -1
}
