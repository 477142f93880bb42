package benchmark

import (
	"math"
	"slices"
	"time"
)

// comparison is how the distributions of two samples differ.
type comparison struct {
	// Superiority is how likely a value of the second sample is above one of the first, ties counted half: 0.5 where neither
	// tends to be greater.
	Superiority float64
	// RankP is how likely such a Superiority, or one farther from 0.5, is where both are from one distribution: the test of Mann
	// and Whitney, by its normal approximation, corrected for ties.
	RankP float64
	// Distance is the greatest distance between the two cumulative distributions, and DistanceP how likely such a one is, or a
	// greater, where both are from one distribution: the test of Kolmogorov and Smirnov, by its limit for large samples.
	Distance  float64
	DistanceP float64
}

// compare compares two samples, none of them empty.
func compare(first, second []time.Duration) comparison {
	a, b := slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(second))
	m, n := float64(len(a)), float64(len(b))
	var compared comparison
	var rankSum, ties float64 // of b's ranks; of t³−t for each t values that are the same
	below := 0.0              // how many values of both are below the one that is looked at
	for i, j := 0, 0; i < len(a) || j < len(b); {
		value := least(a[i:], b[j:])
		inA, inB := run(a[i:], value), run(b[j:], value)
		same := float64(inA + inB)
		rankSum += float64(inB) * (below + (same+1)/2)
		ties += same*same*same - same
		below += same
		i, j = i+inA, j+inB
		compared.Distance = max(compared.Distance, math.Abs(float64(i)/m-float64(j)/n))
	}
	u := rankSum - n*(n+1)/2
	compared.Superiority = u / (m * n)
	compared.RankP = 1
	if variance := m * n / 12 * (m + n + 1 - ties/((m+n)*(m+n-1))); variance > 0 {
		z := max(math.Abs(u-m*n/2)-0.5, 0) / math.Sqrt(variance)
		compared.RankP = math.Erfc(z / math.Sqrt2)
	}
	compared.DistanceP = distanceP(compared.Distance, m*n/(m+n))
	return compared
}

func least(a, b []time.Duration) time.Duration {
	switch {
	case len(a) == 0:
		return b[0]
	case len(b) == 0:
		return a[0]
	default:
		return min(a[0], b[0])
	}
}

// run is how many of the first values, in order, are the given one.
func run(values []time.Duration, value time.Duration) int {
	for i, v := range values {
		if v != value {
			return i
		}
	}
	return len(values)
}

// distanceP is Kolmogorov's limit distribution, with the correction of Stephens for samples of a finite size.
func distanceP(distance, size float64) float64 {
	lambda := (math.Sqrt(size) + 0.12 + 0.11/math.Sqrt(size)) * distance
	if lambda < 0.2 {
		return 1 // the series converges slowly there, to 1 in twelve digits
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		sum += sign * math.Exp(-2*k*k*lambda*lambda)
		sign = -sign
	}
	return min(max(2*sum, 0), 1)
}

// samplesToTell is how many values of each of two distributions it takes to tell by ranks which is the greater one, with errors
// of 5 % of either kind, given how far the probability of superiority is from 0.5 (Noether, Journal of the American Statistical
// Association 82, 1987, p. 645).
func samplesToTell(effect float64) float64 {
	const z = 1.6449 // the 95 % quantile of the normal distribution
	return (2 * z) * (2 * z) / (6 * effect * effect)
}

// uncertainty is the half-width of the 95 % interval of the probability of superiority of two alike distributions, from so many
// values of each.
func uncertainty(samples int) float64 { return 1.96 * math.Sqrt(1/(6*float64(samples))) }
