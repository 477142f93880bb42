// Command bare-area is the reference function of the checkout area.
package main

import (
	"os"

	"shopfront/pkg/benchmark/bare"
)

func main() { bare.Start(os.Getenv, bare.Area) }
