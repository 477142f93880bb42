//go:build race

package dynamo_test

// seedsShare divides the number of a simulation's trials, because a trial takes ten times as long under the race
// detector.
const seedsShare = 4
