package catalogfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a mapping of known keys, somewhere in a customer.
type object struct {
	in      *shopReader
	path    string // as catalog.FieldError calls its fields, such as: products[0].variants[1].
	line    int
	members map[string]member
}

// object reads a mapping and refuses keys that it does not know.
func (s *shopReader) object(node *yaml.Node, what, path string, keys ...string) (object, bool) {
	found, ok := s.members(node, what)
	o := object{in: s, path: path, line: node.Line, members: map[string]member{}}
	for _, m := range found {
		switch {
		case !slices.Contains(keys, m.key):
			s.fail(m.line, "unknown key %s: %s has %s", quote(m.key), what, strings.Join(keys, ", "))
		case isNull(m.value):
			s.failField(path+m.key, m.line, "is empty: give it a value, or leave it out")
		default:
			s.lines[path+m.key] = m.line
			o.members[m.key] = m
		}
	}
	return o, ok
}

// fail reports a member's value. What else is found about the same field is not reported again.
func (o object) fail(key, format string, args ...any) {
	line := o.line
	if m, found := o.members[key]; found {
		line = m.line
	}
	o.in.failField(o.path+key, line, format, args...)
}

// need reports members that are missing.
func (o object) need(keys ...string) {
	for _, key := range keys {
		if _, found := o.members[key]; !found && !o.in.failed[o.path+key] {
			o.fail(key, "is missing")
		}
	}
}

// text is a member's text as it is written. It is not ok where there is none, or it was reported.
func (o object) text(key string) (text string, ok bool) {
	m, found := o.members[key]
	if !found {
		return "", false
	}
	if text, ok = textOf(m.value); !ok {
		o.fail(key, "must be one value, not %s", kindOf(m.value))
	}
	return text, ok
}

// string is a member's text; empty where there is none.
func (o object) string(key string) string {
	text, _ := o.text(key)
	return text
}

// flag is a member that is true or false; false where there is none.
func (o object) flag(key string) bool {
	m, found := o.members[key]
	if !found {
		return false
	}
	text, isText := textOf(m.value)
	if !isText || m.value.Tag != "!!bool" {
		o.fail(key, "must be true or false, not %s", kindOf(m.value))
		return false
	}
	return strings.EqualFold(text, "true")
}

// whole is a member that is a whole number, written in digits.
func (o object) whole(key string, absent int64) int64 {
	text, ok := o.text(key)
	if !ok {
		return absent
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.Trim(text, "0123456789") != "" {
		o.fail(key, "must be a whole number, not %.40q", text)
		return absent
	}
	return number
}

// list is a member's items.
func (o object) list(key string) []*yaml.Node {
	m, found := o.members[key]
	if !found {
		return nil
	}
	return o.in.items(m.value, key)
}

// failField reports what is wrong with a field, unless something else is already.
func (s *shopReader) failField(field string, line int, format string, args ...any) {
	if s.failed[field] {
		return
	}
	s.failed[field] = true
	s.fail(line, "%s: %s", field[strings.LastIndexByte(field, '.')+1:], fmt.Sprintf(format, args...))
}

// lineOf is where a field stands, or what surrounds it.
func (s *shopReader) lineOf(field string) int {
	for {
		if line, found := s.lines[field]; found {
			return line
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return s.shop.Place.Line
		}
		field = field[:cut]
	}
}
