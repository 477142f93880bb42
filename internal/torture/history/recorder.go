package history

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// History holds all requests about one voucher from its creation on, sorted by the tick of the call. Edits do not
// overlap, but an edit whose outcome is unknown may still be applied during a later edit.
type History struct {
	Terms      Terms
	Operations []Operation
}

// CheckoutTimes holds the times that the interface promises for a checkout.
type CheckoutTimes struct {
	Lifetime time.Duration // how long a checkout is open
	Free     time.Duration // the longest time from the expiry of a checkout until its use is free
}

// Recorder records the history of one voucher. Goroutines may share it.
type Recorder struct {
	times CheckoutTimes

	mu      sync.Mutex
	history History
	ticks   []time.Time // when each tick was, from tick 1 on
	answers map[int]time.Time
}

// NewRecorder starts the history of a voucher that was created with these terms.
func NewRecorder(terms Terms, times CheckoutTimes) *Recorder {
	return &Recorder{times: times, history: History{Terms: terms}, answers: make(map[int]time.Time)}
}

func (r *Recorder) tick() int64 {
	r.ticks = append(r.ticks, time.Now())
	return int64(len(r.ticks))
}

// Call records that an operation starts now. It reads only Client, Ask, Nick, Key, Of and Edit. It returns a function
// that records the response; until that function is called, the outcome is unknown.
func (r *Recorder) Call(asked Operation) (returned func(Answer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked.Called, asked.Outcome = r.tick(), Unknown
	place := len(r.history.Operations)
	r.history.Operations = append(r.history.Operations, asked)
	return func(answer Answer) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.answers[place] = time.Now()
		if answer.Outcome == Unknown {
			return
		}
		o := &r.history.Operations[place]
		o.Returned, o.Answer = r.tick(), answer
	}
}

// History returns the history so far, with a lapse for each checkout that was made or may have been made.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	operations := slices.Concat(r.history.Operations, r.lapses())
	slices.SortStableFunc(operations, func(a, b Operation) int { return cmp.Compare(a.Called, b.Called) })
	return History{Terms: r.history.Terms, Operations: operations}
}

// lapses returns a lapse for each key of a checkout. If no response says when the checkout expires, the lapse spans all
// times that are possible: the function may have received any of the checkout's requests at any time before the
// response.
func (r *Recorder) lapses() []Operation {
	type span struct{ from, until time.Time }
	known, guessed := make(map[string]span), make(map[string]span)
	var keys []string
	for place, o := range r.history.Operations {
		if o.Ask != AskHold {
			continue
		}
		if _, met := guessed[o.Key]; !met {
			keys = append(keys, o.Key)
			guessed[o.Key] = span{from: r.ticks[o.Called-1].Add(r.times.Lifetime)}
		}
		if !o.Expires.IsZero() {
			known[o.Key] = span{o.Expires, o.Expires.Add(r.times.Free)}
		}
		ends := time.Unix(math.MaxInt32, 0) // if the client still waits
		if answered, is := r.answers[place]; is {
			ends = answered.Add(r.times.Lifetime + r.times.Free)
		}
		if guess := guessed[o.Key]; ends.After(guess.until) {
			guessed[o.Key] = span{guess.from, ends}
		}
	}
	var lapses []Operation
	for _, key := range keys {
		lasts, is := known[key]
		if !is {
			lasts = guessed[key]
		}
		lapses = append(lapses, Operation{
			Called: r.before(lasts.from), Returned: r.before(lasts.until) + 1, Client: -1, Ask: AskLapse, Key: key,
			Answer: Answer{Outcome: Done},
		})
	}
	return lapses
}

// before returns the last tick before a time.
func (r *Recorder) before(at time.Time) int64 {
	place, _ := slices.BinarySearchFunc(r.ticks, at, time.Time.Compare)
	return int64(place)
}
