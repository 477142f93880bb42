package samtemplate

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// Resources lists what a deployment of the template and of the stacks nested in it creates, in the templates' order, each
// nested stack's resources after the stack itself. Unlike Load it evaluates everything: it fails where CloudFormation would
// reject a parameter, or where an expression cannot be evaluated.
func (t *Template) Resources() (all []Resource, err error) {
	err = try(func() { all = t.stack.deploy() })
	return all, err
}

func (s *stack) deploy() []Resource {
	s.checkParameters()
	s.checkRules()
	var all []Resource
	for r := range s.resources() {
		whole := s.native(s.merge(s.globals(r.kind), r.properties))
		properties, _ := whole.(map[string]any)
		all = append(all, Resource{Address: s.address + r.name, Type: r.kind, Properties: properties})
		if url, is := properties["TemplateURL"].(string); is {
			all = append(all, s.nested(r, url).deploy()...)
		}
	}
	return all
}

func (s *stack) nested(r resource, url string) *stack {
	parameters := maps.Clone(s.pseudo)
	parameters["AWS::StackName"] += "-" + r.name
	for key, item := range pairs(get(r.properties, "Parameters")) {
		parameters[key.Value] = s.text(item)
	}
	nested, err := openStack(filepath.Join(filepath.Dir(s.path), filepath.FromSlash(url)), parameters)
	if err != nil {
		s.fail(r.at, "the nested stack: %w", err)
	}
	nested.address = s.address + r.name + "."
	return nested
}

// native evaluates a node and everything below it to Go's maps, slices and strings.
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

// checkParameters fails where CloudFormation would reject a parameter.
func (s *stack) checkParameters() {
	for key, declared := range pairs(get(s.sections, "Parameters")) {
		text, _ := s.parameter(key.Value)
		if strings.Contains(text, referenceMark) {
			continue
		}
		if problem := s.violation(declared, text); problem != "" {
			s.fail(key, "the parameter %s: %s (%s)", key.Value, problem, s.text(get(declared, "ConstraintDescription")))
		}
	}
}

// violation says which constraint of a parameter a text does not meet. It returns nothing if the text meets all.
func (s *stack) violation(declared *yaml.Node, text string) string {
	if pattern := get(declared, "AllowedPattern"); pattern != nil && !regexp.MustCompile("^(?:"+pattern.Value+")$").MatchString(text) {
		return fmt.Sprintf("%q does not match %s", text, pattern.Value)
	}
	if allowed := s.texts(get(declared, "AllowedValues")); len(allowed) > 0 && !slices.Contains(allowed, text) {
		return fmt.Sprintf("%q is not one of %s", text, strings.Join(allowed, ", "))
	}
	if s.text(get(declared, "Type")) != "Number" {
		return ""
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Sprintf("%q is not a number", text)
	}
	if least := get(declared, "MinValue"); least != nil {
		if bound, err := strconv.ParseFloat(least.Value, 64); err != nil || number < bound {
			return fmt.Sprintf("%s is less than %s", text, least.Value)
		}
	}
	return ""
}

// checkRules fails where the parameters together break a rule of the template.
func (s *stack) checkRules() {
	for name, rule := range pairs(get(s.sections, "Rules")) {
		if condition := get(rule, "RuleCondition"); condition != nil && !s.judge(condition) {
			continue
		}
		for _, assertion := range s.list(get(rule, "Assertions")) {
			if !s.judge(get(assertion, "Assert")) {
				s.fail(assertion, "the rule %s: %s", name.Value, s.text(get(assertion, "AssertDescription")))
			}
		}
	}
}
