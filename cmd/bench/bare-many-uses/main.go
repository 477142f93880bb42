// Command bare-many-uses is the reference function of redeeming a code of many uses.
package main

import (
	"os"

	"shopfront/pkg/benchmark/bare"
)

func main() { bare.Start(os.Getenv, bare.RedeemManyUses) }
