// Command cost computes what Shopfront costs at AWS: a million requests of each kind, and months of three shops:
//
//	cost [--requests N] [--json]
//
// It measures the built functions on DynamoDB Local, and sets AWS's published prices against that. It says what it does on
// stderr. Whatever it comes to is no error.
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
	"shopfront/internal/measure/cost"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out, progress io.Writer) error {
	options := cost.Options{Progress: progress}
	flags := flag.NewFlagSet("cost", flag.ContinueOnError)
	flags.SetOutput(progress)
	asJSON := flags.Bool("json", false, "print JSON")
	flags.IntVar(&options.Requests, "requests", 200, "warm requests of each kind to time")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: see cost -h", flags.Arg(0))
	}
	if options.Requests < 1 {
		return errors.New("--requests must be 1 or more")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if options.Root, err = localrun.FindRoot(dir); err != nil {
		return err
	}
	report, err := cost.Run(ctx, options)
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.Print(out)
}
