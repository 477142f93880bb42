// Command bare-checkout is the reference function of checking out.
package main

import (
	"os"

	"shopfront/pkg/benchmark/bare"
)

func main() { bare.Start(os.Getenv, bare.Checkout) }
