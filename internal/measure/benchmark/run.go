package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// How a round is made up.
const (
	// blockSize is how many requests a subject has in a row before it is another's turn.
	blockSize = 20
	// warmUp is how many requests a new process answers before any is measured.
	warmUp = 20
)

// Plan says how much to measure. Each number is 1 or more.
type Plan struct {
	// Rounds is how often all is measured.
	Rounds int `json:"rounds"`
	// Requests is how many warm requests each subject answers in a round and for each store; it is rounded up to whole blocks.
	Requests int `json:"requests"`
	// Starts is how often each subject is started in a round and for each store.
	Starts int `json:"starts"`
	// Samples is how many refusals of each kind are timed.
	Samples int `json:"samples"`
}

// Options says what to measure.
type Options struct {
	Plan

	// Root is the checkout.
	Root string
	// Progress is told what goes on.
	Progress io.Writer
}

// Measured is what one subject did, with one store, in each round.
type Measured struct {
	Subject string  `json:"subject"`
	Store   string  `json:"store"`
	Rounds  []Round `json:"rounds"`
}

// Round is what one subject did in one round. Times are in nanoseconds, as time.Duration is encoded.
type Round struct {
	// Ready is the median time from before the process was started until it asked for an event, First that from handing over its
	// first event until the answer had arrived.
	Ready time.Duration `json:"ready"`
	First time.Duration `json:"first"`
	// StartCPU is the median processor time that a process had used when it asked for its first event.
	StartCPU time.Duration `json:"startCPU"`
	// P50 and P99 are of warm requests, and the others for one.
	P50   time.Duration `json:"p50,omitempty"`
	P99   time.Duration `json:"p99,omitempty"`
	CPU   time.Duration `json:"cpu,omitempty"`
	Calls float64       `json:"calls,omitempty"` // of the store; 0 where they were not counted
	// Memory is the most that was resident at a time, in bytes.
	Memory int64 `json:"memory,omitempty"`
}

// runner measures, round by round.
type runner struct {
	Options

	subjects []Subject
	events   map[string]Event  // by function
	binaries map[string]string // by package
	number   int               // of the last request
}

// round measures every subject with a store.
func (r *runner) round(ctx context.Context, s *store) (map[string]Round, error) {
	trials := make([]*trial, len(r.subjects))
	for i, subject := range r.subjects {
		trials[i] = &trial{Subject: subject, runner: r, store: s}
	}
	defer func() {
		for _, t := range trials {
			t.stop()
		}
	}()
	if err := r.startAll(ctx, trials); err != nil {
		return nil, err
	}
	if err := r.askAll(ctx, trials); err != nil {
		return nil, err
	}
	rounds := make(map[string]Round)
	for _, t := range trials {
		measured, err := t.round()
		if err != nil {
			return nil, err
		}
		rounds[t.Name] = measured
	}
	return rounds, nil
}

// startAll starts every subject as often as is planned.
func (r *runner) startAll(ctx context.Context, trials []*trial) error {
	for range r.Starts {
		for _, t := range shuffled(trials) {
			if err := t.start(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// askAll sends every subject's process, once it is warm, the requests that are planned.
func (r *runner) askAll(ctx context.Context, trials []*trial) error {
	warm := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return t.startOnly })
	for _, t := range warm {
		if err := t.block(ctx, warmUp); err != nil {
			return err
		}
		t.warm, t.cpu, t.calls = nil, 0, 0
	}
	for done := 0; done < r.Requests; done += blockSize {
		for _, t := range shuffled(warm) {
			if err := t.block(ctx, blockSize); err != nil {
				return err
			}
		}
	}
	return nil
}

// shuffled is the list in a new order, so that nobody always comes after the same.
func shuffled[T any](list []T) []T {
	shuffled := slices.Clone(list)
	rand.Shuffle(len(shuffled), func(i, j int) { //nolint:gosec // an order, and no secret
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	return shuffled
}

// trial is one subject in one round.
type trial struct {
	Subject

	runner  *runner
	store   *store
	process *process

	ready, first, startCPU []time.Duration
	warm                   []time.Duration
	cpu                    time.Duration
	calls                  int64
}

// start starts a new process in place of the former one, and sends it its first request.
func (t *trial) start(ctx context.Context) error {
	events, err := t.requests(ctx, 1)
	if err != nil {
		return err
	}
	t.stop()
	env := append(t.store.environment(t.table), t.env...)
	p, ready, err := start(ctx, t.runner.binaries[t.Package], env)
	if err != nil {
		return err
	}
	t.process = p
	answer, first, err := p.invoke(events[0])
	if err != nil {
		return err
	}
	t.ready, t.first, t.startCPU = append(t.ready, ready), append(t.first, first), append(t.startCPU, p.startCPU)
	return t.check(answer)
}

func (t *trial) stop() {
	if t.process != nil {
		t.process.stop()
		t.process = nil
	}
}

// requests makes events before they are needed.
func (t *trial) requests(ctx context.Context, count int) ([][]byte, error) {
	codes := make([]string, count)
	if t.kind == redeemSingleUse {
		var err error
		if codes, err = t.store.codes(ctx, count); err != nil {
			return nil, err
		}
	}
	events := make([][]byte, count)
	for i, code := range codes {
		t.runner.number++
		var err error
		if events[i], err = t.request(t.runner.events[t.sample], t.runner.number, code); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// block sends requests, one after the other.
func (t *trial) block(ctx context.Context, count int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	events, err := t.requests(ctx, count)
	if err != nil {
		return err
	}
	calls := t.store.answered()
	began, err := CPUTime(t.process.command.Process.Pid)
	if err != nil {
		return err
	}
	answers := make([][]byte, count)
	for i, event := range events {
		answer, took, err := t.process.invoke(event)
		if err != nil {
			return err
		}
		answers[i] = answer
		t.warm = append(t.warm, took)
	}
	ended, err := CPUTime(t.process.command.Process.Pid)
	if err != nil {
		return err
	}
	t.cpu += ended - began
	t.calls += t.store.answered() - calls
	for _, answer := range answers {
		if err := t.check(answer); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) answered() int64 {
	if s.calls == nil {
		return 0
	}
	return s.calls()
}

func (t *trial) round() (Round, error) {
	measured := Round{Ready: quantile(t.ready, 0.5), First: quantile(t.first, 0.5), StartCPU: quantile(t.startCPU, 0.5)}
	if len(t.warm) == 0 {
		return measured, nil
	}
	measured.P50, measured.P99 = quantile(t.warm, 0.5), quantile(t.warm, 0.99)
	measured.CPU = t.cpu / time.Duration(len(t.warm))
	measured.Calls = float64(t.calls) / float64(len(t.warm))
	var err error
	measured.Memory, err = peakMemory(t.process.command.Process.Pid)
	return measured, err
}

// Run measures the functions of the checkout beside the references, and the handlers alone.
func Run(ctx context.Context, options Options) (report Report, err error) {
	dir, err := os.MkdirTemp("", "shopfront-bench-")
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &runner{Options: options, subjects: subjects()}
	report = Report{Machine: describeMachine(), Plan: options.Plan}
	handlers, err := r.build(ctx, dir, &report)
	if err != nil {
		return Report{}, err
	}
	stores, stop, err := r.startStores(ctx, dir)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return Report{}, err
	}
	for round := range options.Rounds {
		r.say("Round %d of %d", round+1, options.Rounds)
		for _, s := range stores {
			measured, err := r.round(ctx, s)
			if err != nil {
				return Report{}, err
			}
			report.add(s.name, measured)
		}
		benchmarks, err := runHandlers(ctx, options.Root, handlers)
		if err != nil {
			return Report{}, err
		}
		report.addHandlers(benchmarks)
	}
	r.say("Timing refusals")
	if report.Oracle, err = timeRefusals(ctx, options, r.binaries[redeemVoucher], dir); err != nil {
		return Report{}, err
	}
	report.Finish()
	return report, nil
}

func (r *runner) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Progress, format+"\n", args...) // nobody minds if it is not read
}

// build builds every subject, and the benchmarks of the handlers, whose path it returns.
func (r *runner) build(ctx context.Context, dir string, report *Report) (handlers string, err error) {
	r.say("Building the functions and the references")
	r.events, r.binaries = make(map[string]Event), make(map[string]string)
	report.Binaries = make(map[string]int64)
	for _, s := range r.subjects {
		if r.binaries[s.Package] == "" {
			if r.binaries[s.Package], err = Build(ctx, r.Root, dir, s.Package); err != nil {
				return "", err
			}
		}
		info, err := os.Stat(r.binaries[s.Package])
		if err != nil {
			return "", err
		}
		report.Binaries[s.Name] = info.Size()
		if r.events[s.sample], err = ReadEvent(r.Root, s.sample); err != nil {
			return "", err
		}
	}
	return buildHandlers(ctx, r.Root, dir)
}

// The stores, by what they are called in reports.
const (
	stubSteady    = "stub, 5 ms"
	stubImmediate = "stub, at once"
	localStore    = "DynamoDB Local"
	steadyDelay   = 5 * time.Millisecond
)

func (r *runner) startStores(ctx context.Context, dir string) (stores []*store, stop func() error, err error) {
	stop = func() error {
		var errs []error
		for _, s := range stores {
			errs = append(errs, s.stop())
		}
		return errors.Join(errs...)
	}
	r.say("Starting the stores")
	for _, stub := range []struct {
		name  string
		delay time.Duration
	}{{stubSteady, steadyDelay}, {stubImmediate, 0}} {
		s, err := startStub(ctx, dir, stub.name, stub.delay, func(ctx context.Context, client *dynamodb.Client) error {
			return Fill(ctx, client, r.Root)
		})
		if err != nil {
			return nil, stop, err
		}
		stores = append(stores, s)
	}
	s, err := startLocal(ctx, r.Root, r.Progress)
	if err != nil {
		return nil, stop, err
	}
	return append(stores, s), stop, nil
}
