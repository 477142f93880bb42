// Package contractpages makes the pages that show the interface's contract: one to read and try it, its changelog, and the
// changelog as a feed. They are made beforehand, from the working document and the computed changelog, and need nothing but
// themselves: style and script are inside, and the Content-Security-Policy names them by their hashes.
//
// Only the rendering of the contract imports this package, never a function: functions embed what it made.
package pages
