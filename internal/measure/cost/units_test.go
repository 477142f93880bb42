package cost

import (
	"slices"
	"testing"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/measure/cost/metering"
)

func TestMain(m *testing.M) { localtest.Main(m) }

const root = "../../.."

// bounds are what a request may take of DynamoDB. A code of many uses is read once a process has met it; before, it is asked for
// with a write that fails. To check a limited code is to read its counters, of which these have as many as there can be; a
// checkout area is one unit for the profile, and one for each 4 KB of products.
func bounds() map[string]bound {
	return map[string]bound{
		RedeemSingleUse:    {1, metering.Units{Write: 1}},
		RedeemLimited:      {2, metering.Units{Read: 1, Write: 4}},
		RedeemLimitedFirst: {2, metering.Units{Write: 5}},
		RedeemLimitedNicks: {2, metering.Units{Read: 1, Write: 4}},
		RedeemUnlimited:    {2, metering.Units{Read: 1, Write: 1}},
		ReplaySingleUse:    {1, metering.Units{Write: 1}},
		ReplayLimited:      {2, metering.Units{Read: 1, Write: 4}},
		RefuseUnknown:      {1, metering.Units{Write: 1}},
		RefuseUnknownKey:   {2, metering.Units{Read: 1, Write: 1}},
		RefuseUsed:         {1, metering.Units{Write: 1}},
		RefuseUsedKey:      {2, metering.Units{Read: 1, Write: 1}},
		RefuseFull:         {1, metering.Units{Read: 1}},
		RefuseFullKey:      {2, metering.Units{Read: 2}},
		CheckSingleUse:     {1, metering.Units{Read: 2}},
		CheckLimited:       {2, metering.Units{Read: 66}},
		CheckOut:           {2, metering.Units{Read: 2, Write: 1}},
		CheckOutKey:        {2, metering.Units{Read: 2, Write: 1}},
		ReplayCheckout:     {2, metering.Units{Read: 2, Write: 1}},
		ShowArea:           {2, metering.Units{Read: 3}},
		ShowAreaUnchanged:  {2, metering.Units{Read: 3}},
		ShowDocument:       {},
		ShowChangelog:      {},
		RemovedPath:        {},
	}
}

type bound struct {
	calls int
	units metering.Units
}

// The functions are built once for all that is measured.
func TestMeasuring(t *testing.T) {
	workshop, err := NewWorkshop(t.Context(), root, t.TempDir(), localtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workshop.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("operations take no more calls and units than are wanted", func(t *testing.T) { meterAll(t, workshop) })
	t.Run("a store that answers late is waited for", func(t *testing.T) { timeSome(t, workshop) })
}

func meterAll(t *testing.T, workshop *Workshop) {
	t.Helper()
	requests, err := workshop.MeterAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := bounds()
	if len(requests) != len(most) {
		t.Errorf("%d operations are measured; %d are bounded", len(requests), len(most))
	}
	for _, r := range requests {
		bound, known := most[r.Operation]
		units := r.Units()
		if !known || len(r.Calls) > bound.calls || units.Read > bound.units.Read || units.Write > bound.units.Write {
			t.Errorf("%s takes %d calls and %+v; at most %d and %+v are wanted", r.Operation, len(r.Calls), units, bound.calls, bound.units)
		}
		if r.LogBytes == 0 || r.AnswerBytes == 0 {
			t.Errorf("%s logs %d bytes, and is answered with %d", r.Operation, r.LogBytes, r.AnswerBytes)
		}
	}
	code, err := workshop.MeterCode(t.Context())
	if err != nil || code.Units().Write != 1 {
		t.Errorf("to create a code takes %+v, %v; want 1 unit to write", code.Units(), err)
	}
}

func timeSome(t *testing.T, workshop *Workshop) {
	t.Helper()
	some := slices.DeleteFunc(operations(), func(o operation) bool { return o.name != RedeemLimited })
	times, err := workshop.time(t.Context(), some, 2, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	took, start := times.Operations[RedeemLimited], times.Starts[redeemVoucher]
	if least := 2 * StoreDelay; took.Warm < least || took.First < least || start.Ready < StoreDelay {
		t.Errorf("took %+v after %+v; calls of the store take %v", took, start, StoreDelay)
	}
	if took.WarmCPU <= 0 || took.FirstCPU <= 0 || start.ReadyCPU <= 0 {
		t.Errorf("took no processor time: %+v after %+v", took, start)
	}
	if times.Calls < 2*(warmUp+2) {
		t.Errorf("the store answered %d calls", times.Calls)
	}
}
