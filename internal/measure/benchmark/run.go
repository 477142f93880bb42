// Package benchmark measures the built functions as Lambda runs them, beside reference functions that make the same
// DynamoDB calls and do nothing else (package reference). It also measures shopctl and refusals. It is for `make
// bench`, `make bench-bulk`, `make oracle` and tests; no Lambda function may link it.
//
// A time measured on a busy machine means little by itself. So the benchmark runs in rounds. Each round measures every
// subject, in a new order. The figures that matter are ratios of two subjects within one round. The report shows the
// median of the rounds, with the least and the greatest.
package benchmark

import (
	"context"
	"os"

	"shopfront/internal/measure/fixture"
)

// Plan says how much to measure.
type Plan struct {
	// Rounds is how often each subject is measured.
	Rounds int
	// Requests is how many warm requests each subject handles in a round, for each store. It is rounded up to whole
	// blocks.
	Requests int
	// Starts is how often each subject is started in a round, for each store.
	Starts int
	// Samples is how many refusals of each kind are timed.
	Samples int
}

// Options says what to measure.
type Options struct {
	fixture.Setup
	Plan
}

// Run measures the functions and the reference functions, then times refusals.
func Run(ctx context.Context, options Options) (report *Report, err error) {
	report = &Report{Plan: options.Plan, Binaries: map[string]int64{}, Measured: map[string]map[string][]Round{}}
	options.Say("Building the functions and the references")
	if err := build(ctx, options.Setup, subjects()); err != nil {
		return nil, err
	}
	for _, s := range subjects() {
		binary, err := os.Stat(options.Binary(s.pkg))
		if err != nil {
			return nil, err
		}
		report.Binaries[s.name] = binary.Size()
	}
	options.Say("Starting the stores")
	stores, err := startStores(ctx, options.Setup)
	defer func() {
		for _, s := range stores {
			s.stop()
		}
	}()
	if err != nil {
		return nil, err
	}
	r := &runner{Options: options, subjects: subjects()}
	for round := range options.Rounds {
		options.Say("Round %d of %d", round+1, options.Rounds)
		for _, s := range stores {
			measured, err := r.round(ctx, s)
			if err != nil {
				return nil, err
			}
			report.add(s.name, measured)
		}
	}
	options.Say("Timing refusals")
	if report.Oracle, err = timeRefusals(ctx, options); err != nil {
		return nil, err
	}
	report.compare()
	return report, nil
}

func build(ctx context.Context, setup fixture.Setup, subjects []subject) error {
	packages := make([]string, len(subjects))
	for i, s := range subjects {
		packages[i] = s.pkg
	}
	return setup.Build(ctx, packages...)
}
