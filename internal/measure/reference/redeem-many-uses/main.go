// Command redeem-many-uses is the reference function for redeeming a code with many uses.
package main

import (
	"os"

	"shopfront/internal/measure/reference"
)

func main() { reference.Start(os.Getenv, reference.RedeemManyUses) }
