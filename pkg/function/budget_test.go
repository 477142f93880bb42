package function_test

import "testing"

// mostAllocations is how many allocations a request may take, as a multiple of those of a bare function with the same calls.
const mostAllocations = 1.4

func TestRequestsAllocateHardlyMoreThanBareOnes(t *testing.T) {
	for _, m := range allMeasured() {
		shopfront, reference := m.sides(t)
		event := m.event(t)
		own := testing.AllocsPerRun(100, func() { shopfront.call(t, event) })
		bare := testing.AllocsPerRun(100, func() { reference.call(t, event) })
		t.Logf("%s: %.0f allocations, bare %.0f: %.2f times", m.name, own, bare, own/bare)
		if own > mostAllocations*bare {
			t.Errorf("%s: %.0f allocations are more than %g times bare's %.0f", m.name, own, mostAllocations, bare)
		}
	}
}

func TestRequestsCallTheStoreAsOftenAsTheyMust(t *testing.T) {
	for _, m := range allMeasured() {
		shopfront, reference := m.sides(t)
		event := m.event(t)
		for _, s := range []side{shopfront, reference} {
			s.call(t, event)
			if calls := s.store.Calls(); calls != m.calls {
				t.Errorf("%s, %s: %d calls, want %d", m.name, s.name, calls, m.calls)
			}
		}
	}
}
