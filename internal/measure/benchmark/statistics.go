package benchmark

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Spread summarises a figure over all rounds.
type Spread struct {
	Median   float64
	Least    float64
	Greatest float64
}

// spreadOf summarises one or more values.
func spreadOf(values ...float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	return Spread{Median: (sorted[last/2] + sorted[len(sorted)/2]) / 2, Least: sorted[0], Greatest: sorted[last]}
}

func (s Spread) String() string {
	if s.Least == s.Greatest {
		return fmt.Sprintf("%.2f", s.Median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Least, s.Greatest)
}

// comparison says how the distributions of two samples differ.
type comparison struct {
	// Superiority is the probability that a value of the second sample is above one of the first, where ties count
	// half. At 0.5 neither sample tends to be greater.
	Superiority float64
	// RankP is the probability of such ranks, or more extreme ones, if both samples come from one distribution
	// (Mann-Whitney U test, by its normal approximation, corrected for ties).
	RankP float64
}

// compare compares two samples. Neither may be empty.
func compare(first, second []time.Duration) comparison {
	a, b := slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(second))
	both := slices.Sorted(slices.Values(slices.Concat(a, b)))
	m, n := float64(len(a)), float64(len(b))
	var compared comparison
	var ties float64 // the sum of t³−t over groups of t equal values
	for i, value := range both {
		below, upTo := countUpTo(a, value)
		belowInB, upToInB := countUpTo(b, value)
		if i == 0 || value != both[i-1] {
			compared.Superiority += (upToInB - belowInB) * (below + upTo) / 2 / (m * n)
			same := upTo - below + upToInB - belowInB
			ties += same*same*same - same
		}
	}
	compared.RankP = 1
	if variance := m * n / 12 * (m + n + 1 - ties/((m+n)*(m+n-1))); variance > 0 {
		z := max(math.Abs(compared.Superiority-0.5)*m*n-0.5, 0) / math.Sqrt(variance)
		compared.RankP = math.Erfc(z / math.Sqrt2)
	}
	return compared
}

// countUpTo counts the sorted values that are below the given value, and those that are not above it.
func countUpTo(sorted []time.Duration, value time.Duration) (below, notAbove float64) {
	from, _ := slices.BinarySearch(sorted, value)
	to, _ := slices.BinarySearch(sorted, value+1)
	return float64(from), float64(to)
}

// samplesToTell returns how many values are needed from each of two distributions to tell by ranks which distribution
// is greater, with errors of 5 % of either kind. The effect is the distance of the probability of superiority from 0.5
// (Noether, Journal of the American Statistical Association 82, 1987, p. 645).
func samplesToTell(effect float64) float64 {
	const z = 1.6449 // the 95 % quantile of the normal distribution
	return (2 * z) * (2 * z) / (6 * effect * effect)
}

// uncertainty returns the half-width of the 95 % interval of the probability of superiority, for this many samples from
// each of two equal distributions.
func uncertainty(samples int) float64 { return 1.96 * math.Sqrt(1/(6*float64(samples))) }
