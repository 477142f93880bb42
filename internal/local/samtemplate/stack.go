package samtemplate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The resource types that are known. Of those after the tables nothing is to be had on a laptop.
const (
	typeAPI          = "AWS::Serverless::HttpApi"
	typeFunction     = "AWS::Serverless::Function"
	typeStack        = "AWS::CloudFormation::Stack"
	typeTable        = "AWS::DynamoDB::Table"
	typeAlarm        = "AWS::CloudWatch::Alarm"
	typeDashboard    = "AWS::CloudWatch::Dashboard"
	typeKey          = "AWS::KMS::Key"
	typeLogGroup     = "AWS::Logs::LogGroup"
	typePlaceholder  = "AWS::CloudFormation::WaitConditionHandle"
	typeRole         = "AWS::IAM::Role"
	typeSubscription = "AWS::SNS::Subscription"
	typeTopic        = "AWS::SNS::Topic"
	typeTopicPolicy  = "AWS::SNS::TopicPolicy"
)

// stack is a template with values for its parameters.
type stack struct {
	files fs.FS
	file  string
	// address is what the names of the resources have in front of them: nothing, or the nested stack's name and a dot.
	address    string
	parameters map[string]value
	pseudo     map[string]string
	conditions map[string]*yaml.Node
	judging    []string // the conditions that are being judged
	globals    map[string]value
	order      []string // of the resources
	resources  map[string]resource
	stacks     map[string]*stack // the nested ones; nil while one is being loaded
	outputs    map[string]value
}

// resource is an entry of a template's Resources.
type resource struct {
	name       string
	at         position
	kind       string
	condition  *yaml.Node // nil for none
	properties *yaml.Node // nil for none
}

func (s *stack) at(n *yaml.Node) position { return position{s.file, n.Line} }

// pairs gives the keys and values of a mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, item *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// loadStack reads a template and evaluates all of it. A nested stack has an address. Overrides are the values of its
// parameters, at where they come from.
func loadStack(files fs.FS, file, address string, overrides map[string]value, pseudo map[string]string) (*stack, error) {
	s := &stack{
		files: files, file: file, address: address, pseudo: pseudo,
		conditions: make(map[string]*yaml.Node), resources: make(map[string]resource), stacks: make(map[string]*stack),
		globals: make(map[string]value), outputs: make(map[string]value),
	}
	sections, err := s.read()
	if err != nil {
		return nil, err
	}
	if s.parameters, err = s.readParameters(sections["Parameters"], overrides); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		section string
		read    func(*yaml.Node) error
	}{
		{"Conditions", s.readConditions},
		{"Rules", s.readRules},
		{"Resources", s.readResources},
		{"Globals", s.readGlobals},
		{"Outputs", s.readOutputs},
	} {
		if n := sections[step.section]; n != nil {
			if err := step.read(n); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// read parses the template and gives its sections.
func (s *stack) read() (map[string]*yaml.Node, error) {
	f, err := s.files.Open(s.file)
	if err != nil {
		return nil, fmt.Errorf("reading a template: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	var document yaml.Node
	if err := yaml.NewDecoder(f).Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("%s: the template is empty", s.file)
	}
	root := document.Content[0]
	if err := s.checkForm(root); err != nil {
		return nil, err
	}
	sections, err := s.entries(root, "AWSTemplateFormatVersion", "Transform", "Description", "Metadata", "Parameters",
		"Rules", "Conditions", "Globals", "Resources", "Outputs")
	if err != nil {
		return nil, err
	}
	if n := sections["Transform"]; n != nil && n.Value != "AWS::Serverless-2016-10-31" {
		return nil, s.at(n).errorf("the only transform supported here is AWS::Serverless-2016-10-31")
	}
	return sections, nil
}

// checkForm finds what YAML allows and a template does not, at any depth.
func (s *stack) checkForm(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return s.at(n).errorf("anchors and aliases are not supported here")
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool)
		for key := range pairs(n) {
			if key.Kind != yaml.ScalarNode {
				return s.at(key).errorf("a key must be a text")
			}
			if seen[key.Value] {
				return s.at(key).errorf("the key %s is there twice", key.Value)
			}
			seen[key.Value] = true
		}
	}
	for _, child := range n.Content {
		if err := s.checkForm(child); err != nil {
			return err
		}
	}
	return nil
}

// entries gives the values of a mapping by key. A key that is not known is an error, unless none are given.
func (s *stack) entries(n *yaml.Node, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, s.at(n).errorf("want a mapping")
	}
	all := make(map[string]*yaml.Node)
	for key, item := range pairs(n) {
		if len(known) > 0 && !slices.Contains(known, key.Value) {
			return nil, s.at(key).errorf("%s is not supported here; supported are %s", key.Value, strings.Join(known, ", "))
		}
		all[key.Value] = item
	}
	return all, nil
}

func (s *stack) readConditions(section *yaml.Node) error {
	var err error
	if s.conditions, err = s.entries(section); err != nil {
		return err
	}
	for key := range pairs(section) {
		if _, err := s.condition(key); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) readResources(section *yaml.Node) error {
	if section.Kind != yaml.MappingNode {
		return s.at(section).errorf("want a mapping")
	}
	for key, item := range pairs(section) {
		attributes, err := s.entries(item, "Type", "Properties", "Condition", "DependsOn", "DeletionPolicy",
			"UpdateReplacePolicy", "Metadata")
		if err != nil {
			return err
		}
		r := resource{
			name: key.Value, at: s.at(key), condition: attributes["Condition"], properties: attributes["Properties"],
		}
		if n := attributes["Type"]; n != nil {
			r.kind = n.Value
		}
		switch r.kind {
		case typeAPI, typeFunction, typeStack, typeTable, typeAlarm, typeDashboard, typeKey, typeLogGroup, typePlaceholder,
			typeRole, typeSubscription, typeTopic, typeTopicPolicy:
		default:
			return r.at.errorf("%s has a type that is not supported here: %q", r.name, r.kind)
		}
		s.order = append(s.order, r.name)
		s.resources[r.name] = r
	}
	// What is created is evaluated once to find what is wrong with it, and again by what needs it.
	for _, name := range s.order {
		creates, err := s.creates(s.resources[name])
		if err != nil {
			return err
		}
		if !creates {
			continue
		}
		if _, err := s.properties(s.resources[name]); err != nil {
			return err
		}
	}
	nested, err := s.all(typeStack)
	for _, r := range nested {
		if _, err := s.nested(r); err != nil {
			return err
		}
	}
	return err
}

// creates says whether the resource's condition holds.
func (s *stack) creates(r resource) (bool, error) {
	if r.condition == nil {
		return true, nil
	}
	return s.condition(r.condition)
}

// all lists the resources of a type that the stack creates, in the template's order.
func (s *stack) all(kind string) ([]resource, error) {
	var all []resource
	for _, name := range s.order {
		r := s.resources[name]
		creates, err := s.creates(r)
		if err != nil {
			return nil, err
		}
		if creates && r.kind == kind {
			all = append(all, r)
		}
	}
	return all, nil
}

// properties evaluates a resource's properties and lays them over the globals.
func (s *stack) properties(r resource) (value, error) {
	v := value{at: r.at, kind: yaml.MappingNode}
	if r.properties != nil {
		var err error
		if v, err = s.evaluate(r.properties); err != nil {
			return value{}, err
		}
	}
	return v.merged(s.globals[r.kind]), nil
}

// nested loads a nested stack, once.
func (s *stack) nested(r resource) (*stack, error) {
	if loaded, ok := s.stacks[r.name]; ok {
		if loaded == nil {
			return nil, r.at.errorf("the nested stack %s depends on itself", r.name)
		}
		return loaded, nil
	}
	s.stacks[r.name] = nil
	v, err := s.properties(r)
	d := decoder{err: err}
	properties := d.mapping(v, "TemplateURL", "Parameters")
	url := properties["TemplateURL"]
	file := path.Join(path.Dir(s.file), d.text(url, ""))
	parameters := properties["Parameters"]
	d.names(parameters)
	if d.err != nil {
		return nil, d.err
	}
	if _, err := fs.Stat(s.files, file); err != nil {
		return nil, url.at.errorf("the nested template: %w", err)
	}
	pseudo := maps.Clone(s.pseudo)
	pseudo["AWS::StackName"] += "-" + r.name
	loaded, err := loadStack(s.files, file, s.address+r.name+".", parameters.dict, pseudo)
	if err != nil {
		return nil, err
	}
	s.stacks[r.name] = loaded
	return loaded, nil
}

func (s *stack) readGlobals(section *yaml.Node) error {
	if _, err := s.entries(section, "Function", "HttpApi"); err != nil {
		return err
	}
	for key, n := range pairs(section) {
		v, err := s.evaluate(n)
		if err != nil {
			return err
		}
		s.globals["AWS::Serverless::"+key.Value] = v
	}
	return nil
}

func (s *stack) readOutputs(section *yaml.Node) error {
	if section.Kind != yaml.MappingNode {
		return s.at(section).errorf("want a mapping")
	}
	for key, n := range pairs(section) {
		attributes, err := s.entries(n, "Description", "Value")
		if err != nil {
			return err
		}
		if attributes["Value"] == nil {
			return s.at(key).errorf("the output %s has no value", key.Value)
		}
		v, err := s.evaluate(attributes["Value"])
		if err != nil {
			return err
		}
		s.outputs[key.Value] = v
	}
	return nil
}
