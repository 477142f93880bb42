package pricing_test

import (
	"math/big"
	"testing"

	"shopfront/internal/measure/pricing"
)

func published(t *testing.T) pricing.Prices {
	t.Helper()
	prices, err := pricing.Published()
	if err != nil {
		t.Fatal(err)
	}
	return prices
}

func TestCost(t *testing.T) {
	for _, test := range []struct {
		name  string
		usage pricing.UsageType
		units int64
		want  string // USD
	}{
		{"a million writes of 1 KB", pricing.WriteRequestUnits, 1_000_000, "0.625"},
		{"one write", pricing.WriteRequestUnits, 1, "0.000000625"},
		{"a million consistent reads of 4 KB", pricing.ReadRequestUnits, 1_000_000, "0.125"},
		{"a million requests of the gateway", pricing.APIRequests, 1_000_000, "1"},
		{"a million requests of a function", pricing.LambdaRequests, 1_000_000, "0.2"},
		{"a GB of memory for a second", pricing.LambdaMBMillis, 1024 * 1000, "0.0000133334"},
		{"256 MB of memory for 10 ms", pricing.LambdaMBMillis, 256 * 10, "0.0000000333335"},
		{"a GB of logs", pricing.LogBytes, 1 << 30, "0.5"},
		{"a metric for a month", pricing.MetricHours, 730, "0.3"},
		{"twenty-four alarms", pricing.AlarmMonths, 24, "2.4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			usage := make(pricing.Usage)
			usage.AddWhole(test.usage, test.units)
			want, _ := new(big.Rat).SetString(test.want)
			if got := published(t).Cost(usage).Total; got.Cmp(want) != 0 {
				t.Errorf("%d of %s cost %s USD; want %s", test.units, test.usage, got.FloatString(15), test.want)
			}
		})
	}
}

func TestCost_Sums_AreExact(t *testing.T) {
	one := make(pricing.Usage)
	one.AddWhole(pricing.WriteRequestUnits, 1)
	one.AddWhole(pricing.LambdaMBMillis, 7)
	one.AddWhole(pricing.LogBytes, 333)
	added, times := make(pricing.Usage), make(pricing.Usage)
	for range 1_000 {
		added.AddTimes(one, big.NewRat(1, 1))
	}
	times.AddTimes(one, big.NewRat(1_000, 1))
	sum := published(t).Cost(added).Total
	bill := published(t).Cost(times)
	if sum.Cmp(bill.Total.Rat) != 0 {
		t.Errorf("a thousand usages, added one by one, cost %s USD; multiplied, they cost %s", sum, bill.Total)
	}
	parts := new(big.Rat)
	for _, amount := range bill.Columns {
		parts.Add(parts, amount.Rat)
	}
	if parts.Cmp(bill.Total.Rat) != 0 {
		t.Errorf("the columns add up to %s USD, the total is %s", parts, bill.Total)
	}
}
