package faultproxy

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// Fault is something that goes wrong with a call.
type Fault string

// The faults that are drawn.
const (
	Conflict    Fault = "transaction conflict"     // as if another transaction held an item; hits writes and transactions only
	Halves      Fault = "transaction in halves"    // the first item is shown and unlocked up to Settings.Delay after the others
	Throttle    Fault = "throttle"                 // hits Settings.Burst calls in a row
	ServerError Fault = "server error"             // 500 or 503, half of them after the call was applied
	SlowRequest Fault = "slow request"             // applied up to Settings.Delay later
	LateRequest Fault = "late request"             // the connection is cut, and the call is applied up to Settings.Delay later
	SlowAnswer  Fault = "slow answer"              // applied, but the response is sent up to Settings.Delay later
	LostRequest Fault = "connection cut before"    // not applied
	LostAnswer  Fault = "connection cut after"     // applied
	CutAnswer   Fault = "answer cut in the middle" // applied
	Unprocessed Fault = "unprocessed keys"         // some or all keys of a BatchGetItem come back unread
	ShortPage   Fault = "short page"               // a Query ends after one to three items
)

// A call that a rule of the proxy refuses counts as one of these faults. They are never drawn.
const (
	HeldItem       Fault = "held item"       // another call in flight holds the item, or has the same client token
	OverThroughput Fault = "over throughput" // the partition key value has used its units
)

// Faults lists the faults that can be drawn, in the order of the draw.
func Faults() []Fault {
	return []Fault{
		Conflict, Halves, Throttle, ServerError, SlowRequest, LateRequest, SlowAnswer, LostRequest, LostAnswer, CutAnswer, Unprocessed, ShortPage,
	}
}

// canHit reports whether a drawn fault is possible for an operation.
func (f Fault) canHit(operation string) bool {
	only := map[Fault][]string{
		Conflict: {"UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "TransactGetItems"}, Halves: {"TransactWriteItems"},
		Unprocessed: {"BatchGetItem"}, ShortPage: {"Query"},
	}
	return only[f] == nil || slices.Contains(only[f], operation)
}

// schedule draws the faults and counts calls.
type schedule struct {
	seed  uint64
	burst int

	mu        sync.Mutex
	rates     map[Fault]float64
	calls     map[string]int    // by operation
	seen      map[string]uint64 // calls of each kind
	throttled int               // calls that the current burst still throttles
	injected  map[Fault]int
}

// draw picks at most one fault for a call, and the random source for the details of the fault.
func (s *schedule) draw(c *call) (Fault, *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := c.kind()
	s.seen[kind]++
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))                                    // never fails, says hash.Hash
	random := rand.New(rand.NewPCG(s.seed^hash.Sum64(), s.seen[kind])) //nolint:gosec // faults must be repeatable, not secret
	if s.throttled > 0 {
		s.throttled--
		s.injected[Throttle]++
		return Throttle, random
	}
	lot := random.Float64()
	for _, fault := range Faults() {
		if !fault.canHit(c.operation) {
			continue
		}
		if lot -= s.rates[fault]; lot < 0 {
			s.injected[fault]++
			if fault == Throttle {
				s.throttled = s.burst - 1
			}
			return fault, random
		}
	}
	return "", random
}

func (s *schedule) countCall(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[operation]++
}

func (s *schedule) countFault(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injected[fault]++
}

// SetRates replaces the rates of the settings. With nil, no more faults are drawn.
func (s *schedule) SetRates(rates map[Fault]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rates, s.throttled = maps.Clone(rates), 0
}

// Injected returns how often each fault hit a call.
func (s *schedule) Injected() map[Fault]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.injected)
}

// Calls returns how many calls arrived, by operation.
func (s *schedule) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}
