package cost

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"shopfront/internal/measure/benchmark"
	"shopfront/internal/measure/cost/metering"
	"shopfront/internal/measure/cost/pricing"
)

func TestBilledTimeIsStretchedToTheInstancesPartOfAProcessor(t *testing.T) {
	for _, test := range []struct {
		name      string
		memory    int
		took, cpu time.Duration
		want      time.Duration
	}{
		{"a whole processor", 1769, 6200 * time.Microsecond, time.Millisecond, 7 * time.Millisecond},
		{"more than one", 3008, 6200 * time.Microsecond, time.Millisecond, 7 * time.Millisecond},
		{"a part of one", 256, 6 * time.Millisecond, time.Millisecond, 12 * time.Millisecond}, // 6 + 1513/256 = 11.9
		{"nothing to compute", 256, 5 * time.Millisecond, 0, 5 * time.Millisecond},
		{"begun milliseconds count", 256, 5*time.Millisecond + 1, 0, 6 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (Instance{MemoryMB: test.memory}).Billed(test.took, test.cpu); got != test.want {
				t.Errorf("%v; want %v", got, test.want)
			}
		})
	}
}

// checkoutLine is a checkout that takes 10 ms, as Lambda bills it, with a cold start 110.
func checkoutLine() Line {
	request := Request{
		Operation: CheckOutKey, Function: checkout, LogBytes: 375, BodyBytes: 400, AnswerBytes: 600,
		Calls: []metering.Call{
			{Operation: "BatchGetItem", Units: metering.Units{Read: 2}, Tables: []string{benchmark.CatalogueTable}},
			{Operation: "PutItem", Units: metering.Units{Write: 1}, Tables: []string{benchmark.CheckoutsTable}, Grown: 500},
		},
		Metrics: []string{"Shopfront Checkouts Stack=shopfront-prod"},
	}
	took, start := Time{Warm: 10 * time.Millisecond, First: 30 * time.Millisecond}, Start{Ready: 80 * time.Millisecond}
	return newLine(request, took, start, Instance{MemoryMB: 256})
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

func TestARequestUsesWhatWasMeasured(t *testing.T) {
	line := checkoutLine()
	// START, END and REPORT with their IDs; the first request's also tell how it began.
	if line.WarmLogBytes != 375+264 || line.ColdLogBytes <= line.WarmLogBytes {
		t.Errorf("%d bytes are logged, of an instance's first request %d", line.WarmLogBytes, line.ColdLogBytes)
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

func TestTheGatewayCountsLargeAnswersAsSeveralRequests(t *testing.T) {
	for bytes, want := range map[int]int64{0: 1, 1: 1, 512 << 10: 1, 512<<10 + 1: 2, 4 << 20: 8} {
		line := checkoutLine()
		line.BodyBytes = bytes
		if got := line.usage(new(big.Rat))[pricing.APIRequests]; got.Cmp(big.NewRat(want, 1)) != 0 {
			t.Errorf("%d bytes are %s requests; want %d", bytes, got.RatString(), want)
		}
	}
}

func TestAMonthAddsUp(t *testing.T) {
	line := checkoutLine()
	code := Request{Calls: []metering.Call{{Units: metering.Units{Write: 1}, Tables: []string{benchmark.VouchersTable}, Grown: 400}}}
	shop := Shop{
		Requests: map[string]int64{CheckOutKey: 3_000}, Preflights: 1_000, Codes: 100, RequestsPerStart: 10, Hours: 300, Instances: 2, Months: 12,
		Watched: true,
	}
	cold := big.NewRat(1, 10)
	want := make(pricing.Usage)
	want.AddTimes(line.usage(cold), big.NewRat(3_000, 1))
	want.AddWhole(pricing.APIRequests, 1_000)
	want.AddWhole(pricing.WriteRequestUnits, 100)
	kept := int64(100*400*12 + 3_000*500*10/30)
	want.AddWhole(pricing.TableByteMonths, kept)
	want.AddWhole(pricing.BackupByteMonths, kept)
	want.AddWhole(pricing.LogByteMonths, 3_000*(int64(line.ColdLogBytes)+5*26))
	want.AddWhole(pricing.MetricHours, 300)
	want.AddWhole(pricing.KeyRequests, 2*2*300*12)
	want.AddWhole(pricing.AlarmMonths, 24)
	want.AddWhole(pricing.DashboardMonths, 1)
	want.AddWhole(pricing.KeyMonths, 1)
	wantUsage(t, shop.monthly([]Line{line}, code, 24), want)

	shop.Watched, shop.Requests, shop.Preflights, shop.Codes = false, nil, 0, 0
	wantUsage(t, shop.monthly([]Line{line}, code, 24), nil)
}

func TestShopsSendRequestsThatAreMeasured(t *testing.T) {
	measured := make(map[string]bool)
	for _, o := range operations() {
		if measured[o.name] {
			t.Errorf("%s is measured twice", o.name)
		}
		measured[o.name] = true
	}
	for _, shop := range Shops() {
		for name := range shop.Requests {
			if !measured[name] {
				t.Errorf("%s sends %q, which is not measured", shop.Name, name)
			}
		}
		if shop.RequestsPerStart < 1 || shop.Hours < 1 || shop.Hours > 730 || shop.Instances < 1 {
			t.Errorf("%s: %+v", shop.Name, shop)
		}
	}
	for name := range targets() {
		if !measured[name] {
			t.Errorf("%q has a target, and is not measured", name)
		}
	}
}

func TestEveryMetricOfAnAlarmIsBilled(t *testing.T) {
	count, err := alarmMetrics("../../..")
	if err != nil || count != 25 { // docs/operations.md says so too
		t.Errorf("%d metrics, %v; want 25", count, err)
	}
	if count, err := alarmMetrics(t.TempDir()); err == nil {
		t.Errorf("%d metrics in no template", count)
	}
}

func TestTheReportSaysWhatIsAboveItsTarget(t *testing.T) {
	prices, err := pricing.Published()
	if err != nil {
		t.Fatal(err)
	}
	single := Request{Operation: RedeemSingleUse, Function: redeemVoucher, LogBytes: 375, AnswerBytes: 318, Calls: []metering.Call{{Units: metering.Units{Write: 1}}}}
	limited := single
	limited.Operation, limited.Calls = RedeemLimited, []metering.Call{{Units: metering.Units{Write: 1}}, {Units: metering.Units{Write: 4}}}
	times := Times{Operations: map[string]Time{
		RedeemSingleUse: {Warm: 6 * time.Millisecond}, RedeemLimited: {Warm: 11 * time.Millisecond},
	}, Starts: map[string]Start{redeemVoucher: {Ready: 20 * time.Millisecond}}}
	report := newReport(prices, Instance{MemoryMB: 256}, []Request{single, limited}, Request{}, times, 24)
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	for name, above := range map[string]bool{RedeemSingleUse: false, RedeemLimited: true} {
		found := false
		for line := range strings.Lines(text.String()) {
			if strings.HasPrefix(line, "  "+name+" ") && strings.Contains(line, "0.20") {
				found = true
				if strings.Contains(line, "!") != above {
					t.Errorf("above its target %t: %s", above, line)
				}
			}
		}
		if !found {
			t.Errorf("%s is not in\n%s", name, &text)
		}
	}
}
