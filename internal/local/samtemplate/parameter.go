package samtemplate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types of parameter that are known.
const (
	typeString = "String"
	typeNumber = "Number"
	typeList   = "CommaDelimitedList"
)

// readParameters gives each parameter that the template declares its value: an override, or the default.
func (s *stack) readParameters(section *yaml.Node, overrides map[string]value) (map[string]value, error) {
	parameters := make(map[string]value)
	if section != nil {
		if section.Kind != yaml.MappingNode {
			return nil, s.at(section).errorf("want a mapping")
		}
		for key, n := range pairs(section) {
			v, err := s.readParameter(key, n, overrides[key.Value])
			if err != nil {
				return nil, err
			}
			parameters[key.Value] = v
		}
	}
	for name, v := range overrides {
		if _, ok := parameters[name]; !ok {
			return nil, fmt.Errorf("%s: %s has no parameter %s", v.at, s.file, name)
		}
	}
	return parameters, nil
}

func (s *stack) readParameter(key, n *yaml.Node, override value) (value, error) {
	attributes, err := s.entries(n, "Type", "Default", "Description", "AllowedPattern", "AllowedValues", "MinValue",
		"ConstraintDescription")
	if err != nil {
		return value{}, err
	}
	v := override
	if !v.exists() {
		if attributes["Default"] == nil {
			return value{}, s.at(key).errorf("the parameter %s needs a value", key.Value)
		}
		if v, err = s.evaluate(attributes["Default"]); err != nil {
			return value{}, err
		}
	}
	if v.kind != yaml.ScalarNode {
		return value{}, v.at.errorf("the value of the parameter %s is %s, not a text", key.Value, v.describe())
	}
	// What is known only once it is created cannot be checked.
	if len(references(v.text)) == 0 {
		if err := s.checkParameter(attributes, v.text); err != nil {
			if hint := attributes["ConstraintDescription"]; hint != nil {
				err = fmt.Errorf("%w (%s)", err, hint.Value)
			}
			return value{}, v.at.errorf("the parameter %s: %w", key.Value, err)
		}
	}
	kind := attributes["Type"]
	if kind == nil {
		return value{}, s.at(key).errorf("the parameter %s has no type", key.Value)
	}
	switch kind.Value {
	case typeString, typeNumber:
		return v, nil
	case typeList:
		list := value{at: v.at, kind: yaml.SequenceNode}
		for text := range strings.SplitSeq(v.text, ",") {
			list.list = append(list.list, scalar(v.at, strings.TrimSpace(text)))
		}
		return list, nil
	default:
		return value{}, s.at(kind).errorf("a parameter of type %s is not supported here", kind.Value)
	}
}

// checkParameter says which of a parameter's constraints a text does not meet.
func (s *stack) checkParameter(attributes map[string]*yaml.Node, text string) error {
	isNumber := attributes["Type"] != nil && attributes["Type"].Value == typeNumber
	number, err := strconv.ParseFloat(text, 64)
	if isNumber && err != nil {
		return fmt.Errorf("%q is not a number", text)
	}
	if n := attributes["MinValue"]; n != nil {
		least, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || !isNumber {
			return s.at(n).errorf("MinValue is a number, of a number")
		}
		if number < least {
			return fmt.Errorf("%s is less than %s", text, n.Value)
		}
	}
	if n := attributes["AllowedPattern"]; n != nil {
		pattern, err := regexp.Compile("^(?:" + n.Value + ")$")
		if err != nil {
			return s.at(n).errorf("AllowedPattern: %w", err)
		}
		if !pattern.MatchString(text) {
			return fmt.Errorf("%q does not match %s", text, n.Value)
		}
	}
	if n := attributes["AllowedValues"]; n != nil {
		allowed, err := s.evaluateList(n)
		d := decoder{err: err}
		texts := d.texts(allowed)
		if d.err == nil && !slices.Contains(texts, text) {
			d.fail(fmt.Errorf("%q is not one of %s", text, strings.Join(texts, ", ")))
		}
		return d.err
	}
	return nil
}
