package benchmark

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"shopfront/internal/measure/process"
)

const (
	// blockSize is how many requests a subject gets in a row before the next subject has its turn.
	blockSize = 20
	// warmUp is how many requests a new process answers before the clock starts.
	warmUp = 20
)

// Round is what one subject did in one round. Times are in nanoseconds, as time.Duration is encoded.
type Round struct {
	// Ready is the median time from before the process was started until it asked for an event. First is the median time from
	// handing over its first event until the answer arrived.
	Ready time.Duration `json:"ready"`
	First time.Duration `json:"first"`
	// StartCPU is the median processor time that a process had used when it asked for its first event.
	StartCPU time.Duration `json:"startCPU"`
	// P50 and P99 are quantiles of the warm requests; CPU and Calls are for one of them.
	P50   time.Duration `json:"p50,omitempty"`
	P99   time.Duration `json:"p99,omitempty"`
	CPU   time.Duration `json:"cpu,omitempty"`
	Calls float64       `json:"calls,omitempty"` // of the store; 0 if it does not count them
	// Memory is the largest resident size, in bytes.
	Memory int64 `json:"memory,omitempty"`
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
		trials[i] = &trial{subject: subject, runner: r, store: s}
		defer trials[i].stop()
	}
	for range r.Starts {
		for _, t := range shuffled(trials) {
			if err := t.start(ctx); err != nil {
				return nil, err
			}
		}
	}
	warm := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return t.startOnly })
	for _, t := range warm {
		if err := t.block(ctx, warmUp); err != nil {
			return nil, err
		}
		t.warm, t.cpu, t.calls = nil, 0, 0
	}
	for done := 0; done < r.Requests; done += blockSize {
		for _, t := range shuffled(warm) {
			if err := t.block(ctx, blockSize); err != nil {
				return nil, err
			}
		}
	}
	rounds := make(map[string]Round)
	for _, t := range trials {
		var err error
		if rounds[t.name], err = t.round(); err != nil {
			return nil, err
		}
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

	runner  *runner
	store   *store
	process *process.Process

	ready, first, startCPU, warm []time.Duration
	cpu                          time.Duration
	calls                        int64
}

// start replaces the process by a new one, and sends that its first request.
func (t *trial) start(ctx context.Context) error {
	events, err := t.requests(ctx, 1)
	if err != nil {
		return err
	}
	t.stop()
	if t.process, err = process.Start(ctx, t.runner.binaries[t.pkg], slices.Concat(t.store.env, t.env), nil); err != nil {
		return err
	}
	work, err := t.process.InvokeAll(ctx, events, t.check)
	t.ready, t.first, t.startCPU = append(t.ready, t.process.Ready()), append(t.first, work.Times...), append(t.startCPU, t.process.StartCPU)
	return err
}

func (t *trial) stop() {
	if t.process != nil {
		t.process.Stop()
		t.process = nil
	}
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
func (t *trial) block(ctx context.Context, count int) error {
	events, err := t.requests(ctx, count)
	if err != nil {
		return err
	}
	calls := t.store.calls()
	work, err := t.process.InvokeAll(ctx, events, t.check)
	t.warm = append(t.warm, work.Times...)
	t.cpu += work.CPU
	t.calls += t.store.calls() - calls
	return err
}

func (t *trial) round() (measured Round, err error) {
	measured = Round{Ready: quantile(t.ready, 0.5), First: quantile(t.first, 0.5), StartCPU: quantile(t.startCPU, 0.5)}
	if len(t.warm) == 0 {
		return measured, nil
	}
	measured.P50, measured.P99 = quantile(t.warm, 0.5), quantile(t.warm, 0.99)
	measured.CPU = t.cpu / time.Duration(len(t.warm))
	measured.Calls = float64(t.calls) / float64(len(t.warm))
	measured.Memory, err = t.process.PeakMemory()
	return measured, err
}
