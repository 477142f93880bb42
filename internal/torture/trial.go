package torture

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"shopfront/internal/memdynamo"
)

// trial is one combination of faults and load.
type trial struct {
	fault  string            // the name of the trial's row in the report
	drawn  []memdynamo.Fault // drawn equally often
	counts []memdynamo.Fault // the faults that count as injected
	held   bool              // transactions take long
	tight  bool              // a partition key value takes few units
	checks int               // per 100 requests; 0 means usualChecks
	lists  int               // per 100 actions of operators; 0 means usualLists
	busy   bool              // one voucher has many uses and gets many requests
	access bool              // the shop's server calls, too, while policies, keys and pauses change
	holds  bool              // clients also check out with codes, order, cancel and undo
	lasts  time.Duration     // how long clients send new requests; 0 means usualRound
	pause  time.Duration     // between the requests of a client, on average
}

const (
	usualChecks = 15
	usualLists  = 10
)

// The names of trials that are not named after a fault.
const (
	accessing  = "changes of access"
	holding    = "holds, orders and undo"
	contention = "contention alone"
	everything = "everything at once"
)

// trials lists the trials in the order of the report.
func trials() []trial {
	all := []trial{ // first those with the longest rounds
		{
			fault: holding, drawn: memdynamo.Faults(), counts: memdynamo.Faults(), holds: true,
			pause: 80 * time.Millisecond, lasts: holdsRound,
		},
		{fault: accessing, drawn: memdynamo.Faults(), access: true, pause: 250 * time.Millisecond, lasts: accessRound},
	}
	for _, fault := range memdynamo.Faults() {
		t := trial{fault: string(fault), drawn: []memdynamo.Fault{fault}, counts: []memdynamo.Fault{fault}}
		switch fault { //nolint:exhaustive // the others hit every request
		case memdynamo.Unprocessed: // checks read in batches
			t.checks = 60
		case memdynamo.ShortPage: // lists are read in pages
			t.lists = 60
		case memdynamo.Torn:
			t.checks, t.lists = 60, 60
		}
		all = append(all, t)
	}
	rules := []memdynamo.Fault{memdynamo.HeldItem, memdynamo.OverThroughput}
	return append(all,
		trial{fault: string(memdynamo.HeldItem), counts: rules[:1], held: true},
		trial{fault: string(memdynamo.OverThroughput), counts: rules[1:], tight: true},
		trial{
			fault: everything, drawn: memdynamo.Faults(), counts: append(rules, memdynamo.Faults()...), held: true,
			tight: true,
		},
		trial{fault: contention, busy: true},
	)
}

// Trials returns the names of all trials.
func Trials() []string {
	var names []string
	for _, trial := range trials() {
		names = append(names, trial.fault)
	}
	return names
}

// source returns the random source of a round. The plan uses its first draws.
func (t trial) source(seed uint64, round int) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.fault))                             // never fails, says hash.Hash
	return rand.New(rand.NewPCG(seed^hash.Sum64(), uint64(round))) //nolint:gosec // to be repeated, not secret; a round is above 0
}

// plan says how hostile a round's store is.
type plan struct {
	dials memdynamo.Dials
	share float64
}

func (t trial) plan(random *rand.Rand) plan {
	p := plan{share: pick(random, 0.15, 0.5, 0.85, 0.95)}
	if t.access {
		// few faults, because a change takes effect for certain only after its response
		p.share = pick(random, 0, 0.1, 0.3)
	}
	if t.holds {
		p.share = pick(random, 0.05, 0.2, 0.5) // few faults, because checkouts expire
	}
	p.dials = memdynamo.Dials{
		Seed:  random.Uint64(),
		Rates: make(memdynamo.Rates),
		Burst: pick(random, 1, 10, 100),
		// an attempt times out after a second
		Delay: pick(random, 50*time.Millisecond, 300*time.Millisecond, 1500*time.Millisecond),
		Hold:  2 * time.Millisecond,
	}
	for _, fault := range t.drawn {
		p.dials.Rates[fault] = p.share / float64(len(t.drawn))
	}
	// because each throttle affects Burst calls in a row
	p.dials.Rates[memdynamo.Throttle] /= float64(p.dials.Burst)
	if t.held {
		p.dials.Hold = pick(random, 10*time.Millisecond, 40*time.Millisecond, 150*time.Millisecond)
	}
	if t.tight {
		p.dials.WriteUnits = pick(random, 3.0, 6, 12)
		p.dials.ReadUnits = 2 * p.dials.WriteUnits
		p.dials.Reserve = 2 // because a transaction of two items takes four units at once
	}
	return p
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func (p plan) String() string {
	return fmt.Sprintf("share %.2f, burst %d, delay %s, hold %s, %.0f units", p.share, p.dials.Burst,
		p.dials.Delay, p.dials.Hold, p.dials.WriteUnits)
}
