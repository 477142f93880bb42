package benchmark

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const root = "../../.."

// What is said of functions must be of requests that went right, and they may make so many calls of the store.
func TestMeasuring(t *testing.T) {
	dir := t.TempDir()
	r := built(t, dir, hello, bareRedeem, unconnected, singleUse, manyUses)
	t.Run("a round", func(t *testing.T) {
		measured, err := r.round(t.Context(), filledStub(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		for name, calls := range map[string]float64{hello: 0, bareRedeem: 1, singleUse: 1, manyUses: 2} {
			m := measured[name]
			if m.Ready <= 0 || m.First <= 0 || m.P50 <= 0 || m.P99 < m.P50 || m.CPU <= 0 || m.StartCPU <= 0 || m.Memory <= 0 || m.Calls != calls {
				t.Errorf("%s: %+v; want %g calls", name, m, calls)
			}
		}
		if m := measured[unconnected]; m.Ready <= 0 || m.P50 != 0 {
			t.Errorf("%s: %+v", unconnected, m)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		oracle, err := timeRefusals(t.Context(), r.Options, r.binaries[redeemVoucher], dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(oracle.Refusals) != 2*len(refusedCodes()) {
			t.Errorf("%d kinds of refusals", len(oracle.Refusals))
		}
		for _, r := range oracle.Refusals {
			checkRefusal(t, r)
		}
	})
}

// checkRefusal holds a refusal to calls that tell nothing of what is wrong with the code.
func checkRefusal(t *testing.T, r Refusal) {
	t.Helper()
	calls := 1
	if r.Key {
		calls = 2
	}
	if r.Calls != float64(calls) {
		t.Errorf("a code that is %s, with a key: %t: %g calls, want %d", r.Code, r.Key, r.Calls, calls)
	}
	if r.P50 < time.Duration(calls)*steadyDelay {
		t.Errorf("a code that is %s is refused in %v, before the store has answered", r.Code, r.P50)
	}
}

// built is a runner of some subjects.
func built(t *testing.T, dir string, names ...string) *runner {
	t.Helper()
	r := &runner{
		Options: Options{Root: root, Plan: Plan{Rounds: 1, Requests: 20, Starts: 2, Samples: 1}, Progress: io.Discard},
		events:  make(map[string]Event), binaries: make(map[string]string),
	}
	for _, s := range subjects() {
		if !slices.Contains(names, s.Name) {
			continue
		}
		r.subjects = append(r.subjects, s)
		var err error
		if r.events[s.sample], err = ReadEvent(root, s.sample); err != nil {
			t.Fatal(err)
		}
		if r.binaries[s.Package] != "" {
			continue
		}
		if r.binaries[s.Package], err = Build(t.Context(), root, dir, s.Package); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// filledStub is a store with the demo shop that answers at once.
func filledStub(t *testing.T, dir string) *store {
	t.Helper()
	stub, err := startStub(t.Context(), dir, stubImmediate, 0, func(ctx context.Context, client *dynamodb.Client) error {
		return Fill(ctx, client, root)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stub.stop(); err != nil {
			t.Error(err)
		}
	})
	return stub
}
