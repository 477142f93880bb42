package memdynamo

import (
	"math/rand/v2"
	"slices"
)

// operation is a call. A read may have several moments. A write makes all its changes in its first moment.
type operation struct {
	name      string
	label     string // what the call reads, if it has no keys
	keys      []Key
	tables    []string // that the call names
	write     bool
	exclusive bool // whether the call conflicts with transactions; every write does
	apply     func(*attempt) (any, error)
}

// attempt is one attempt of a call.
type attempt struct {
	bill

	// at runs f at one moment of the attempt. Other calls can run between two moments, but not during a moment.
	at func(f func() error) error
	// exposed says whether the attempt sees half-visible transactions, and conflicts with them.
	exposed bool
	sealed  bool // whether writes are not stored
	holds   bool // whether a transaction excludes other writes until later runs
	rates   Rates
	met     []Fault // faults that the attempt has met
	random  *rand.Rand
	// later runs f some time after this moment. Its result is for the trace.
	later func(label string, f func() string)
	ends  []func() string // what an Endpoint runs later
	// awaits says whether the attempt itself waits, in moments, until its transaction is visible to all.
	awaits bool
}

// happens decides whether the attempt meets a fault.
func (a *attempt) happens(fault Fault) bool {
	if !a.chance(a.rates[fault]) {
		return false
	}
	if !slices.Contains(a.met, fault) {
		a.met = append(a.met, fault)
	}
	return true
}

// draw picks at most one of the faults that hit a call when it arrives.
func (a *attempt) draw(o operation) Fault {
	if len(a.rates) == 0 {
		return ""
	}
	lot := a.random.Float64()
	for _, fault := range Faults()[:arriving] {
		if !fault.canHit(o) {
			continue
		}
		if lot -= a.rates[fault]; lot < 0 {
			return fault
		}
	}
	return ""
}

func (a *attempt) chance(probability float64) bool {
	return probability > 0 && a.random.Float64() < probability
}

// portion returns how many items a read takes at its next moment. It takes some or all of the n items that it has not
// read yet.
func (a *attempt) portion(n int) int {
	if n == 0 || !a.happens(Torn) {
		return n
	}
	return 1 + a.random.IntN(n)
}

// shorten returns how many items a page may have at most. At its first moment, a read may decide on fewer than its
// caller allows.
func (a *attempt) shorten(limit int, first bool) int {
	if !first || !a.happens(ShortPage) {
		return limit
	}
	return min(limit, 1+a.random.IntN(3))
}

// whileLocked runs f while some of the items are in another transaction.
func (s *Store) whileLocked(a *attempt, keys []Key, f func() error) error {
	certain := a.random.IntN(len(keys))
	var invented []Key
	for i, key := range keys {
		if !s.locked[key] && (i == certain || a.chance(0.3)) {
			s.locked[key] = true
			invented = append(invented, key)
		}
	}
	err := f()
	for _, key := range invented {
		delete(s.locked, key)
	}
	return err
}

// visible returns an item as a read outside a transaction sees it, or nil if it does not exist.
func (s *Store) visible(a *attempt, t *table, key Key) Item {
	if old, is := s.hidden[key]; is && a.exposed {
		return old
	}
	return t.get(key)
}

// conflicts returns an error if an item is in another transaction.
func (s *Store) conflicts(a *attempt, key Key) error {
	if s.locked[key] && a.exposed {
		return conflict()
	}
	return nil
}

// hide hides some of the writes of a transaction from others. They become visible one by one. At an Endpoint, it is
// only the first item that is hidden, and the others can be written at once.
func (s *Store) hide(a *attempt, keys []Key, before []Item, halves bool) {
	if halves && !a.awaits {
		keys = keys[:1]
	}
	left := len(keys)
	for i, key := range keys {
		s.locked[key] = true
		if halves && (!a.awaits || a.chance(0.7)) {
			s.hidden[key] = before[i]
		}
		a.later("visible: "+key.String(), func() string {
			delete(s.hidden, key)
			if left--; left == 0 {
				for _, key := range keys {
					delete(s.locked, key)
				}
			}
			return "to all"
		})
	}
}

func (s *Store) anyLocked(keys []Key) bool {
	return slices.ContainsFunc(keys, func(key Key) bool { return s.locked[key] })
}
