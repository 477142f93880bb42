// Package budget holds the tests of what a request may cost, whatever the store does: time, for it ends with a documented
// answer before Lambda would end its function, and goroutines, connections and memory, of which nothing is left behind.
//
// It is for tests only; nothing that ships may import it.
package budget
