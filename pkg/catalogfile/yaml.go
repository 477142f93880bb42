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

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds how many nodes a document has when its aliases are followed: some 20,000 products.
const maxExpanded = 1_000_000

// documents reads the YAML documents of a text, in which aliases are safe to follow. Empty documents are left out.
func (r *reader) documents(text []byte) []*yaml.Node {
	if len(text) > MaxFileBytes {
		r.fail(1, "the file has %d bytes, the most is %d: split it", len(text), MaxFileBytes)
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
		sizes := expansion{}
		root := document.Content[0]
		switch size, loop := sizes.of(root); {
		case loop != nil:
			r.fail(loop.Line, "the anchor &%s contains itself", loop.Anchor)
			return nil
		case size > maxExpanded:
			r.fail(root.Line, "the aliases expand to more than %d values: write out less", maxExpanded)
			return nil
		}
		if !isNull(root) {
			documents = append(documents, root)
		}
	}
}

// lineOfBadText is the first line that has what YAML does not allow (YAML 1.2, section 5.1), or 0.
func lineOfBadText(text []byte) int {
	line := 1
	for len(text) > 0 {
		char, size := utf8.DecodeRune(text)
		isBad := char == utf8.RuneError && size == 1 || unicode.IsControl(char) && !strings.ContainsRune("\t\n\r\u0085", char)
		if isBad {
			return line
		}
		if char == '\n' {
			line++
		}
		text = text[size:]
	}
	return 0
}

// failSyntax says where the YAML breaks off, as well as the parser tells. Its message begins with "yaml: ", and mostly
// "line N: " behind that. For what is wrong with brackets or indentation N counts from 0, and may be the line where the
// surrounding list or mapping begins.
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
		"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected <document start>":
		if line > 1 || strings.HasPrefix(err.Error(), "yaml: line 1:") {
			line = min(line+1, 1+bytes.Count(text, []byte("\n")))
		}
		r.fail(line, "not valid YAML here or in what begins here: %s; look at its indentation, brackets and quotes", message)
		return
	}
	if _, anchor, found := strings.Cut(message, "unknown anchor '"); found {
		anchor, _, _ = strings.Cut(anchor, "'")
		before, _, _ := bytes.Cut(text, []byte("*"+anchor))
		r.fail(1+bytes.Count(before, []byte("\n")), "the alias *%s stands for nothing: no &%s comes before it", anchor, anchor)
		return
	}
	r.fail(line, "not valid YAML: %s", message)
}

// expansion knows how many nodes a node comes to with its aliases followed; 0 while that is being counted.
type expansion map[*yaml.Node]int

// of counts up to a little more than maxExpanded, or finds an anchor that contains itself.
func (e expansion) of(node *yaml.Node) (size int, loop *yaml.Node) {
	if size, found := e[node]; found {
		if size == 0 {
			return 0, node
		}
		return size, nil
	}
	e[node] = 0
	size = 1
	below := node.Content
	if node.Kind == yaml.AliasNode {
		below = []*yaml.Node{node.Alias}
	}
	for _, child := range below {
		more, loop := e.of(child)
		if loop != nil {
			return 0, loop
		}
		size = min(size+more, maxExpanded+1)
	}
	e[node] = size
	return size, nil
}

// reader turns nodes into values and collects everything that is wrong with them.
type reader struct {
	file string
	errs []*Error
}

func (r *reader) fail(line int, format string, args ...any) {
	r.errs = append(r.errs, &Error{Place{r.file, line}, fmt.Sprintf(format, args...)})
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

// member is a key of a mapping with its value.
type member struct {
	key   string
	line  int
	value *yaml.Node // resolved
}

// members reads a mapping, in its order. what says what the mapping is, such as: a variant.
func (r *reader) members(node *yaml.Node, what string) ([]member, bool) {
	node = resolve(node)
	if node.Kind != yaml.MappingNode || isTagged(node) {
		r.fail(node.Line, "%s must be a mapping (key: value), not %s", what, kindOf(node))
		return nil, false
	}
	var members []member
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := resolve(node.Content[i]), node.Content[i+1]
		line := node.Content[i].Line
		key, isText := textOf(name)
		switch {
		case name.Tag == "!!merge":
			r.fail(line, "<< is not read: write the members out")
		case !isText:
			r.fail(line, "a key of %s must be a plain word, not %s", what, kindOf(name))
		case lines[key] > 0:
			r.fail(line, "%s is already on line %d: keep one of them", quote(key), lines[key])
		default:
			lines[key] = line
			members = append(members, member{key, line, resolve(value)})
		}
	}
	return members, true
}

// items reads a list.
func (r *reader) items(node *yaml.Node, what string) []*yaml.Node {
	if node.Kind != yaml.SequenceNode || isTagged(node) {
		r.fail(node.Line, "%s must be a list (lines that begin with -), not %s", what, kindOf(node))
		return nil
	}
	return node.Content
}

// textOf is a scalar's text as it is written: 007, 4.90 and no stay what they are.
func textOf(node *yaml.Node) (string, bool) {
	if node.Kind != yaml.ScalarNode || isTagged(node) || node.Tag == "!!null" || node.Tag == "!!merge" {
		return "", false
	}
	return node.Value, true
}

// isTagged tells nodes with an explicit tag, such as !!binary: there is nothing that they are needed for.
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

func quote(key string) string { return fmt.Sprintf("%.60q", key) }
