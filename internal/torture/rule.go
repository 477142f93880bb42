package torture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/internal/local/samtemplate"
)

// ShortLifetime replaces DeployedLifetime, the source of access.Lifetime, in the programs of a round, so that a change of access takes
// effect within the round. TakesEffect is how long after its confirmation a change may still be unknown to a process: 750 milliseconds
// instead of 15 seconds.
const (
	DeployedLifetime = "const Lifetime = 10 * time.Second"
	ShortLifetime    = "const Lifetime = time.Second / 2"
	TakesEffect      = 750 * time.Millisecond
)

// A checkout is open for checkoutLifetime, and its use is free usesFree after it has expired: 8 seconds instead of 30 minutes, and 1 second
// instead of 20. A code is marked as full for a second at most, so that every mark ends before a hold lapses that was made meanwhile.
const (
	checkoutLifetime = 8 * time.Second
	usesFree         = time.Second
)

// shortened lists the constants that Overlay replaces.
func shortened() []struct{ file, deployed, short string } {
	return []struct{ file, deployed, short string }{
		{"pkg/access/guard.go", DeployedLifetime, ShortLifetime},
		{"pkg/checkout/checkout.go", "Lifetime = 30 * time.Minute", "Lifetime = 8 * time.Second"},
		{"pkg/voucher/hold.go", "holdGrace = 10 * time.Second", "holdGrace = time.Second / 2"},
		{"pkg/voucher/hold.go", "holdTick = 10 * time.Second", "holdTick = time.Second / 2"},
		{"pkg/dynamo/uses.go", "lapseMargin = time.Minute", "lapseMargin = 10 * time.Second"},
		{"pkg/dynamo/uses.go", "longestMark = 29 * time.Minute", "longestMark = time.Second"},
	}
}

// Overlay returns the overlay with which the programs of Settings must be built.
func Overlay(tb testing.TB) map[string]string {
	tb.Helper()
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		tb.Fatal(err)
	}
	texts := make(map[string]string)
	for _, s := range shortened() {
		text, read := texts[s.file]
		if !read {
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(s.file))) //nolint:gosec // a file of the source tree
			if err != nil {
				tb.Fatal(err)
			}
			text = string(source)
		}
		if strings.Count(text, s.deployed) != 1 {
			tb.Fatalf("%s does not say %s once", s.file, s.deployed)
		}
		texts[s.file] = strings.Replace(text, s.deployed, s.short, 1)
	}
	return texts
}

// rule allows or denies requests: a policy, a pause or a key. Operators change it with shopctl.
type rule struct {
	name    string
	command func(allow bool) []string // the arguments of shopctl
	// repeat says that a command of unknown outcome must be repeated before the opposite command. Otherwise the opposite command may
	// find nothing to change, and the first command may be applied later.
	repeat bool

	mu      sync.Mutex
	changes []change
}

// change is one change of a rule. Confirmed is zero while its outcome is unknown.
type change struct {
	allow     bool
	confirmed time.Time
}

// newRule returns a rule that has not changed for long.
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

// judge returns whether the rule may have allowed a request, and whether it may have denied it. Call it after the response: a change
// that began meanwhile counts.
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
