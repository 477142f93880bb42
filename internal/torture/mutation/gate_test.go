//go:build proofs

package mutation_test

import (
	"sync"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
)

// gate is between the programs and the store. It holds some calls, so that other calls go first, and injects faults
// into further calls. A call is identified by its operation and its number, counted since stop or inflict was called.
type gate struct {
	store *memdynamo.Endpoint

	mu      sync.Mutex
	stops   []*stop
	faults  []*misfortune
	faulted bool // the last call that arrived met a fault
}

// stop holds one call.
type stop struct {
	operation string
	stage     memdynamo.Stage
	before    int // calls that still pass

	reached, left chan struct{}
	leave         sync.Once
}

type misfortune struct {
	operation string
	before    int // calls that still pass
	fault     memdynamo.Fault
}

// stop holds the nth call of an operation, from 1, at a stage.
func (g *gate) stop(t *testing.T, operation string, nth int, stage memdynamo.Stage) *stop {
	t.Helper()
	s := &stop{
		operation: operation, stage: stage, before: nth - 1, reached: make(chan struct{}),
		left: make(chan struct{}),
	}
	t.Cleanup(s.release)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stops = append(g.stops, s)
	return s
}

// release lets the call continue.
func (s *stop) release() { s.leave.Do(func() { close(s.left) }) }

// wait waits until the call is held.
func (s *stop) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.reached:
	case <-time.After(patience):
		t.Fatalf("the expected %s did not arrive", s.operation)
	}
}

// inflict injects a fault into the nth call of an operation, from 1.
func (g *gate) inflict(operation string, nth int, fault memdynamo.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, &misfortune{operation, nth - 1, fault})
}

// watch is the store's Dials.Watch.
func (g *gate) watch(operation string, stage memdynamo.Stage) {
	if s := g.pass(operation, stage); s != nil {
		close(s.reached)
		<-s.left
	}
}

// pass returns the stop that must hold the call, or nil.
func (g *gate) pass(operation string, stage memdynamo.Stage) (held *stop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stage == memdynamo.Arrived {
		g.draw(operation)
	}
	for _, s := range g.stops {
		if s.operation != operation || s.stage != stage {
			continue
		}
		if s.before == 0 {
			held = s
		}
		s.before--
	}
	return held
}

// draw sets the rates of the faults for the call that has just arrived.
func (g *gate) draw(operation string) {
	if g.faulted {
		g.store.SetRates(nil)
		g.faulted = false
	}
	for _, m := range g.faults {
		if m.operation != operation {
			continue
		}
		if m.before == 0 {
			g.store.SetRates(memdynamo.Rates{m.fault: 1})
			g.faulted = true
		}
		m.before--
	}
}
