package torture

import (
	"fmt"
	"io"
	"strings"
)

// Row is what happened under one fault.
type Row struct {
	// Fault names what went wrong.
	Fault string
	// Injected counts how often it did.
	Injected int
	// Redemptions counts those on record in the end, Refusals the answers that a code may not be redeemed, and Unknown the
	// requests that left open whether they were applied, each attempt counted.
	Redemptions, Refusals, Unknown int
	// Violations counts what broke a promise. There must be none.
	Violations int
}

// Add adds up what happened under the same fault.
func (r *Row) Add(other Row) {
	r.Injected += other.Injected
	r.Redemptions += other.Redemptions
	r.Refusals += other.Refusals
	r.Unknown += other.Unknown
	r.Violations += other.Violations
}

// WriteTable writes rows as a table in Markdown that reads well in a terminal too.
func WriteTable(out io.Writer, rows []Row) error {
	const line = "| %-26s | %9s | %11s | %9s | %8s | %10s |\n"
	var table strings.Builder
	fmt.Fprintf(&table, line, "fault", "injected", "redemptions", "refusals", "unknown", "violations")
	fmt.Fprintf(&table, line, "---", "--:", "--:", "--:", "--:", "--:")
	for _, row := range rows {
		fmt.Fprintf(&table, line, row.Fault,
			grouped(row.Injected), grouped(row.Redemptions), grouped(row.Refusals), grouped(row.Unknown), grouped(row.Violations))
	}
	_, err := io.WriteString(out, table.String())
	return err
}

// grouped writes a count with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
