package contract

import (
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/load"
)

// Operation is a method and a path, such as GET /shop/{customer}/checkout.
type Operation struct {
	Method string
	Path   string
}

func (o Operation) String() string { return o.Method + " " + o.Path }

// shape is the operation without the names of its parameters: two with one shape are the same operation.
func (o Operation) shape() Operation {
	segments := strings.Split(o.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "{}"
		}
	}
	return Operation{Method: o.Method, Path: strings.Join(segments, "/")}
}

// takesFrom tells whether a path that o has is one of the other operation's, and has a literal segment where that one has a
// parameter.
func (o Operation) takesFrom(other Operation) bool {
	const parameter = "{}"
	mine, theirs := strings.Split(o.shape().Path, "/"), strings.Split(other.shape().Path, "/")
	if o.Method != other.Method || len(mine) != len(theirs) {
		return false
	}
	takes := false
	for i := range mine {
		if mine[i] != theirs[i] && mine[i] != parameter && theirs[i] != parameter {
			return false
		}
		takes = takes || theirs[i] == parameter && mine[i] != parameter
	}
	return takes
}

// document is an OpenAPI document, parsed.
type document struct {
	*load.SpecInfo

	tree tree // as it is written
}

// parse reads a document in YAML with its $refs resolved, and drops what is no structure, as far as the library would not
// leave it out of a comparison: tags, servers, links to documentation, comments, and the examples of schemas.
func parse(name string, text []byte) (document, error) {
	info, err := load.NewSpecInfoFromData(openapi3.NewLoader(), text, name, load.WithFlattenParams())
	if err != nil {
		return document{}, fmt.Errorf("%s: %w", name, err)
	}
	if info.Spec.Paths == nil || info.Spec.Info == nil {
		return document{}, fmt.Errorf("%s: it has no paths or no info", name)
	}
	written, err := readTree(name, text)
	if err != nil {
		return document{}, err
	}
	d := document{info, written}
	for _, operation := range d.operations() {
		operation.Tags, operation.Servers, operation.ExternalDocs = nil, nil, nil
		if operation.Security == nil && info.Spec.Security != nil {
			operation.Security = &info.Spec.Security
		}
	}
	return d, info.Spec.WalkSchemas(func(_ string, schema *openapi3.SchemaRef) error {
		schema.Value.ExternalDocs, schema.Value.Comment, schema.Value.Examples = nil, "", nil
		return nil
	})
}

func (d document) operations() map[Operation]*openapi3.Operation {
	operations := make(map[Operation]*openapi3.Operation)
	for path, item := range d.Spec.Paths.Map() {
		for method, operation := range item.Operations() {
			operations[Operation{method, path}] = operation
		}
	}
	return operations
}

// byShape are the operations by their shapes.
func (d document) byShape() map[Operation]*openapi3.Operation {
	operations := make(map[Operation]*openapi3.Operation)
	for name, operation := range d.operations() {
		operations[name.shape()] = operation
	}
	return operations
}

// nameParametersAs gives the parameters of each path the names that they have in another document's path of the same shape.
func (d document) nameParametersAs(other document) {
	others := make(map[Operation]string)
	for path := range other.Spec.Paths.Map() {
		others[Operation{Path: path}.shape()] = path
	}
	for path, item := range d.Spec.Paths.Map() {
		renamed, found := others[Operation{Path: path}.shape()]
		if !found || renamed == path {
			continue
		}
		names := make(map[string]string)
		as := strings.Split(renamed, "/")
		for i, segment := range strings.Split(path, "/") {
			names[strings.Trim(segment, "{}")] = strings.Trim(as[i], "{}")
		}
		for _, operation := range item.Operations() {
			renamePathParameters(operation.Parameters, names)
		}
		d.Spec.Paths.Delete(path)
		d.Spec.Paths.Set(renamed, item)
	}
}

// renamePathParameters leaves the parameters themselves as they are: paths may share them.
func renamePathParameters(parameters openapi3.Parameters, names map[string]string) {
	for i, parameter := range parameters {
		if parameter.Value.In == openapi3.ParameterInPath {
			renamed := *parameter.Value
			renamed.Name = names[renamed.Name]
			parameters[i] = &openapi3.ParameterRef{Value: &renamed}
		}
	}
}

// sunsetExtension is where a document says from when on something deprecated may be removed.
const sunsetExtension = "x-sunset"

// dropSunsets makes a comparison independent of the day on which it is made: the library judges sunsets by the clock.
func (d document) dropSunsets() error {
	for _, operation := range d.operations() {
		delete(operation.Extensions, sunsetExtension)
	}
	if err := d.Spec.WalkParameters(func(_ string, parameter *openapi3.ParameterRef) error {
		delete(parameter.Value.Extensions, sunsetExtension)
		return nil
	}); err != nil {
		return err
	}
	return d.Spec.WalkSchemas(func(_ string, schema *openapi3.SchemaRef) error {
		delete(schema.Value.Extensions, sunsetExtension)
		return nil
	})
}
