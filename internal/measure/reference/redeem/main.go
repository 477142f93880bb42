// Command redeem is the reference function of redeeming a single-use code.
package main

import (
	"os"

	"shopfront/internal/measure/reference"
)

func main() { reference.Start(os.Getenv, reference.Redeem) }
