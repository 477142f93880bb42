package dataschema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxPatternSteps bounds the instructions of a pattern's program, and with them the steps per character.
const maxPatternSteps = 4096

type pattern struct {
	*regexp.Regexp
	steps int
}

func compilePattern(text string) (pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, err
	}
	steps := countSteps(tree)
	if steps > maxPatternSteps {
		return pattern{}, fmt.Errorf("its repetitions take %d steps per character, and at most %d are allowed", steps,
			maxPatternSteps)
	}
	compiled, err := regexp.Compile(text)
	return pattern{compiled, steps}, err
}

func (p pattern) quoted() string {
	if text := p.String(); len(text) <= maxQuoted {
		return "the pattern " + text
	}
	return "the required pattern"
}

// countSteps estimates how many instructions an expression compiles to, without compiling it. {n,m} repeats the program
// of the expression before it.
func countSteps(tree *syntax.Regexp) int {
	steps := 1
	if tree.Op == syntax.OpLiteral {
		steps = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		steps += countSteps(sub)
	}
	if tree.Op == syntax.OpRepeat {
		steps *= max(tree.Min+1, tree.Max)
	}
	return steps
}
