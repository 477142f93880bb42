package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"shopfront/internal/local/samtemplate"
)

// resources lists the resources that a template and its nested stacks create, with the prefix before each name. It
// returns an error if CloudFormation would reject a parameter, or if an expression cannot be evaluated here.
func resources(path, prefix string, parameters map[string]string) ([]samtemplate.Resource, error) {
	document, err := samtemplate.Open(path, prefix, parameters)
	if err != nil {
		return nil, err
	}
	if err := checkDeclarations(document, path, parameters); err != nil {
		return nil, err
	}
	found, err := document.Resources()
	if err != nil {
		return nil, err
	}
	var all []samtemplate.Resource
	for _, r := range found {
		name := r.Name
		r.Name = prefix + name
		all = append(all, r)
		url, isNested := r.Properties["TemplateURL"].(string)
		if !isNested {
			continue
		}
		inner := pseudoOnly(parameters)
		given, _ := r.Properties["Parameters"].(map[string]any)
		for key, value := range given {
			inner[key] = fmt.Sprint(value)
		}
		nested, err := resources(filepath.Join(filepath.Dir(path), filepath.FromSlash(url)), r.Name+".", inner)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: the nested stack: %w", filepath.Base(path), r.Line, err)
		}
		all = append(all, nested...)
	}
	return all, nil
}

// pseudoOnly returns the pseudo parameters, which a nested stack shares.
func pseudoOnly(parameters map[string]string) map[string]string {
	pseudo := make(map[string]string)
	maps.Copy(pseudo, parameters)
	maps.DeleteFunc(pseudo, func(name, _ string) bool { return !strings.HasPrefix(name, "AWS::") })
	return pseudo
}

// declaration is the declaration of a parameter.
type declaration struct {
	Type                  string   `yaml:"Type"`
	Default               string   `yaml:"Default"`
	AllowedPattern        string   `yaml:"AllowedPattern"`
	AllowedValues         []string `yaml:"AllowedValues"`
	MinValue              *float64 `yaml:"MinValue"`
	MaxValue              *float64 `yaml:"MaxValue"`
	ConstraintDescription string   `yaml:"ConstraintDescription"`
}

// parameterRule is a rule about several parameters.
type parameterRule struct {
	RuleCondition yaml.Node   `yaml:"RuleCondition"`
	Assertions    []yaml.Node `yaml:"Assertions"`
}

// checkDeclarations returns an error if CloudFormation would reject a parameter or a combination of parameters.
func checkDeclarations(document *samtemplate.Document, path string, parameters map[string]string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var sections struct {
		Parameters map[string]yaml.Node     `yaml:"Parameters"`
		Rules      map[string]parameterRule `yaml:"Rules"`
	}
	if err := yaml.Unmarshal(content, &sections); err != nil {
		return err
	}
	file := filepath.Base(path)
	for name, node := range sections.Parameters {
		var declared declaration
		if err := node.Decode(&declared); err != nil {
			return err
		}
		text, isGiven := parameters[name]
		if !isGiven {
			text = declared.Default
		}
		// Values that exist only in a deployed stack cannot be checked here.
		if problem := declared.violation(text); problem != "" && !strings.Contains(text, "${") {
			return fmt.Errorf("%s:%d: the parameter %s: %s (%s)", file, node.Line, name, problem,
				declared.ConstraintDescription)
		}
	}
	for name, rule := range sections.Rules {
		if err := rule.check(document, file, name); err != nil {
			return err
		}
	}
	return nil
}

func (r parameterRule) check(document *samtemplate.Document, file, name string) error {
	if !r.RuleCondition.IsZero() {
		if applies, err := document.Holds(&r.RuleCondition); err != nil || !applies {
			return err
		}
	}
	for _, node := range r.Assertions {
		var assertion struct {
			Assert            yaml.Node `yaml:"Assert"`
			AssertDescription string    `yaml:"AssertDescription"`
		}
		if err := node.Decode(&assertion); err != nil {
			return err
		}
		condition := &assertion.Assert
		if condition.IsZero() {
			condition = nil // Holds rejects nil
		}
		holds, err := document.Holds(condition)
		if err == nil && !holds {
			err = fmt.Errorf("%s:%d: the rule %s: %s", file, node.Line, name, assertion.AssertDescription)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// violation returns the constraint that a value breaks, or "".
func (d declaration) violation(text string) string {
	if d.AllowedPattern != "" && !regexp.MustCompile("^(?:"+d.AllowedPattern+")$").MatchString(text) {
		return fmt.Sprintf("%q does not match %s", text, d.AllowedPattern)
	}
	if d.AllowedValues != nil && !slices.Contains(d.AllowedValues, text) {
		return fmt.Sprintf("%q is not one of %s", text, strings.Join(d.AllowedValues, ", "))
	}
	if d.Type != "Number" {
		return ""
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Sprintf("%q is not a number", text)
	}
	if d.MinValue != nil && number < *d.MinValue {
		return fmt.Sprintf("%s is less than %v", text, *d.MinValue)
	}
	if d.MaxValue != nil && number > *d.MaxValue {
		return fmt.Sprintf("%s is more than %v", text, *d.MaxValue)
	}
	return ""
}
