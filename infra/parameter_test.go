package infra_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Operators read about parameters in the CloudFormation console and in docs/reference/parameters.md.
func TestParameters_AreDescribed(t *testing.T) {
	template := source(t, "template.yaml")
	declared, _ := template["Parameters"].(map[string]any)
	names := slices.Sorted(maps.Keys(declared))
	manual := contents(t, filepath.Join(root, "docs", "reference", "parameters.md"))
	for _, name := range names {
		for _, attribute := range []string{"Default", "Description", "ConstraintDescription"} {
			if under(declared[name], attribute) == nil {
				t.Errorf("%s has no %s", name, attribute)
			}
		}
		p := declared[name]
		if under(p, "AllowedPattern") == nil && under(p, "AllowedValues") == nil && under(p, "MinValue") == nil {
			t.Errorf("%s accepts any value", name)
		}
		if !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("docs/reference/parameters.md does not explain %s", name)
		}
	}
	form := under(template["Metadata"], "AWS::CloudFormation::Interface")
	var grouped []string
	for _, group := range list(form, "ParameterGroups") {
		for _, name := range list(group, "Parameters") {
			grouped = append(grouped, text(name))
		}
	}
	slices.Sort(grouped)
	if !slices.Equal(grouped, names) {
		t.Errorf("the groups contain %q, want each parameter once: %q", grouped, names)
	}
	labels, _ := under(form, "ParameterLabels").(map[string]any)
	if labelled := slices.Sorted(maps.Keys(labels)); !slices.Equal(labelled, names) {
		t.Errorf("labels exist for %q, want %q", labelled, names)
	}
}
