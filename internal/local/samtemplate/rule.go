package samtemplate

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// readRules holds the values of the parameters against the template's rules: each assertion of a rule whose condition holds.
func (s *stack) readRules(section *yaml.Node) error {
	rules, err := s.entries(section)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		rule, err := s.entries(rules[name], "RuleCondition", "Assertions")
		if err != nil {
			return err
		}
		if rule["Assertions"] == nil {
			return s.at(rules[name]).errorf("the rule %s asserts nothing", name)
		}
		if err := s.readRule(name, rule); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) readRule(name string, rule map[string]*yaml.Node) error {
	if n := rule["RuleCondition"]; n != nil {
		if applies, err := s.judge(n); err != nil || !applies {
			return err
		}
	}
	for _, n := range rule["Assertions"].Content {
		if err := s.assert(name, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *stack) assert(rule string, n *yaml.Node) error {
	assertion, err := s.entries(n, "Assert", "AssertDescription")
	if err != nil {
		return err
	}
	if assertion["Assert"] == nil || assertion["AssertDescription"] == nil {
		return s.at(n).errorf("an assertion of the rule %s wants Assert and AssertDescription", rule)
	}
	holds, err := s.judge(assertion["Assert"])
	if err == nil && !holds {
		err = s.at(n).errorf("the rule %s: %s", rule, assertion["AssertDescription"].Value)
	}
	return err
}
