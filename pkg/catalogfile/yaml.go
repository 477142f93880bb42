package catalogfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// documents reads the YAML documents of a file.
func (r *reader) documents(text []byte) []*yaml.Node {
	if len(text) > MaxFileBytes {
		r.fail(1, "the file has %d bytes, and at most %d are allowed: split it", len(text), MaxFileBytes)
		return nil
	}
	if line := lineOfBadText(text); line > 0 {
		r.fail(line, "has bytes that are not text: write the file in UTF-8, without control characters")
		return nil
	}
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			r.failSyntax(err, text)
			return nil
		}
		documents = append(documents, document.Content[0])
	}
}

// lineOfBadText returns the first line with bytes that YAML does not allow (YAML 1.2, section 5.1), or 0.
func lineOfBadText(text []byte) int {
	line := 0
	for bytesOfLine := range bytes.Lines(text) {
		line++
		if !utf8.Valid(bytesOfLine) || bytes.ContainsFunc(bytesOfLine, isForbidden) {
			return line
		}
	}
	return 0
}

func isForbidden(char rune) bool {
	return unicode.IsControl(char) && !strings.ContainsRune("\t\n\r\u0085", char)
}

// failSyntax reports a syntax error on the line that the parser names. The parser's message begins with "yaml: ",
// usually followed by "line N: ". For errors in brackets and indentation, N counts from 0, and may be the line where
// the surrounding list or mapping begins.
func (r *reader) failSyntax(err error, text []byte) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if where, rest, found := strings.Cut(message, ": "); found {
		if number, isLine := strings.CutPrefix(where, "line "); isLine {
			line, _ = strconv.Atoi(number)
			message = rest
		}
	}
	switch message {
	case "did not find expected node content", "did not find expected key", "did not find expected '-' indicator",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'",
		"did not find expected <document start>":
		if line > 1 || strings.HasPrefix(err.Error(), "yaml: line 1:") {
			line = min(line+1, 1+bytes.Count(text, []byte("\n")))
		}
		r.fail(line, "not valid YAML here, or in the list or mapping that begins here: %s; check indentation, "+
			"brackets and quotes", message)
		return
	}
	if _, anchor, found := strings.Cut(message, "unknown anchor '"); found {
		anchor, _, _ = strings.Cut(anchor, "'")
		before, _, _ := bytes.Cut(text, []byte("*"+anchor))
		r.fail(1+bytes.Count(before, []byte("\n")), "the alias *%s has no value: no &%s comes before it", anchor,
			anchor)
		return
	}
	r.fail(line, "not valid YAML: %s", message)
}

// reader reads one file and collects every fault in it.
type reader struct {
	format

	file   string
	values int                 // how many values were written as JSON since this field was last set to 0
	open   map[*yaml.Node]bool // the mappings and lists that are being written as JSON
	faults []*Error
	found  map[mistake]bool // the mistakes that are in faults
}

// mistake identifies a fault by its value, or by its line if it has no value. Aliases share the value of their anchor.
type mistake struct {
	value   *yaml.Node
	line    int
	message string
}

func (r *reader) fail(line int, format string, args ...any) {
	r.add(mistake{nil, line, fmt.Sprintf(format, args...)}, line)
}

// add adds a fault. A mistake in an anchor is found again in each of its aliases, but is added only once.
func (r *reader) add(m mistake, line int) {
	if !r.found[m] {
		r.found[m] = true
		r.faults = append(r.faults, &Error{Place{r.file, line}, m.message})
	}
}

func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	node = resolve(node)
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}

// isTagged reports whether a node has an explicit tag, such as !!binary. Catalogue files need no tags.
func isTagged(node *yaml.Node) bool { return node.Style&yaml.TaggedStyle != 0 }

func kindOf(node *yaml.Node) string {
	switch {
	case isTagged(node):
		return "something tagged " + node.Tag
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(node):
		return "nothing"
	default:
		return fmt.Sprintf("%.40q", node.Value)
	}
}

// locate finds the value at a pointer, and the line of its key or list item. If there is no such value, it returns the
// last value on the way there, with its line.
func locate(root *yaml.Node, at jsontext.Pointer) (node *yaml.Node, line int) {
	node, line = resolve(root), root.Line
	for token := range at.Tokens() {
		index, err := strconv.Atoi(token)
		if node.Kind == yaml.MappingNode {
			index = keyIndex(node, token)
		}
		switch {
		case node.Kind == yaml.MappingNode && index >= 0:
			line, node = node.Content[index].Line, resolve(node.Content[index+1])
		case node.Kind == yaml.SequenceNode && err == nil && index >= 0 && index < len(node.Content):
			line, node = node.Content[index].Line, resolve(node.Content[index])
		default:
			return node, line
		}
	}
	return node, line
}

func keyIndex(node *yaml.Node, key string) int {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if resolve(node.Content[i]).Value == key {
			return i
		}
	}
	return -1
}
