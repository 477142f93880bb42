package dataschema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
func checkCost(root *schema) error {
	w := weigher{known: map[visit]cost{}, open: map[visit]bool{}}
	total, err := w.weigh(visit{root, MaxDataDepth})
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
	schema *schema
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
		return cost{}, &SchemaError{Pointer: string(v.schema.at), Reason: "refers to itself without end"}
	}
	w.open[v] = true
	total := cost{schemas: 1, steps: v.schema.steps()}
	for _, sub := range v.schema.inside() {
		depth := v.depth
		if !sub.onSameValue {
			depth--
		}
		more, err := w.weigh(visit{sub.schema, depth})
		if err != nil {
			return cost{}, err
		}
		total = total.plus(more)
	}
	delete(w.open, v)
	w.known[v] = total
	return total, nil
}

func (s *schema) steps() int {
	steps := get[pattern](s, "pattern").steps
	for pattern := range get[map[pattern]*schema](s, "patternProperties") {
		steps += pattern.steps
	}
	return steps
}

// inner is a schema that another one applies: to the value that it judges itself, or to a member, an item or a name.
type inner struct {
	*schema

	onSameValue bool
}

// inside returns the schemas that s applies, in the order of their places.
func (s *schema) inside() []inner {
	var all []inner
	for keyword, value := range s.keywords {
		onSameValue := false
		switch keyword {
		case "$defs": // it applies nothing
			continue
		case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas":
			onSameValue = true
		}
		var schemas []*schema
		switch value := value.(type) {
		case *schema:
			schemas = []*schema{value}
		case []*schema:
			schemas = value
		case map[string]*schema:
			schemas = slices.Collect(maps.Values(value))
		case map[pattern]*schema:
			schemas = slices.Collect(maps.Values(value))
		}
		for _, sub := range schemas {
			all = append(all, inner{sub, onSameValue})
		}
	}
	slices.SortFunc(all, func(a, b inner) int { return cmp.Compare(a.at, b.at) })
	return all
}
