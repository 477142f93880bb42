package operator

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

func TestPace_Throttled_HalvesAndSaysSoOnceThenGrowsAgain(t *testing.T) {
	var throttled int64
	var said []int
	p := newPace(func() int64 { return throttled }, func(writers int) { said = append(said, writers) })
	// writes makes as many writes as may be in flight, all at the same time.
	writes := func() {
		for range p.limit {
			p.enter()
		}
		for range p.running {
			p.leave()
		}
	}
	for step, want := range []struct {
		throttled int64 // calls while the writes run
		limit     int   // after them
		said      []int // so far
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
		if p.limit != want.limit || !slices.Equal(said, want.said) {
			t.Fatalf("step %d: %d writes in flight, said %v; want %d and %v", step, p.limit, said, want.limit, want.said)
		}
	}
	for range MaxWriters {
		writes()
	}
	if p.limit != MaxWriters || len(said) != 4 {
		t.Errorf("without throttling it grows to %d, and said %v; want %d", p.limit, said, MaxWriters)
	}
}

// A table with little capacity throttles for as long as the command runs.
func TestPace_ThrottledAllTheTime_SaysEachNumberOnce(t *testing.T) {
	var throttled int64
	var said []int
	p := newPace(func() int64 { return throttled }, func(writers int) { said = append(said, writers) })
	for n := range 1000 {
		if n%3 == 0 {
			throttled++
		}
		p.enter()
		p.leave()
	}
	if !slices.Equal(said, []int{8, 4, 2, 1}) {
		t.Errorf("said %v", said)
	}
}

// endless yields work without an end.
func endless() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		more := true
		for n := 0; more; n++ {
			more = yield(n, nil)
		}
	}
}

func steady() *pace { return newPace(func() int64 { return 0 }, nil) }

func TestInParallel_Interrupted_WritesInFlightEndAndNoOtherBegins(t *testing.T) {
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
			t.Errorf("%v, want that it was interrupted", err)
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
		interrupted := time.Now() // in the bubble, time passes only while everything waits
		if err := <-result; !errors.Is(err, context.Canceled) || time.Since(interrupted) != gracePeriod {
			t.Errorf("%v after %v, want that it was interrupted, after %v", err, time.Since(interrupted), gracePeriod)
		}
	})
}
