package runtimeapi

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A function that fails to start is not started again at once: each failure in a row doubles the pause before the next
// try, so that a crash loop under load does not eat the machine.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// function holds the processes of one function.
type function struct {
	Function
	runtime     *Runtime
	initTimeout time.Duration
	arn         string
	env         []string
	log         func(line string)

	// slots has an entry for each event that has, or may start, a process. A process that is not idle belongs to one of
	// them, and one is started only when none is idle: so there are never more processes than slots.
	slots chan struct{}

	mu       sync.Mutex
	idle     []*process // the one that worked last is used first
	pause    time.Duration
	pausedTo time.Time
}

func newFunction(r *Runtime, config Config, declared Function, log func(function, line string)) *function {
	return &function{
		Function:    declared,
		runtime:     r,
		initTimeout: config.InitTimeout,
		arn:         fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", config.Region, config.AccountID, declared.Name),
		env:         environment(config, declared),
		log:         func(line string) { log(declared.Name, line) },
		slots:       make(chan struct{}, config.MaxProcesses),
	}
}

// invocation is one event on its way through a process.
type invocation struct {
	id       string
	event    []byte
	deadline time.Time

	fate atomic.Int32 // of the event: pending, then claimed or abandoned

	finished atomic.Bool
	answer   []byte
	err      error
	answered chan struct{} // closed once answer and err are set

	settled   chan struct{} // closed when the caller may have the answer
	settledBy sync.Once
}

func newInvocation(event []byte) *invocation {
	return &invocation{id: newUUID(), event: event, answered: make(chan struct{}), settled: make(chan struct{})}
}

const (
	pending int32 = iota
	claimed
	abandoned
)

// claim reports whether the event may be given to a process: nobody has abandoned it.
func (i *invocation) claim() bool {
	return i.fate.CompareAndSwap(pending, claimed) || i.fate.Load() == claimed
}

// abandon reports whether the event was not claimed before, and now never will be.
func (i *invocation) abandon() bool {
	return i.fate.CompareAndSwap(pending, abandoned)
}

// finish reports whether this is the outcome of the invocation: the first one is, later ones are ignored.
func (i *invocation) finish(answer []byte, err error) bool {
	if !i.finished.CompareAndSwap(false, true) {
		return false
	}
	i.answer, i.err = answer, err
	close(i.answered)
	return true
}

// settle lets the caller have the outcome. It must be finished.
func (i *invocation) settle() {
	i.settledBy.Do(func() { close(i.settled) })
}

func (f *function) invoke(ctx context.Context, event []byte) ([]byte, error) {
	if len(event) > MaxEvent {
		return nil, ErrEventTooLarge
	}
	if ctx.Err() != nil {
		return nil, busy(ctx)
	}
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, busy(ctx)
	case <-f.runtime.alive.Done():
		return nil, ErrClosed
	}
	inv := newInvocation(event)
	started := f.runtime.run(func() {
		f.process(ctx, inv)
		<-f.slots
		inv.settle()
	})
	if !started {
		<-f.slots
		return nil, ErrClosed
	}
	select {
	case <-inv.settled:
		return inv.answer, inv.err
	case <-ctx.Done():
		if inv.abandon() {
			return nil, busy(ctx)
		}
		return nil, fmt.Errorf("gave up waiting for the answer: %w", ctx.Err())
	}
}

func busy(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
}

// process brings the event to a process, and returns when that is idle again or gone.
func (f *function) process(ctx context.Context, inv *invocation) {
	for {
		p := f.takeIdle()
		isNew := p == nil
		if isNew {
			var err error
			if p, err = f.start(ctx); err != nil {
				inv.finish(nil, err)
				return
			}
		}
		if !inv.claim() {
			f.putIdle(p)
			return
		}
		switch p.serve(inv) {
		case servedIdle:
			f.putIdle(p)
			return
		case servedGone:
			return
		case notServed:
			// It ended while it was idle, so another one may have the event; but new ones that end are not tried on and on.
			if isNew {
				inv.finish(nil, p.exitError(false))
				return
			}
		}
	}
}

// takeIdle returns nil when no process is idle.
func (f *function) takeIdle() *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.idle) == 0 {
		return nil
	}
	last := len(f.idle) - 1
	p := f.idle[last]
	f.idle = f.idle[:last]
	return p
}

func (f *function) putIdle(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-p.gone: // forget has been or will not find it
	default:
		f.idle = append(f.idle, p)
	}
}

// forget drops a process that is gone.
func (f *function) forget(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = slices.DeleteFunc(f.idle, func(idle *process) bool { return idle == p })
}

// start returns a process that has asked for its first event.
func (f *function) start(ctx context.Context) (*process, error) {
	f.mu.Lock()
	wait := time.Until(f.pausedTo)
	f.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, busy(ctx)
		case <-f.runtime.alive.Done():
			return nil, ErrClosed
		}
	}
	p, err := f.newProcess() //nolint:contextcheck // a process outlives the request that it is started for
	if err == nil {
		err = p.awaitInit()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.pause = min(max(2*f.pause, firstPause), longestPause)
		f.pausedTo = time.Now().Add(f.pause)
		return nil, err
	}
	f.pause = 0
	return p, nil
}
