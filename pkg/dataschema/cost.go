package dataschema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on a schema after all references are followed: how many schemas it then contains, and how long their patterns
// take. A schema counts once for each way that leads to it, in data nested MaxDataDepth levels. Data of 2 KiB can hold
// a thousand values, and a value that fails takes some microseconds per schema.
const (
	maxSchemasMet = 500
	maxStepsMet   = 10_000 // pattern steps per character, of all patterns together
)

// cost is what a schema contributes to the bounds, together with all schemas inside it.
type cost struct {
	schemas int
	steps   int // pattern steps per character
}

// plus adds costs. It stops just above the bounds, so that no sum overflows.
func (c cost) plus(more cost) cost {
	return cost{min(c.schemas+more.schemas, maxSchemasMet+1), min(c.steps+more.steps, maxStepsMet+1)}
}

// checkCost rejects a schema whose references never end, and a schema above the bounds. A schema may refer to itself
// for the children of a value, because data has at most MaxDataDepth levels. One such reference is fine, but several
// multiply on each level and soon exceed the bounds.
func checkCost(schema *jsonschema.Schema) error {
	w := weigher{known: map[visit]cost{}, open: map[visit]bool{}}
	total, err := w.weigh(visit{schema, MaxDataDepth})
	if err != nil {
		return err
	}
	if total.schemas > maxSchemasMet {
		return &SchemaError{Reason: fmt.Sprintf("is too complex: with its references followed, it has more than %d "+
			"schemas", maxSchemasMet)}
	}
	if total.steps > maxStepsMet {
		return &SchemaError{Reason: fmt.Sprintf("is too complex: its patterns take more than %d steps per character",
			maxStepsMet)}
	}
	return nil
}

// visit is a schema applied to a value that has at most depth levels below it.
type visit struct {
	schema *jsonschema.Schema
	depth  int
}

type weigher struct {
	known map[visit]cost
	open  map[visit]bool // in progress
}

func (w weigher) weigh(v visit) (cost, error) {
	if v.depth < 0 {
		return cost{}, nil
	}
	if total, found := w.known[v]; found {
		return total, nil
	}
	if w.open[v] {
		return cost{}, &SchemaError{Pointer: fragment(v.schema.Location), Reason: "refers to itself without end"}
	}
	w.open[v] = true
	total := cost{schemas: 1, steps: patternSteps(v.schema)}
	for _, next := range append(onSameValue(v.schema, v.depth), onChildren(v.schema, v.depth-1)...) {
		more, err := w.weigh(next)
		if err != nil {
			return cost{}, err
		}
		total = total.plus(more)
	}
	delete(w.open, v)
	w.known[v] = total
	return total, nil
}

func patternSteps(s *jsonschema.Schema) int {
	steps := 0
	if p, ok := s.Pattern.(pattern); ok {
		steps += p.steps
	}
	for re := range s.PatternProperties {
		if p, ok := re.(pattern); ok {
			steps += p.steps
		}
	}
	return steps
}

func onSameValue(s *jsonschema.Schema, depth int) []visit {
	schemas := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	if s.DynamicRef != nil {
		schemas = append(schemas, s.DynamicRef.Ref)
	}
	for _, dependency := range s.Dependencies {
		if sub, ok := dependency.(*jsonschema.Schema); ok {
			schemas = append(schemas, sub)
		}
	}
	return visits(depth, slices.AppendSeq(schemas, maps.Values(s.DependentSchemas)))
}

func onChildren(s *jsonschema.Schema, depth int) []visit {
	schemas := append([]*jsonschema.Schema{
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020,
		s.UnevaluatedItems,
	}, s.PrefixItems...)
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		schemas = append(schemas, sub)
	}
	schemas = slices.AppendSeq(schemas, maps.Values(s.Properties))
	return visits(depth, slices.AppendSeq(schemas, maps.Values(s.PatternProperties)))
}

func visits(depth int, schemas []*jsonschema.Schema) []visit {
	var visits []visit
	for _, s := range schemas {
		if s != nil {
			visits = append(visits, visit{s, depth})
		}
	}
	return visits
}
