//go:build !race

package dynamo_test

const seedsShare = 1
