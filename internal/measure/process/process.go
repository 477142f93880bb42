// Package process measures one process of a built function: its times, its processor time and its memory. It is for measurements
// and tests only.
package process

import (
	"context"
	"os"
	"time"

	"shopfront/internal/local/runtimeapi"
)

// patience bounds how long a process may take for one event.
const patience = 10 * time.Second

// Process is a running process of a function. It handles one event at a time.
type Process struct {
	*runtimeapi.Process

	// StartCPU is the processor time that it had used when it asked for its first event.
	StartCPU time.Duration
}

// Start runs a binary with the given environment and returns when the process asks for an event. The process writes its log to a
// file, so that nothing here competes with it for the processor; nil discards the log. The caller must call Stop.
func Start(ctx context.Context, binary string, env []string, log *os.File) (*Process, error) {
	command := runtimeapi.Command{
		Path: binary, Env: append([]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256"}, env...),
		ARN: "arn:aws:lambda:us-east-1:123456789012:function:measured", Timeout: patience,
	}
	if log != nil {
		command.Stdout, command.Stderr = log, log
	}
	running, err := runtimeapi.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	p := &Process{Process: running}
	if p.StartCPU, err = p.CPU(); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// Work is what a process did for several events.
type Work struct {
	Times []time.Duration // of each event
	CPU   time.Duration   // of all events together
}

// InvokeAll hands events to the process one after the other. It checks the answers once the clock has stopped.
func (p *Process) InvokeAll(ctx context.Context, events [][]byte, check func(answer []byte) error) (work Work, err error) {
	answers := make([][]byte, len(events))
	work.Times = make([]time.Duration, len(events))
	began, err := p.CPU()
	if err != nil {
		return work, err
	}
	for i, event := range events {
		if ctx.Err() != nil {
			return work, ctx.Err()
		}
		if answers[i], work.Times[i], err = p.Invoke(event); err != nil {
			return work, err
		}
	}
	ended, err := p.CPU()
	if err != nil {
		return work, err
	}
	work.CPU = ended - began
	for _, answer := range answers {
		if err := check(answer); err != nil {
			return work, err
		}
	}
	return work, nil
}

// CPU is the processor time that the process has used so far. Only Linux reports it.
func (p *Process) CPU() (time.Duration, error) { return CPUTime(p.PID()) }

// PeakMemory is the most memory that the process had resident at once, in bytes. Only Linux reports it.
func (p *Process) PeakMemory() (int64, error) { return peakMemory(p.PID()) }
