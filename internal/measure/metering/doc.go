// Package metering computes what DynamoDB bills for calls, by AWS's published rules, from the sizes of the items that they
// touch: a Meter stands between a client and DynamoDB Local, which tells wrong units for transactions and none for conditions
// that failed.
//
// It is for `make cost` and tests only. It imports the standard library alone.
package metering
