// Package endtoend has the tests of the whole: requests as a client sends them, mostly over a raw socket, through the local
// run's HTTP API and the built functions to DynamoDB Local. What they expect is docs/interface.md.
//
// One local run serves all tests, in a copy of the checkout and with customers of each test's own.
package endtoend
