package samtemplate

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Resource is a resource that the stack or a nested stack creates.
type Resource struct {
	// Address is the resource's logical ID, after the nested stack's and a dot: "Api", "Watch.ServerErrors".
	Address string
	Type    string // "AWS::IAM::Role"
	// Properties are maps, slices and strings. A reference that only a deployed stack can resolve is written as ${Address}.
	Properties map[string]any
}

// Resources lists the resources that the stack creates, in the templates' order, each nested stack's after the stack itself.
func (t *Template) Resources() ([]Resource, error) { return t.stack.describe() }

func (s *stack) describe() ([]Resource, error) {
	var all []Resource
	for _, name := range s.order {
		r := s.resources[name]
		creates, err := s.creates(r)
		if err != nil {
			return nil, err
		}
		if !creates {
			continue
		}
		properties, err := s.properties(r)
		if err != nil {
			return nil, err
		}
		described := Resource{Address: s.address + name, Type: r.kind}
		described.Properties, _ = properties.native().(map[string]any)
		all = append(all, described)
		if r.kind == typeStack {
			nested, err := s.stacks[name].describe()
			if err != nil {
				return nil, err
			}
			all = append(all, nested...)
		}
	}
	return all, nil
}

// native converts the value to Go's maps, slices and strings, with references written as ${Address}.
func (v value) native() any {
	switch v.kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range v.list {
			list = append(list, item.native())
		}
		return list
	case yaml.MappingNode:
		dict := make(map[string]any)
		for key, item := range v.dict {
			dict[key] = item.native()
		}
		return dict
	default:
		parts := strings.Split(v.text, referenceMark)
		for i := 1; i < len(parts); i += 2 {
			parts[i] = "${" + parts[i] + "}"
		}
		return strings.Join(parts, "")
	}
}
