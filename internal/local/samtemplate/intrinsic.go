package samtemplate

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// intrinsic recognises an intrinsic function in its short form, !Ref, and in its long one, a mapping of Ref or Fn::…
// alone. What it calls is the function's name without Fn::, its argument, and whether it was one.
func intrinsic(n *yaml.Node) (string, *yaml.Node, bool) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		argument := *n
		argument.Tag = ""
		return n.Tag[1:], &argument, true
	}
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		if name, ok := strings.CutPrefix(n.Content[0].Value, "Fn::"); ok || name == "Ref" || name == "Condition" {
			return name, n.Content[1], true
		}
	}
	return "", nil, false
}

// evaluate gives the value of a part of the template.
func (s *stack) evaluate(n *yaml.Node) (value, error) {
	if name, argument, ok := intrinsic(n); ok {
		return s.call(name, argument)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(s.at(n), n.Value), nil
	case yaml.SequenceNode:
		return s.evaluateList(n)
	default:
		return s.evaluateMapping(n)
	}
}

func (s *stack) evaluateList(n *yaml.Node) (value, error) {
	v := value{at: s.at(n), kind: yaml.SequenceNode}
	for _, item := range n.Content {
		evaluated, err := s.evaluate(item)
		if err != nil {
			return value{}, err
		}
		if evaluated.exists() {
			v.list = append(v.list, evaluated)
		}
	}
	return v, nil
}

func (s *stack) evaluateMapping(n *yaml.Node) (value, error) {
	v := value{at: s.at(n), kind: yaml.MappingNode, dict: make(map[string]value)}
	for key, item := range pairs(n) {
		evaluated, err := s.evaluate(item)
		if err != nil {
			return value{}, err
		}
		if evaluated.exists() {
			evaluated.at = s.at(key)
			v.keys = append(v.keys, key.Value)
			v.dict[key.Value] = evaluated
		}
	}
	return v, nil
}

// call evaluates an intrinsic function.
func (s *stack) call(name string, argument *yaml.Node) (value, error) {
	switch name {
	case "Ref":
		return s.ref(argument)
	case "GetAtt":
		return s.getAtt(argument)
	case "Sub":
		return s.sub(argument)
	case "If":
		return s.choose(argument)
	case "Join":
		return s.join(argument)
	case "Split":
		return s.split(argument)
	case "Select":
		return s.selectItem(argument)
	default:
		return value{}, s.at(argument).errorf("the function %s is not supported here", name)
	}
}

func (s *stack) ref(argument *yaml.Node) (value, error) {
	name := argument.Value
	if name == "AWS::NoValue" {
		return value{}, nil
	}
	if v, ok := s.parameters[name]; ok {
		v.at = s.at(argument)
		return v, nil
	}
	if text, ok := s.pseudo[name]; ok {
		return scalar(s.at(argument), text), nil
	}
	if _, err := s.existing(argument, name); err != nil {
		return value{}, err
	}
	return scalar(s.at(argument), reference(s.address+name)), nil
}

// getAtt evaluates GetAtt of Resource.Attribute, or of a list of both.
func (s *stack) getAtt(argument *yaml.Node) (value, error) {
	path := argument.Value
	if argument.Kind == yaml.SequenceNode {
		list, err := s.evaluateList(argument)
		d := decoder{err: err}
		path = strings.Join(d.texts(list), ".")
		if d.err != nil {
			return value{}, d.err
		}
	}
	name, attribute, ok := strings.Cut(path, ".")
	if !ok {
		return value{}, s.at(argument).errorf("GetAtt wants Resource.Attribute, not %q", path)
	}
	r, err := s.existing(argument, name)
	if err != nil {
		return value{}, err
	}
	output, ok := strings.CutPrefix(attribute, "Outputs.")
	if r.kind != typeStack || !ok {
		return scalar(s.at(argument), reference(s.address+path)), nil
	}
	nested, err := s.nested(r)
	if err != nil {
		return value{}, err
	}
	v, ok := nested.outputs[output]
	if !ok {
		return value{}, s.at(argument).errorf("%s has no output %s", nested.file, output)
	}
	v.at = s.at(argument)
	return v, nil
}

// existing finds a resource that the stack creates.
func (s *stack) existing(at *yaml.Node, name string) (resource, error) {
	r, ok := s.resources[name]
	if !ok {
		return resource{}, s.at(at).errorf("there is no parameter or resource %s", name)
	}
	creates, err := s.creates(r)
	if err != nil {
		return resource{}, err
	}
	if !creates {
		return resource{}, s.at(at).errorf("%s is not created under this condition", name)
	}
	return r, nil
}

// sub evaluates Sub of a text, or of a list of a text and a mapping of further names.
func (s *stack) sub(argument *yaml.Node) (value, error) {
	text, names := argument, value{}
	if argument.Kind == yaml.SequenceNode {
		if len(argument.Content) != 2 {
			return value{}, s.at(argument).errorf("Sub wants a text, or a text and a mapping")
		}
		text = argument.Content[0]
		var err error
		if names, err = s.evaluateMapping(argument.Content[1]); err != nil {
			return value{}, err
		}
	}
	var result strings.Builder
	for rest := text.Value; ; {
		before, after, ok := strings.Cut(rest, "${")
		result.WriteString(before)
		if !ok {
			return scalar(s.at(argument), result.String()), nil
		}
		name, after, ok := strings.Cut(after, "}")
		if !ok {
			return value{}, s.at(argument).errorf("${ is not closed in %q", text.Value)
		}
		rest = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			result.WriteString("${" + literal + "}")
			continue
		}
		v, err := s.substitute(argument, names, name)
		if err != nil {
			return value{}, err
		}
		result.WriteString(v)
	}
}

// substitute gives the text for ${name}.
func (s *stack) substitute(at *yaml.Node, names value, name string) (string, error) {
	v, ok := names.dict[name]
	if !ok {
		named := &yaml.Node{Kind: yaml.ScalarNode, Value: name, Line: at.Line}
		var err error
		if strings.Contains(name, ".") {
			v, err = s.getAtt(named)
		} else {
			v, err = s.ref(named)
		}
		if err != nil {
			return "", err
		}
	}
	if v.kind != yaml.ScalarNode {
		return "", s.at(at).errorf("${%s} is %s, not a text", name, v.describe())
	}
	return v.text, nil
}

func (s *stack) choose(argument *yaml.Node) (value, error) {
	if argument.Kind != yaml.SequenceNode || len(argument.Content) != 3 {
		return value{}, s.at(argument).errorf("If wants a condition and two values")
	}
	holds, err := s.condition(argument.Content[0])
	if err != nil {
		return value{}, err
	}
	if holds {
		return s.evaluate(argument.Content[1])
	}
	return s.evaluate(argument.Content[2])
}

func (s *stack) join(argument *yaml.Node) (value, error) {
	first, second, err := s.two(argument, "Join", yaml.SequenceNode)
	if err != nil {
		return value{}, err
	}
	texts := make([]string, 0, len(second.list))
	for _, item := range second.list {
		if item.kind != yaml.ScalarNode {
			return value{}, item.at.errorf("Join wants a list of texts, not %s in it", item.describe())
		}
		texts = append(texts, item.text)
	}
	return scalar(s.at(argument), strings.Join(texts, first.text)), nil
}

func (s *stack) split(argument *yaml.Node) (value, error) {
	first, second, err := s.two(argument, "Split", yaml.ScalarNode)
	if err != nil {
		return value{}, err
	}
	v := value{at: s.at(argument), kind: yaml.SequenceNode}
	for text := range strings.SplitSeq(second.text, first.text) {
		v.list = append(v.list, scalar(v.at, text))
	}
	return v, nil
}

func (s *stack) selectItem(argument *yaml.Node) (value, error) {
	first, second, err := s.two(argument, "Select", yaml.SequenceNode)
	if err != nil {
		return value{}, err
	}
	i, err := strconv.Atoi(first.text)
	if err != nil || i < 0 || i >= len(second.list) {
		return value{}, s.at(argument).errorf("there is no item %q in a list of %d", first.text, len(second.list))
	}
	return second.list[i], nil
}

// two evaluates the arguments of a function that takes a text, which is not empty unless it joins, and something of a kind.
func (s *stack) two(argument *yaml.Node, name string, kind yaml.Kind) (first, second value, err error) {
	if argument.Kind != yaml.SequenceNode || len(argument.Content) != 2 {
		return first, second, s.at(argument).errorf("%s wants two arguments", name)
	}
	if first, err = s.evaluate(argument.Content[0]); err != nil {
		return first, second, err
	}
	if second, err = s.evaluate(argument.Content[1]); err != nil {
		return first, second, err
	}
	if first.kind != yaml.ScalarNode || second.kind != kind || first.text == "" && name != "Join" {
		return first, second, s.at(argument).errorf("%s of %s and %s is not supported here", name, first.describe(), second.describe())
	}
	return first, second, nil
}

// condition says whether the condition of a name holds.
func (s *stack) condition(name *yaml.Node) (bool, error) {
	c, ok := s.conditions[name.Value]
	if !ok {
		return false, s.at(name).errorf("there is no condition %q", name.Value)
	}
	if slices.Contains(s.judging, name.Value) {
		return false, s.at(name).errorf("the condition %s depends on itself", name.Value)
	}
	s.judging = append(s.judging, name.Value)
	defer func() { s.judging = s.judging[:len(s.judging)-1] }()
	return s.judge(c)
}

// judge evaluates a condition.
func (s *stack) judge(n *yaml.Node) (bool, error) {
	name, argument, ok := intrinsic(n)
	if !ok {
		return false, s.at(n).errorf("a condition is one of the functions And, Condition, Equals, Not and Or")
	}
	switch name {
	case "Condition":
		return s.condition(argument)
	case "Equals":
		first, second, err := s.compared(argument)
		return first == second, err
	case "Not":
		all, err := s.judgeAll(argument, 1, 1)
		return err == nil && !all[0], err
	case "And":
		all, err := s.judgeAll(argument, 2, 10)
		return !slices.Contains(all, false), err
	case "Or":
		all, err := s.judgeAll(argument, 2, 10)
		return slices.Contains(all, true), err
	default:
		return false, s.at(n).errorf("the function %s is not supported in a condition", name)
	}
}

func (s *stack) judgeAll(argument *yaml.Node, atLeast, atMost int) ([]bool, error) {
	if argument.Kind != yaml.SequenceNode || len(argument.Content) < atLeast || len(argument.Content) > atMost {
		return nil, s.at(argument).errorf("want %d to %d conditions", atLeast, atMost)
	}
	var all []bool
	for _, n := range argument.Content {
		holds, err := s.judge(n)
		if err != nil {
			return nil, err
		}
		all = append(all, holds)
	}
	return all, nil
}

// compared gives the two texts of Equals. Conditions are judged before anything is created: there are no references.
func (s *stack) compared(argument *yaml.Node) (string, string, error) {
	v, err := s.evaluateList(argument)
	d := decoder{err: err}
	texts := d.texts(v)
	if d.err == nil && len(texts) != 2 {
		d.fail(s.at(argument).errorf("Equals wants two texts"))
	}
	if d.err != nil {
		return "", "", d.err
	}
	return texts[0], texts[1], nil
}
