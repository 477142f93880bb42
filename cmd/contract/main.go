// Command contract checks the OpenAPI document of the interface (`make contract`), freezes it as a release (`make
// release`), and renders the files that functions embed (`go generate ./api`). Package contract does the work.
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
