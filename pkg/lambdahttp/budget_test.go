package lambdahttp_test

import "testing"

// mostAllocations bounds a request's allocations, as a multiple of the reference function's allocations for the same
// calls.
const mostAllocations = 1.4

func TestRequest_Allocations_AreCloseToTheReference(t *testing.T) {
	for _, m := range allMeasured() {
		sides, event := m.sides(t), m.event(t)
		if len(sides) == 1 {
			continue // the request makes no calls, so it has no reference
		}
		own := testing.AllocsPerRun(100, func() { sides[0].call(t, event) })
		reference := testing.AllocsPerRun(100, func() { sides[1].call(t, event) })
		t.Logf("%s: %.0f allocations, the reference %.0f: %.2f times", m.name, own, reference, own/reference)
		if own > mostAllocations*reference {
			t.Errorf("%s: %.0f allocations are more than %g times the reference's %.0f", m.name, own, mostAllocations,
				reference)
		}
	}
}

func TestRequest_StoreCalls_AreAsFewAsNeeded(t *testing.T) {
	for _, m := range allMeasured() {
		event := m.event(t)
		for _, s := range m.sides(t) {
			s.call(t, event) // also reads the shop's settings, which are then cached for some seconds
			first := s.store.calls
			s.call(t, event)
			if calls := s.store.calls - first; calls != m.calls {
				t.Errorf("%s, %s: %d calls, want %d", m.name, s.name, calls, m.calls)
			}
			if first > m.calls+1 {
				t.Errorf("%s, %s: the first request takes %d calls, want at most %d", m.name, s.name, first, m.calls+1)
			}
		}
	}
}
