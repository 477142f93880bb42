//go:build proofs

package dynamo_test

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"shopfront/internal/memdynamo"
)

// For each conjunct, some simulation must fail if it is dropped from all conditions that have it, so that writes are made
// although it does not hold.
func TestConditions_WithoutAConjunct_FailASimulation(t *testing.T) {
	t.Parallel()
	played, excused := playAll(t), excuses()
	t.Run("without", func(t *testing.T) {
		for conjunct, plays := range played {
			t.Run(conjunct.String(), func(t *testing.T) {
				t.Parallel()
				plays := likeliest(plays)
				_, isExcused := excused[conjunct]
				noticed := slices.ContainsFunc(plays, func(p play) bool { return p.failsWithout(t, conjunct) })
				switch {
				case noticed && isExcused:
					t.Errorf("a simulation fails without %s, so it needs no excuse", conjunct)
				case !noticed && !isExcused:
					t.Errorf("no simulation fails without %s; it decides in %d trials", conjunct, len(plays))
				}
			})
		}
	})
	for conjunct := range excused {
		if played[conjunct] == nil {
			t.Errorf("no simulation judges the excused conjunct %s", conjunct)
		}
	}
}

const (
	seedsToFind = 100 // seeds of each trial that find conjuncts
	mostPlays   = 80  // plays without a conjunct
)

// play is a trial with a seed, and how often a conjunct decides in it.
type play struct {
	name    string
	trial   func(*simulation)
	seed    uint64
	decides int
	rank    int // among the plays of the trial
}

// playAll plays all trials with all conjuncts, and returns the plays in which each conjunct is judged. Only plays in
// which a conjunct decides can differ without it.
func playAll(t *testing.T) map[memdynamo.Conjunct][]play {
	var mu sync.Mutex
	played := make(map[memdynamo.Conjunct][]play)
	t.Run("with all conjuncts", func(t *testing.T) {
		for test, all := range map[string]trials{
			"redeem": redemptionTrials(), "append": appendTrials(), "hold": holdTrials(), "source": sourceTrials(),
			"payment": paymentTrials(),
		} {
			for name, trial := range all {
				t.Run(test+"/"+name, func(t *testing.T) {
					t.Parallel()
					for seed := range uint64(seedsToFind) {
						p := play{name: test + "/" + name, trial: trial, seed: seed}
						decisions := p.decisions(t)
						mu.Lock()
						for c, n := range decisions {
							p.decides = n
							played[c] = append(played[c], p)
						}
						mu.Unlock()
					}
				})
			}
		}
	})
	return played
}

// decisions returns the conjuncts that a play judges, and how often each decides.
func (p play) decisions(t *testing.T) map[memdynamo.Conjunct]int {
	decides := make(map[memdynamo.Conjunct]int)
	count := func(c memdynamo.Conjunct, is bool) { decides[c] += map[bool]int{true: 1}[is] }
	if p.fails(t, func(s *memdynamo.Store) { s.Judged(count) }) {
		t.Errorf("%s fails with seed %d", p.name, p.seed)
	}
	return decides
}

// likeliest returns plays of different trials, and of each trial first those in which the conjunct decides most often.
func likeliest(plays []play) []play {
	plays = slices.DeleteFunc(plays, func(p play) bool { return p.decides == 0 })
	slices.SortFunc(plays, func(a, b play) int { return cmp.Or(b.decides-a.decides, cmp.Compare(a.seed, b.seed)) })
	earlier := make(map[string]int)
	for i, p := range plays {
		plays[i].rank = earlier[p.name]
		earlier[p.name]++
	}
	slices.SortFunc(plays, func(a, b play) int {
		return cmp.Or(a.rank-b.rank, b.decides-a.decides, strings.Compare(a.name, b.name))
	})
	return plays[:min(len(plays), mostPlays)]
}

func (p play) failsWithout(t *testing.T, c memdynamo.Conjunct) bool {
	failed := p.fails(t, func(s *memdynamo.Store) { s.Drop(c) })
	if failed {
		t.Logf("%s fails with seed %d without %s", p.name, p.seed, c)
	}
	return failed
}

// fails reports whether a play fails, after prepare has prepared its store.
func (p play) fails(t *testing.T, prepare func(*memdynamo.Store)) (failed bool) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{TB: t}
		s := newSimulation(w, p.seed)
		prepare(s.dynamodb.Store)
		ended := make(chan struct{})
		go func() { // FailNow ends only this goroutine
			defer close(ended)
			p.trial(s)
		}()
		<-ended
		failed = w.Failed()
	})
	return failed
}

// witness notes that a trial fails. The test does not fail.
type witness struct {
	testing.TB

	failed atomic.Bool
}

func (w *witness) Fail()                 { w.failed.Store(true) }
func (w *witness) Failed() bool          { return w.failed.Load() }
func (w *witness) Error(...any)          { w.Fail() }
func (w *witness) Errorf(string, ...any) { w.Fail() }
func (w *witness) Fatal(...any)          { w.FailNow() }
func (w *witness) Fatalf(string, ...any) { w.FailNow() }

func (w *witness) FailNow() {
	w.Fail()
	runtime.Goexit()
}

// excuses says why no simulation notices that a conjunct is missing.
func excuses() map[memdynamo.Conjunct]string {
	const (
		checkouts, refusals, vouchers = "Update checkouts", "Update refusals", "Update vouchers"

		newLimit  = "(attribute_not_exists(limit) OR limit = :)"
		few       = "(attribute_not_exists(n) OR n < :)"
		recreated = "no simulation deletes a code, or creates it again"
		source    = "the limit of a source changes only with a release"
		payment   = "the simulated orders state one amount; TestPlace_StatedAmount_BoundsTheOrdersOfThePayment needs it"
		small     = "TestOpenHeld_LapsedHolds_AreRemoved needs it"
		shared    = "a holder is new, but for the source of a shared hold, and no simulation with sources shares one"
	)
	return map[memdynamo.Conjunct]string{
		{Write: "Update events", Text: "feed = :"}:                                   "the ID of a log never changes",
		{Write: checkouts, Text: newLimit}:                                           payment,
		{Write: checkouts, Text: "(attribute_not_exists(currency) OR currency = :)"}: payment,
		{Write: refusals, Text: newLimit}:                                            source,
		{Write: refusals, Text: "limit = :"}:                                         source,
		{Write: refusals, Text: few}:                                                 small,
		{Write: refusals, Text: "attribute_not_exists(h#)"}:                          shared,
		{Write: vouchers, Text: "attribute_not_exists(h#)"}:                          shared,
		{Write: vouchers, Text: few}:                                                 small,
		{Write: vouchers, Text: "attribute_exists(left)"}:                            recreated,
		{Write: vouchers, Text: "b# = :"}:                                            recreated,
		{Write: vouchers, Text: "created = :"}:                                       recreated,
		{Write: vouchers, Text: "left = :"}:                                          "a part seldom changes while it pays a debt",
	}
}
