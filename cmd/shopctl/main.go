// Command shopctl is the operator's command: it runs the shop on a laptop, loads the catalogue, hands out voucher codes and
// tells what was redeemed. Run shopctl help for how.
//
// It holds flags, calls and output; what is done stands in pkg/operator and the packages that it uses.
package main

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends the process at once
	os.Exit(program{
		output: output{stdout: os.Stdout, stderr: os.Stderr}, stdin: os.Stdin, lookupEnv: os.LookupEnv, workDir: os.Getwd,
		now: time.Now, random: rand.Reader, jitter: mathrand.Int64N,
	}.run(ctx, os.Args[1:]))
}
