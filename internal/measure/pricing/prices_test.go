package pricing_test

import (
	"math"
	"testing"

	"shopfront/internal/measure/pricing"
)

func TestCost(t *testing.T) {
	prices, err := pricing.Published()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		usage  pricing.UsageType
		units  float64
		column string
		want   float64 // USD
	}{
		{"a million writes of 1 KB", pricing.WriteRequestUnits, 1_000_000, "DynamoDB", 0.625},
		{"one write", pricing.WriteRequestUnits, 1, "DynamoDB", 0.000000625},
		{"a million consistent reads of 4 KB", pricing.ReadRequestUnits, 1_000_000, "DynamoDB", 0.125},
		{"a million requests of the gateway", pricing.APIRequests, 1_000_000, "gateway", 1},
		{"a million requests of a function", pricing.LambdaRequests, 1_000_000, "Lambda", 0.2},
		{"a GB of memory for a second", pricing.LambdaMBMillis, 1024 * 1000, "Lambda", 0.0000133334},
		{"256 MB of memory for 10 ms", pricing.LambdaMBMillis, 256 * 10, "Lambda", 0.0000000333335},
		{"a GB of logs", pricing.LogBytes, 1 << 30, "logs", 0.5},
		{"a metric for a month", pricing.MetricHours, 730, "metrics", 0.3},
		{"twenty-four alarms", pricing.AlarmMonths, 24, "alarms", 2.4},
	} {
		t.Run(test.name, func(t *testing.T) {
			bill := prices.Cost(pricing.Usage{test.usage: test.units})
			if math.Abs(bill.Total-test.want) > 1e-12 || bill.Columns[test.column] != bill.Total {
				t.Errorf("%g of %s cost %+v; want %g USD in the column %s", test.units, test.usage, bill, test.want,
					test.column)
			}
		})
	}
}
