// Command bare-many-uses is the reference function of redeeming a code of many uses.
package main

import (
	"os"

	"shopfront/internal/measure/reference"
)

func main() { reference.Start(os.Getenv, reference.RedeemManyUses) }
