// Package endtoend tests the whole service: requests go, mostly over a raw socket, through the local run's HTTP API and the
// built functions to DynamoDB Local. The tests expect what docs/interface.md promises.
//
// One local run, in a copy of the source tree, serves all tests. Each test makes its own customers.
package endtoend
