// Package budget tests that a request stays within its bounds, whatever the store does. A function
// responds to each request itself, as documented, long before the gateway would. The request leaves no goroutine,
// connection or memory behind.
//
// The package is for tests only; nothing that ships may import it.
package budget
