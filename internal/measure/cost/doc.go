// Package cost computes what Shopfront costs at AWS: it sends requests of every kind to the built functions at the runtime
// interface, measures what AWS bills for them, and sets its published prices against that. It is for `make cost` and tests only.
//
// What a request takes of DynamoDB is metered in front of DynamoDB Local (package metering), with its log line and its answer.
// How long it takes is measured apart, with a store that answers after 5 ms. Prices and their arithmetic are in package
// pricing.
package cost
