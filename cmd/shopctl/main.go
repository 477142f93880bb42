// Command shopctl is the operator's command: it runs a Shopfront on a laptop, loads the catalogue, creates voucher
// codes, lists what was redeemed, and works on orders. shopctl help describes it.
//
// This package parses flags, calls pkg/backoffice, which does the work, and prints the results. It imports neither the
// store nor AWS. Only events tail, forward and replay read the feed with pkg/client, as a shop's server does.
package main

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	cobra.EnableCommandSorting = false // help lists commands in the order in which an operator needs them
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends the process at once
	os.Exit(program{
		output: output{stdout: os.Stdout, stderr: os.Stderr}, stdin: os.Stdin, lookupEnv: os.LookupEnv,
		workDir: os.Getwd,
		now:     time.Now, random: rand.Reader, jitter: mathrand.Int64N, sleep: sleep,
	}.run(ctx, os.Args[1:]))
}

// sleep returns after a delay, or with an error when the context ends.
func sleep(ctx context.Context, delay time.Duration) error {
	pause, cancel := context.WithTimeout(ctx, delay)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}
