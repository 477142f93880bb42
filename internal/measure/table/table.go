// Package table aligns columns of text for the reports of the measurements.
package table

import (
	"strings"
	"unicode/utf8"
)

// Align returns the rows as lines. It aligns the first n columns to the left and the others to the right. All rows must
// have the same number of cells.
func Align(n int, rows [][]string) string {
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
			if i < n {
				padded[i] = cell + padding
			} else {
				padded[i] = padding + cell
			}
		}
		text.WriteString(strings.TrimRight(strings.Join(padded, "  "), " ") + "\n")
	}
	return text.String()
}
