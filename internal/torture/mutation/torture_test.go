package mutation_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
)

// Random faults must find mutations too. The test tries one mutation of each kind: the condition, the token, the judgement of the
// old item, the counter and the version.
func underTorture(name string) bool {
	return slices.Contains([]string{
		"redeems a single-use code again",
		"draws a token though there is a key",
		"does not look at the item of a failed condition",
		"takes uses from an empty counter",
		"ends an edit in the version in which it goes on",
	}, name)
}

// mostRounds is the upper bound of rounds until a promise is broken. One round usually suffices, but on a slow machine a round has
// too few requests.
const mostRounds = 20

// firstFound is the first round of torture in which a promise is broken.
func firstFound(t *testing.T, programs testshop.Programs) int {
	t.Helper()
	for round := 1; round <= mostRounds; round++ {
		violations := tortured(t, programs, round).Violations
		if at := slices.IndexFunc(violations, func(v torture.Violation) bool { return v.Breach }); at >= 0 {
			t.Logf("found by torture: %s", violations[at])
			return round
		}
	}
	t.Fatalf("%d rounds break no promise", mostRounds)
	return 0
}

func tortured(t *testing.T, programs testshop.Programs, round int) torture.Report {
	t.Helper()
	return torture.Run(t, torture.Settings{Programs: programs, Seed: 1, Trial: "contention alone", Round: round})
}

// rounds holds the rounds in which something was found.
type rounds struct {
	mu     sync.Mutex
	played map[int]bool
}

func (r *rounds) add(round int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.played == nil {
		r.played = make(map[int]bool)
	}
	r.played[round] = true
}

func (r *rounds) sorted() []int { return slices.Sorted(maps.Keys(r.played)) }
