package kills_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"shopfront/internal/torture/faultproxy"
)

// patience is how long a test waits on a slow machine.
const patience = 2 * time.Minute

// fate says what happens to the call at which a process is ended.
type fate string

const (
	lost       fate = "lost"       // not applied
	unanswered fate = "unanswered" // applied, but the response is lost
	late       fate = "late"       // applied after the work was done again
	expired    fate = "expired"    // refused, like all later calls, because the operator's credentials have expired
	gone       fate = "gone"       // lost, like all later calls, because the store cannot be reached
)

// relativeTo returns when the kill happened, relative to a call, for the report.
func (f fate) relativeTo(call string) string {
	switch f {
	case unanswered:
		return "after " + call
	case late:
		return call + " in flight"
	case lost, expired, gone:
	}
	return "before " + call
}

// step is a point in a piece of work: its nth call of an operation, from 1, and the fate of that call.
type step struct {
	operation string
	n         int
	fate      fate
}

func (s step) String() string { return fmt.Sprintf("%s %d (%s)", s.operation, s.n, s.fate) }

// stage is the stage of the call at which the process is ended.
func (s step) stage() faultproxy.Stage {
	if s.fate == unanswered {
		return faultproxy.Applied
	}
	return faultproxy.Arrived
}

// isWrite reports whether the operation changes an item.
func isWrite(operation string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}, operation)
}

// trap watches the calls to a store, and ends a process at one of them.
type trap struct {
	mu       sync.Mutex
	counts   map[faultproxy.Stage]map[string]int
	order    []string // the operations that arrived
	inFlight int      // calls that arrived and are not applied yet, except for held calls
	held     sync.WaitGroup
	release  chan struct{} // closed to release the held calls
	at       *step         // if nil, calls are only counted
	end      func()        // ends the process, and returns when it has ended; may be nil
	sprung   bool
}

func newTrap() *trap {
	t := &trap{release: make(chan struct{})}
	t.reset()
	return t
}

// reset starts counting again from zero, and disarms the trap.
func (t *trap) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts = map[faultproxy.Stage]map[string]int{faultproxy.Arrived: {}, faultproxy.Applied: {}}
	t.order, t.at, t.end, t.sprung = nil, nil, nil, false
}

// set starts counting again from zero, and arms the trap to call end at the step.
func (t *trap) set(at step, end func()) {
	t.reset()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.end = &at, end
}

// hasSprung reports whether the step was reached since the trap was set.
func (t *trap) hasSprung() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sprung
}

// calls returns the operations of the calls so far, in the order in which they arrived.
func (t *trap) calls() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.order)
}

// errExpired is the panic value for a call that the store must reject as expired.
var errExpired = errors.New("ExpiredTokenException")

// watch is the Watch of faultproxy.Settings. It panics to cut the connection, or to make the handler in setup_test.go reject the call.
func (t *trap) watch(operation string, stage faultproxy.Stage) {
	end, what, hold := t.count(operation, stage)
	if end != nil {
		end()
	}
	switch what {
	case lost, unanswered, gone:
		panic(http.ErrAbortHandler)
	case expired:
		panic(errExpired)
	case late:
		<-hold
		t.mu.Lock()
		defer t.mu.Unlock()
		t.inFlight++
		t.held.Done()
	}
}

// count counts a call. At the step it returns the function that ends the process, the fate of the call, and the channel that
// releases the call if it is held. At any other call it returns zero values, unless the fate also affects calls after the step.
func (t *trap) count(operation string, stage faultproxy.Stage) (end func(), what fate, hold <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if stage == faultproxy.Arrived && t.sprung && (t.at.fate == expired || t.at.fate == gone) {
		return nil, t.at.fate, nil
	}
	t.counts[stage][operation]++
	if stage == faultproxy.Arrived {
		t.order = append(t.order, operation)
		t.inFlight++
	} else {
		t.inFlight--
	}
	if t.at == nil || t.sprung || t.at.operation != operation || t.at.stage() != stage || t.at.n != t.counts[stage][operation] {
		return nil, "", nil
	}
	t.sprung = true
	if stage == faultproxy.Arrived {
		t.inFlight--
	}
	if t.at.fate == late {
		t.held.Add(1)
	}
	return t.end, t.at.fate, t.release
}

// letGo releases the held calls, and waits until they are applied.
func (t *trap) letGo() error {
	t.mu.Lock()
	close(t.release)
	t.release = make(chan struct{})
	t.mu.Unlock()
	t.held.Wait()
	return t.settle()
}

// settle waits until no call is in flight.
func (t *trap) settle() error {
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(time.Millisecond) {
		t.mu.Lock()
		inFlight := t.inFlight
		t.mu.Unlock()
		if inFlight == 0 {
			return nil
		}
	}
	return fmt.Errorf("calls are still in flight after %s", patience)
}
