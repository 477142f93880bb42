package benchmark

import (
	"context"
	"os"
	"time"
)

// Running is a process of a function behind a runtime interface of its own, for what is measured elsewhere. It has one event at
// a time, and its methods are called one at a time.
type Running struct {
	// Ready is the time from before it was started until it asked for its first event, and StartCPU the processor time of that.
	Ready, StartCPU time.Duration

	process *process
}

// Start runs a binary that Build built, in an environment that holds what is given and no more, and returns when it asks for an
// event. Its log goes to the file. Stop must be called.
func Start(ctx context.Context, binary string, env []string, log *os.File) (*Running, error) {
	p, ready, err := startLogging(ctx, binary, env, log)
	if err != nil {
		return nil, err
	}
	return &Running{Ready: ready, StartCPU: p.startCPU, process: p}, nil
}

// Invoke hands it an event, and returns the answer with the time that it took. What it logs is then in the file.
func (r *Running) Invoke(event []byte) (answer []byte, took time.Duration, err error) {
	return r.process.invoke(event)
}

// CPU is the processor time that it has used so far. Only Linux tells it.
func (r *Running) CPU() (time.Duration, error) { return CPUTime(r.process.command.Process.Pid) }

// Stop ends it and returns when it is gone.
func (r *Running) Stop() { r.process.stop() }
