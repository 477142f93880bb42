// Package process measures the processes of a built function: how long they take, and how much processor time and
// memory they use. It is for measurements and tests only.
package process

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"time"

	"shopfront/internal/local/runtimeapi"
)

// patience bounds how long a process may take for one event.
const patience = time.Minute

// Start runs a binary with the given environment and returns when the process asks for an event. The process itself
// writes its output to the given log file, so that this program does not compete with the process for the processor. If
// log is nil, the output is discarded. The caller must call Stop of the process.
func Start(ctx context.Context, binary string, env []string, log *os.File) (*runtimeapi.Process, error) {
	command := runtimeapi.Command{
		Path: binary, Env: append([]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256"}, env...),
		Timeout: patience,
	}
	if log != nil {
		command.Output = log
	}
	return runtimeapi.Start(ctx, command)
}

// Figures are the times of a function and the memory that it used. In JSON, times are in nanoseconds.
type Figures struct {
	// Ready is the median time from the start of a process until it asked for an event, and First the median time from
	// delivering its first event until the response arrived. ReadyCPU and FirstCPU are the medians of the processor
	// times.
	Ready    time.Duration
	ReadyCPU time.Duration
	First    time.Duration
	FirstCPU time.Duration
	// Warm and WarmP99 are the median and the 99 % quantile of the times of later requests. WarmCPU is their mean
	// processor time.
	Warm    time.Duration
	WarmP99 time.Duration
	WarmCPU time.Duration
	// Memory is the peak resident memory of the last process, in bytes.
	Memory int64
}

// Trial measures a function in one process after another. The caller must call Stop.
type Trial struct {
	Binary string
	Env    []string
	// Check rejects a response other than the expected one, so that a failed request is not measured as if it had
	// worked.
	Check func(response []byte) error

	process                                *runtimeapi.Process
	ready, readyCPU, first, firstCPU, warm []time.Duration
	warmCPU                                time.Duration
}

// Start stops the process, if one runs, starts a new one and sends it its first event.
func (t *Trial) Start(ctx context.Context, event []byte) (err error) {
	t.Stop()
	if t.process, err = Start(ctx, t.Binary, t.Env, nil); err != nil {
		return err
	}
	readyCPU, err := CPUTime(t.process.PID())
	if err != nil {
		return err
	}
	first, firstCPU, err := t.invoke(ctx, [][]byte{event})
	t.ready, t.readyCPU = append(t.ready, t.process.Ready()), append(t.readyCPU, readyCPU)
	t.first, t.firstCPU = append(t.first, first...), append(t.firstCPU, firstCPU)
	return err
}

// WarmUp sends events to the process without measuring them.
func (t *Trial) WarmUp(ctx context.Context, events [][]byte) error {
	_, _, err := t.invoke(ctx, events)
	return err
}

// Measure sends events to the process one after another, and records their times.
func (t *Trial) Measure(ctx context.Context, events [][]byte) error {
	warm, warmCPU, err := t.invoke(ctx, events)
	t.warm, t.warmCPU = append(t.warm, warm...), t.warmCPU+warmCPU
	return err
}

// invoke returns the time of each event, and the processor time of all events together. It checks the responses after
// the clock has stopped.
func (t *Trial) invoke(ctx context.Context, events [][]byte) (times []time.Duration, cpu time.Duration, err error) {
	began, err := CPUTime(t.process.PID())
	if err != nil {
		return nil, 0, err
	}
	responses, times := make([][]byte, len(events)), make([]time.Duration, len(events))
	for i, event := range events {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if responses[i], times[i], err = t.process.Invoke(event); err != nil {
			return nil, 0, err
		}
	}
	ended, err := CPUTime(t.process.PID())
	if err != nil {
		return nil, 0, err
	}
	for _, response := range responses {
		if err := t.Check(response); err != nil {
			return nil, 0, err
		}
	}
	return times, ended - began, nil
}

// Stop ends the process, if one runs.
func (t *Trial) Stop() {
	if t.process != nil {
		t.process.Stop()
		t.process = nil
	}
}

// Figures returns the measurements so far. Start must have been called.
func (t *Trial) Figures() (f Figures, err error) {
	f = Figures{
		Ready: Quantile(t.ready, 0.5), ReadyCPU: Quantile(t.readyCPU, 0.5), First: Quantile(t.first, 0.5),
		FirstCPU: Quantile(t.firstCPU, 0.5),
	}
	if len(t.warm) == 0 {
		return f, nil
	}
	f.Warm, f.WarmP99, f.WarmCPU = Quantile(t.warm, 0.5), Quantile(t.warm, 0.99), t.warmCPU/time.Duration(len(t.warm))
	f.Memory, err = peakMemory(t.process.PID())
	return f, err
}

// Quantile returns the nearest-rank quantile: the smallest value v for which at least the given part of the values is
// at most v. The part is above 0 and at most 1. There must be at least one value.
func Quantile[T cmp.Ordered](values []T, part float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(part*float64(len(sorted))))-1]
}
