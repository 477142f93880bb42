// Package pricing knows AWS's published prices, from one dated file, and what a usage costs at them. Money is exact: quotients
// of integers, rounded only where they are shown.
//
// It is for `make cost` and tests only. It imports a YAML library and the standard library.
package pricing
