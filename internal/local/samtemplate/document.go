package samtemplate

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a template whose expressions are evaluated as CloudFormation evaluates them. Methods without an error
// result report errors with fail. Call them inside try.
type Document struct {
	file     string
	sections *yaml.Node
	prefix   string
	// given has the values of the pseudo parameters, and of the parameters that Open got.
	given map[string]string
}

// Resource is a resource that a deployment of a document creates.
type Resource struct {
	Name string
	Type string // such as AWS::IAM::Role
	Line int
	// Properties are maps, slices and strings. A reference that only a deployed stack can resolve is written as
	// ${Address}.
	Properties map[string]any

	properties *yaml.Node // nil if the resource has no properties
}

// Open reads a template. Load describes the parameters. The prefix is put before the names of resources in references.
// It is empty for the root stack. For a nested stack, it is the nested stack's name and a dot.
func Open(path, prefix string, parameters map[string]string) (*Document, error) {
	d := &Document{file: filepath.Base(path), prefix: prefix, given: map[string]string{
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
	var all map[string]any // decoding fails if a mapping has duplicate keys
	if err = yaml.Unmarshal(text, &document); err == nil {
		err = document.Decode(&all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the template is empty", d.file)
	}
	d.sections = document.Content[0]
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if d.given[name] == "" && get(d.sections, "Parameters", name) == nil {
			return nil, fmt.Errorf("%s has no parameter %s", d.file, name)
		}
	}
	maps.Copy(d.given, parameters)
	return d, nil
}

// Resources returns the resources that a deployment creates, in the document's order. Unlike Load, it evaluates all
// properties.
func (d *Document) Resources() (all []Resource, err error) {
	err = try(func() {
		for r := range d.resources() {
			r.Properties, _ = merge(d.evaluate(d.globals(r.Type)), d.evaluate(r.properties)).(map[string]any)
			all = append(all, r)
		}
	})
	return all, err
}

// Holds reports whether a condition holds.
func (d *Document) Holds(condition *yaml.Node) (holds bool, err error) {
	err = try(func() { holds = d.judge(condition) })
	return holds, err
}

// failure is the panic value with which fail passes an error up to try. Evaluation is deeply nested, so it panics
// inside, as package text/template does.
type failure struct{ err error }

// try runs a function. If the function ends in a call of fail, try returns the error that fail made. Otherwise it
// returns nil.
func try(do func()) (err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			err = problem.err
		default:
			panic(problem)
		}
	}()
	do()
	return nil
}

// fail ends the evaluation with an error that names the line of a node. If at is nil, it names the first line.
func (d *Document) fail(at *yaml.Node, format string, args ...any) {
	if at == nil {
		at = d.sections
	}
	panic(failure{fmt.Errorf("%s:%d: %w", d.file, at.Line, fmt.Errorf(format, args...))})
}

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

// resources yields the resources that the stack creates, without evaluating their properties.
func (d *Document) resources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		for key, item := range pairs(get(d.sections, "Resources")) {
			r := Resource{
				Name: key.Value, Type: d.text(get(item, "Type")), Line: key.Line, properties: get(item, "Properties"),
			}
			if r.Type == "" { // for example, a loop of AWS::LanguageExtensions
				d.fail(key, "the resource %s has no type", r.Name)
			}
			if d.creates(r.Name) && !yield(r) {
				return
			}
		}
	}
}

// creates reports whether the stack creates the named resource.
func (d *Document) creates(name string) bool {
	condition := get(d.sections, "Resources", name, "Condition")
	return condition == nil || d.condition(condition)
}

// globals returns the properties that all resources of a type share.
func (d *Document) globals(kind string) *yaml.Node {
	section, isServerless := strings.CutPrefix(kind, "AWS::Serverless::")
	if !isServerless {
		return nil
	}
	return get(d.sections, "Globals", section)
}

// merge merges globals with a resource's own value as the serverless transform does: mappings are merged, lists are
// joined, and in all other cases the resource's own value wins.
func merge(base, own any) any {
	if own == nil {
		return base
	}
	switch own := own.(type) {
	case []any:
		if list, is := base.([]any); is {
			return slices.Concat(list, own)
		}
	case map[string]any:
		if dict, is := base.(map[string]any); is {
			merged := maps.Clone(dict)
			for key, value := range own {
				merged[key] = merge(dict[key], value)
			}
			return merged
		}
	}
	return own
}

// function returns the name and the argument of a function such as !Ref. For other nodes, the name is empty.
func function(n *yaml.Node) (name string, argument *yaml.Node) {
	if n == nil || !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return "", nil
	}
	untagged := *n
	untagged.Tag = ""
	return n.Tag[1:], &untagged
}

// evaluate returns the value of a node as maps, slices and strings. For nil and AWS::NoValue it returns nil.
func (d *Document) evaluate(n *yaml.Node) any {
	name, argument := function(n)
	switch name {
	case "":
		return d.plain(n)
	case "Ref":
		return d.ref(argument, argument.Value)
	case "GetAtt":
		return d.refer(argument, argument.Value)
	case "Sub":
		return d.sub(argument)
	case "If":
		arguments := d.arguments(argument, name, 3)
		if d.condition(arguments[0]) {
			return d.evaluate(arguments[1])
		}
		return d.evaluate(arguments[2])
	case "Split":
		arguments := d.arguments(argument, name, 2)
		list := []any{}
		for part := range strings.SplitSeq(d.text(arguments[1]), d.text(arguments[0])) {
			list = append(list, strings.TrimSpace(part))
		}
		return list
	case "Select":
		arguments := d.arguments(argument, name, 2)
		index := d.text(arguments[0])
		list, _ := d.evaluate(arguments[1]).([]any)
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= len(list) {
			d.fail(argument, "there is no item %q in a list of %d", index, len(list))
		}
		return list[i]
	default:
		d.fail(n, "this machine cannot evaluate the function %s", name)
		return nil
	}
}

// plain evaluates a node that is no function.
func (d *Document) plain(n *yaml.Node) any {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			if value := d.evaluate(item); value != nil {
				list = append(list, value)
			}
		}
		return list
	case n.Kind == yaml.MappingNode:
		dict := make(map[string]any)
		for key, item := range pairs(n) {
			if value := d.evaluate(item); value != nil {
				dict[key.Value] = value
			}
		}
		return dict
	default:
		return n.Value
	}
}

// arguments returns the arguments of a function. It fails if there are more or fewer than count.
func (d *Document) arguments(n *yaml.Node, function string, count int) []*yaml.Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) != count {
		d.fail(n, "%s takes %d arguments", function, count)
	}
	return n.Content
}

// text evaluates a node to a string. For nil, it returns an empty string.
func (d *Document) text(n *yaml.Node) string {
	value := d.evaluate(n)
	if value == nil {
		return ""
	}
	text, is := value.(string)
	if !is {
		d.fail(n, "want a string, not a list or a mapping")
	}
	return text
}

func (d *Document) ref(at *yaml.Node, name string) any {
	if name == "AWS::NoValue" {
		return nil
	}
	if text, is := d.given[name]; is {
		return text
	}
	if get(d.sections, "Parameters", name) == nil {
		return d.refer(at, name)
	}
	preset := get(d.sections, "Parameters", name, "Default")
	if preset == nil {
		d.fail(at, "the parameter %s has no value", name)
	}
	return preset.Value
}

// refer returns a reference to a resource that the stack creates, or to an attribute of such a resource. A reference
// stands for a value that exists only after the deployment, such as a queue's URL. Api.Stage is the stage that the
// serverless transform adds.
func (d *Document) refer(at *yaml.Node, address string) string {
	name, _, _ := strings.Cut(address, ".")
	if get(d.sections, "Resources", name) == nil {
		d.fail(at, "there is no parameter or resource %s", name)
	}
	if !d.creates(name) {
		d.fail(at, "the stack does not create %s, because its condition is false", name)
	}
	return "${" + d.prefix + address + "}"
}

// variable matches a variable of Sub, and a reference.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// sub evaluates Sub. Its argument is a string, or a list of a string and a mapping that defines more names.
func (d *Document) sub(argument *yaml.Node) string {
	text, names := argument, (*yaml.Node)(nil)
	if argument.Kind == yaml.SequenceNode {
		arguments := d.arguments(argument, "Sub", 2)
		text, names = arguments[0], arguments[1]
	}
	return variable.ReplaceAllStringFunc(text.Value, func(match string) string {
		name := match[2 : len(match)-1]
		if named := get(names, name); named != nil {
			return d.text(named)
		}
		value, _ := d.ref(argument, name).(string)
		return value
	})
}

// condition reports whether the named condition holds.
func (d *Document) condition(name *yaml.Node) bool {
	declared := get(d.sections, "Conditions", name.Value)
	if declared == nil {
		d.fail(name, "there is no condition %q", name.Value)
	}
	return d.judge(declared)
}

// judge evaluates a condition.
func (d *Document) judge(n *yaml.Node) bool {
	name, argument := function(n)
	switch name {
	case "Condition":
		return d.condition(argument)
	case "Equals":
		arguments := d.arguments(argument, name, 2)
		return d.text(arguments[0]) == d.text(arguments[1])
	case "Not":
		return !d.judge(d.arguments(argument, name, 1)[0])
	case "And":
		return !slices.ContainsFunc(argument.Content, func(each *yaml.Node) bool { return !d.judge(each) })
	case "Or":
		return slices.ContainsFunc(argument.Content, d.judge)
	default:
		d.fail(n, "this machine cannot evaluate this as a condition: it knows And, Condition, Equals, Not and Or")
		return false
	}
}
