// Package dynamolocal fetches Amazon DynamoDB Local with Maven and runs it as a child process, for the local run and
// for the tests. It needs Java 17 or later, and Maven until the library has been fetched once; Linux and macOS.
//
// It knows nothing of the shop: it imports no other package of this module and no AWS SDK. No function may link it.
//
// What it starts cannot outlive it. Every child belongs to a process group of its own, so that a terminal's Ctrl-C
// reaches only the parent, which then stops things in its order; and a watchdog in that group ends the group when the
// parent is gone, whichever way it went.
//
// DynamoDB Local listens on all of the addresses of the machine and cannot be told otherwise: keep nothing real in it.
package dynamolocal
