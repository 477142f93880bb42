package pages

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// samples has a folder for each operation that has sample programs. The end-to-end tests run the programs as the page
// shows them.
//
//go:embed samples
var samples embed.FS

// docsView is the data of the docs page.
type docsView struct {
	document
	frame
	Script   template.JS
	First    operationView // shown before everything else
	Sections []section
	Problems []problem
	Schemas  members[schema] // without the problems
}

// section holds the operations of one tag.
type section struct {
	tag
	Operations []operationView
}

type operationView struct {
	operation
	Method, Path string
	Samples      []sample
}

// sample is a program that calls an operation.
type sample struct{ Language, File, Text string }

func renderDocs(layout *template.Template, f frame, d document) ([]byte, error) {
	view := docsView{document: d, frame: f, Script: template.JS(script)} //nolint:gosec // our own
	var err error
	if view.Sections, err = d.sections(); err != nil {
		return nil, err
	}
	for _, s := range view.Sections {
		for i, o := range s.Operations {
			if view.First.ID == "" && len(o.Samples) > 0 {
				view.First = o
				s.Operations[i].Samples = nil // so that they are not shown twice
			}
		}
	}
	for _, s := range d.Components.Schemas {
		p, isProblem, err := s.Value.problem(s.Name)
		if err != nil {
			return nil, err
		}
		if isProblem {
			view.Problems = append(view.Problems, p)
		} else {
			view.Schemas = append(view.Schemas, s)
		}
	}
	slices.SortStableFunc(view.Problems, func(a, b problem) int { return cmp.Compare(a.Status, b.Status) })
	return execute(layout, "docs.html.tmpl", view)
}

// sections lists every operation once, under its first tag.
func (d document) sections() ([]section, error) {
	sections := make([]section, len(d.Tags))
	for i, tag := range d.Tags {
		sections[i].tag = tag
	}
	for _, path := range d.Paths {
		for _, method := range path.Value {
			o := operationView{operation: method.Value, Method: strings.ToUpper(method.Name), Path: path.Name}
			at := slices.IndexFunc(d.Tags, func(t tag) bool { return len(o.Tags) > 0 && t.Name == o.Tags[0] })
			if at < 0 || o.ID == "" {
				return nil, fmt.Errorf("%s %s has no operationId, or its first tag is not among the document's tags",
					o.Method, o.Path)
			}
			var err error
			if o.Samples, err = samplesOf(o.ID); err != nil {
				return nil, err
			}
			sections[at].Operations = append(sections[at].Operations, o)
		}
	}
	return sections, nil
}

func samplesOf(operationID string) ([]sample, error) {
	var found []sample
	for _, language := range []struct{ name, extension string }{
		{"curl", ".sh"}, {"JavaScript", ".mjs"}, {"PHP", ".php"}, {"Java", ".java"}, {"Go", ".go"},
	} {
		files, err := fs.Glob(samples, "samples/"+operationID+"/*"+language.extension)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := samples.ReadFile(file)
			if err != nil {
				return nil, err
			}
			found = append(found, sample{language.name, file[strings.LastIndexByte(file, '/')+1:], string(text)})
		}
	}
	return found, nil
}

// problem is a schema that fixes the members of the schema Problem to constants.
type problem struct {
	Schema, Status, Type, Title string
	Members                     schema // the properties that this problem has in addition
}

// problem reads the schema as a problem, or reports that it is not one.
func (s schema) problem(name string) (p problem, isProblem bool, err error) {
	var fixed members[schema]
	for _, part := range s.AllOf {
		isProblem = isProblem || part.refName() == "Problem"
		fixed = append(fixed, part.Properties...)
		p.Members.Required = append(p.Members.Required, part.Required...)
	}
	constant := func(member string) string {
		s, _ := fixed.get(member)
		return plainText(s.Const)
	}
	p.Schema, p.Status, p.Type, p.Title = name, constant("status"), constant("type"), constant("title")
	for _, member := range fixed {
		if member.Value.Const == nil {
			p.Members.Properties = append(p.Members.Properties, member)
		}
	}
	if isProblem && (p.Status == "" || p.Type == "" || p.Title == "") {
		err = fmt.Errorf("schema %s: a problem needs a constant type, title and status", name)
	}
	return p, isProblem, err
}

// Options lists the values of a parameter that is a closed choice.
func (p parameter) Options() []string {
	if slices.Equal(p.Schema.Type, types{"boolean"}) {
		return []string{"true", "false"}
	}
	var values []string
	for _, value := range p.Schema.Enum {
		values = append(values, plainText(value))
	}
	return values
}

// pretty indents JSON.
func pretty(value jsontext.Value) (string, error) {
	indented := slices.Clone(value)
	if err := indented.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", fmt.Errorf("example: %w", err)
	}
	return string(indented), nil
}
