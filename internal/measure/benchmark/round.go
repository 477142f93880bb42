package benchmark

import (
	"context"
	"math/rand/v2"
	"slices"

	"shopfront/internal/measure/process"
)

const (
	// blockSize is how many requests a subject gets in a row before the next subject has its turn.
	blockSize = 20
	// warmUp is how many requests a new process answers before the clock starts.
	warmUp = 20
)

// Round is what one subject did in one round.
type Round struct {
	process.Figures

	Calls float64 `json:"calls,omitempty"` // of the store for one warm request; 0 if it does not count them
}

// runner measures subjects, round by round.
type runner struct {
	Options
	programs

	subjects []subject
	number   int // of the last request
}

// round measures every subject with a store.
func (r *runner) round(ctx context.Context, s *store) (map[string]Round, error) {
	trials := make([]*trial, len(r.subjects))
	for i, subject := range r.subjects {
		trials[i] = &trial{subject: subject, runner: r, store: s, Trial: process.Trial{
			Binary: r.binaries[subject.pkg], Env: slices.Concat(s.env, subject.env), Check: subject.check,
		}}
		defer trials[i].Stop()
	}
	for range r.Starts {
		for _, t := range shuffled(trials) {
			events, err := t.requests(ctx, 1)
			if err != nil {
				return nil, err
			}
			if err := t.Start(ctx, events[0]); err != nil {
				return nil, err
			}
		}
	}
	warm := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return t.startOnly })
	for _, t := range warm {
		events, err := t.requests(ctx, warmUp)
		if err != nil {
			return nil, err
		}
		if err := t.WarmUp(ctx, events); err != nil {
			return nil, err
		}
	}
	for done := 0; done < r.Requests; done += blockSize {
		for _, t := range shuffled(warm) {
			if err := t.block(ctx); err != nil {
				return nil, err
			}
		}
	}
	rounds := make(map[string]Round)
	for _, t := range trials {
		figures, err := t.Figures()
		if err != nil {
			return nil, err
		}
		rounds[t.name] = Round{figures, float64(t.calls) / float64(max(t.sent, 1))}
	}
	return rounds, nil
}

// shuffled returns the trials in a new order, so that none always follows the same one.
func shuffled(trials []*trial) []*trial {
	order := slices.Clone(trials)
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] }) //nolint:gosec // an order, not a secret
	return order
}

// trial is one subject in one round.
type trial struct {
	subject
	process.Trial

	runner      *runner
	store       *store
	sent, calls int64 // warm requests, and their calls of the store
}

// requests makes events before the clock starts.
func (t *trial) requests(ctx context.Context, count int) (events [][]byte, err error) {
	codes := make([]string, count)
	if t.newCode {
		if codes, err = t.store.singleUseCodes(ctx, count); err != nil {
			return nil, err
		}
	}
	events = make([][]byte, count)
	for i, code := range codes {
		t.runner.number++
		if events[i], err = t.request(t.runner.events[t.sample], t.runner.number, code); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// block sends requests one after the other.
func (t *trial) block(ctx context.Context) error {
	events, err := t.requests(ctx, blockSize)
	if err != nil {
		return err
	}
	calls := t.store.calls()
	err = t.Measure(ctx, events)
	t.sent += blockSize
	t.calls += t.store.calls() - calls
	return err
}
