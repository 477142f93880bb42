package benchmark

import (
	"io"
	"math"
	"testing"
	"time"

	"shopfront/internal/measure/fixture"
)

const root = "../../.."

// TestFunctions builds the binaries once for all subtests, because linking takes most of the time.
func TestFunctions(t *testing.T) {
	setup := fixture.Setup{Root: root, Dir: t.TempDir(), Progress: io.Discard}
	var measured []subject
	for _, s := range subjects() {
		if s.pkg[:len("functions/")] == "functions/" || s.name == referenceRedeem {
			measured = append(measured, s)
		}
	}
	if err := build(t.Context(), setup, measured); err != nil {
		t.Fatal(err)
	}
	options := Options{Setup: setup, Rounds: 1, Requests: 20, Starts: 2}
	t.Run("no binary is larger than its budget allows", func(t *testing.T) { checkSizes(t, setup) })
	t.Run("a round measures every subject and counts its calls",
		func(t *testing.T) { checkRound(t, options, measured) })
	t.Run("kinds of refusals differ by at most one call",
		func(t *testing.T) { checkRefusals(t, setup) })
}

func checkRound(t *testing.T, options Options, measured []subject) {
	t.Helper()
	stored, err := fixture.NewStore(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	stub, err := serve(stored, options.Dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stub.stop()
	rounds, err := (&runner{Options: options, store: stub, subjects: measured}).round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// On a busy machine a round outlasts the memory of settings and keys, and one request reads them again.
	for name, calls := range map[string]float64{
		referenceRedeem: 1, singleUse: 1, manyUses: 1, "checkout": 2, "checkout-variant": 2,
		"removed-payment": 0, "api-docs": 0,
		"show-checkout": 1, "place-order": 1, "list-orders": 8, "show-order": 1, "fulfil-order": 1, "cancel-order": 1,
		"release-checkout": 2, "list-events": 2, "record-events": 4, "publish-events": 1,
	} {
		m := rounds[name]
		if m.Ready <= 0 || m.First <= 0 || m.Warm <= 0 || m.WarmP99 < m.Warm || m.WarmCPU <= 0 || m.ReadyCPU <= 0 ||
			m.Memory <= 0 || math.Floor(m.Calls) != calls {
			t.Errorf("%s: %+v; want %g calls", name, m, calls)
		}
	}
	for _, name := range []string{"checkout-area", "storefront"} {
		if m := rounds[name]; m.First <= 0 || m.Warm <= 0 || m.Calls > 2 { // the shop is cached for five seconds
			t.Errorf("%s: %+v; want at most 2 calls", name, m)
		}
	}
}

// The number of calls must not reveal what is wrong with a code.
func checkRefusals(t *testing.T, setup fixture.Setup) {
	t.Helper()
	oracle, err := timeRefusals(t.Context(), setup, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(oracle) != 2*len(kinds()) {
		t.Errorf("%d kinds of refusals were timed, want %d", len(oracle), 2*len(kinds()))
	}
	for _, r := range oracle {
		calls := 2 // one for the code, and one that counts the refusal
		if r.keyed {
			calls = 3
		}
		most := calls
		if r.kind == "many uses, used up" {
			most++ // the first such refusal of a code in a process
		}
		if r.calls < calls || r.calls > most || r.times[0] < time.Duration(r.calls)*storeDelay {
			t.Errorf("the refusal %q (with a key: %t) takes %d calls and %v, want %d to %d calls of %v", r.kind, r.keyed, r.calls,
				r.times[0], calls, most, storeDelay)
		}
	}
}
