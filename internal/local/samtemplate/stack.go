package samtemplate

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stack is a template with values for its parameters. Methods without an error result report errors with fail. Call
// them inside try.
type stack struct {
	path     string
	sections *yaml.Node
	// prefix comes before the names of the stack's resources in references. Open describes it.
	prefix    string
	overrides map[string]string
	pseudo    map[string]string
}

// resource is an entry of a template's Resources.
type resource struct {
	name, kind string
	at         *yaml.Node
	properties *yaml.Node // nil if the resource has no properties
}

// openStack parses a template. It does not evaluate any expression.
func openStack(path string, parameters map[string]string) (*stack, error) {
	s := &stack{path: path, overrides: make(map[string]string), pseudo: map[string]string{
		"AWS::AccountId": "123456789012",
		"AWS::Partition": "aws",
		"AWS::Region":    "us-east-1",
		"AWS::StackName": "shopfront",
		"AWS::URLSuffix": "amazonaws.com",
	}}
	text, err := os.ReadFile(path) //nolint:gosec // the project's own template
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file(), err)
	}
	var all map[string]any // decoding fails if a mapping has duplicate keys
	if err := document.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file(), err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the template is empty", s.file())
	}
	s.sections = document.Content[0]
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		switch {
		case s.pseudo[name] != "":
			s.pseudo[name] = parameters[name]
		case get(s.sections, "Parameters", name) != nil:
			s.overrides[name] = parameters[name]
		default:
			return nil, fmt.Errorf("%s has no parameter %s", s.file(), name)
		}
	}
	return s, nil
}

func (s *stack) file() string { return filepath.Base(s.path) }

// pairs yields the keys and values of a mapping. For other nodes it yields nothing.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, item *yaml.Node) bool) {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// get follows the keys from n and returns the node that it finds there, or nil. It does not evaluate the node.
func get(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var found *yaml.Node
		for name, item := range pairs(n) {
			if name.Value == key {
				found = item
			}
		}
		n = found
	}
	return n
}

// resources yields the resources that the stack creates.
func (s *stack) resources() iter.Seq[resource] {
	return func(yield func(resource) bool) {
		for key, item := range pairs(get(s.sections, "Resources")) {
			r := resource{
				name: key.Value, at: key, properties: get(item, "Properties"),
				kind: s.text(get(item, "Type")),
			}
			if r.kind == "" { // for example, a loop of AWS::LanguageExtensions
				s.fail(key, "the resource %s has no type", r.name)
			}
			if s.creates(r.name) && !yield(r) {
				return
			}
		}
	}
}

// creates reports whether the stack creates the named resource.
func (s *stack) creates(name string) bool {
	condition := get(s.sections, "Resources", name, "Condition")
	return condition == nil || s.condition(condition)
}

// globals returns the properties that all resources of a type share.
func (s *stack) globals(kind string) *yaml.Node {
	section, isServerless := strings.CutPrefix(kind, "AWS::Serverless::")
	if !isServerless {
		return nil
	}
	return get(s.sections, "Globals", section)
}

// property returns a property of a resource, merged with the globals as the serverless transform merges them: mappings
// are merged, lists are joined, and in all other cases the resource's own value wins.
func (s *stack) property(r resource, key string) *yaml.Node {
	return s.merge(get(s.globals(r.kind), key), get(r.properties, key))
}

// merge merges two values by the rules that property describes.
func (s *stack) merge(base, own *yaml.Node) *yaml.Node {
	base, own = s.resolve(base), s.resolve(own)
	switch {
	case base == nil:
		return own
	case own == nil:
		return base
	case base.Kind != own.Kind || own.Kind == yaml.ScalarNode:
		return own
	}
	merged := &yaml.Node{Kind: own.Kind, Line: own.Line}
	if own.Kind == yaml.SequenceNode {
		merged.Content = slices.Concat(base.Content, own.Content)
		return merged
	}
	for key, item := range pairs(base) {
		if both := s.merge(item, get(own, key.Value)); both != nil {
			merged.Content = append(merged.Content, key, both)
		}
	}
	for key, item := range pairs(own) {
		if get(base, key.Value) == nil {
			merged.Content = append(merged.Content, key, item)
		}
	}
	return merged
}
