package catalogfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"shopfront/examples"
)

// format is the JSON Schema of catalogue files.
type format struct {
	compiler *jsonschema.Compiler
	schema   *jsonschema.Schema
}

func newFormat() (format, error) {
	const location = "file:///catalogue.schema.json" // a name only: nothing is read from there
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(examples.CatalogueSchema()))
	if err != nil {
		return format{}, fmt.Errorf("schema of catalogue files: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(location, document); err != nil {
		return format{}, fmt.Errorf("schema of catalogue files: %w", err)
	}
	schema, err := compiler.Compile(location)
	return format{compiler, schema}, err
}

// violations returns every violation of the schema.
func (f format) violations(value any) []*jsonschema.ValidationError {
	root, _ := errors.AsType[*jsonschema.ValidationError](f.schema.Validate(value))
	var found []*jsonschema.ValidationError
	for open := []*jsonschema.ValidationError{root}; root != nil && len(open) > 0; open = open[1:] {
		if len(open[0].Causes) == 0 {
			found = append(found, open[0])
		}
		open = append(open, open[0].Causes...)
	}
	return found
}

// reportViolations reports violations of the schema. With shapeOnly it leaves out the faults of scalars, because the
// catalogue's own rules run next and may describe them better. A second call, without shapeOnly, reports the faults
// that the rules did not find.
func (d *document) reportViolations(violations []*jsonschema.ValidationError, shapeOnly bool) {
	for _, violation := range violations {
		var at jsontext.Pointer
		for _, token := range violation.InstanceLocation {
			at = at.AppendToken(token)
		}
		node, _ := locate(d.root, at)
		schema := d.compiler.MustCompile(violation.SchemaURL) // cannot fail: it was compiled before
		switch k := violation.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				d.report(at.AppendToken(name), node.Line, "is missing")
			}
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				d.failAt(at.AppendToken(name), "unknown key: the keys here are %s",
					strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", "))
			}
		case *kind.Type:
			d.reportType(at, node, k.Want[0], schema.Title, shapeOnly)
		default:
			d.reportScalar(at, node, schema.Title, k.LocalizedString(message.NewPrinter(language.English)), shapeOnly)
		}
	}
}

func (d *document) reportType(at jsontext.Pointer, node *yaml.Node, wanted, title string, shapeOnly bool) {
	_, notNumber := strconv.Atoi(at.LastToken())
	switch {
	case isNull(node) && notNumber != nil && at != "":
		d.failAt(at, "is empty: give it a value, in quotes if it begins with #, or leave it out")
	case wanted == "object":
		d.report(at, node.Line, "must be a mapping (key: value), not %s", kindOf(node))
	case wanted == "array":
		d.report(at, node.Line, "must be a list (lines that begin with -), not %s", kindOf(node))
	default:
		d.reportScalar(at, node, cmp.Or(title, "one value"), "", shapeOnly && node.Kind == yaml.ScalarNode)
	}
}

// reportScalar reports that a scalar must be what the schema's title says. If the title is empty, it reports the
// parameter fallback.
func (d *document) reportScalar(at jsontext.Pointer, node *yaml.Node, title, fallback string, shapeOnly bool) {
	switch {
	case shapeOnly:
	case title != "":
		d.failAt(at, "must be %s, not %s", title, kindOf(node))
	default:
		d.failAt(at, "%s", fallback)
	}
}
