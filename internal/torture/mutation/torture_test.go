//go:build proofs

package mutation_test

import (
	"slices"
	"sync"
	"testing"

	"shopfront/internal/memdynamo"
	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
)

// underTorture returns the trial that must find a mutation by random requests. There is such a trial for one mutation
// of each kind: of the token, the check of the old item, the check of a transaction, the use, the edit and access.
func underTorture(name string) (trial string, is bool) {
	trial, is = map[string]string{
		"draws a token although there is a key":  contention,
		"ignores the item of a failed condition": contention,
		"judges one half of a transaction":       string(memdynamo.Halves),
		"takes no use from a counter":            contention,
		"does not collect a debt":                contention,
		"uses settings and keys for ever":        accessChanges,
	}[name]
	// Torture may take many rounds to see a transaction by halves, so only -all waits for that.
	return trial, is && (*all || trial != string(memdynamo.Halves))
}

const (
	contention    = "contention alone"
	accessChanges = "changes of access"
)

// mostRounds is the upper bound of rounds until a promise is broken. One round usually suffices, but on a slow machine
// a round has too few requests.
const mostRounds = 40

// firstFound returns the first round of torture in which a promise is broken.
func firstFound(t *testing.T, programs testshop.Programs, trial string) round {
	t.Helper()
	for number := 1; number <= mostRounds; number++ {
		r := round{trial, number}
		violations := r.torture(t, programs).Violations
		if at := slices.IndexFunc(violations, func(v torture.Violation) bool { return v.Breach }); at >= 0 {
			t.Logf("found by torture: %s", violations[at])
			return r
		}
	}
	t.Fatalf("no promise was broken in %d rounds", mostRounds)
	return round{}
}

type round struct {
	trial  string
	number int
}

func (r round) torture(t *testing.T, programs testshop.Programs) torture.Report {
	t.Helper()
	return torture.Run(t, torture.Settings{Programs: programs, Seed: 1, Trial: r.trial, Round: r.number})
}

// rounds holds the rounds in which something was found.
type rounds struct {
	mu     sync.Mutex
	played map[round]bool
}

func (r *rounds) add(played round) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.played == nil {
		r.played = make(map[round]bool)
	}
	r.played[played] = true
}
