package contract

import (
	"fmt"
	"slices"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// announcements takes out of a released document what a revision has no longer and was announced to go: operations,
// parameters, headers and fields that the release marked deprecated. What is left of the release still binds.
type announcements struct {
	today     time.Time
	operation Operation
	seen      map[[2]*openapi3.Schema]bool
	problems  []string
}

// takeOut changes base. It returns what went before its sunset, and sunsets that were brought forward.
func takeOut(base, revision document, today time.Time) []string {
	a := announcements{today: today, seen: make(map[[2]*openapi3.Schema]bool)}
	revisions := revision.byShape()
	for name, operation := range base.operations() {
		a.operation = name
		kept, found := revisions[name.shape()]
		if found {
			a.keeps("", operation.Extensions, kept.Deprecated, kept.Extensions)
			a.inOperation(operation, kept)
		} else if a.wasAnnounced("", operation.Deprecated, operation.Extensions) {
			base.Spec.Paths.Value(name.Path).SetOperation(name.Method, nil)
		}
	}
	slices.Sort(a.problems)
	return a.problems
}

// wasAnnounced tells whether something that is gone had been deprecated. If its sunset is still to come, that is a problem.
func (a *announcements) wasAnnounced(what string, deprecated bool, extensions map[string]any) bool {
	if !deprecated {
		return false
	}
	if sunset, given := extensions[sunsetExtension]; given && fmt.Sprint(sunset) > a.today.Format(time.DateOnly) {
		a.problem(what, "was removed before its sunset on %v", sunset)
	}
	return true
}

// keeps wants the sunset of something that is still deprecated to stay where it was, or later.
func (a *announcements) keeps(what string, base map[string]any, deprecated bool, revision map[string]any) {
	before, given := base[sunsetExtension]
	if now := revision[sunsetExtension]; given && deprecated && (now == nil || fmt.Sprint(now) < fmt.Sprint(before)) {
		a.problem(what, "brings its sunset forward, which was announced for %v", before)
	}
}

func (a *announcements) problem(what, format string, args ...any) {
	a.problems = append(a.problems, a.operation.String()+": "+what+fmt.Sprintf(format, args...))
}

func (a *announcements) inOperation(base, revision *openapi3.Operation) {
	base.Parameters = slices.DeleteFunc(slices.Clone(base.Parameters), func(parameter *openapi3.ParameterRef) bool {
		p, what := parameter.Value, fmt.Sprintf("the parameter %s ", parameter.Value.Name)
		kept := revision.Parameters.GetByInAndName(p.In, p.Name)
		if kept == nil {
			return a.wasAnnounced(what, p.Deprecated, p.Extensions)
		}
		a.keeps(what, p.Extensions, kept.Deprecated, kept.Extensions)
		return false
	})
	if base.RequestBody != nil && revision.RequestBody != nil {
		a.inContent(base.RequestBody.Value.Content, revision.RequestBody.Value.Content)
	}
	for status, response := range base.Responses.Map() {
		if kept := revision.Responses.Value(status); kept != nil {
			a.inHeaders(response.Value.Headers, kept.Value.Headers)
			a.inContent(response.Value.Content, kept.Value.Content)
		}
	}
}

func (a *announcements) inHeaders(base, revision openapi3.Headers) {
	for name, header := range base {
		what := fmt.Sprintf("the header %s ", name)
		if kept, found := revision[name]; found {
			a.keeps(what, header.Value.Extensions, kept.Value.Deprecated, kept.Value.Extensions)
		} else if a.wasAnnounced(what, header.Value.Deprecated, header.Value.Extensions) {
			delete(base, name)
		}
	}
}

func (a *announcements) inContent(base, revision openapi3.Content) {
	for mediaType, content := range base {
		if kept := revision[mediaType]; kept != nil {
			a.inSchema(content.Schema, kept.Schema)
		}
	}
}

// inSchema looks where both documents have a schema in the same place.
func (a *announcements) inSchema(base, revision *openapi3.SchemaRef) {
	if base == nil || revision == nil || a.seen[[2]*openapi3.Schema{base.Value, revision.Value}] {
		return
	}
	a.seen[[2]*openapi3.Schema{base.Value, revision.Value}] = true
	b, r := base.Value, revision.Value
	for name, field := range b.Properties {
		what := fmt.Sprintf("the field %s ", name)
		if kept, found := r.Properties[name]; found {
			a.keeps(what, field.Value.Extensions, kept.Value.Deprecated, kept.Value.Extensions)
			a.inSchema(field, kept)
		} else if a.wasAnnounced(what, field.Value.Deprecated, field.Value.Extensions) {
			delete(b.Properties, name)
			b.Required = slices.DeleteFunc(b.Required, func(required string) bool { return required == name })
		}
	}
	a.inSchema(b.Items, r.Items)
	a.inSchema(b.AdditionalProperties.Schema, r.AdditionalProperties.Schema)
	for _, alternatives := range [][2]openapi3.SchemaRefs{{b.AllOf, r.AllOf}, {b.OneOf, r.OneOf}, {b.AnyOf, r.AnyOf}} {
		for i := range min(len(alternatives[0]), len(alternatives[1])) {
			a.inSchema(alternatives[0][i], alternatives[1][i])
		}
	}
}
