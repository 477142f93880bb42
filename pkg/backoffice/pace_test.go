package backoffice

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace_Throttled_HalvesTheLimitAndReportsItOnceThenGrowsAgain(t *testing.T) {
	var throttled int64
	var reported []int
	p := newPace(func() int64 { return throttled }, func(writers int) { reported = append(reported, writers) })
	// writes makes as many writes as the limit allows, all at the same time.
	writes := func() {
		for range p.limit {
			p.enter()
		}
		for range p.running {
			p.leave()
		}
	}
	for step, want := range []struct {
		throttled int64 // how many calls are throttled during the writes
		limit     int   // the limit after the writes
		reported  []int // the limits reported so far
	}{
		{0, 17, nil},
		{5, 8, []int{8}},
		{0, 9, []int{8}},
		{1, 4, []int{8, 4}},
		{1, 2, []int{8, 4, 2}},
		{1, 1, []int{8, 4, 2, 1}},
		{1, 1, []int{8, 4, 2, 1}},
		{0, 2, []int{8, 4, 2, 1}},
	} {
		throttled += want.throttled
		writes()
		if p.limit != want.limit || !slices.Equal(reported, want.reported) {
			t.Fatalf("step %d: the limit is %d, reported %v; want %d and %v", step, p.limit, reported, want.limit,
				want.reported)
		}
	}
	for range MaxWriters {
		writes()
	}
	if p.limit != MaxWriters || len(reported) != 4 {
		t.Errorf("without throttling the limit grows to %d, reported %v; want %d and no further report", p.limit,
			reported, MaxWriters)
	}
}

// A table with little capacity throttles for as long as the command runs.
func TestPace_ThrottledAllTheTime_ReportsEachLimitOnce(t *testing.T) {
	var throttled int64
	var reported []int
	p := newPace(func() int64 { return throttled }, func(writers int) { reported = append(reported, writers) })
	for n := range 1000 {
		if n%3 == 0 {
			throttled++
		}
		p.enter()
		p.leave()
	}
	if want := []int{8, 4, 2, 1}; !slices.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}
}

// endless yields work without end.
func endless() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		more := true
		for n := 0; more; n++ {
			more = yield(n, nil)
		}
	}
}

// steady returns a pace without throttling.
func steady() *pace { return newPace(func() int64 { return 0 }, nil) }

func TestInParallel_Interrupted_WritesInFlightEndAndNoOthersBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		var begun atomic.Int64
		response := make(chan struct{})
		result := make(chan error, 1)
		go func() {
			result <- inParallel(ctx, steady(), endless(), func(ctx context.Context, _ int) error {
				begun.Add(1)
				<-response
				if ctx.Err() != nil {
					return errors.New("the write was cut short")
				}
				return nil
			})
		}()
		synctest.Wait()
		interrupt()
		synctest.Wait()
		close(response)
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("inParallel = %v, want context.Canceled", err)
		}
		if begun.Load() != firstWriters {
			t.Errorf("%d writes began, want %d", begun.Load(), firstWriters)
		}
	})
}

func TestInParallel_InterruptedWithoutResponses_EndsAfterTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			result <- inParallel(ctx, steady(), endless(), func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		synctest.Wait()
		interrupt()
		interrupted := time.Now() // in a synctest bubble, time passes only while all goroutines wait
		if err := <-result; !errors.Is(err, context.Canceled) || time.Since(interrupted) != gracePeriod {
			t.Errorf("inParallel = %v after %v, want context.Canceled after %v", err, time.Since(interrupted),
				gracePeriod)
		}
	})
}
