// Command bench measures the built functions beside reference functions, and prints what was reached beside the targets:
//
//	bench [--rounds N] [--requests N] [--starts N] [--samples N] [--json]
//	bench oracle [--samples N] [--json]
//
// With oracle it only times refusals, by which a stranger might tell codes apart. It says what it does on stderr. Whatever
// was reached is no error: a busy machine would make it one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"shopfront/internal/local/localrun"
	"shopfront/internal/measure/benchmark"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// printer is what was measured.
type printer interface{ Print(w io.Writer) error }

func run(ctx context.Context, arguments []string, out, progress io.Writer) error {
	onlyOracle := len(arguments) > 0 && arguments[0] == "oracle"
	options := benchmark.Options{Plan: benchmark.Plan{Rounds: 7, Requests: 100, Starts: 9, Samples: 200}, Progress: progress}
	if onlyOracle {
		arguments, options.Samples = arguments[1:], 1000
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	asJSON := flags.Bool("json", false, "print JSON")
	flags.IntVar(&options.Samples, "samples", options.Samples, "refusals to time of each kind")
	if !onlyOracle {
		flags.IntVar(&options.Rounds, "rounds", options.Rounds, "rounds, in each of which everything is measured")
		flags.IntVar(&options.Requests, "requests", options.Requests, "warm requests of each function in a round, for each store")
		flags.IntVar(&options.Starts, "starts", options.Starts, "starts of each function in a round, for each store")
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: see bench -h", flags.Arg(0))
	}
	if min(options.Rounds, options.Requests, options.Starts, options.Samples) < 1 {
		return errors.New("every number must be 1 or more")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if options.Root, err = localrun.FindRoot(dir); err != nil {
		return err
	}
	measured, err := measure(ctx, options, onlyOracle)
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(measured)
	}
	return measured.Print(out)
}

func measure(ctx context.Context, options benchmark.Options, onlyOracle bool) (printer, error) {
	if onlyOracle {
		return benchmark.TimeRefusals(ctx, options)
	}
	report, err := benchmark.Run(ctx, options)
	return &report, err
}
