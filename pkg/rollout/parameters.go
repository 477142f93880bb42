package rollout

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"go.yaml.in/yaml/v3"
)

// parameters are the values of a stack's parameters, by name: those of the deployment before, and those of this one. A new one
// that is not set gets the template's default and is not among the latter.
type parameters struct{ before, after map[string]string }

// parameters gives each parameter of the template what is set, or else what it has.
func (s Settings) parameters(stack *types.Stack) (parameters, error) {
	var template struct {
		Parameters map[string]yaml.Node `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal([]byte(s.Template), &template); err != nil {
		return parameters{}, fmt.Errorf("the packaged template: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		if _, ok := template.Parameters[name]; !ok {
			return parameters{}, fmt.Errorf("the template has no parameter %s", name)
		}
	}
	p := parameters{before: make(map[string]string), after: maps.Clone(s.Parameters)}
	for _, parameter := range stack.Parameters {
		name := aws.ToString(parameter.ParameterKey)
		p.before[name] = aws.ToString(parameter.ParameterValue)
		if _, declared := template.Parameters[name]; !declared {
			continue
		}
		if _, set := p.after[name]; !set {
			p.after[name] = p.before[name]
		}
	}
	return p, nil
}

// input is what CloudFormation is told of the parameters.
func (p parameters) input(set map[string]string) []types.Parameter {
	var all []types.Parameter
	for _, name := range slices.Sorted(maps.Keys(p.after)) {
		parameter := types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(p.after[name])}
		if _, ok := set[name]; !ok {
			parameter.ParameterValue, parameter.UsePreviousValue = nil, aws.Bool(true)
		}
		all = append(all, parameter)
	}
	return all
}

// show writes a line for each parameter of a stack whose value changes, or which the template no longer has.
func (p parameters) show(w io.Writer) error {
	if len(p.before) == 0 {
		return nil
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.after)) {
		before, had := p.before[name]
		if after := p.after[name]; !had {
			fmt.Fprintf(&b, lineForm, "Set", name, fmt.Sprintf("none → %q", after), tableRemark(name, after))
		} else if before != after {
			fmt.Fprintf(&b, lineForm, "Set", name, fmt.Sprintf("%q → %q", before, after), tableRemark(name, after))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.before)) {
		if _, has := p.after[name]; !has {
			fmt.Fprintf(&b, lineForm, "Drop", name, strconv.Quote(p.before[name]), ": the template has no such parameter")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tableRemark says what it means for the shop that a parameter names another table.
func tableRemark(name, value string) string {
	switch {
	case !strings.HasSuffix(name, tableParameter):
		return ""
	case value == "":
		return ": the shop then has a table of the stack's own"
	default:
		return ": the shop then has what is in that table"
	}
}
