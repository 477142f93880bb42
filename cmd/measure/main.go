// Command measure measures the built functions and prints a report:
//
//	measure bench  [--rounds N] [--requests N] [--starts N]
//	measure oracle [--samples N]
//	measure cost   [--requests N]
//	measure bulk   [--count N]
//
// bench compares the functions with reference functions, oracle compares the times of refused requests, cost computes
// what requests cost at AWS, and bulk compares the commands that work on many vouchers with a bare loop of writes.
// Progress goes to stderr. A missed target is an error only for bulk, because a busy machine slows the commands and the
// bare loop alike.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"shopfront/internal/local/samtemplate"
	"shopfront/internal/measure/benchmark"
	"shopfront/internal/measure/cost"
	"shopfront/internal/measure/fixture"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// report is the result of a measurement.
type report interface{ Print(w io.Writer) error }

func run(ctx context.Context, arguments []string, out, progress io.Writer) error {
	if len(arguments) == 0 {
		return errors.New("name a measurement: bench, oracle, cost or bulk")
	}
	setup := fixture.Setup{Progress: progress}
	flags := flag.NewFlagSet("measure "+arguments[0], flag.ContinueOnError)
	flags.SetOutput(progress)
	var numbers []*int
	number := func(name string, initial int, usage string) *int {
		value := flags.Int(name, initial, usage)
		numbers = append(numbers, value)
		return value
	}
	var measure func() (report, error)
	switch arguments[0] {
	case "bench":
		rounds := number("rounds", 7, "rounds; each measures everything")
		requests := number("requests", 100, "warm requests of each function in a round")
		starts := number("starts", 9, "starts of each function in a round")
		measure = func() (report, error) {
			return benchmark.Run(ctx, benchmark.Options{
				Setup: setup, Rounds: *rounds, Requests: *requests, Starts: *starts,
			})
		}
	case "oracle":
		samples := number("samples", 1000, "refusals of each kind")
		measure = func() (report, error) { return benchmark.TimeRefusals(ctx, setup, *samples) }
	case "cost":
		requests := number("requests", 200, "warm requests of each kind")
		measure = func() (report, error) { return cost.Run(ctx, setup, *requests) }
	case "bulk":
		count := number("count", 100_000, "vouchers")
		measure = func() (report, error) { return benchmark.TimeBulk(ctx, setup, *count) }
	default:
		return fmt.Errorf("%q is not bench, oracle, cost or bulk", arguments[0])
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: see measure %s -h", flags.Arg(0), arguments[0])
	}
	for _, value := range numbers {
		if *value < 1 {
			return errors.New("every number must be 1 or more")
		}
	}
	var err error
	if setup.Root, err = samtemplate.FindRoot("."); err != nil {
		return err
	}
	if setup.Dir, err = os.MkdirTemp("", "shopfront-measure-"); err != nil {
		return err
	}
	measured, err := measure()
	err = errors.Join(err, os.RemoveAll(setup.Dir))
	if err != nil {
		return err
	}
	err = write(out, measured)
	if bulk, is := measured.(*benchmark.Bulk); is {
		err = errors.Join(err, bulk.Missed())
	}
	return err
}

func write(out io.Writer, measured report) error {
	if _, err := fmt.Fprintf(out, "%s\n\n", machine(time.Now())); err != nil {
		return err
	}
	return measured.Print(out)
}

// machine describes the machine and the date of a measurement.
func machine(now time.Time) string {
	processor := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo") // exists only on Linux
	if _, model, found := strings.Cut(string(info), "model name"); found {
		model, _, _ = strings.Cut(model, "\n")
		processor = strings.Trim(model, "\t :")
	}
	return fmt.Sprintf("%s, %s, %d cores, %s/%s, %s", now.Format(time.DateOnly), processor, runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version())
}
