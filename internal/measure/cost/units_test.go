package cost

import (
	"io"
	"slices"
	"testing"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/memdynamo"
)

const root = "../../.."

// bounds returns upper bounds of the calls and units of a request, by operation:
//   - A redemption of a code that is new to the process begins with a write that fails if the code has many uses.
//   - A check of a limited code reads all its parts at one moment. These codes have the maximum number of parts.
//   - A checkout area, or a shop's page, takes half a unit for the profile, half a unit for each 4 KB of products, and
//     one unit for the
//     settings of a shop that is new to the process.
//   - A refusal takes one more write, which counts the refusal. A redemption that is counted for its source does so in
//     the same transaction.
//   - A change of an order is written twice, to the table and to the index. A retry writes only to the table, and fails
//     there.
//   - A checkout with a code that is new to the process reads the code before the catalogue. A checkout without the
//     server's key also counts the holds of its source address. A refused one reads whether its nick has a hold to share.
//   - An order with a code, or its cancellation, first tries the update for an order without a code.
//   - Before a redemption is undone, its three possible places are read at one moment.
//   - A list of redemptions reads 64 buckets.
//   - To record the event of a redemption, the event is stored, a page of the log names it, and the redemption is
//     indexed by nick. A new page takes a transaction of two writes. 50 events at a time are added.
//   - A poll reads the shop's settings and its key, and then a page of the log. A page of the feed reads each event.
//   - A page of 50 orders takes half a unit for each 4 KB of orders.
func bounds() map[string]bound {
	return map[string]bound{
		redeemSingleUse:                            {1, memdynamo.Units{Write: 1}},
		redeemLimited:                              {1, memdynamo.Units{Write: 4}},
		redeemLimitedFirst:                         {2, memdynamo.Units{Write: 5}},
		redeemLimitedNicks:                         {1, memdynamo.Units{Write: 4}},
		"redemption, no limit":                     {1, memdynamo.Units{Write: 1}},
		"redemption, limited, counted":             {1, memdynamo.Units{Write: 6}},
		"redemption, no limit, counted":            {1, memdynamo.Units{Write: 4}},
		"replay, single use":                       {1, memdynamo.Units{Write: 1}},
		"replay, limited":                          {1, memdynamo.Units{Write: 4}},
		"refusal, unknown":                         {2, memdynamo.Units{Write: 2}},
		"refusal, unknown, with key":               {3, memdynamo.Units{Read: 2, Write: 2}},
		"refusal, single use, used up":             {2, memdynamo.Units{Write: 2}},
		"refusal, single use, used up, with key":   {3, memdynamo.Units{Read: 4, Write: 2}},
		"refusal, limited, used up":                {2, memdynamo.Units{Write: 5}},
		"refusal, limited, used up, with key":      {3, memdynamo.Units{Read: 4, Write: 5}},
		"check, single use":                        {1, memdynamo.Units{Read: 2}},
		"check, limited":                           {2, memdynamo.Units{Read: 200}},
		"checkout":                                 {2, memdynamo.Units{Read: 2, Write: 1}},
		checkOutKey:                                {2, memdynamo.Units{Read: 2, Write: 1}},
		"checkout, with key, again":                {2, memdynamo.Units{Read: 2, Write: 1}},
		"checkout, read back":                      {1, memdynamo.Units{Read: 1}},
		placeOrder:                                 {1, memdynamo.Units{Write: 2}},
		"order, again":                             {1, memdynamo.Units{Write: 1}},
		"order, shown":                             {1, memdynamo.Units{Read: 1}},
		"orders, a page of 50":                     {8, memdynamo.Units{Read: 8}},
		"order, fulfilled":                         {1, memdynamo.Units{Write: 2}},
		"order, cancelled":                         {1, memdynamo.Units{Write: 2}},
		"checkout, single-use code":                {3, memdynamo.Units{Read: 3, Write: 6}},
		"checkout, limited code":                   {2, memdynamo.Units{Read: 2, Write: 8}},
		"checkout, code without limit":             {2, memdynamo.Units{Read: 2, Write: 6}},
		"checkout, single-use code, by the server": {3, memdynamo.Units{Read: 3, Write: 4}},
		"checkout, code refused":                   {4, memdynamo.Units{Read: 4, Write: 7}},
		"order, single-use code":                   {2, memdynamo.Units{Write: 6}},
		"order, limited code":                      {2, memdynamo.Units{Write: 8}},
		"order, code without limit":                {2, memdynamo.Units{Write: 6}},
		"order cancelled, single-use code":         {2, memdynamo.Units{Write: 8}},
		"order cancelled, limited code":            {2, memdynamo.Units{Write: 10}},
		"undo, single use":                         {2, memdynamo.Units{Read: 6, Write: 4}},
		"undo, limited":                            {2, memdynamo.Units{Read: 6, Write: 6}},
		"redemptions of a code, a page":            {65, memdynamo.Units{Read: 65}},
		"checkout area":                            {3, memdynamo.Units{Read: 2.5}},
		"checkout area, unchanged":                 {3, memdynamo.Units{Read: 2.5}},
		"shop's page":                              {3, memdynamo.Units{Read: 2.5}},
		"shop's page, unchanged":                   {3, memdynamo.Units{Read: 2.5}},
		"shop's page, its script":                  {},
		"shop's page, its stylesheet":              {},
		"api-docs, openapi.json":                   {},
		"api-docs, changelog":                      {},
		"removed path":                             {},
		recordEvent:                                {4, memdynamo.Units{Read: 1, Write: 3}},
		recordTen:                                  {22, memdynamo.Units{Read: 1, Write: 21}},
		recordHundred:                              {204, memdynamo.Units{Read: 2, Write: 208}},
		"event, recorded again":                    {4, memdynamo.Units{Read: 2, Write: 2}},
		"events, the schedule":                     {1, memdynamo.Units{Read: 1}},
		deliverHundred:                             {2, memdynamo.Units{Read: 101}},
		pollFeed:                                   {3, memdynamo.Units{Read: 3}},
	}
}

type bound struct {
	calls int
	units memdynamo.Units
}

// TestOperations builds the binaries once for all subtests, because building takes most of the time.
func TestOperations(t *testing.T) {
	l, err := newLab(t.Context(), fixture.Setup{Root: root, Dir: t.TempDir(), Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	t.Run("no operation exceeds its bounds", func(t *testing.T) { meterAll(t, l) })
	t.Run("times include the wait for the store", func(t *testing.T) { timeOne(t, l) })
}

func meterAll(t *testing.T, l *lab) {
	t.Helper()
	most := bounds()
	if len(operations()) != len(most) {
		t.Errorf("%d operations are measured; %d have bounds", len(operations()), len(most))
	}
	for _, o := range operations() {
		r, err := l.measure(t.Context(), o, 0)
		if err != nil {
			t.Fatal(err)
		}
		bound, known := most[o.name]
		units := r.units()
		if !known || len(r.Calls) > bound.calls || units.Read > bound.units.Read || units.Write > bound.units.Write {
			t.Errorf("%s takes %d calls and %+v; want at most %d and %+v", o.name, len(r.Calls), units, bound.calls,
				bound.units)
		}
		if o.name == recordEvent && !slices.ContainsFunc(r.Calls,
			func(c memdynamo.Call) bool { return c.Grown == indexedBytes }) {
			t.Errorf("no item of %d bytes is indexed: %+v", indexedBytes, r.Calls)
		}
		if r.LogBytes == 0 || (r.ResponseBytes == 0) != (o.status == 0) {
			t.Errorf("%s logs %d bytes, and its response has %d", o.name, r.LogBytes, r.ResponseBytes)
		}
	}
	code, err := l.createCode(t.Context())
	if err != nil || code.units().Write != 1 {
		t.Errorf("the creation of a code takes %+v, %v; want 1 write unit", code.units(), err)
	}
}

func timeOne(t *testing.T, l *lab) {
	t.Helper()
	at := slices.IndexFunc(operations(), func(o operation) bool { return o.name == redeemLimited })
	took, err := l.measure(t.Context(), operations()[at], 2)
	if err != nil {
		t.Fatal(err)
	}
	if least := storeDelay; took.Warm < least || took.First < least || took.Ready < storeDelay {
		t.Errorf("the times are %+v, too short for a call to the store that takes %v", took, storeDelay)
	}
	if took.WarmCPU <= 0 || took.FirstCPU <= 0 || took.ReadyCPU <= 0 {
		t.Errorf("took no processor time: %+v", took)
	}
	calls := 0
	for _, n := range l.paced.Calls() {
		calls += n
	}
	if calls < warmUp+2 {
		t.Errorf("the store handled %d calls; want at least %d", calls, warmUp+2)
	}
}
