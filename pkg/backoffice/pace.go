package backoffice

import (
	"context"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// MaxWriters bounds how many writes of a command are in flight at a time.
const MaxWriters = 64

const (
	// firstWriters is how many writes may be in flight at first.
	firstWriters = 16
	// gracePeriod is how long writes in flight may still take after the context has ended, so that their outcome is
	// known.
	gracePeriod = 5 * time.Second
)

// Bulk has the functions that an operation on many items calls to report its progress. A nil function is not called.
// Calls of the same function do not overlap.
type Bulk struct {
	Begin func(count int)   // before the first write: how many items there are
	Wrote func()            // after each item
	Slow  func(writers int) // DynamoDB throttles: at most this many writes are in flight from now on
}

func (b Bulk) begin(count int) {
	if b.Begin != nil {
		b.Begin(count)
	}
}

func (b Bulk) wrote() {
	if b.Wrote != nil {
		b.Wrote()
	}
}

// pace limits how many writes are in flight. Each time that as many writes have ended as the limit allows, pace checks
// whether DynamoDB has throttled a call since the last check. If so, it halves the limit. Otherwise it raises the limit
// by one.
type pace struct {
	throttled func() int64 // how many calls DynamoDB has throttled so far
	slow      func(writers int)

	mu      sync.Mutex
	room    sync.Cond
	limit   int
	running int
	// said is the lowest limit that slow was called with since the limit was last MaxWriters. Only a lower limit is
	// reported: otherwise a table with little capacity would fill the terminal.
	said int
	wait int   // how many writes must end before the next check
	seen int64 // the last result of throttled
}

func newPace(throttled func() int64, slow func(writers int)) *pace {
	p := &pace{
		throttled: throttled, slow: slow, limit: firstWriters, said: MaxWriters, wait: firstWriters,
		seen: throttled(),
	}
	p.room.L = &p.mu
	return p
}

// enter waits until another write may begin.
func (p *pace) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.running >= p.limit {
		p.room.Wait()
	}
	p.running++
}

// leave ends a write.
func (p *pace) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.wait--
	if p.wait <= 0 {
		p.adapt()
	}
	p.room.Broadcast()
}

func (p *pace) adapt() {
	now := p.throttled()
	switch {
	case now == p.seen:
		if p.limit = min(p.limit+1, MaxWriters); p.limit == MaxWriters {
			p.said = MaxWriters
		}
	case p.limit > 1:
		p.limit /= 2
		if p.slow != nil && p.limit < p.said {
			p.said = p.limit
			p.slow(p.limit)
		}
	}
	p.seen, p.wait = now, p.limit
}

// inParallel calls the function do for each item of work, several at a time, until the first error or the end of the
// context. Then it starts no further calls, but waits for those that are running. If ctx ends, the context of these
// calls ends a gracePeriod later.
func inParallel[T any](
	ctx context.Context, p *pace, work iter.Seq2[T, error], do func(context.Context, T) error,
) error {
	grace, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, cancel) })
	defer stop()
	// callsCtx only says that a call has failed; the calls themselves run in grace
	calls, callsCtx := errgroup.WithContext(ctx)
	var unread error
	for item, err := range work {
		if unread = err; err != nil {
			break
		}
		p.enter()
		if callsCtx.Err() != nil {
			p.leave()
			break
		}
		calls.Go(func() error {
			defer p.leave()
			return do(grace, item)
		})
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return unread
}
