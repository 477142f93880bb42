// Command checkout-area is the reference function of the checkout area.
package main

import (
	"os"

	"shopfront/internal/measure/reference"
)

func main() { reference.Start(os.Getenv, reference.Area) }
