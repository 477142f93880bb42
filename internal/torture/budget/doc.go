// Package budget tests the bounds of a request, whatever the store does. A request ends with a documented response before Lambda
// would end its function. It leaves no goroutine, connection or memory behind.
//
// It is for tests only; nothing that ships may import it.
package budget
