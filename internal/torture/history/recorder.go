package history

import (
	"slices"
	"sync"
)

// History is all that was asked of one voucher, from its creation on, in the order of the calls. Its edits do not overlap,
// but that one of an unknown outcome may still be applied during later ones.
type History struct {
	Terms      Terms
	Operations []Operation
}

// Recorder records the history of one voucher. It may be used concurrently.
type Recorder struct {
	mu      sync.Mutex
	history History
	tick    int64
}

// NewRecorder begins the history of a voucher that was created with these terms.
func NewRecorder(terms Terms) *Recorder { return &Recorder{history: History{Terms: terms}} }

// Answer is what is known when an operation has returned.
type Answer struct {
	Outcome Outcome
	ID      string
	Listed  []Redemption
}

// Call records that an operation is asked for now: only Client, Ask, Nick, Key and Edit of it count. Returned must be called
// when it has returned; until then its outcome is unknown.
func (r *Recorder) Call(asked Operation) (returned func(Answer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick++
	asked.Called, asked.Outcome = r.tick, Unknown
	place := len(r.history.Operations)
	r.history.Operations = append(r.history.Operations, asked)
	return func(answer Answer) {
		if answer.Outcome == Unknown {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tick++
		o := &r.history.Operations[place]
		o.Returned, o.Outcome, o.ID, o.Listed = r.tick, answer.Outcome, answer.ID, answer.Listed
	}
}

// History is what was recorded until now.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{Terms: r.history.Terms, Operations: slices.Clone(r.history.Operations)}
}
