package operator

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// MaxWriters bounds how many writes of a command are in flight at a time.
const MaxWriters = 64

const (
	// firstWriters is how many writes are in flight at first.
	firstWriters = 16
	// lastWords is how long writes in flight may still take after the context ended, so that their outcome is known.
	lastWords = 5 * time.Second
)

// Bulk says how a command that writes many items reports its progress. A nil function is not called, and calls of
// the same function do not overlap.
type Bulk struct {
	Begin func(count int)   // before the first write: how many items there are
	Wrote func()            // after each item
	Slow  func(writers int) // DynamoDB throttles, so only so many writes are in flight from now on
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

// pace decides how many writes are in flight. When DynamoDB throttles, it halves their number. As long as DynamoDB does not, it adds one
// after as many writes as are in flight.
type pace struct {
	throttled func() int64 // how many calls DynamoDB has throttled so far
	slow      func(writers int)

	mu      sync.Mutex
	room    sync.Cond
	limit   int
	running int
	said    int   // the lowest limit that was said, so that a table with little capacity does not fill the terminal
	wait    int   // how many more writes must end before the limit changes again
	seen    int64 // of throttled
}

func newPace(throttled func() int64, slow func(writers int)) *pace {
	p := &pace{throttled: throttled, slow: slow, limit: firstWriters, said: MaxWriters, wait: firstWriters, seen: throttled()}
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

// inParallel calls do for each item of the work, several at a time, until the first error or the end of the context. Then it begins no
// further call, but waits for those that run: they get a context that ends lastWords later.
func inParallel[T any](ctx context.Context, p *pace, work iter.Seq2[T, error], do func(context.Context, T) error) error {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })()
	calls, failed := errgroup.WithContext(ctx)
	var unread error
	for item, err := range work {
		if unread = err; err != nil {
			break
		}
		p.enter()
		if failed.Err() != nil {
			p.leave()
			break
		}
		calls.Go(func() error {
			defer p.leave()
			return do(last, item)
		})
	}
	err := calls.Wait()
	return cmp.Or(err, context.Cause(ctx), unread)
}
