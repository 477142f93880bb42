package lambdahttp_test

import "testing"

// mostAllocations is how many allocations a request may take, as a multiple of those of a bare function with the same calls.
const mostAllocations = 1.4

func TestRequestsAllocateHardlyMoreThanBareOnes(t *testing.T) {
	for _, m := range allMeasured() {
		sides, event := m.sides(t), m.event(t)
		if len(sides) == 1 {
			continue // no calls, and so nothing to compare with
		}
		own := testing.AllocsPerRun(100, func() { sides[0].call(t, event) })
		bare := testing.AllocsPerRun(100, func() { sides[1].call(t, event) })
		t.Logf("%s: %.0f allocations, bare %.0f: %.2f times", m.name, own, bare, own/bare)
		if own > mostAllocations*bare {
			t.Errorf("%s: %.0f allocations are more than %g times bare's %.0f", m.name, own, mostAllocations, bare)
		}
	}
}

func TestRequestsCallTheStoreAsOftenAsTheyMust(t *testing.T) {
	for _, m := range allMeasured() {
		event := m.event(t)
		for _, s := range m.sides(t) {
			s.call(t, event)
			if calls := s.store.Calls(); calls != m.calls {
				t.Errorf("%s, %s: %d calls, want %d", m.name, s.name, calls, m.calls)
			}
		}
	}
}
