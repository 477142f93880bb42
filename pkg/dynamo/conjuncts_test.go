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

// For each conjunct of each condition, some simulation must fail if it is dropped, so that writes are made although it
// does not hold.
func TestConditions_WithoutAConjunct_FailASimulation(t *testing.T) {
	t.Parallel()
	played, excused := playAll(t), excuses()
	covered := make([]bool, len(excused))
	t.Run("without", func(t *testing.T) {
		for conjunct, plays := range played {
			i := slices.IndexFunc(excused, func(e excuse) bool { return e.covers(conjunct) })
			if i >= 0 {
				covered[i] = true
			}
			t.Run(conjunct.String(), func(t *testing.T) {
				t.Parallel()
				plays := likeliest(plays)
				noticed := slices.ContainsFunc(plays, func(p play) bool { return p.failsWithout(t, conjunct) })
				switch {
				case noticed && i >= 0:
					t.Errorf("a simulation fails without %s, so it needs no excuse", conjunct)
				case !noticed && i < 0:
					t.Errorf("no simulation fails without %s; it decides in %d trials", conjunct, len(plays))
				}
			})
		}
	})
	for i, e := range excused {
		if !covered[i] {
			t.Errorf("no simulation judges the excused conjunct %+v", e)
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

// excuse says why no simulation notices that a conjunct is missing. An empty text stands for every conjunct of the
// condition.
type excuse struct {
	write, condition, text string
	why                    string
}

func (e excuse) covers(c memdynamo.Conjunct) bool {
	return e.write == c.Write && e.condition == c.Condition && (e.text == "" || e.text == c.Text)
}

func excuses() []excuse {
	const (
		checkouts, vouchers = "Update checkouts", "Update vouchers"
		place               = "id = : AND status = : AND expires > :"
		again               = "attribute_not_exists(used) AND (attribute_not_exists(heldUntil) OR heldUntil <= :) AND " +
			"version = : AND undone = :"
		mark      = "others heed no mark of an old version, and refusals are not judged after an edit"
		undone    = "the transaction also checks that the request's own redemption was not undone"
		recreated = "no simulation deletes a code and creates it again"
		rare      = "a nick at its limit swaps a lapsed hold of its own, which other requests seldom meet"
	)
	return []excuse{
		{"Update events", "feed = :", "feed = :", "the ID of a log never changes"},
		{"Update events", "events = : AND feed = :", "feed = :", "the ID of a log never changes"},
		{checkouts, place, "id = :", "the call before has compared the ID"},
		{checkouts, place, "expires > :", "the call before has compared the time"},
		{"Check vouchers", "attribute_exists(sk)", "", "what ends a hold also ends the checkout that shares it"},
		{
			vouchers, "b# = : AND attribute_not_exists(undone)", "b# = :",
			"the record was read before, and never changes",
		},
		{vouchers, "b# = :", "b# = :", "the transaction also puts the undone record, which must not exist"},
		{
			vouchers, "attribute_not_exists(b#) AND h# = :", "attribute_not_exists(b#)",
			"the record replaces the hold, so they never exist together",
		},
		{vouchers, "attribute_not_exists(b#) AND taken = : AND attribute_not_exists(undone)", "", rare},
		{vouchers, "attribute_not_exists(b#) AND taken = : AND h# = : AND attribute_not_exists(undone)", "", rare},
		{vouchers, "attribute_not_exists(b#) AND taken = : AND h# = : AND undone = :", "", rare},
		{vouchers, "taken = : AND h# = :", "", rare},
		{vouchers, again, "undone = :", undone},
		{vouchers, again, "version = :", "an undone code is seldom edited while somebody redeems it again"},
		{
			vouchers, "attribute_not_exists(b#) AND (attribute_not_exists(taken) OR taken < :) AND undone = :",
			"undone = :", undone,
		},
		{vouchers, "version = : AND created = :", "created = :", recreated},
		{vouchers, "version = : AND created = : AND attribute_not_exists(returns)", "created = :", recreated},
		{vouchers, "version = : AND created = : AND returns = :", "created = :", recreated},
		{
			vouchers, "attribute_not_exists(used) AND (attribute_not_exists(heldUntil) OR heldUntil <= :) AND " +
				"version = : AND created = :", "created = :", recreated,
		},
		{vouchers, "version = : AND attribute_not_exists(returns)", "version = :", mark},
		{vouchers, "version = : AND returns = :", "version = :", mark},
	}
}
