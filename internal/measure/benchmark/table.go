package benchmark

import (
	"strings"
	"text/tabwriter"
)

// table is text in columns.
type table struct {
	right bool // flushes columns right
	rows  strings.Builder
}

func (t *table) row(cells ...string) {
	t.rows.WriteString(strings.Join(cells, "\t"))
	if t.right {
		t.rows.WriteByte('\t')
	}
	t.rows.WriteByte('\n')
}

func (t *table) text() string {
	var flags uint
	if t.right {
		flags = tabwriter.AlignRight
	}
	var aligned strings.Builder
	columns := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', flags)
	_, _ = columns.Write([]byte(t.rows.String())) // to memory
	_ = columns.Flush()
	return aligned.String()
}
