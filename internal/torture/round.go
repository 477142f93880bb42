package torture

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
)

// The size of a round. Histories must stay short enough to check.
const (
	clients   = 8 // as many as the function has processes, so no client waits for a process
	operators = 2
	// After this time, clients send no new requests.
	usualRound  = 3 * time.Second
	accessRound = 8 * time.Second  // because changes of access take effect late
	holdsRound  = 16 * time.Second // because holds lapse, and some orders come late
)

// outcome is the result of a round.
type outcome struct {
	plan                           plan
	row                            Row
	vouchers, requests, operations int
	violations                     []Violation // only Text and Breach are set
	took                           time.Duration
}

// round is one shop under faults, with its clients and operators.
type round struct {
	trial    trial
	programs testshop.Programs
	shop     *testshop.Shop
	shopID   catalog.ShopID
	calm     *backoffice.Shop
	vouchers []*target
	settings settings
	created  []caller // keys of the shop, guarded by mu
	end      time.Time
	sold     string     // a file of codes to import
	draining sync.Mutex // one deletion waits at a time

	mu       sync.Mutex
	inFlight *sync.WaitGroup // the requests in flight that began after the last deletion began to wait
	outcome  outcome
	notFound *response            // every refusal must look like this
	bodies   map[string]*response // the first response about each redemption and checkout, by its ID
}

// playRound plays a whole round. If the round cannot be played, the test fails and its goroutine ends.
func playRound(tb testing.TB, settings Settings, t trial, number int) outcome {
	tb.Helper()
	began := time.Now()
	ending := &scope{TB: tb}
	defer ending.close()
	random := t.source(settings.Seed, number)
	plan := t.plan(random)
	calm := plan.dials
	calm.Rates = memdynamo.Rates{} // until everything is prepared
	r := &round{
		trial: t, programs: settings.Programs, bodies: make(map[string]*response),
		shopID: newProfile(random), settings: newSettings(), outcome: outcome{plan: plan},
		inFlight: new(sync.WaitGroup), sold: drawSold(random),
	}
	r.shop = testshop.Start(ending, settings.Programs, testshop.Settings{Dials: calm, Log: r.watchLog})
	r.prepare(tb, random)
	before := r.shop.Store.Injected()
	r.shop.Store.SetRates(plan.dials.Rates)
	r.play(tb, random)
	r.shop.Store.SetRates(nil)
	for fault, times := range r.shop.Store.Injected() {
		if slices.Contains(t.counts, fault) {
			r.outcome.row.Injected += times - before[fault]
		}
	}
	r.settle(tb)
	r.judge(tb)
	r.outcome.took = time.Since(began)
	return r.outcome
}

// newProfile returns a new ID each time, because repeated rounds share the tables.
func newProfile(random *rand.Rand) catalog.ShopID {
	return catalog.ShopID(fmt.Sprintf("emberforge-%08x-%08x", random.Uint32(), rand.Uint32())) //nolint:gosec // need not be secret
}

// scope runs cleanups at the end of a round instead of at the end of the test.
type scope struct {
	testing.TB

	cleanups []func()
}

// Cleanup runs cleanup after the round.
func (s *scope) Cleanup(cleanup func()) { s.cleanups = append(s.cleanups, cleanup) }

func (s *scope) close() {
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
}

// prepare creates the shop and its vouchers, without faults.
func (r *round) prepare(tb testing.TB, random *rand.Rand) {
	tb.Helper()
	r.calm = r.shop.Open(tb, r.shopID, noRefusals)
	for i, terms := range r.trial.draw(random) {
		target, err := newTarget(tb.Context(), r.calm, i, terms, r.trial.reward())
		if err != nil {
			tb.Fatal(err)
		}
		r.vouchers = append(r.vouchers, target)
	}
	r.outcome.vouchers = len(r.vouchers)
	if r.trial.access {
		r.prepareAccess(tb)
	}
	if r.trial.holds {
		r.createKey(tb)
	}
}

// noRefusals is the setting that turns off the limit on refusals. All requests come from one address, so the limit
// would stop the clients.
const noRefusals = "refusals: off"

// play runs clients and operators until no request is left or the time is up.
func (r *round) play(tb testing.TB, random *rand.Rand) {
	tb.Helper()
	seed := random.Uint64()
	r.end = time.Now().Add(cmp.Or(r.trial.lasts, usualRound))
	stream := func(of int) *rand.Rand {
		return rand.New(rand.NewPCG(seed, uint64(of))) //nolint:gosec // repeatable, not secret; no number is negative
	}
	var shopping, operating sync.WaitGroup
	over := make(chan struct{})
	for number := range clients {
		shopping.Go(func() { (&client{r, number, stream(number)}).shop(tb) })
	}
	for number := range operators {
		operating.Go(func() { (&staff{r, clients + number, stream(clients + number)}).operate(tb, over) })
	}
	for i, t := range r.vouchers {
		if t.doomed {
			operating.Go(func() { (&staff{r, overseer + 3 + i, stream(overseer + 3 + i)}).discard(tb, t) })
		}
	}
	operating.Go(func() { (&staff{r, 0, stream(overseer + 3 + len(r.vouchers))}).importSold(tb) })
	if r.trial.access {
		owner, keeper := &staff{r, 0, stream(overseer + 1)}, &staff{r, 0, stream(overseer + 2)}
		operating.Go(func() { owner.supervise(tb, over, owner.changeSettings) })
		operating.Go(func() { keeper.supervise(tb, over, keeper.changeKeys) })
	}
	shopping.Wait()
	close(over)
	operating.Wait()
}

// count adds one to a count that mu guards.
func (r *round) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// breach records a broken promise.
func (r *round) breach(format string, args ...any) { r.note(true, fmt.Sprintf(format, args...)) }

// violate records anything else that must not happen.
func (r *round) violate(format string, args ...any) { r.note(false, fmt.Sprintf(format, args...)) }

// mostReported is how many breaches and how many other violations of a round are reported in full. Further ones are
// only counted.
const mostReported = 10

func (r *round) note(breach bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.row.Violations++
	same := slices.DeleteFunc(slices.Clone(r.outcome.violations), func(v Violation) bool { return v.Breach != breach })
	if len(same) < mostReported {
		r.outcome.violations = append(r.outcome.violations, Violation{Breach: breach, Text: text})
	}
}
