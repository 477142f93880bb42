package kills_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// patience is how long a test waits on a slow machine.
const patience = 2 * time.Minute

// fate says what happens to the call at which a process is ended.
type fate string

const (
	lost       fate = "lost"       // not applied
	unanswered fate = "unanswered" // applied, but the response is lost
	late       fate = "late"       // applied after the work was done again
)

// relativeTo returns when the kill happened, relative to a call, for the report.
func (f fate) relativeTo(call string) string {
	switch f {
	case unanswered:
		return "after " + call
	case late:
		return call + " in flight"
	case lost:
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

// stage is how far a call has come.
type stage int

const (
	arrived stage = iota // but not applied yet
	done                 // applied, but the response is not sent yet
)

// stage is the stage of the call at which the process is ended.
func (s step) stage() stage {
	if s.fate == unanswered {
		return done
	}
	return arrived
}

// isWrite reports whether the operation changes an item.
func isWrite(operation string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}, operation)
}

// trap watches the calls to a store, and ends a process at one of them.
type trap struct {
	mu       sync.Mutex
	counts   map[stage]map[string]int
	order    []string // the operations that arrived
	inFlight int      // calls that arrived and are not applied yet, except for held calls
	held     sync.WaitGroup
	release  chan struct{} // closed to release the held calls
	at       *step         // if nil, calls are only counted
	end      func()        // ends the process, and returns when it has ended; may be nil
	sprung   bool
	ended    chan struct{} // while the process is being ended; then closed, and nil
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
	t.counts = map[stage]map[string]int{arrived: {}, done: {}}
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

// front returns a handler that watches calls in front of the store.
func (t *trap) front(store http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the process is gone
		}
		if ended := t.ending(); ended != nil { // on a busy machine, the process tries again before it ends
			<-ended
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		t.watch(operation, arrived)
		response := httptest.NewRecorder()
		store.ServeHTTP(response, r)
		t.watch(operation, done)
		maps.Copy(w.Header(), response.Header())
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes()) // the process may be gone
	})
}

// watch ends the process at the step. It panics to cut the connection.
func (t *trap) watch(operation string, at stage) {
	end, what, hold := t.count(operation, at)
	if end != nil {
		end()
	}
	if what != "" {
		t.noteEnd()
	}
	switch what {
	case lost, unanswered:
		panic(http.ErrAbortHandler)
	case late:
		<-hold
		t.mu.Lock()
		defer t.mu.Unlock()
		t.inFlight++
		t.held.Done()
	}
}

// ending returns a channel while the process is being ended. The channel is closed when it has ended.
func (t *trap) ending() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

func (t *trap) noteEnd() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.ended)
	t.ended = nil
}

// count counts a call. At the step it returns the function that ends the process, the fate of the call, and the channel
// that releases the call if it is held. At any other call it returns zero values.
func (t *trap) count(operation string, at stage) (end func(), what fate, hold <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[at][operation]++
	if at == arrived {
		t.order = append(t.order, operation)
		t.inFlight++
	} else {
		t.inFlight--
	}
	if t.at == nil || t.sprung || t.at.operation != operation || t.at.stage() != at ||
		t.at.n != t.counts[at][operation] {
		return nil, "", nil
	}
	t.sprung, t.ended = true, make(chan struct{})
	if at == arrived {
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
