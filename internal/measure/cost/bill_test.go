package cost

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/pricing"
	"shopfront/internal/measure/process"
	"shopfront/internal/memdynamo"
)

func TestBilled(t *testing.T) {
	for _, test := range []struct {
		name      string
		memory    int
		took, cpu time.Duration
		want      time.Duration
	}{
		{"a whole processor", 1769, 6200 * time.Microsecond, time.Millisecond, 7 * time.Millisecond},
		{"more than one processor", 3008, 6200 * time.Microsecond, time.Millisecond, 7 * time.Millisecond},
		// 6 + 1513/256 = 11.9
		{"a share of a processor", 256, 6 * time.Millisecond, time.Millisecond, 12 * time.Millisecond},
		{"nothing to compute", 256, 5 * time.Millisecond, 0, 5 * time.Millisecond},
		{"a started millisecond counts", 256, 5*time.Millisecond + 1, 0, 6 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := billed(test.memory, test.took, test.cpu); got != test.want {
				t.Errorf("billed %v; want %v", got, test.want)
			}
		})
	}
}

// checkoutLine returns a checkout for which Lambda bills 10 ms, or 110 ms with a cold start.
func checkoutLine() Line {
	request := Request{
		Operation: checkOutKey, Function: checkout, LogBytes: 375, BodyBytes: 400, ResponseBytes: 600,
		Calls: []memdynamo.Call{
			{Operation: "BatchGetItem", Units: memdynamo.Units{Read: 2}, Tables: []string{fixture.CatalogueTable}},
			{
				Operation: "PutItem", Units: memdynamo.Units{Write: 1}, Tables: []string{fixture.CheckoutsTable},
				Grown: 500,
			},
		},
		Metrics: []string{"Shopfront Checkouts Stack=shopfront-prod"},
		Figures: process.Figures{
			Warm: 10 * time.Millisecond, First: 30 * time.Millisecond,
			Ready: 80 * time.Millisecond,
		},
	}
	return newLine(request, 256)
}

func wantUsage(t *testing.T, got, want pricing.Usage) {
	t.Helper()
	for _, usage := range pricing.UsageTypes() {
		quantity, wanted := got[usage], want[usage]
		if quantity == nil {
			quantity = new(big.Rat)
		}
		if wanted == nil {
			wanted = new(big.Rat)
		}
		if quantity.Cmp(wanted) != 0 {
			t.Errorf("%s: %s; want %s", usage, quantity.RatString(), wanted.RatString())
		}
	}
}

func TestLine_Usage_MatchesTheMeasurements(t *testing.T) {
	line := checkoutLine()
	// Lambda adds START, END and REPORT, and INIT_START for a first request.
	if line.WarmLogBytes != 375+264 || line.ColdLogBytes <= line.WarmLogBytes {
		t.Errorf("a warm request logs %d bytes, a cold one %d; want %d, and more for a cold one", line.WarmLogBytes,
			line.ColdLogBytes, 375+264)
	}
	tenth := big.NewRat(1, 10)
	logged := new(big.Rat).Mul(tenth, big.NewRat(int64(9*line.WarmLogBytes+line.ColdLogBytes), 1))
	want := make(pricing.Usage)
	want.AddWhole(pricing.ReadRequestUnits, 2)
	want.AddWhole(pricing.WriteRequestUnits, 1)
	want.AddWhole(pricing.APIRequests, 1)
	want.AddWhole(pricing.LambdaRequests, 1)
	want.AddWhole(pricing.LambdaMBMillis, 256*20) // (9 × 10 + 110) ÷ 10
	want.Add(pricing.LogBytes, logged)
	want.AddWhole(pricing.TransferBytes, 600)
	want.Add(pricing.KeyRequests, big.NewRat(2, 10))
	wantUsage(t, line.usage(tenth), want)
}

func TestLine_LargeResponse_CountsAsSeveralGatewayRequests(t *testing.T) {
	for bytes, want := range map[int]int64{0: 1, 1: 1, 512 << 10: 1, 512<<10 + 1: 2, 4 << 20: 8} {
		line := checkoutLine()
		line.BodyBytes = bytes
		if got := line.usage(new(big.Rat))[pricing.APIRequests]; got.Cmp(big.NewRat(want, 1)) != 0 {
			t.Errorf("%d bytes are %s requests; want %d", bytes, got.RatString(), want)
		}
	}
}

func TestLine_BatchOfAStream_IsNotBilledByTheGateway(t *testing.T) {
	line := checkoutLine()
	line.BodyBytes, line.ResponseBytes = 0, 0
	used := line.usage(new(big.Rat))
	if used[pricing.APIRequests] != nil || used[pricing.TransferBytes].Sign() != 0 || used[pricing.BusEvents] != nil {
		t.Errorf("a batch of a stream is billed as %v; want no gateway request, no transfer and no bus event", used)
	}
	if line.Function = publishEvents; line.usage(new(big.Rat))[pricing.BusEvents].Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("an event on the bus is billed as %v; want one bus event", line.usage(new(big.Rat)))
	}
}

func TestReport_Batches_ArePricedPerEventAndPollsPerMonth(t *testing.T) {
	of := func(operation string) Request {
		return Request{Operation: operation, Calls: []memdynamo.Call{{Units: memdynamo.Units{Write: 100}}}}
	}
	report, err := newReport(256, []Request{of(recordEvent), of(recordTen), of(recordHundred), of(pollFeed)}, Request{},
		0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"62.5000", "6.2500", "0.6250"} { // 0.625 USD for a million write units
		if got := report.Millions[i].Bill.Columns["DynamoDB"].FloatString(4); got != want {
			t.Errorf("a million of %q costs %s USD, want %s", report.Millions[i].Operation, got, want)
		}
	}
	million := report.Millions[3].Bill.Total
	for i, polls := range []int64{525_600, 175_200, 43_800} { // of 730 hours
		if got := report.Polls[i]; got.Cost.Cmp(million.Of(polls, 1_000_000).Rat) != 0 ||
			got.Seconds*polls != 730*3600 {
			t.Errorf("a month of polling is %+v; want %d polls", got, polls)
		}
	}
}

func TestShop_Month_AddsUp(t *testing.T) {
	line := checkoutLine()
	code := Request{Calls: []memdynamo.Call{{
		Units: memdynamo.Units{Write: 1}, Tables: []string{fixture.VouchersTable},
		Grown: 400,
	}}}
	shop := ShopMonth{
		Requests: map[string]int64{checkOutKey: 3_000, placeOrder: 600}, Preflights: 1_000, Codes: 100,
		RequestsPerStart: 10, Hours: 300, Instances: 2, Months: 12,
		Watched: true,
	}
	order := line
	order.Operation, order.Function, order.Metrics = placeOrder, "place-order", nil
	order.Calls = []memdynamo.Call{{
		Operation: "UpdateItem", Units: memdynamo.Units{Write: 2},
		Tables: []string{fixture.CheckoutsTable}, Grown: 700,
	}}
	cold := big.NewRat(1, 10)
	want := make(pricing.Usage)
	want.AddTimes(line.usage(cold), big.NewRat(3_000, 1))
	want.AddTimes(order.usage(cold), big.NewRat(600, 1))
	want.AddWhole(pricing.APIRequests, 1_000)
	want.AddWhole(pricing.WriteRequestUnits, 100)
	kept := int64((100*400+600*(500+700))*12 + 2_400*500*11/30)
	want.AddWhole(pricing.TableByteMonths, kept)
	want.AddWhole(pricing.BackupByteMonths, kept)
	want.AddWhole(pricing.LogByteMonths, 3_600*(int64(line.ColdLogBytes)+5*26))
	want.AddWhole(pricing.MetricHours, 300)
	want.AddWhole(pricing.KeyRequests, 3*2*300*12)
	want.AddWhole(pricing.AlarmMonths, 24)
	want.AddWhole(pricing.DashboardMonths, 1)
	want.AddWhole(pricing.KeyMonths, 1)
	wantUsage(t, shop.monthly([]Line{line, order}, code, 24), want)

	events := line
	events.Operation, events.Function, events.Metrics = recordEvent, recordEvents, nil
	events.Calls = []memdynamo.Call{{Operation: "PutItem", Tables: []string{fixture.EventsTable}, Grown: 300}}
	recording := ShopMonth{Requests: map[string]int64{recordEvent: 3}, RequestsPerStart: 10, Months: 12}
	const stored = 3*(300-indexedBytes)*100/30 + 3*indexedBytes*12 // a redemption stays in the index; its event expires
	if got := recording.monthly([]Line{events}, code,
		24); got[pricing.TableByteMonths].Cmp(big.NewRat(stored, 1)) != 0 ||
		got[pricing.BackupByteMonths].Sign() != 0 {
		t.Errorf("three redemptions with events, 300 bytes together, take %v byte-months, %v of backups",
			got[pricing.TableByteMonths], got[pricing.BackupByteMonths])
	}

	shop.Watched, shop.Requests, shop.Preflights, shop.Codes = false, nil, 0, 0
	wantUsage(t, shop.monthly([]Line{line}, code, 24), nil)
}

func TestShops_SendOnlyMeasuredRequests(t *testing.T) {
	measured := make(map[string]bool)
	for _, o := range operations() {
		if measured[o.name] {
			t.Errorf("%s is measured twice", o.name)
		}
		measured[o.name] = true
	}
	shops, err := readShops()
	if err != nil || len(shops) == 0 {
		t.Fatal(err)
	}
	for _, shop := range shops {
		for name := range shop.Requests {
			if !measured[name] {
				t.Errorf("%s sends %q, which is not measured", shop.Name, name)
			}
		}
		if shop.RequestsPerStart < 1 || shop.Hours < 1 || shop.Hours > 730 || shop.Instances < 1 {
			t.Errorf("%s has numbers that are out of range: %+v", shop.Name, shop)
		}
	}
	for name := range targets() {
		if !measured[name] {
			t.Errorf("%q has a target, but is not measured", name)
		}
	}
}

func TestAlarmMetrics_CountsEachMetricOfAnAlarm(t *testing.T) {
	count, err := alarmMetrics("../../..")
	if err != nil || count != 61 { // docs/operating/watching.md names the same number
		t.Errorf("counted %d metrics, %v; want 61", count, err)
	}
	if count, err := alarmMetrics(t.TempDir()); err == nil {
		t.Errorf("counted %d metrics without a template; want an error", count)
	}
}

func TestReport_TotalAboveItsTarget_IsMarked(t *testing.T) {
	single := Request{
		Operation: redeemSingleUse, Function: redeemVoucher, LogBytes: 375, ResponseBytes: 318,
		Calls:   []memdynamo.Call{{Units: memdynamo.Units{Write: 1}}},
		Figures: process.Figures{Warm: 6 * time.Millisecond, Ready: 20 * time.Millisecond},
	}
	limited := single
	limited.Operation, limited.Warm = redeemLimited, 11*time.Millisecond
	limited.Calls = []memdynamo.Call{{Units: memdynamo.Units{Write: 1}}, {Units: memdynamo.Units{Write: 4}}}
	report, err := newReport(256, []Request{single, limited}, Request{}, 24)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	for name, above := range map[string]bool{redeemSingleUse: false, redeemLimited: true} {
		found := false
		for line := range strings.Lines(text.String()) {
			if strings.HasPrefix(line, name+" ") && strings.Contains(line, " 1.000 ") {
				found = true
				if strings.Contains(line, "!") != above {
					t.Errorf("%s must be marked as above its target: %t; it is printed as %s", name, above, line)
				}
			}
		}
		if !found {
			t.Errorf("%s is not in\n%s", name, &text)
		}
	}
}
