// Package hotcode measures how many requests one code with many uses can handle, on a model of DynamoDB's limits. It
// tests that a crowd takes each use once, and counts the calls. docs/operating/capacity.md has the results.
//
// The package is for tests only; nothing that ships may import it.
package hotcode
