package cost_test

import (
	"testing"

	"shopfront/pkg/cost"
	"shopfront/pkg/cost/metering"
	"shopfront/pkg/dynamolocal/localtest"
)

func TestMain(m *testing.M) { localtest.Main(m) }

const root = "../.."

// What a request may take of DynamoDB. A code of many uses is read once a process has met it; before, it is asked for with a
// write that fails. To check a limited code is to read its counters, of which these have as many as there can be; a checkout area is
// one unit for the profile, and one for each 4 KB of products.
func TestOperationsTakeNoMoreUnits(t *testing.T) {
	most := map[string]struct {
		calls int
		units metering.Units
	}{
		cost.RedeemSingleUse:    {1, metering.Units{Write: 1}},
		cost.RedeemLimited:      {2, metering.Units{Read: 1, Write: 4}},
		cost.RedeemLimitedFirst: {2, metering.Units{Write: 5}},
		cost.RedeemLimitedNicks: {2, metering.Units{Read: 1, Write: 4}},
		cost.RedeemUnlimited:    {2, metering.Units{Read: 1, Write: 1}},
		cost.ReplaySingleUse:    {1, metering.Units{Write: 1}},
		cost.ReplayLimited:      {2, metering.Units{Read: 1, Write: 4}},
		cost.RefuseUnknown:      {1, metering.Units{Write: 1}},
		cost.RefuseUnknownKey:   {2, metering.Units{Read: 1, Write: 1}},
		cost.RefuseUsed:         {1, metering.Units{Write: 1}},
		cost.RefuseUsedKey:      {2, metering.Units{Read: 1, Write: 1}},
		cost.RefuseFull:         {1, metering.Units{Read: 1}},
		cost.RefuseFullKey:      {2, metering.Units{Read: 2}},
		cost.CheckSingleUse:     {1, metering.Units{Read: 2}},
		cost.CheckLimited:       {2, metering.Units{Read: 66}},
		cost.CheckOut:           {2, metering.Units{Read: 2, Write: 1}},
		cost.CheckOutKey:        {2, metering.Units{Read: 2, Write: 1}},
		cost.ReplayCheckout:     {2, metering.Units{Read: 2, Write: 1}},
		cost.ShowArea:           {2, metering.Units{Read: 3}},
		cost.ShowAreaUnchanged:  {2, metering.Units{Read: 3}},
		cost.ShowDocument:       {},
		cost.ShowChangelog:      {},
		cost.RemovedPath:        {},
	}
	workshop, err := cost.NewWorkshop(t.Context(), root, t.TempDir(), localtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workshop.Close(); err != nil {
			t.Error(err)
		}
	})
	requests, err := workshop.MeterAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != len(most) {
		t.Errorf("%d operations are measured; %d are bounded", len(requests), len(most))
	}
	for _, r := range requests {
		bound, known := most[r.Operation]
		units := r.Units()
		t.Logf("%s: %d calls, %+v, log %d, answer %d, %v", r.Operation, len(r.Calls), units, r.LogBytes, r.AnswerBytes, r.Metrics)
		if !known || len(r.Calls) > bound.calls || units.Read > bound.units.Read || units.Write > bound.units.Write {
			t.Errorf("%s takes %d calls and %+v; at most %d and %+v are wanted", r.Operation, len(r.Calls), units, bound.calls, bound.units)
		}
	}
}
