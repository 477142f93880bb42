package samtemplate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position is a place in a template; without a line, a value that was handed in for it.
type position struct {
	file string
	line int
}

func (p position) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// errorf makes an error that says where.
func (p position) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", p, fmt.Errorf(format, args...))
}

// value is a part of a template whose intrinsic functions have been evaluated. Its kind is that of a scalar, a sequence or
// a mapping, and 0 for what is not there: AWS::NoValue, or a key that a mapping lacks.
type value struct {
	at   position
	kind yaml.Kind
	text string // of a scalar; perhaps with references in it
	list []value
	keys []string // of a mapping, in order
	dict map[string]value
}

// What exists only once it is created has no value here: a reference stands for it, which is its address in between two
// NULs. A template cannot hold those itself, for YAML cannot.
const referenceMark = "\x00"

func reference(address string) string { return referenceMark + address + referenceMark }

// references lists the addresses of the references in a text.
func references(text string) []string {
	var all []string
	for i, part := range strings.Split(text, referenceMark) {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

func scalar(at position, text string) value {
	return value{at: at, kind: yaml.ScalarNode, text: text}
}

func (v value) exists() bool { return v.kind != 0 }

// describe says what the value is, for an error.
func (v value) describe() string {
	switch v.kind {
	case yaml.ScalarNode:
		return strconv.Quote(strings.ReplaceAll(v.text, referenceMark, ""))
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	default:
		return "nothing"
	}
}

// merged is the value laid over another, as the serverless transform lays a resource's properties over the globals:
// mappings are merged, lists are joined, anything else replaces.
func (v value) merged(base value) value {
	switch {
	case !v.exists():
		return base
	case v.kind == yaml.SequenceNode && base.kind == yaml.SequenceNode:
		v.list = slices.Concat(base.list, v.list)
		return v
	case v.kind != yaml.MappingNode || base.kind != yaml.MappingNode:
		return v
	}
	both := value{at: v.at, kind: yaml.MappingNode, keys: slices.Clone(base.keys), dict: make(map[string]value)}
	for _, key := range base.keys {
		both.dict[key] = v.dict[key].merged(base.dict[key])
	}
	for _, key := range v.keys {
		if _, ok := base.dict[key]; !ok {
			both.keys = append(both.keys, key)
			both.dict[key] = v.dict[key]
		}
	}
	return both
}

// decoder turns values into Go's. It keeps the first error, and gives zero values from then on.
type decoder struct{ err error }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// mapping gives the keys of a mapping, none for what is not there. A key that is not known is an error.
func (d *decoder) mapping(v value, known ...string) map[string]value {
	if !v.exists() {
		return nil
	}
	if v.kind != yaml.MappingNode {
		d.fail(v.at.errorf("want a mapping, not %s", v.describe()))
		return nil
	}
	for _, key := range v.keys {
		if !slices.Contains(known, key) {
			d.fail(v.dict[key].at.errorf("%s is not supported here; supported are %s", key, strings.Join(known, ", ")))
			return nil
		}
	}
	return v.dict
}

// names gives the keys of a mapping of any keys, none for what is not there.
func (d *decoder) names(v value) []string {
	if v.exists() && v.kind != yaml.MappingNode {
		d.fail(v.at.errorf("want a mapping, not %s", v.describe()))
		return nil
	}
	return v.keys
}

// text gives a scalar without references, and fallback for what is not there.
func (d *decoder) text(v value, fallback string) string {
	if !v.exists() {
		return fallback
	}
	if v.kind != yaml.ScalarNode || len(references(v.text)) > 0 {
		d.fail(v.at.errorf("want a text that is known before deployment, not %s", v.describe()))
		return ""
	}
	return v.text
}

// oneOf gives a scalar that must be one of the texts; the first is the fallback.
func (d *decoder) oneOf(v value, texts ...string) string {
	text := d.text(v, texts[0])
	if d.err == nil && !slices.Contains(texts, text) {
		d.fail(v.at.errorf("%q is not supported here; supported are %s", text, strings.Join(texts, ", ")))
		return ""
	}
	return text
}

// number gives a whole number of 0 or more, and fallback for what is not there.
func (d *decoder) number(v value, fallback int) int {
	text := d.text(v, strconv.Itoa(fallback))
	if d.err != nil {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		d.fail(v.at.errorf("want a whole number, not %q", text))
		return 0
	}
	return n
}

func (d *decoder) flag(v value) bool { return d.oneOf(v, "false", "true") == "true" }

// list gives the items of a list, none for what is not there.
func (d *decoder) list(v value) []value {
	if v.exists() && v.kind != yaml.SequenceNode {
		d.fail(v.at.errorf("want a list, not %s", v.describe()))
		return nil
	}
	return v.list
}

func (d *decoder) texts(v value) []string {
	var all []string
	for _, item := range d.list(v) {
		all = append(all, d.text(item, ""))
	}
	return all
}
