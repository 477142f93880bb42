package dynamo_test

import (
	"context"
	"fmt"
	"iter"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
)

// simulation is one trial of concurrent requests against a DynamoDB in memory. Requests run one at a time. A call to
// DynamoDB takes one or more steps. The seed decides which request's step is next, how far the clock moves, and which
// calls fail. So a seed always gives the same trial:
//
//	simulate(t, 300, func(s *simulation) {
//		s.faults = everyFault(0.05)
//		// create vouchers with s.setup
//		s.afterCommit = func(stored *simulatedDynamoDB) { /* check what always holds */ }
//		for i := range 20 {
//			s.request(t.Context(), fmt.Sprint("redeem ", i), func(ctx context.Context) { /* call the store with s.dynamodb */ })
//		}
//		s.run()
//		// check what holds in the end
//	})
//
// The trial runs in a bubble of testing/synctest, so waiting takes no time. Code under test must take its random
// numbers from random, and the time from now.
type simulation struct {
	t testing.TB
	// dynamodb is for requests. setup is for everything else: its calls are not steps, and never fail.
	dynamodb, setup *simulatedDynamoDB
	// random gives random numbers to code under test.
	random *randomSource
	// faults are set before run. The client retries like the client of a function, so a request notices only some of
	// them.
	faults memdynamo.Rates
	// pace returns how far the clock moves before a step: at least a nanosecond, so that no two timers end at once.
	pace func(*mathrand.Rand) time.Duration
	// afterCommit is called after every applied write, also after those of setup. Its argument is setup, which sees
	// every transaction as a whole. afterCommit must not call dynamodb.
	afterCommit func(stored *simulatedDynamoDB)

	seeded   *mathrand.Rand // only the scheduler and setup use it
	began    time.Time
	requests sync.WaitGroup
	stopped  chan struct{}
	changed  chan struct{} // receives when a step arrives or a request ends
	trace    []string

	mu      sync.Mutex
	running int // requests
	waiting []waitingStep
}

// waitingStep is a step that the scheduler may choose. run returns what the trace says about the step, or nothing.
type waitingStep struct {
	label string
	run   func() string
}

// simulate runs a trial for each seed. `go test -run 'TestName/seed_17$'` repeats one. The environment variable
// SIMULATION_SEEDS sets another number of seeds. The first trial that fails logs its steps.
func simulate(t *testing.T, seeds int, trial func(*simulation)) {
	t.Helper()
	if wanted, err := strconv.Atoi(os.Getenv("SIMULATION_SEEDS")); err == nil {
		seeds = wanted
	}
	seeds = (seeds + seedsShare - 1) / seedsShare
	var traced sync.Once
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(t, uint64(seed))
				ended := false
				defer func() {
					if t.Failed() || !ended {
						traced.Do(func() { t.Logf("the steps:\n%s", strings.Join(s.trace, "\n")) })
					}
				}()
				trial(s)
				ended = true
			})
		})
	}
}

// trials are the trials of a test, by name.
type trials map[string]func(*simulation)

// simulate runs each trial for each seed.
func (all trials) simulate(t *testing.T, seeds int) {
	t.Helper()
	for name, trial := range all {
		t.Run(name, func(t *testing.T) { simulate(t, seeds, trial) })
	}
}

// newSimulation must be called within a bubble.
func newSimulation(t testing.TB, seed uint64) *simulation {
	s := &simulation{
		t: t, random: &randomSource{random: mathrand.New(mathrand.NewPCG(seed, 1))},
		seeded: mathrand.New(mathrand.NewPCG(seed, 2)),
		began:  time.Now(), stopped: make(chan struct{}), changed: make(chan struct{}, 1),
		pace: func(r *mathrand.Rand) time.Duration {
			return 1 + time.Duration(r.Int64N(
				int64(2*time.Millisecond),
			))
		},
		afterCommit: func(*simulatedDynamoDB) {},
	}
	store := memdynamo.New()
	s.dynamodb = &simulatedDynamoDB{&memdynamo.Client{
		Store: store, Steps: s, Retryer: func() aws.RetryerV2 { return dynamo.NewRetryer(s.random.Int64N) },
	}}
	s.setup = &simulatedDynamoDB{&memdynamo.Client{Store: store}}
	store.Committed(func() { s.afterCommit(s.setup) })
	t.Cleanup(func() {
		close(s.stopped)
		s.requests.Wait()
	})
	return s
}

// alone runs f while no other request is in alone. Requests need it to share variables, and to read the store between
// their own steps. Requests run one at a time anyway, but the race detector cannot tell that a request whose timer ends
// runs after the others.
func (s *simulation) alone(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// now returns the time of the simulation. It begins at noon, in whole milliseconds, and moves between steps only.
func (s *simulation) now() time.Time {
	return noon().Add(time.Since(s.began)).Truncate(time.Millisecond)
}

// request adds a request, before or during run. The request begins at a step of its own. Its context never ends, unless
// serve sets a deadline.
func (s *simulation) request(ctx context.Context, name string, serve func(context.Context)) {
	ctx = context.WithValue(context.WithoutCancel(ctx), requestName{}, name)
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	s.add(name, func() string {
		s.requests.Go(func() {
			defer func() {
				s.mu.Lock()
				s.running--
				s.mu.Unlock()
				s.wake()
			}()
			serve(ctx)
		})
		return "begins"
	})
}

// requestName is the key of a context's value.
type requestName struct{}

// run runs all steps until every request has ended and every late attempt has arrived. It ends the test at the first
// failure.
func (s *simulation) run() {
	s.dynamodb.Rates = s.faults
	for {
		synctest.Wait()
		if s.t.Failed() {
			s.t.FailNow()
		}
		s.mu.Lock()
		running, waiting := s.running, len(s.waiting)
		s.mu.Unlock()
		if running == 0 && waiting == 0 {
			return
		}
		if waiting == 0 {
			<-s.changed // meanwhile the clock moves to the next timer
			continue
		}
		time.Sleep(s.pace(s.seeded))
		synctest.Wait() // until requests whose timers ended meanwhile wait again
		s.runOne()
	}
}

// runOne runs one of the waiting steps.
func (s *simulation) runOne() {
	s.mu.Lock()
	slices.SortStableFunc(s.waiting, func(a, b waitingStep) int { return strings.Compare(a.label, b.label) })
	i := s.seeded.IntN(len(s.waiting))
	chosen := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.mu.Unlock()
	if outcome := chosen.run(); outcome != "" {
		s.trace = append(s.trace, fmt.Sprintf("%12s %s: %s", time.Since(s.began).Truncate(time.Microsecond),
			chosen.label, outcome))
	}
}

func (s *simulation) add(label string, run func() string) {
	s.mu.Lock()
	s.waiting = append(s.waiting, waitingStep{label, run})
	s.mu.Unlock()
	s.wake()
}

func (s *simulation) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Step waits until the scheduler has run f. If the context ends first, Step returns its error. The scheduler still runs
// f later, so f must look at the context itself.
func (s *simulation) Step(ctx context.Context, label string, f func() string) error {
	done := make(chan struct{})
	s.add(labelOf(ctx, label), func() string {
		defer close(done)
		return f()
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		runtime.Goexit()
		return nil
	}
}

func labelOf(ctx context.Context, label string) string {
	request, _ := ctx.Value(requestName{}).(string)
	return request + ": " + label
}

// Random returns the random numbers of the scheduler.
func (s *simulation) Random() *mathrand.Rand { return s.seeded }

// Later adds a step that runs f. Up to most times that the scheduler chooses the step, it does nothing.
func (s *simulation) Later(ctx context.Context, label string, most int, f func() string) {
	s.later(labelOf(ctx, label), s.seeded.IntN(most), f)
}

func (s *simulation) later(label string, n int, f func() string) {
	s.add(label, func() string {
		if n == 0 {
			return f()
		}
		s.later(label, n-1, f)
		return ""
	})
}

// everyFault gives every fault the same probability.
func everyFault(p float64) memdynamo.Rates {
	return memdynamo.Rates{
		memdynamo.LostRequest: p, memdynamo.LostResponse: p, memdynamo.LateRequest: p, memdynamo.Conflict: p,
		memdynamo.Throttle: p / 2, memdynamo.ServerError: p / 2, memdynamo.Halves: p, memdynamo.Torn: p,
		memdynamo.Unprocessed: p, memdynamo.ShortPage: p,
	}
}

// simulatedDynamoDB is a client of a DynamoDB in memory.
type simulatedDynamoDB struct{ *memdynamo.Client }

// items yields the stored items of a table, in the order of their keys.
func (d *simulatedDynamoDB) items(name string) iter.Seq2[table.Key, table.Item] {
	return func(yield func(table.Key, table.Item) bool) {
		for key, it := range d.Items(name) {
			if !yield(table.Key{Partition: key.Partition, Sort: key.Sort}, it) {
				return
			}
		}
	}
}

// item returns a stored item, or nil if it does not exist.
func (d *simulatedDynamoDB) item(name string, key table.Key) table.Item {
	return d.Item(memdynamo.Key{Table: name, Partition: key.Partition, Sort: key.Sort})
}

// randomSource gives seeded random numbers and bytes to code under test.
type randomSource struct {
	mu     sync.Mutex
	random *mathrand.Rand
}

// Int64N returns a random number from 0 up to, not including, n.
func (r *randomSource) Int64N(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Int64N(n)
}

// Read fills p with random bytes.
func (r *randomSource) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Int64N(256))
	}
	return len(p), nil
}
