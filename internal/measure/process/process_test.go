package process_test

import (
	"testing"

	"shopfront/internal/measure/process"
)

func TestQuantile_UsesTheNearestRank(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, test := range []struct {
		values []int
		part   float64
		want   int
	}{
		{hundred, 0.99, 99},
		{hundred, 0.5, 50},
		{hundred, 1, 100},
		{hundred, 0.001, 1},
		{[]int{7}, 0.5, 7},
		{[]int{3, 1, 2}, 0.5, 2},
		{[]int{4, 3, 2, 1}, 0.5, 2},
	} {
		if got := process.Quantile(test.values, test.part); got != test.want {
			t.Errorf("quantile %g of %d values is %d, want %d", test.part, len(test.values), got, test.want)
		}
	}
}
