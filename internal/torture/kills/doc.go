// Package kills kills processes in the middle of their work and then repeats the work. It kills the functions that
// redeem, undo, check out, place and cancel orders, and shopctl during commands that write. Each kill comes at a
// call to the store: before the call is applied, after it was applied but before its response, or while it is still
// in flight. The items stored in the end must equal those of an undisturbed run.
//
// The package has only tests. By default, they kill each kind of work at a few steps. With -kills=100, they kill each
// kind of work at every step, and at least 100 times in each way. Then they print the results as a table.
package kills
