package mutation_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"shopfront/pkg/dynamolocal/localtest"
)

func TestMain(m *testing.M) { localtest.Main(m) }

func TestTheCheckersFindWhatAStoreWithoutAGuardDoes(t *testing.T) {
	for i, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			programs := slices.Concat(m.removed, m.given).build(t)
			s := open(t, programs, fmt.Sprintf("unguarded-%d", i))
			m.scene(s)
			wrong := s.check()
			t.Log(wrong)
			for _, by := range m.by {
				if len(wrong[by]) == 0 {
					t.Errorf("%s finds nothing wrong", by)
				}
			}
		})
	}
}

func TestTheCheckersFindNothingWithAllGuards(t *testing.T) {
	whole := change(nil).build(t)
	for i, played := range scenes() {
		t.Run(played.name, func(t *testing.T) {
			t.Parallel()
			programs := whole
			if len(played.given) > 0 {
				programs = played.given.build(t)
			}
			s := open(t, programs, fmt.Sprintf("guarded-%d", i))
			played.scene(s)
			if wrong := s.check(); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
	}
}

// played is a scene as the mutations have it.
type played struct {
	name  string
	scene scene
	given change
}

// scenes are those of all mutations, each once.
func scenes() []played {
	var all []played
	for _, m := range mutations() {
		name := runtime.FuncForPC(reflect.ValueOf(m.scene).Pointer()).Name()
		p := played{name[strings.LastIndex(name, ".")+1:], m.scene, m.given}
		if !slices.ContainsFunc(all, func(q played) bool { return q.name == p.name && slices.Equal(q.given, p.given) }) {
			all = append(all, p)
		}
	}
	return all
}
