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
	Conflict    Fault = "transaction conflict"     // with a transaction that nobody sees; writes only
	Throttle    Fault = "throttle"                 // of as many calls in a row as Settings.Burst says
	ServerError Fault = "server error"             // 500 or 503, half of them after the call was applied
	SlowRequest Fault = "slow request"             // applied up to Settings.Delay later
	LateRequest Fault = "late request"             // the connection is cut, and up to Settings.Delay later it is applied
	SlowAnswer  Fault = "slow answer"              // applied, and answered up to Settings.Delay later
	LostRequest Fault = "connection cut before"    // not applied
	LostAnswer  Fault = "connection cut after"     // applied
	CutAnswer   Fault = "answer cut in the middle" // applied
	Unprocessed Fault = "unprocessed keys"         // some or all keys of a BatchGetItem come back unread
	ShortPage   Fault = "short page"               // a Query ends after one to three items
)

// What the two standing rules refuse is counted under these names. They are not drawn.
const (
	HeldItem       Fault = "held item"       // a transaction under way has it
	OverThroughput Fault = "over throughput" // the partition key value has taken its units
)

// Faults lists the faults that can be drawn, in the order of the draw.
func Faults() []Fault {
	return []Fault{
		Conflict, Throttle, ServerError, SlowRequest, LateRequest, SlowAnswer, LostRequest, LostAnswer, CutAnswer, Unprocessed, ShortPage,
	}
}

// befalls tells which calls a fault can befall.
func (f Fault) befalls(operation string) bool {
	switch f {
	case Conflict:
		return slices.Contains([]string{"UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems"}, operation)
	case Unprocessed:
		return operation == "BatchGetItem"
	case ShortPage:
		return operation == "Query"
	case HeldItem, OverThroughput:
		return false
	case Throttle, ServerError, SlowRequest, LateRequest, SlowAnswer, LostRequest, LostAnswer, CutAnswer:
		return true
	}
	return false
}

// schedule draws the faults.
type schedule struct {
	seed  uint64
	burst int

	mu        sync.Mutex
	rates     map[Fault]float64
	seen      map[string]uint64 // calls of each kind
	throttled int               // calls that the burst under way is still for
	injected  map[Fault]int
}

// draw picks at most one fault for a call, and the source of chance for what it does in detail.
func (s *schedule) draw(c *call) (Fault, *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := c.kind()
	s.seen[kind]++
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(kind))                                    // never fails, says hash.Hash
	random := rand.New(rand.NewPCG(s.seed^hash.Sum64(), s.seen[kind])) //nolint:gosec // faults are to be repeated, not secret
	if s.throttled > 0 {
		s.throttled--
		s.injected[Throttle]++
		return Throttle, random
	}
	lot := random.Float64()
	for _, fault := range Faults() {
		if !fault.befalls(c.operation) {
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

func (s *schedule) count(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injected[fault]++
}

func (s *schedule) setRates(rates map[Fault]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rates, s.throttled = maps.Clone(rates), 0
}

func (s *schedule) counts() map[Fault]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.injected)
}
