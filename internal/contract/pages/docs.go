package pages

import (
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// docsView is what the docs page shows.
type docsView struct {
	frame
	Script    template.JS
	Info      info
	Shell, Go string // programs that redeem a voucher
	Sections  []section
	Problems  []problem
	Schemas   []schemaView
}

// section is the operations that have a tag.
type section struct {
	tag
	Operations []operationView
}

type operationView struct {
	operation
	Method, Path string
}

type schemaView struct {
	Name string
	schema
	Conditions []condition
	Inherited  []string
}

func renderDocs(layout *template.Template, f frame, d document) ([]byte, error) {
	view := docsView{frame: f, Script: template.JS(script), Info: d.Info} //nolint:gosec // our own
	var err error
	if view.Shell, err = readExample("redeem.sh"); err != nil {
		return nil, err
	}
	if view.Go, err = readExample("redeem.go.txt"); err != nil {
		return nil, err
	}
	if view.Sections, err = d.sections(); err != nil {
		return nil, err
	}
	if view.Problems, err = d.problems(); err != nil {
		return nil, err
	}
	if view.Schemas, err = d.schemas(); err != nil {
		return nil, err
	}
	return execute(layout, "docs.html.tmpl", view)
}

func readExample(name string) (string, error) {
	text, err := examples.ReadFile("examples/" + name)
	return string(text), err
}

// sections has every operation once, under its first tag.
func (d document) sections() ([]section, error) {
	sections := make([]section, len(d.Tags))
	for i, tag := range d.Tags {
		sections[i].tag = tag
	}
	for _, path := range d.Paths {
		for _, method := range path.Value {
			o := operationView{method.Value, strings.ToUpper(method.Name), path.Name}
			at := slices.IndexFunc(d.Tags, func(t tag) bool { return len(o.Tags) > 0 && t.Name == o.Tags[0] })
			if at < 0 || o.ID == "" {
				return nil, fmt.Errorf("%s %s has no operationId, or none of the document's tags", o.Method, o.Path)
			}
			sections[at].Operations = append(sections[at].Operations, o)
		}
	}
	return sections, nil
}

// schemas are those that have a place of their own. Those of single problems are in the list of problems.
func (d document) schemas() ([]schemaView, error) {
	var views []schemaView
	for _, s := range d.Components.Schemas {
		inherited := s.Value.inherited()
		if slices.Contains(inherited, problemSchema) {
			continue
		}
		conditions, err := s.Value.conditions()
		if err := errors.Join(err, s.Value.check(true)); err != nil {
			return nil, fmt.Errorf("schema %s: %w", s.Name, err)
		}
		views = append(views, schemaView{s.Name, s.Value, conditions, inherited})
	}
	return views, nil
}

// Form is that of the parameter's value.
func (p parameter) Form() []phrase { return p.Schema.form() }

// Options are the values that a parameter can have, nil where they are not listed.
func (p parameter) Options() []string {
	if slices.Equal(p.Schema.Type, types{"boolean"}) {
		return []string{"true", "false"}
	}
	return p.Schema.values()
}

// Form is that of the header's value.
func (h header) Form() []phrase { return h.Schema.form() }

// HasExamples says whether the response has bodies as examples.
func (r response) HasExamples() bool {
	return slices.ContainsFunc(r.Content, func(m member[mediaType]) bool { return len(m.Value.Examples) > 0 })
}

// Form is that of the content.
func (m mediaType) Form() []phrase { return m.Schema.form() }

// First is the first example, empty where there is none.
func (m mediaType) First() (string, error) {
	if len(m.Examples) == 0 {
		return "", nil
	}
	return pretty(m.Examples[0].Value.Value)
}

// Form is what a value of the schema must be.
func (s schema) Form() []phrase { return s.form() }

// Requires says whether a member must be there.
func (s schema) Requires(member string) bool { return slices.Contains(s.Required, member) }

// Nested are the members of an object, or of an array's items, that has no name of its own.
func (s schema) Nested() *schema {
	switch {
	case s.Ref != "":
		return nil
	case s.Items != nil:
		return s.Items.Nested()
	case len(s.Properties) > 0:
		return &s
	default:
		return nil
	}
}

// Anchor is where an answer is explained.
func (o operationView) Anchor(status string) string { return o.ID + "-" + status }

// pretty indents JSON.
func pretty(value jsontext.Value) (string, error) {
	indented := slices.Clone(value)
	if err := indented.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", fmt.Errorf("example: %w", err)
	}
	return string(indented), nil
}
