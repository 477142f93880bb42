package samtemplate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
func (s *stack) fail(at *yaml.Node, format string, args ...any) {
	if at == nil {
		at = s.sections
	}
	panic(failure{fmt.Errorf("%s:%d: %w", s.file(), at.Line, fmt.Errorf(format, args...))})
}

// referenceMark begins and ends a reference. A reference stands for a value that exists only after the deployment, such
// as a queue's URL. It contains the address of the resource or of its attribute. The mark is a NUL, which YAML can
// contain only as an escape.
const referenceMark = "\x00"

func reference(address string) string { return referenceMark + address + referenceMark }

// replaceReferences replaces each reference in a string with the result of replace for its address.
func replaceReferences(text string, replace func(address string) string) string {
	parts := strings.Split(text, referenceMark)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = replace(parts[i])
	}
	return strings.Join(parts, "")
}

func scalar(at *yaml.Node, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: at.Line}
}

// intrinsic returns the name and the argument of a function such as !Ref. For other nodes, the name is empty.
func intrinsic(n *yaml.Node) (name string, argument *yaml.Node) {
	if n == nil || !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return "", nil
	}
	untagged := *n
	untagged.Tag = ""
	return n.Tag[1:], &untagged
}

// resolve returns the result of a node that is an intrinsic function, and returns any other node as it is. Nodes inside
// the returned node may still be intrinsic functions: callers resolve them when they need them. For AWS::NoValue and
// for nil, resolve returns nil.
func (s *stack) resolve(n *yaml.Node) *yaml.Node {
	name, argument := intrinsic(n)
	switch name {
	case "":
		return n
	case "Ref":
		return s.ref(argument, argument.Value)
	case "GetAtt":
		return s.refer(argument, argument.Value)
	case "Sub":
		return s.sub(argument)
	case "If":
		arguments := s.arguments(argument, name, 3)
		if s.condition(arguments[0]) {
			return s.resolve(arguments[1])
		}
		return s.resolve(arguments[2])
	case "Split":
		arguments := s.arguments(argument, name, 2)
		list := &yaml.Node{Kind: yaml.SequenceNode, Line: argument.Line}
		for part := range strings.SplitSeq(s.text(arguments[1]), s.text(arguments[0])) {
			list.Content = append(list.Content, scalar(argument, strings.TrimSpace(part)))
		}
		return list
	case "Select":
		arguments := s.arguments(argument, name, 2)
		index, items := s.text(arguments[0]), s.list(arguments[1])
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= len(items) {
			s.fail(argument, "there is no item %q in a list of %d", index, len(items))
		}
		return items[i]
	default:
		s.fail(n, "this machine cannot evaluate the function %s", name)
		return nil
	}
}

// arguments returns the arguments of a function. It fails if there are more or fewer than count.
func (s *stack) arguments(n *yaml.Node, function string, count int) []*yaml.Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) != count {
		s.fail(n, "%s takes %d arguments", function, count)
	}
	return n.Content
}

// text evaluates a node to a string, which may contain references. For nil, it returns an empty string.
func (s *stack) text(n *yaml.Node) string {
	resolved := s.resolve(n)
	if resolved == nil {
		return ""
	}
	if resolved.Kind != yaml.ScalarNode {
		s.fail(n, "want a string, not a list or a mapping")
	}
	return resolved.Value
}

// list evaluates a node to a list, evaluates the items, and drops items that are AWS::NoValue.
func (s *stack) list(n *yaml.Node) []*yaml.Node {
	resolved := s.resolve(n)
	if resolved == nil {
		return nil
	}
	if resolved.Kind != yaml.SequenceNode {
		s.fail(n, "want a list")
	}
	var items []*yaml.Node
	for _, item := range resolved.Content {
		if item = s.resolve(item); item != nil {
			items = append(items, item)
		}
	}
	return items
}

func (s *stack) texts(n *yaml.Node) []string {
	var texts []string
	for _, item := range s.list(n) {
		texts = append(texts, s.text(item))
	}
	return texts
}

func (s *stack) ref(at *yaml.Node, name string) *yaml.Node {
	if name == "AWS::NoValue" {
		return nil
	}
	if text, is := s.pseudo[name]; is {
		return scalar(at, text)
	}
	if text, is := s.overrides[name]; is {
		return scalar(at, text)
	}
	if get(s.sections, "Parameters", name) == nil {
		return s.refer(at, name)
	}
	preset := get(s.sections, "Parameters", name, "Default")
	if preset == nil {
		s.fail(at, "the parameter %s has no value", name)
	}
	return scalar(at, preset.Value)
}

// refer returns a reference to a resource that the stack creates, or to an attribute of such a resource. Api.Stage is
// the stage that the serverless transform adds.
func (s *stack) refer(at *yaml.Node, address string) *yaml.Node {
	name, _, _ := strings.Cut(address, ".")
	if get(s.sections, "Resources", name) == nil {
		s.fail(at, "there is no parameter or resource %s", name)
	}
	if !s.creates(name) {
		s.fail(at, "the stack does not create %s, because its condition is false", name)
	}
	return scalar(at, reference(s.prefix+address))
}

// sub evaluates Sub. Its argument is a string, or a list of a string and a mapping that defines more names.
func (s *stack) sub(argument *yaml.Node) *yaml.Node {
	text, names := argument, (*yaml.Node)(nil)
	if argument.Kind == yaml.SequenceNode {
		arguments := s.arguments(argument, "Sub", 2)
		text, names = arguments[0], arguments[1]
	}
	variable := regexp.MustCompile(`\$\{([^}]*)\}`)
	return scalar(argument, variable.ReplaceAllStringFunc(text.Value, func(match string) string {
		name := match[2 : len(match)-1]
		if named := get(names, name); named != nil {
			return s.text(named)
		}
		return s.text(s.ref(argument, name))
	}))
}

// condition reports whether the named condition holds.
func (s *stack) condition(name *yaml.Node) bool {
	declared := get(s.sections, "Conditions", name.Value)
	if declared == nil {
		s.fail(name, "there is no condition %q", name.Value)
	}
	return s.judge(declared)
}

// judge evaluates a condition.
func (s *stack) judge(n *yaml.Node) bool {
	name, argument := intrinsic(n)
	switch name {
	case "Condition":
		return s.condition(argument)
	case "Equals":
		// Conditions are evaluated before any resource is created, so the strings must not contain references.
		texts := s.texts(argument)
		if len(texts) != 2 || strings.Contains(texts[0]+texts[1], referenceMark) {
			s.fail(argument, "Equals takes two strings that are known before the deployment")
		}
		return texts[0] == texts[1]
	case "Not":
		return !s.judge(s.arguments(argument, name, 1)[0])
	case "And":
		return !slices.ContainsFunc(argument.Content, func(each *yaml.Node) bool { return !s.judge(each) })
	case "Or":
		return slices.ContainsFunc(argument.Content, s.judge)
	default:
		s.fail(n, "this machine cannot evaluate this as a condition: it knows And, Condition, Equals, Not and Or")
		return false
	}
}
