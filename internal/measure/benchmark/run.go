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

	"shopfront/internal/measure/fixture"
)

// Options says what to measure.
type Options struct {
	fixture.Setup

	// Rounds is how often each subject is measured.
	Rounds int
	// Requests is how many warm requests each subject handles in a round. It is rounded up to whole blocks.
	Requests int
	// Starts is how often each subject is started in a round.
	Starts int
}

// Run measures the functions and the reference functions.
func Run(ctx context.Context, options Options) (*Report, error) {
	options.Say("Building the functions and the references")
	if err := build(ctx, options.Setup, subjects()); err != nil {
		return nil, err
	}
	stored, err := fixture.NewStore(ctx, options.Root)
	if err != nil {
		return nil, err
	}
	s, err := serve(stored, options.Dir, storeDelay)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	r := &runner{Options: options, store: s, subjects: subjects()}
	report := &Report{options: options, measured: map[string][]Round{}}
	for number := range options.Rounds {
		options.Say("Round %d of %d", number+1, options.Rounds)
		round, err := r.round(ctx)
		if err != nil {
			return nil, err
		}
		for name, measured := range round {
			report.measured[name] = append(report.measured[name], measured)
		}
	}
	return report, nil
}

func build(ctx context.Context, setup fixture.Setup, subjects []subject) error {
	packages := make([]string, len(subjects))
	for i, s := range subjects {
		packages[i] = s.pkg
	}
	return setup.Build(ctx, packages...)
}
