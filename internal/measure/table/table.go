// Package table aligns columns of text for the reports of the measurements.
package table

import (
	"strings"
	"unicode/utf8"
)

// Align returns the rows as lines: the first columns, as many as left says, flush left, and all others flush right. Every row has as
// many cells as the first one.
func Align(left int, rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		padded := make([]string, len(row))
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < left {
				padded[i] = cell + padding
			} else {
				padded[i] = padding + cell
			}
		}
		text.WriteString(strings.TrimRight(strings.Join(padded, "  "), " ") + "\n")
	}
	return text.String()
}
