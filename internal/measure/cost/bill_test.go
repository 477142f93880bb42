package cost

import (
	"maps"
	"math"
	"slices"
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
			{Operation: "PutItem", Units: memdynamo.Units{Write: 1}, Tables: []string{fixture.CheckoutsTable}, Grown: 500},
		},
		Metrics: []string{"Shopfront Checkouts Stack=shopfront-prod"},
		Figures: process.Figures{
			Warm: 10 * time.Millisecond, First: 30 * time.Millisecond, Ready: 80 * time.Millisecond,
		},
	}
	return newLine(request, 256)
}

func wantUsage(t *testing.T, got, want pricing.Usage) {
	t.Helper()
	for _, usage := range slices.Concat(slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(want))) {
		if math.Abs(got[usage]-want[usage]) > 1e-6 {
			t.Errorf("%s: %g; want %g", usage, got[usage], want[usage])
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
	wantUsage(t, line.usage(0.1), pricing.Usage{
		pricing.ReadRequestUnits: 2, pricing.WriteRequestUnits: 1, pricing.APIRequests: 1, pricing.LambdaRequests: 1,
		pricing.LambdaMBMillis: 256 * 20, // (9 × 10 + 110) ÷ 10
		pricing.LogBytes:       float64(9*line.WarmLogBytes+line.ColdLogBytes) / 10,
		pricing.TransferBytes:  600,
		pricing.KeyRequests:    0.2,
	})
}

func TestLine_LargeResponse_CountsAsSeveralGatewayRequests(t *testing.T) {
	for bytes, want := range map[int]float64{0: 1, 1: 1, 512 << 10: 1, 512<<10 + 1: 2, 4 << 20: 8} {
		line := checkoutLine()
		line.BodyBytes = bytes
		if got := line.usage(0)[pricing.APIRequests]; got != want {
			t.Errorf("%d bytes are %g requests; want %g", bytes, got, want)
		}
	}
}

func TestLine_BatchOfAStream_IsNotBilledByTheGateway(t *testing.T) {
	line := checkoutLine()
	line.BodyBytes, line.ResponseBytes = 0, 0
	used := line.usage(0)
	if used[pricing.APIRequests] != 0 || used[pricing.TransferBytes] != 0 || used[pricing.BusEvents] != 0 {
		t.Errorf("a batch of a stream is billed as %v; want no gateway request, no transfer and no bus event", used)
	}
	if line.Function = publishEvents; line.usage(0)[pricing.BusEvents] != 1 {
		t.Errorf("an event on the bus is billed as %v; want one bus event", line.usage(0))
	}
}

func TestReport_Batches_ArePricedPerEvent(t *testing.T) {
	of := func(operation string) Request {
		return Request{Operation: operation, Calls: []memdynamo.Call{{Units: memdynamo.Units{Write: 100}}}}
	}
	report, err := newReport(256, []Request{of(recordEvent), of(recordTen), of(recordHundred)}, Request{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"62.5000", "6.2500", "0.6250"} { // 0.625 USD for a million write units
		if got := dollars(report.million(report.lines[i]).Columns["DynamoDB"], 4); got != want {
			t.Errorf("a million of %q costs %s USD, want %s", report.lines[i].Operation, got, want)
		}
	}
}

func TestShop_Month_AddsUp(t *testing.T) {
	line := checkoutLine()
	code := Request{Calls: []memdynamo.Call{{
		Units: memdynamo.Units{Write: 1}, Tables: []string{fixture.VouchersTable}, Grown: 400,
	}}}
	shop := ShopMonth{
		Requests: map[string]float64{checkOutKey: 3_000, placeOrder: 600}, Preflights: 1_000, Codes: 100,
		RequestsPerStart: 10, Hours: 300, Instances: 2, Months: 12, Watched: true,
	}
	order := line
	order.Operation, order.Function, order.Metrics = placeOrder, "place-order", nil
	order.Calls = []memdynamo.Call{{
		Operation: "UpdateItem", Units: memdynamo.Units{Write: 2}, Tables: []string{fixture.CheckoutsTable}, Grown: 700,
	}}
	const kept = (100*400+600*(500+700))*12 + 2_400*500*11/30
	want := pricing.Usage{
		pricing.APIRequests: 1_000, pricing.WriteRequestUnits: 100,
		pricing.TableByteMonths: kept, pricing.BackupByteMonths: kept,
		pricing.LogByteMonths: 3_600 * float64(line.ColdLogBytes+5*26),
		pricing.MetricHours:   300, pricing.KeyRequests: 3 * 2 * 300 * 12,
		pricing.AlarmMonths: 24, pricing.DashboardMonths: 1, pricing.KeyMonths: 1,
	}
	want.Add(line.usage(0.1), 3_000)
	want.Add(order.usage(0.1), 600)
	wantUsage(t, shop.monthly([]Line{line, order}, code, 24), want)

	events := line
	events.Operation, events.Function, events.Metrics = recordEvent, recordEvents, nil
	events.Calls = []memdynamo.Call{{Operation: "PutItem", Tables: []string{fixture.EventsTable}, Grown: 300}}
	recording := ShopMonth{Requests: map[string]float64{recordEvent: 3}, RequestsPerStart: 10, Months: 12}
	const stored = 3*(300-indexedBytes)*100/30 + 3*indexedBytes*12 // a redemption stays in the index; its event expires
	got := recording.monthly([]Line{events}, code, 24)
	if math.Abs(got[pricing.TableByteMonths]-stored) > 1 || got[pricing.BackupByteMonths] != 0 {
		t.Errorf("three redemptions with events, 300 bytes together, take %g byte-months, %g of backups; want %d and none",
			got[pricing.TableByteMonths], got[pricing.BackupByteMonths], stored)
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
}

func TestAlarmMetrics_CountsEachMetricOfAnAlarm(t *testing.T) {
	count, err := alarmMetrics("../../..")
	if err != nil || count != 63 { // docs/operating/cost.md names the same number
		t.Errorf("counted %d metrics, %v; want 63", count, err)
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
	fields := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"redemption, single use 2.17 2.50 0.625", "redemption, limited 4.69 4.50 ! 3.125"} {
		if !strings.Contains(fields, want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
}
