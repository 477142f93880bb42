// Package endtoend tests the whole service. The tests send requests, most of them over a raw socket, to the local run's
// HTTP API. The built functions handle them with DynamoDB Local. The tests expect what api/openapi.yaml promises.
//
// One local run, in a copy of the source tree, serves all tests. Each test creates its own shops.
package endtoend
