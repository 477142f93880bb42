package benchmark

import (
	"context"
	"math/rand/v2"
	"slices"

	"shopfront/internal/measure/fixture"
	"shopfront/internal/measure/process"
)

const (
	// blockSize is how many requests a subject gets in a row before the next subject has its turn.
	blockSize = 20
	// warmUp is how many requests a new process handles before the clock starts.
	warmUp = 20
)

// Round holds the measurements of one subject in one round.
type Round struct {
	process.Figures

	Calls float64 // to the store, by one warm request
}

// runner measures subjects, round by round.
type runner struct {
	Options

	store    *store
	subjects []subject
	number   int // of the last request
}

// round measures every subject.
func (r *runner) round(ctx context.Context) (map[string]Round, error) {
	trials := make([]*trial, len(r.subjects))
	for i, subject := range r.subjects {
		trials[i] = &trial{subject: subject, runner: r, Trial: process.Trial{
			Binary: r.Binary(subject.pkg), Env: slices.Concat(r.store.env, subject.env), Check: subject.check,
		}}
		defer trials[i].Stop()
	}
	for range r.Starts {
		for _, t := range shuffled(trials) {
			if err := t.send(ctx, 1, t.start); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range trials {
		if err := t.send(ctx, warmUp, t.WarmUp); err != nil {
			return nil, err
		}
	}
	for done := 0; done < r.Requests; done += blockSize {
		for _, t := range shuffled(trials) {
			if err := t.send(ctx, blockSize, t.measure); err != nil {
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

// shuffled returns the trials in a new order, so that no trial always follows the same other trial.
func shuffled(trials []*trial) []*trial {
	order := slices.Clone(trials)
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] }) //nolint:gosec // an order, not a secret
	return order
}

// trial is one subject in one round.
type trial struct {
	subject
	process.Trial

	runner *runner
	sent   int // warm requests
	calls  int // to the store, by the warm requests
}

// send makes requests before the clock starts, and then sends them.
func (t *trial) send(ctx context.Context, count int, handOver func(context.Context, [][]byte) error) error {
	sample, err := fixture.ReadEvent(t.runner.Root, t.sample)
	if err != nil {
		return err
	}
	events := make([][]byte, count)
	for i := range events {
		t.runner.number++
		if events[i], err = t.request(sample, t.runner.number, t.about); err != nil {
			return err
		}
	}
	return handOver(ctx, events)
}

func (t *trial) start(ctx context.Context, events [][]byte) error { return t.Start(ctx, events[0]) }

// measure also counts the calls to the store.
func (t *trial) measure(ctx context.Context, events [][]byte) error {
	calls := t.runner.store.calls()
	err := t.Measure(ctx, events)
	t.sent += len(events)
	t.calls += t.runner.store.calls() - calls
	return err
}
