package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document has the members of an OpenAPI 3.1 document that the docs page shows. Parsing rejects any other member, so
// that the page never leaves out a part of the document silently.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Summary     string `json:"summary"`
		Description string `json:"description"`
		License     struct {
			Name       string `json:"name"`
			Identifier string `json:"identifier"` // an SPDX identifier, which the page does not show
		} `json:"license"`
	} `json:"info"`
	// Servers is not shown: the page calls the deployment that serves it.
	Servers []struct {
		URL         string `json:"url"`
		Description string `json:"description"`
	} `json:"servers"`
	Tags       []tag                       `json:"tags"`
	Paths      members[members[operation]] `json:"paths"`
	Components struct {
		Parameters members[parameter] `json:"parameters"`
		Headers    members[header]    `json:"headers"`
		Responses  members[response]  `json:"responses"`
		Schemas    members[schema]    `json:"schemas"`
		Security   members[scheme]    `json:"securitySchemes"`
		Links      jsontext.Value     `json:"links"`
	} `json:"components"`
}

// scheme is a kind of credentials, which clients send in the header Authorization.
type scheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type operation struct {
	ID          string            `json:"operationId"`
	Tags        []string          `json:"tags"`
	Summary     string            `json:"summary"`
	Description string            `json:"description"`
	Parameters  []parameter       `json:"parameters"`
	RequestBody *body             `json:"requestBody"`
	Responses   members[response] `json:"responses"`
	// Security lists alternatives. Each alternative names the schemes that a request must satisfy.
	Security []map[string][]string `json:"security"`
	retirement
}

// Credentials says whether a request needs a key of the shop's server: "optional", "required", or "" if the operation
// takes none.
func (o operation) Credentials() string {
	switch {
	case len(o.Security) == 0:
		return ""
	case slices.ContainsFunc(o.Security, func(alternative map[string][]string) bool { return len(alternative) == 0 }):
		return "optional"
	default:
		return "required"
	}
}

// retirement says whether and when an operation, a parameter, a header or a member may be removed.
type retirement struct {
	Deprecated bool `json:"deprecated"`
	// YYYY-MM-DD: the first day for the removal; empty: the next release may remove it
	Sunset string `json:"x-sunset"`
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
	Links       jsontext.Value     `json:"links"` // not shown: programs follow them, people read the description
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

// parseDocument reads a document in JSON and resolves its references, except those to schemas: the page shows schemas
// once and links to them.
func parseDocument(text []byte) (document, error) {
	var d document
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return document{}, fmt.Errorf("the docs page cannot show a part of the document: %w", err)
	}
	for _, path := range d.Paths {
		for _, method := range path.Value {
			if err := d.resolve(method.Value); err != nil {
				return document{}, fmt.Errorf("%s: %w", method.Value.ID, err)
			}
		}
	}
	return d, nil
}

// resolve resolves the references of an operation in place.
func (d document) resolve(o operation) error {
	for i := range o.Parameters {
		if err := d.Components.Parameters.follow("parameters", o.Parameters[i].Ref, &o.Parameters[i]); err != nil {
			return err
		}
	}
	for i := range o.Responses {
		r := &o.Responses[i].Value
		if err := d.Components.Responses.follow("responses", r.Ref, r); err != nil {
			return err
		}
		for j := range r.Headers {
			h := &r.Headers[j].Value
			if err := d.Components.Headers.follow("headers", h.Ref, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// members is a JSON object that keeps the order of its members.
type members[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSONFrom reads the object.
func (m *members[T]) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	opening, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	if opening.Kind() != '{' {
		return fmt.Errorf("%s must be an object", decoder.StackPointer())
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
	_, err = decoder.ReadToken()
	return err
}

// get returns the member with that name.
func (m members[T]) get(name string) (value T, found bool) {
	for _, member := range m {
		if member.Name == name {
			return member.Value, true
		}
	}
	return value, false
}

// follow overwrites place with the component that a reference names. An empty reference is a no-op.
func (m members[T]) follow(kind, ref string, place *T) error {
	if ref == "" {
		return nil
	}
	name, inside := strings.CutPrefix(ref, "#/components/"+kind+"/")
	component, found := m.get(name)
	if !inside || !found {
		return fmt.Errorf("the document's %s do not have %s", kind, ref)
	}
	*place = component
	return nil
}
