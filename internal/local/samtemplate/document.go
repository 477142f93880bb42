package samtemplate

import "go.yaml.in/yaml/v3"

// Document is a template whose expressions are evaluated as CloudFormation evaluates them. Only tests of deployments
// use it. The local run uses Template.
type Document struct{ stack *stack }

// Resource is a resource that a deployment of a document creates.
type Resource struct {
	Name string
	Type string // such as AWS::IAM::Role
	Line int
	// Properties are maps, slices and strings. A reference that only a deployed stack can resolve is written as
	// ${Address}.
	Properties map[string]any
}

// Open reads a template. Load describes the parameters. The prefix is put before the names of resources in references.
// It is empty for the root stack. For a nested stack, it is the nested stack's name and a dot.
func Open(path, prefix string, parameters map[string]string) (*Document, error) {
	s, err := openStack(path, parameters)
	if err != nil {
		return nil, err
	}
	s.prefix = prefix
	return &Document{s}, nil
}

// Resources returns the resources that a deployment creates, in the document's order. Unlike Load, it evaluates all
// properties.
func (d *Document) Resources() (all []Resource, err error) {
	err = try(func() {
		for r := range d.stack.resources() {
			properties, _ := d.stack.native(d.stack.merge(d.stack.globals(r.kind), r.properties)).(map[string]any)
			all = append(all, Resource{Name: r.name, Type: r.kind, Line: r.at.Line, Properties: properties})
		}
	})
	return all, err
}

// Holds reports whether a condition holds.
func (d *Document) Holds(condition *yaml.Node) (holds bool, err error) {
	err = try(func() { holds = d.stack.judge(condition) })
	return holds, err
}

// native evaluates a node and everything below it, and returns Go maps, slices and strings.
func (s *stack) native(n *yaml.Node) any {
	n = s.resolve(n)
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, item := range s.list(n) {
			list = append(list, s.native(item))
		}
		return list
	case n.Kind == yaml.MappingNode:
		dict := make(map[string]any)
		for key, item := range pairs(n) {
			if value := s.native(item); value != nil {
				dict[key.Value] = value
			}
		}
		return dict
	default:
		return replaceReferences(n.Value, func(address string) string { return "${" + address + "}" })
	}
}
