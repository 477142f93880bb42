package audit

import (
	"maps"
	"slices"
)

// Readings is how often a code that looks wrong is read again before it is reported.
const Readings = 3

// Recheck judges an account that looked wrong, or that changed while it was read, by reading it several times. DynamoDB
// does not read items at one moment: for an instant, a transaction may be visible in one item but not in another.
// Therefore a finding about several items is reported only if every reading makes it. The zero Recheck is ready to use.
type Recheck struct {
	readings int
	lasting  map[identity]Finding
	motion   *Motion
	clean    bool
}

// identity identifies a finding across readings. Messages may differ.
type identity struct {
	kind  Kind
	place Place
}

// Add adds the judgement of the next reading and reports whether no further reading is needed.
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
	// the earlier findings came from changes in progress
	if r.clean = len(j.Doubtful) == 0 && j.Motion == nil; r.clean {
		clear(found)
		for _, f := range j.Certain {
			found[identity{f.Kind, f.Place}] = f
		}
	}
	r.lasting = found
	if !r.clean && len(found) == 0 && r.motion == nil { // no finding is common to all readings
		r.motion = a.motion(MotionChange)
	}
	return r.clean || r.readings == Readings
}

// Result returns the findings, in order. It returns a Motion only if the voucher could not be judged completely.
func (r *Recheck) Result() ([]Finding, *Motion) {
	return slices.SortedFunc(maps.Values(r.lasting), Finding.compare), r.motion
}
