package infra_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"shopfront/internal/local/samtemplate"
)

const root = ".."

func load(t *testing.T, parameters map[string]string) *samtemplate.Template {
	t.Helper()
	template, err := samtemplate.Load(root, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// stack holds the properties of the resources that a deployment creates, by name, and their names by type.
type stack struct {
	properties map[string]any
	byType     map[string][]string
}

// deploy evaluates the resources of a stack named market in eu-central-1.
func deploy(t *testing.T, parameters map[string]string) stack {
	t.Helper()
	all := map[string]string{"AWS::Region": "eu-central-1", "AWS::StackName": "market"}
	maps.Copy(all, parameters)
	created, err := resources(filepath.Join(root, samtemplate.File), "", all)
	if err != nil {
		t.Fatal(err)
	}
	s := stack{properties: make(map[string]any), byType: make(map[string][]string)}
	for _, r := range created {
		s.properties[r.Name] = r.Properties
		s.byType[r.Type] = append(s.byType[r.Type], r.Name)
	}
	return s
}

const (
	typeAlarm    = "AWS::CloudWatch::Alarm"
	typeFunction = "AWS::Serverless::Function"
	typeStack    = "AWS::CloudFormation::Stack"
	typeTable    = "AWS::DynamoDB::Table"
)

// under returns the value under the keys, or nil.
func under(v any, keys ...string) any {
	for _, key := range keys {
		dict, _ := v.(map[string]any)
		v = dict[key]
	}
	return v
}

// text returns the string under the keys, or "".
func text(v any, keys ...string) string {
	s, _ := under(v, keys...).(string)
	return s
}

// list returns the list under the keys, or nil.
func list(v any, keys ...string) []any {
	l, _ := under(v, keys...).([]any)
	return l
}

// checkKeys fails if a mapping has a key that is not known.
func checkKeys(t *testing.T, v any, known ...string) {
	t.Helper()
	dict, ok := v.(map[string]any)
	if !ok {
		t.Errorf("%v is not a mapping", v)
	}
	for key := range dict {
		if !slices.Contains(known, key) {
			t.Errorf("unexpected key %s, want one of %s", key, strings.Join(known, ", "))
		}
	}
}

// source parses a template without evaluating it. Intrinsic functions are reduced to their arguments.
func source(t *testing.T, file string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var sections map[string]any
	if err := yaml.Unmarshal(content, &sections); err != nil {
		t.Fatal(err)
	}
	return sections
}

// kebab writes RedeemVoucher as redeem-voucher.
func kebab(name string) string {
	return strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(name, "-$0"))
}
