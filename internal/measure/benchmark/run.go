// Package benchmark measures the built functions as Lambda runs them, beside reference functions that make the same DynamoDB calls
// and nothing else (package reference). It is for `make bench`, `make oracle` and tests; no Lambda function may link it.
//
// A time measured on a busy machine means little by itself. So the benchmark runs in rounds. Each round measures every subject, in a
// new order. The figures that matter are ratios of two subjects within one round; the report shows the median of the rounds, with the
// least and the greatest.
package benchmark

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"shopfront/internal/local/gobuild"
	"shopfront/internal/measure/fixture"
)

// Plan is how much is measured.
type Plan struct {
	// Rounds is how often each subject is measured.
	Rounds int `json:"rounds"`
	// Requests is how many warm requests each subject handles in a round, for each store. It is rounded up to whole blocks.
	Requests int `json:"requests"`
	// Starts is how often each subject is started in a round, for each store.
	Starts int `json:"starts"`
	// Samples is how many refusals of each kind are timed.
	Samples int `json:"samples"`
}

// Options says what to measure.
type Options struct {
	fixture.Setup
	Plan
}

// programs are the built subjects.
type programs struct {
	binaries map[string]string // paths, by package
	events   map[string]fixture.Event
}

// build builds subjects.
func build(ctx context.Context, setup fixture.Setup, built []subject) (programs, error) {
	p := programs{binaries: map[string]string{}, events: map[string]fixture.Event{}}
	for _, s := range built {
		if p.binaries[s.pkg] == "" {
			p.binaries[s.pkg] = filepath.Join(setup.Dir, filepath.FromSlash(s.pkg))
			if err := gobuild.Build(ctx, setup.Root, p.binaries[s.pkg], "./"+s.pkg); err != nil {
				return programs{}, err
			}
		}
		var err error
		if p.events[s.sample], err = fixture.ReadEvent(setup.Root, s.sample); err != nil {
			return programs{}, err
		}
	}
	return p, nil
}

// size returns the size of a subject's binary, in bytes.
func (p programs) size(s subject) (int64, error) {
	info, err := os.Stat(p.binaries[s.pkg])
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Run measures the functions and the reference functions, then times refusals.
func Run(ctx context.Context, options Options) (report *Report, err error) {
	options.Say("Building the functions and the references")
	built, err := build(ctx, options.Setup, subjects())
	if err != nil {
		return nil, err
	}
	report = &Report{Plan: options.Plan, Binaries: map[string]int64{}}
	for _, s := range subjects() {
		if report.Binaries[s.name], err = built.size(s); err != nil {
			return nil, err
		}
	}
	options.Say("Starting the stores")
	stores, stop, err := startStores(ctx, options.Setup)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return nil, err
	}
	r := &runner{Options: options, programs: built, subjects: subjects()}
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
	if report.Oracle, err = timeRefusals(ctx, options, built); err != nil {
		return nil, err
	}
	report.compare()
	return report, nil
}
