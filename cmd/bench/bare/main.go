// Command bare is the reference function of redeeming a single-use code.
package main

import (
	"os"

	"shopfront/pkg/benchmark/bare"
)

func main() { bare.Start(os.Getenv, bare.Redeem) }
