package memdynamo

import (
	"slices"
	"strings"
)

// Conjunct is a part of the condition of a write, which holds if all its conjuncts hold. Values are left out, and
// attribute names end at a "#", so that calls with other tokens and times have the same conjuncts.
type Conjunct struct {
	Write string // such as "Update vouchers"
	Text  string // such as "version = :"
}

func (c Conjunct) String() string { return c.Write + " if " + c.Text }

// Drop drops a conjunct from all conditions that have it: a write is made even if the conjunct does not hold. A test
// can thus prove that the conjunct is needed.
func (s *Store) Drop(c Conjunct) { s.dropped = &c }

// Judged sets a function that is called for each conjunct that is judged. A conjunct decides if it is the only one of
// its call that does not hold: without it, the write would be made.
func (s *Store) Judged(f func(c Conjunct, decides bool)) { s.judged = f }

// verdict is what became of one conjunct.
type verdict struct {
	Conjunct

	holds bool
}

// guard parses the condition of a write, leaves out the dropped conjunct, and remembers what becomes of the others.
func (s *Store) guard(e *expressions, write string, text *string) condition {
	if text == nil || s.dropped == nil && s.judged == nil {
		return e.condition(text)
	}
	parts, holds := e.conjuncts(text)
	return func(it Item) bool {
		all := true
		for i, part := range parts {
			v := verdict{Conjunct{write, part}, holds[i](it)}
			if s.dropped == nil || *s.dropped != v.Conjunct {
				all = all && v.holds
				s.verdicts = append(s.verdicts, v)
			}
		}
		return all
	}
}

// report reports the verdicts about all conditions of a call.
func (s *Store) report() {
	var failed []Conjunct
	for _, v := range s.verdicts {
		if !v.holds && !slices.Contains(failed, v.Conjunct) {
			failed = append(failed, v.Conjunct)
		}
	}
	for _, v := range s.verdicts {
		if s.judged != nil {
			s.judged(v.Conjunct, !v.holds && len(failed) == 1)
		}
	}
	s.verdicts = nil
}

// conjuncts splits a condition at its top-level ANDs. A condition with a top-level OR is one conjunct.
func (e *expressions) conjuncts(text *string) (parts []string, holds []condition) {
	p := e.parser(text)
	whole := p.plain(p.tokens)
	for {
		before := p.tokens
		holds = append(holds, p.negation())
		parts = append(parts, p.plain(before[:len(before)-len(p.tokens)]))
		switch p.peek() {
		case "AND":
			p.next()
		case "OR":
			return []string{whole}, []condition{e.condition(text)}
		default:
			p.end()
			return parts, holds
		}
	}
}

// plain joins tokens as a Conjunct has them.
func (p *parser) plain(tokens []string) string {
	spaces := strings.NewReplacer("exists ( ", "exists(", "( ", "(", " )", ")", " ,", ",")
	var words []string
	for _, token := range tokens {
		switch token[0] {
		case '#':
			name, _, isPrefix := strings.Cut(p.resolve(token), "#")
			if token = name; isPrefix {
				token += "#"
			}
		case ':':
			token = ":"
		}
		words = append(words, token)
	}
	return spaces.Replace(strings.Join(words, " "))
}
