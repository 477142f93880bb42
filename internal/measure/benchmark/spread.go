package benchmark

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Spread is a figure over rounds.
type Spread struct {
	Median   float64 `json:"median"`
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
}

// spreadOf is the spread of values, of which there is at least one.
func spreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	return Spread{Median: (sorted[last/2] + sorted[len(sorted)/2]) / 2, Least: sorted[0], Greatest: sorted[last]}
}

// String has the median, then the least and the greatest.
func (s Spread) String() string {
	if s.Least == s.Greatest {
		return fmt.Sprintf("%.2f", s.Median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Least, s.Greatest)
}

// quantile is the least value that a part of the values, above 0 and up to 1, is not above: the nearest-rank quantile. There
// is at least one value.
func quantile[T cmp.Ordered](values []T, part float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(part*float64(len(sorted))))-1]
}
