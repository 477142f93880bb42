package benchmark

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func durations(values ...int) []time.Duration {
	list := make([]time.Duration, len(values))
	for i, v := range values {
		list[i] = time.Duration(v)
	}
	return list
}

func TestCompare_KnownSamples_GiveKnownProbabilities(t *testing.T) {
	for what, test := range map[string]struct {
		first, second []time.Duration
		want          comparison
	}{
		"identical samples": {durations(1, 2, 3, 4), durations(1, 2, 3, 4), comparison{0.5, 1}},
		"all values equal":  {durations(7, 7), durations(7, 7, 7), comparison{0.5, 1}},
		// Places in a race, the usual example of the U test: the second sample is greater in 11 of 36 pairs.
		"race": {durations(1, 7, 8, 9, 10, 11), durations(2, 3, 4, 5, 6, 12), comparison{11. / 36, 0.2980}},
		"ties": {durations(1, 1, 2), durations(1, 2, 2), comparison{6. / 9, 0.6193}},
	} {
		got := compare(test.first, test.second)
		if math.Abs(got.Superiority-test.want.Superiority) > 0.0001 || math.Abs(got.RankP-test.want.RankP) > 0.0001 {
			t.Errorf("%s: got %+v, want %+v", what, got, test.want)
		}
	}
}

func TestCompare_SwappedSamples_GiveTheMirroredResult(t *testing.T) {
	sample := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(n int) time.Duration { return time.Duration(n) }), 1,
		20)
	rapid.Check(t, func(t *rapid.T) {
		a, b := sample.Draw(t, "a"), sample.Draw(t, "b")
		there, back := compare(a, b), compare(b, a)
		if math.Abs(there.Superiority+back.Superiority-1) > 1e-9 || math.Abs(there.RankP-back.RankP) > 1e-9 {
			t.Fatalf("the swapped samples give %+v; want the mirror image of %+v", back, there)
		}
		if there.Superiority < 0 || there.Superiority > 1 || there.RankP < 0 || there.RankP > 1 {
			t.Fatalf("not every probability is between 0 and 1: %+v", there)
		}
	})
}

func TestSamplesToTell_EnoughSamples_ShowTheDifference(t *testing.T) {
	count := int(math.Ceil(2 * samplesToTell(0.1))) // twice as many, as a margin
	first, second := make([]time.Duration, count), make([]time.Duration, count)
	for i := range count {
		first[i] = time.Duration(1000 * i / count)
		second[i] = first[i] + 106 // so that the second sample is greater in 0.6 of the pairs
	}
	compared := compare(first, second)
	if math.Abs(compared.Superiority-0.6) > 0.002 || compared.RankP > significant {
		t.Errorf("the comparison does not find the difference: %+v", compared)
	}
	if alike := compare(first, slices.Clone(first)); alike.RankP < 0.99 ||
		math.Abs(alike.Superiority-0.5) > uncertainty(count) {
		t.Errorf("equal samples differ: %+v", alike)
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   Spread
		text   string
	}{
		{[]float64{1.1}, Spread{1.1, 1.1, 1.1}, "1.10"},
		{[]float64{3, 1}, Spread{2, 1, 3}, "2.00 (1.00–3.00)"},
		{[]float64{1.5, 1.2, 1.3}, Spread{1.3, 1.2, 1.5}, "1.30 (1.20–1.50)"},
	} {
		if got := spreadOf(test.values...); got != test.want || got.String() != test.text {
			t.Errorf("the spread of %v is %#v, printed as %s; want %#v, printed as %s", test.values, got, got,
				test.want, test.text)
		}
	}
}
