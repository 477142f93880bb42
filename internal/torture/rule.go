package torture

import (
	"slices"
	"sync"
	"testing"
	"time"

	"shopfront/internal/torture/testshop"
)

// DeployedLifetime is the source line of access.Lifetime. In the programs of a round, ShortLifetime replaces this line,
// so that a change of access takes effect within the round. Once a change is confirmed, all processes know it after
// TakesEffect: 750 milliseconds instead of 15 seconds.
const (
	DeployedLifetime = "const Lifetime = 10 * time.Second"
	ShortLifetime    = "const Lifetime = time.Second / 2"
	TakesEffect      = 750 * time.Millisecond
)

// A checkout is open for checkoutLifetime: 8 seconds instead of 30 minutes. The longest time from a checkout's expiry
// until the use that it holds is free again is usesFree: 1 second instead of 20.
const (
	checkoutLifetime = 8 * time.Second
	usesFree         = time.Second
)

// RulesAge is how long a process remembers the rules of a code: a quarter of a second instead of 10 seconds. So shopctl
// returns soon after it has edited a code.
const RulesAge = time.Second / 4

// Unremembered returns the replacements that set RulesAge, and that make processes forget at once that a code was sold
// out. Otherwise a refusal would depend on what was true up to a second before the request.
func Unremembered() []testshop.Replacement {
	return []testshop.Replacement{
		{
			File: "pkg/dynamo/codes.go", Old: "const RulesAge = 10 * time.Second",
			New: "const RulesAge = time.Second / 4",
		},
		{File: "pkg/dynamo/codes.go", Old: "const soldOutAge = time.Second", New: "const soldOutAge = 0 * time.Second"},
	}
}

// Overlay returns the overlay with which the programs of Settings must be built.
func Overlay(tb testing.TB) map[string]string {
	tb.Helper()
	return testshop.Overlay(tb, append(Unremembered(),
		testshop.Replacement{File: "pkg/access/guard.go", Old: DeployedLifetime, New: ShortLifetime},
		testshop.Replacement{
			File: "pkg/checkout/checkout.go", Old: "Lifetime = 30 * time.Minute",
			New: "Lifetime = 8 * time.Second",
		},
		testshop.Replacement{
			File: "pkg/voucher/hold.go", Old: "holdGrace = 10 * time.Second",
			New: "holdGrace = time.Second / 2",
		},
		testshop.Replacement{
			File: "pkg/voucher/hold.go", Old: "holdTick = 10 * time.Second",
			New: "holdTick = time.Second / 2",
		},
	)...)
}

// rule allows or denies requests: a policy, a pause or a key. Operators change it with shopctl.
type rule struct {
	name    string
	command func(allow bool) []string // the arguments of shopctl
	// repeat says that a command whose outcome is unknown must be retried before the opposite command. Otherwise the
	// opposite command may find nothing to change, and the first command may be applied later.
	repeat bool

	mu      sync.Mutex
	changes []change
}

// change is one change of a rule. Confirmed is zero while its outcome is unknown.
type change struct {
	allow     bool
	confirmed time.Time
}

// newRule returns a rule that has not changed for a long time.
func newRule(name string, allow bool) *rule {
	return &rule{name: name, changes: []change{{allow, time.Unix(0, 0)}}}
}

// change records that a change begins. The caller calls confirmed when the change is known to be applied.
func (r *rule) change(allow bool) (confirmed func(at time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := len(r.changes)
	r.changes = append(r.changes, change{allow: allow})
	return func(at time.Time) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes[place].confirmed = at
	}
}

// last returns the last change, and whether it is confirmed.
func (r *rule) last() (allow, confirmed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.changes[len(r.changes)-1]
	return last.allow, !last.confirmed.IsZero()
}

// judge returns whether the rule may have allowed a request, and whether it may have denied the request. The caller
// must call judge after the response has come, because a change that began before the response counts, too.
func (r *rule) judge(received time.Time) (mayAllow, mayDeny bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range slices.Backward(r.changes) {
		mayAllow, mayDeny = mayAllow || c.allow, mayDeny || !c.allow
		if !c.confirmed.IsZero() && received.After(c.confirmed.Add(TakesEffect)) {
			break // no process uses anything earlier
		}
	}
	return mayAllow, mayDeny
}
