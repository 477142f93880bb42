// Command checkout is the reference function for checking out.
package main

import (
	"os"

	"shopfront/internal/measure/reference"
)

func main() { reference.Start(os.Getenv, reference.Checkout) }
