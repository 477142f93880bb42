package samtemplate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// descend gives what is under the keys of a section.
func descend(t *testing.T, s *stack, n *yaml.Node, keys ...string) *yaml.Node {
	t.Helper()
	for _, key := range keys {
		entries, err := s.entries(n)
		if err != nil || entries[key] == nil {
			t.Fatalf("%s: no %s, %v", s.at(n), key, err)
		}
		n = entries[key]
	}
	return n
}

// checkParameter wants a parameter with a default, bounds, and words about both.
func checkParameter(t *testing.T, s *stack, name string, declared *yaml.Node) {
	t.Helper()
	attributes, err := s.entries(declared)
	if err != nil {
		t.Fatal(err)
	}
	for _, attribute := range []string{"Default", "Description", "ConstraintDescription"} {
		if attributes[attribute] == nil {
			t.Errorf("%s has no %s", name, attribute)
		}
	}
	if attributes["AllowedPattern"] == nil && attributes["AllowedValues"] == nil && attributes["MinValue"] == nil {
		t.Errorf("%s takes anything", name)
	}
}

// Who deploys is told what each parameter does and what it may be, in the console and in docs/operations.md.
func TestParametersAreDescribed(t *testing.T) {
	s := loadReal(t, nil)
	sections, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	declared, err := s.entries(sections["Parameters"])
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(declared))
	manual := operations(t)
	for _, name := range names {
		checkParameter(t, s, name, declared[name])
		if !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("docs/operations.md does not say what %s does", name)
		}
	}
	form := descend(t, s, sections["Metadata"], "AWS::CloudFormation::Interface")
	var grouped []string
	for _, group := range descend(t, s, form, "ParameterGroups").Content {
		for _, name := range descend(t, s, group, "Parameters").Content {
			grouped = append(grouped, name.Value)
		}
	}
	slices.Sort(grouped)
	if !slices.Equal(grouped, names) {
		t.Errorf("the groups have %q, want each parameter once: %q", grouped, names)
	}
	labels, err := s.entries(descend(t, s, form, "ParameterLabels"))
	if err != nil {
		t.Fatal(err)
	}
	if labelled := slices.Sorted(maps.Keys(labels)); !slices.Equal(labelled, names) {
		t.Errorf("labels are %q, want one of each parameter: %q", labelled, names)
	}
}
