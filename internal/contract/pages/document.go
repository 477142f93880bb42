package pages

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is an OpenAPI 3.1 document, as far as the docs page shows it. What it cannot show is an error: nothing is left
// out without a word.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    info   `json:"info"`
	// Servers is not shown: the page tries the deployment that serves it.
	Servers    []server                    `json:"servers"`
	Tags       []tag                       `json:"tags"`
	Paths      members[members[operation]] `json:"paths"`
	Components components                  `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Summary     string `json:"summary"`
	Description string `json:"description"`
	License     struct {
		Name       string `json:"name"`
		Identifier string `json:"identifier"` // SPDX; not shown
	} `json:"license"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type components struct {
	Parameters members[parameter] `json:"parameters"`
	Headers    members[header]    `json:"headers"`
	Responses  members[response]  `json:"responses"`
	Schemas    members[schema]    `json:"schemas"`
}

type operation struct {
	ID          string            `json:"operationId"`
	Tags        []string          `json:"tags"`
	Summary     string            `json:"summary"`
	Description string            `json:"description"`
	Parameters  []parameter       `json:"parameters"`
	RequestBody *body             `json:"requestBody"`
	Responses   members[response] `json:"responses"`
	retirement
}

// retirement says of an operation, a parameter, a header or a member whether it is to go.
type retirement struct {
	Deprecated bool   `json:"deprecated"`
	Sunset     string `json:"x-sunset"` // YYYY-MM-DD: from then on it may be removed; empty: from the next release on
}

type parameter struct {
	Ref         string         `json:"$ref"`
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Description string         `json:"description"`
	Required    bool           `json:"required"`
	Schema      schema         `json:"schema"`
	Example     jsontext.Value `json:"example"`
	retirement
}

type body struct {
	Description string             `json:"description"`
	Required    bool               `json:"required"`
	Content     members[mediaType] `json:"content"`
}

type response struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Headers     members[header]    `json:"headers"`
	Content     members[mediaType] `json:"content"`
}

type header struct {
	Ref         string `json:"$ref"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      schema `json:"schema"`
	retirement
}

type mediaType struct {
	Schema   schema           `json:"schema"`
	Examples members[example] `json:"examples"`
}

type example struct {
	Summary string         `json:"summary"`
	Value   jsontext.Value `json:"value"`
}

// parseDocument reads a document in JSON whose references stay inside of it.
func parseDocument(text []byte) (document, error) {
	var d document
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return document{}, fmt.Errorf("the document has something that the docs page does not show: %w", err)
	}
	for i := range d.Paths {
		for j := range d.Paths[i].Value {
			if err := d.resolveOperation(&d.Paths[i].Value[j].Value); err != nil {
				return document{}, err
			}
		}
	}
	return d, nil
}

// resolveOperation puts what is referred to in the place of the reference, but for schemas, which have places of their own
// on the page.
func (d document) resolveOperation(o *operation) error {
	for i, p := range o.Parameters {
		if err := d.Components.Parameters.follow("parameters", p.Ref, &o.Parameters[i]); err != nil {
			return err
		}
		if err := o.Parameters[i].Schema.checkInPlace(); err != nil {
			return err
		}
	}
	if o.RequestBody != nil {
		if err := checkContent(o.RequestBody.Content); err != nil {
			return err
		}
	}
	for i := range o.Responses {
		if err := d.resolveResponse(&o.Responses[i].Value); err != nil {
			return err
		}
	}
	return nil
}

func (d document) resolveResponse(r *response) error {
	if err := d.Components.Responses.follow("responses", r.Ref, r); err != nil {
		return err
	}
	for i := range r.Headers {
		h := &r.Headers[i].Value
		if err := d.Components.Headers.follow("headers", h.Ref, h); err != nil {
			return err
		}
		if err := h.Schema.checkInPlace(); err != nil {
			return err
		}
	}
	return checkContent(r.Content)
}

func checkContent(content members[mediaType]) error {
	for _, m := range content {
		if err := m.Value.Schema.checkInPlace(); err != nil {
			return err
		}
	}
	return nil
}

// members are a JSON object's, in their order.
type members[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSONFrom reads the object.
func (m *members[T]) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '{' {
		return fmt.Errorf("an object is wanted at %s: %w", decoder.StackPointer(), err)
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		next := member[T]{Name: name.String()}
		if err := json.UnmarshalDecode(decoder, &next.Value); err != nil {
			return err
		}
		*m = append(*m, next)
	}
	_, err := decoder.ReadToken()
	return err
}

// get is the member of that name.
func (m members[T]) get(name string) (value T, found bool) {
	for _, member := range m {
		if member.Name == name {
			return member.Value, true
		}
	}
	return value, false
}

// follow puts the component that a reference names in its place. An empty reference is none.
func (m members[T]) follow(kind, ref string, place *T) error {
	if ref == "" {
		return nil
	}
	name, inside := strings.CutPrefix(ref, "#/components/"+kind+"/")
	component, found := m.get(name)
	if !inside || !found {
		return fmt.Errorf("the reference %s leads to none of the document's %s", ref, kind)
	}
	*place = component
	return nil
}
