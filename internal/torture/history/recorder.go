package history

import (
	"slices"
	"sync"
)

// History holds all requests about one voucher from its creation on, sorted by the tick of the call. Edits do not overlap, but an edit
// of unknown outcome may still be applied during later ones.
type History struct {
	Terms      Terms
	Operations []Operation
}

// Recorder records the history of one voucher. Goroutines may share it.
type Recorder struct {
	mu      sync.Mutex
	history History
	tick    int64
}

// NewRecorder starts the history of a voucher that was created with these terms.
func NewRecorder(terms Terms) *Recorder { return &Recorder{history: History{Terms: terms}} }

// Call records that an operation starts now. It reads only Client, Ask, Nick, Key and Edit. It returns a function that records the
// response; until that function is called, the outcome is unknown.
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
		o.Returned, o.Answer = r.tick, answer
	}
}

// History returns the history so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return History{Terms: r.history.Terms, Operations: slices.Clone(r.history.Operations)}
}
