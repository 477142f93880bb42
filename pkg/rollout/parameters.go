package rollout

import (
	"fmt"
	"maps"
	"slices"

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
