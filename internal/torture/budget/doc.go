// Package budget tests that a request stays within its bounds, whatever the store does. A request ends with a
// documented response before Lambda would end its function. The request leaves no goroutine, connection or memory
// behind.
//
// The package is for tests only; nothing that ships may import it.
package budget
