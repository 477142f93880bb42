package dataschema

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Vet reports, as a *SchemaError, what a catalogue must not have: a schema that Compile rejects, a required name that
// no property has, and a pattern that could freeze the shop page.
func Vet(text string) error {
	compiled, err := Compile(text)
	if err != nil {
		return err
	}
	return compiled.root.vet(map[*schema]bool{})
}

func (s *schema) vet(seen map[*schema]bool) error {
	if seen[s] {
		return nil
	}
	seen[s] = true
	group, others := []*schema{s}, []*schema(nil) // group has all schemas that judge the same value
	for i := 0; i < len(group); i++ {
		for _, sub := range group[i].inside() {
			if !sub.onSameValue {
				others = append(others, sub.schema)
			} else if !slices.Contains(group, sub.schema) {
				group = append(group, sub.schema)
			}
		}
	}
	for _, member := range group {
		if err := member.vetRequired(group); err != nil {
			return err
		}
		if p, has := member.keywords["pattern"].(pattern); has && canFreeze(p.String()) {
			return member.fail("/pattern", "could freeze the shop page: a browser tries all the ways in which it "+
				"matches a text, and they are too many, as in (a+)+ or (a|a)*")
		}
	}
	for _, sub := range others {
		if err := sub.vet(seen); err != nil {
			return err
		}
	}
	return nil
}

// vetRequired finds names that a schema requires, but that no schema of its group declares.
func (s *schema) vetRequired(group []*schema) error {
	required := map[string][]string{"/required": get[[]string](s, "required")}
	for cause, names := range get[map[string][]string](s, "dependentRequired") {
		required[string(jsontext.Pointer("/dependentRequired").AppendToken(cause))] = names
	}
	for _, at := range slices.Sorted(maps.Keys(required)) {
		for i, name := range required[at] {
			if !declare(group, name) {
				return s.fail(at+"/"+strconv.Itoa(i), "is "+quoted(name)+
					", which no property is called: correct the name, or declare it in properties")
			}
		}
	}
	return nil
}

func (s *schema) fail(keyword, reason string) error {
	return &SchemaError{string(s.at) + keyword, reason}
}

// declare reports whether the schemas of an object declare a member. They need not if they declare none, or if they
// say that others are allowed.
func declare(group []*schema, name string) bool {
	declaresNone := true
	for _, s := range group {
		others := get[*schema](s, "additionalProperties")
		if len(s.propertiesOf(name)) > 0 || others != nil && !others.isFalse {
			return true
		}
		declaresNone = declaresNone && others == nil && s.keywords["properties"] == nil
	}
	return declaresNone
}

// maxChoices bounds in how many ways a browser may try to match a text, as a power of two.
const maxChoices = 20

// canFreeze reports whether a browser, which tries one way to match after the other, could take for ever. It finds the
// choices that the next character does not decide. This is conservative: a later character could decide.
func canFreeze(text string) bool {
	tree, err := syntax.Parse(separate(text), syntax.Perl)
	if err != nil {
		return true
	}
	loosen(tree)
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return true
	}
	choices := 0
	for i, choice := range program.Inst {
		if choice.Op != syntax.InstAlt || !overlap(program, choice.Out, choice.Arg) {
			continue
		}
		again := func(next uint32) bool { return reach(program, next, false)[i] }
		switch first, second := again(choice.Out), again(choice.Arg); {
		case first && second: // each repetition doubles the ways
			return true
		case first || second: // the repetition can end after each of, say, a thousand characters
			choices += 10
		default:
			choices++
		}
	}
	return choices > maxChoices
}

// separate puts each alternative of a pattern into a group of its own. Otherwise Go's parser merges a|a to a, but a
// browser tries both.
func separate(text string) string {
	token := regexp.MustCompile(`(?s)\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\(\?[a-zA-Z-]+\)` +
		`|\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?|[|)]`)
	return "(" + token.ReplaceAllStringFunc(text, func(token string) string {
		switch {
		case token == ")":
			return "))"
		case token == "|":
			return ")|("
		case token[0] == '(' && token[len(token)-1] != ')':
			return token + "("
		default:
			return token
		}
	}) + ")"
}

// loosen makes {n,m} to {n,}, so that leaving it is one choice.
func loosen(tree *syntax.Regexp) {
	if tree.Op == syntax.OpRepeat && tree.Min != tree.Max && tree.Max != 1 {
		tree.Max = -1
	}
	for _, sub := range tree.Sub {
		loosen(sub)
	}
}

// reach returns which instructions can follow an instruction, itself included: all of them, or those before the next
// character is read and those that read it.
func reach(program *syntax.Prog, from uint32, isEmpty bool) []bool {
	reached := make([]bool, len(program.Inst))
	for next := []uint32{from}; len(next) > 0; next = next[1:] {
		if reached[next[0]] {
			continue
		}
		reached[next[0]] = true
		switch inst := program.Inst[next[0]]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			next = append(next, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
			next = append(next, inst.Out)
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if !isEmpty {
				next = append(next, inst.Out)
			}
		case syntax.InstFail, syntax.InstMatch:
		}
	}
	return reached
}

// overlap reports whether the same character, or the end, can come next at two instructions.
func overlap(program *syntax.Prog, first, second uint32) bool {
	after := reach(program, second, true)
	for i, is := range reach(program, first, true) {
		if is && after[i] && program.Inst[i].Op == syntax.InstMatch {
			return true
		}
		for j := range after {
			if is && after[j] && (accepts(program.Inst[i], program.Inst[j]) ||
				accepts(program.Inst[j], program.Inst[i])) {
				return true
			}
		}
	}
	return false
}

// accepts reports whether an instruction accepts the first character of a range of another. If two sets of ranges
// overlap, one of them does.
func accepts(inst, other syntax.Inst) bool {
	for i := 0; i < len(other.Rune); i += 2 {
		if len(inst.Rune) > 0 && inst.MatchRune(other.Rune[i]) {
			return true
		}
	}
	return false
}
