// Package hotcode measures what one code of many uses takes when a crowd redeems it, on a model of the service's limits, and
// tests that the crowd takes each use once and how many calls that costs. docs/capacity.md tells the results.
//
// It is for tests only; nothing that ships may import it.
package hotcode
