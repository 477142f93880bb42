package reconciliation

import (
	"maps"
	"slices"
)

// Readings is how often a code that looked wrong is read again before it is reported.
const Readings = 3

// Recheck judges an account that looked wrong, or as being edited, by reading it again. What DynamoDB reads together is
// not of one moment: a transaction may show in one item and, for an instant, not yet in another. So only what every
// reading finds is wrong. The zero Recheck is ready.
type Recheck struct {
	readings int
	lasting  map[identity]Finding
	motion   *Motion
	clean    bool
}

// identity tells findings apart. Messages differ from reading to reading.
type identity struct {
	kind  Kind
	place Place
}

// Add takes what the next reading says, and tells whether that decides it.
func (r *Recheck) Add(a *Account, j Judgement) (decided bool) {
	found := make(map[identity]Finding)
	for _, f := range slices.Concat(j.Certain, j.Doubtful) {
		id := identity{f.Kind, f.Place}
		if _, before := r.lasting[id]; before || r.readings == 0 {
			found[id] = f
		}
	}
	r.readings++
	r.motion = j.Motion
	if r.clean = len(j.Doubtful) == 0 && j.Motion == nil; r.clean { // whatever was seen before was in motion
		clear(found)
		for _, f := range j.Certain {
			found[identity{f.Kind, f.Place}] = f
		}
	}
	r.lasting = found
	if !r.clean && len(found) == 0 && r.motion == nil { // each reading finds something else
		r.motion = a.motion(MotionChange)
	}
	return r.clean || r.readings == Readings
}

// Result is what is wrong, in order, and what could not be judged; nil: nothing.
func (r *Recheck) Result() ([]Finding, *Motion) {
	return slices.SortedFunc(maps.Values(r.lasting), Finding.compare), r.motion
}
