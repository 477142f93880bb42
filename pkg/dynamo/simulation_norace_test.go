//go:build !race

package dynamo_test

// seedsShare divides the number of a simulation's trials. It is higher under the race detector.
const seedsShare = 1
