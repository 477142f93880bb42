// Command redeem is the reference function for redeeming a single-use code.
package main

import (
	"os"

	"shopfront/internal/measure/reference"
)

func main() { reference.Start(os.Getenv, reference.Redeem) }
