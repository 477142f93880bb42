package hotcode_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/voucher"
)

//nolint:gochecknoglobals // flags
var (
	crowdSize = flag.Int("crowd", 64,
		"how many tills, each like a process of the function, redeem one code at the same time")
	warmUp = flag.Duration("warm", 5*time.Second, "how long the crowd redeems before it is measured")
	hold   = flag.Duration("hold", 500*time.Millisecond,
		"how long a transaction holds its items when conflicts are measured")
	measured = flag.Duration("measured", 15*time.Second, "how long the crowd's redemptions are counted")
)

// model holds throughput limits of DynamoDB. They are lower than the real ones, so that this machine, which runs
// the database and the crowd, is not the bottleneck.
type model struct {
	name   string
	limits memdynamo.Dials
}

// models returns models of DynamoDB that are slower than the real service, in the same proportions.
func models() []model {
	return []model{
		// A transaction locks its items for so long that one part accepts at most 2 a second; its write units do not
		// matter.
		{"conflicts", memdynamo.Dials{Hold: *hold, WriteUnits: 1000, ReadUnits: 3000}},
		// Each second, a partition key value has a 250th of its real units: 4 write units, enough for 2 uses, and 12
		// read units.
		{"units", memdynamo.Dials{Hold: time.Millisecond, WriteUnits: 4, ReadUnits: 12}},
		// This is like "units", but reads are unlimited, as if reading the code's terms cost nothing.
		{"write units", memdynamo.Dials{Hold: time.Millisecond, WriteUnits: 4}},
	}
}

// series holds the measurements of each round.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

func (s series) String() string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf("%7.1f (%.1f to %.1f)", s.median(), slices.Min(s), slices.Max(s))
}

// BenchmarkRedemptions measures the redemptions per second of one code, by the number of its parts. Each iteration
// measures all numbers of parts, one after another. So -benchtime 5x makes five rounds.
func BenchmarkRedemptions(b *testing.B) {
	for _, model := range models() {
		b.Run(model.name, func(b *testing.B) {
			counts := []int{0, 4, 16, 32, 64, 98}
			rates, ratios, costs := make(map[int]series), make(map[int]series), make(map[int]series)
			for b.Loop() {
				for _, parts := range counts {
					rate, cost := measure(b, model.limits, parts)
					rates[parts] = append(rates[parts], rate)
					costs[parts] = append(costs[parts], cost)
					if one := rates[0][len(rates[0])-1]; one > 0 {
						ratios[parts] = append(ratios[parts], rate/one)
					}
				}
			}
			b.Logf("%8s  %-26s  %-26s  %s", "parts", "redemptions a second", "rate / rate of none",
				"calls per redemption")
			for _, parts := range counts {
				b.Logf("%8d  %-26s  %-26s  %s", parts, rates[parts], ratios[parts], costs[parts])
				b.ReportMetric(rates[parts].median(), fmt.Sprintf("with-%d-parts/s", parts))
			}
			b.ReportMetric(0, "ns/op") // means nothing here
		})
	}
}

// measure makes a crowd redeem a code. It returns the redemptions a second, and the calls for each redemption,
// including the calls of requests that failed.
func measure(b *testing.B, limits memdynamo.Dials, parts int) (rate, cost float64) {
	b.Helper()
	s := newShop(b, limits)
	v := s.create(b, 1_000_000, parts)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var redeemed atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.crowd(ctx, b, *crowdSize, v.Code, budget, func() { redeemed.Add(1) })
	}()
	time.Sleep(*warmUp)
	calls, count, begun := s.store.Calls(), redeemed.Load(), time.Now()
	time.Sleep(*measured)
	count = redeemed.Load() - count
	took := time.Since(begun)
	spent := s.calls(calls)
	stop()
	<-ended
	return float64(count) / took.Seconds(), float64(spent) / float64(max(count, 1))
}

// BenchmarkSellOut measures how a code with 1,024 uses sells out, by the number of uses per part. It measures the
// redemptions per second, and the calls per redemption over all uses and over the last hundred.
func BenchmarkSellOut(b *testing.B) {
	const uses, last = 1024, 100
	for _, model := range []model{
		{"without conflicts", memdynamo.Dials{}},
		{"transactions of 20 ms", memdynamo.Dials{Hold: 20 * time.Millisecond, WriteUnits: 1000, ReadUnits: 3000}},
	} {
		b.Run(model.name, func(b *testing.B) {
			counts := []int{4, 8, 16, 32, 64}
			rates, costs, ends := make(map[int]series), make(map[int]series), make(map[int]series)
			for b.Loop() {
				for _, parts := range counts {
					rate, cost, end := sellOut(b, model.limits, uses, parts, last)
					rates[parts] = append(rates[parts], rate)
					costs[parts] = append(costs[parts], cost)
					ends[parts] = append(ends[parts], end)
				}
			}
			b.Logf("%16s  %-26s  %-26s  %s", "uses per part", "redemptions a second", "calls per redemption",
				"the same, last hundred")
			for _, parts := range counts {
				b.Logf("%16d  %-26s  %-26s  %s", uses/parts, rates[parts], costs[parts], ends[parts])
				b.ReportMetric(ends[parts].median(),
					fmt.Sprintf("calls-per-late-redemption-with-%d-parts", parts))
			}
			b.ReportMetric(0, "ns/op") // means nothing here
		})
	}
}

func sellOut(
	b *testing.B, limits memdynamo.Dials, uses voucher.Limit, parts, last int,
) (rate, cost, end float64) {
	b.Helper()
	s := newShop(b, limits)
	v := s.create(b, uses, parts)
	var redeemed, callsBefore, calls atomic.Int64
	begun := time.Now()
	var took time.Duration
	s.crowd(b.Context(), b, *crowdSize, v.Code, patience, func() {
		switch redeemed.Add(1) {
		case int64(uses) - int64(last):
			callsBefore.Store(int64(s.calls(nil)))
		case int64(uses):
			calls.Store(int64(s.calls(nil)))
			took = time.Since(begun) // no race: only one redemption is the last
		}
	}, patient)
	if redeemed.Load() != int64(uses) {
		b.Errorf("%d of %d uses were redeemed", redeemed.Load(), uses)
	}
	return float64(uses) / took.Seconds(), float64(calls.Load()) / float64(uses),
		float64(calls.Load()-callsBefore.Load()) / float64(last)
}
