// Command contract keeps the interface's contract: `make contract` checks it, `make release` freezes it, and
// `go generate ./api` renders it. Package contract does all of it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"shopfront/internal/contract"
)

func main() {
	if err := contract.Run(context.Background(), os.Args[1:], ".", os.Stdout, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
