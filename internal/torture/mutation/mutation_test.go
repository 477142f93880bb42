//go:build proofs

package mutation_test

import (
	"flag"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/torture/testshop"
)

// The flag all builds and runs every mutation. Each mutation takes seconds. By default, only every fourth is built and
// run, and the others are only compared with the source.
var all = flag.Bool("all", false, "build and run every mutation") //nolint:gochecknoglobals // a flag

const fewMutations = 4

func TestCheckers_MissingGuard_IsFound(t *testing.T) {
	whole := change{}.build(t)
	var found rounds
	t.Run("without a guard", func(t *testing.T) {
		for i, m := range mutations() {
			removed := slices.Concat(m.removed, m.given)
			removed.overlay(t)
			if !*all && i%fewMutations != 0 {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				programs := removed.build(t)
				m.wantFound(open(t, programs, fmt.Sprintf("unguarded-%d", i)))
				if trial, is := underTorture(m.name); is {
					found.add(firstFound(t, programs, trial))
				}
			})
		}
	})
	t.Run("with all guards", func(t *testing.T) { wantAllWell(t, whole, &found) })
}

// wantAllWell plays all scenes, and repeats the rounds that found a missing guard, with all guards.
func wantAllWell(t *testing.T, whole testshop.Programs, found *rounds) {
	t.Helper()
	for i, played := range scenes() {
		t.Run(played.name, func(t *testing.T) {
			t.Parallel()
			programs := whole
			if len(played.given) > 0 {
				programs = played.given.build(t)
			}
			played.wantNothingFound(open(t, programs, fmt.Sprintf("guarded-%d", i)))
		})
	}
	for round := range found.played {
		programs := whole
		if round.trial == accessChanges {
			programs = shortLived().build(t)
		}
		for _, violation := range round.torture(t, programs).Violations {
			t.Errorf("with all guards: %s", violation)
		}
	}
}

// wantFound plays the scene, and fails the test if one of the mutation's checkers finds nothing.
func (m mutation) wantFound(s *shop) {
	s.Helper()
	m.scene(s)
	wrong := s.check()
	s.Log(wrong)
	for _, by := range m.by {
		if len(wrong[by]) == 0 {
			s.Errorf("the checker %q finds nothing wrong", by)
		}
	}
}

// played is the scene of a mutation. The change in the field given is made with and without the mutation.
type played struct {
	name  string
	scene scene
	given change
}

func (p played) wantNothingFound(s *shop) {
	s.Helper()
	p.scene(s)
	if wrong := s.check(); len(wrong) > 0 {
		s.Error(wrong)
	}
}

// scenes returns the scenes of all mutations, each once.
func scenes() []played {
	var all []played
	for _, m := range mutations() {
		name := runtime.FuncForPC(reflect.ValueOf(m.scene).Pointer()).Name()
		p := played{name[strings.LastIndex(name, ".")+1:], m.scene, m.given}
		if !slices.ContainsFunc(all, func(q played) bool {
			return q.name == p.name &&
				slices.Equal(q.given, p.given)
		}) {
			all = append(all, p)
		}
	}
	return all
}
