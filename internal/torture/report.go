package torture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// Row is what happened under one fault.
type Row struct {
	// Fault names what went wrong.
	Fault string
	// Injected counts how often the fault was injected. Where access changes, it counts the requests that had to be
	// denied.
	Injected int
	// Redemptions counts the redemptions on record in the end, including those that were undone. Refusals counts the
	// refused requests, and Unknown counts the attempts whose outcome the client does not know.
	Redemptions, Refusals, Unknown int
	// Violations counts broken promises. It must be 0.
	Violations int
}

// Add adds the counts of another row with the same fault.
func (r *Row) Add(other Row) {
	r.Injected += other.Injected
	r.Redemptions += other.Redemptions
	r.Refusals += other.Refusals
	r.Unknown += other.Unknown
	r.Violations += other.Violations
}

// Tell writes rows as a table to the test's output. If a file is named, Tell adds the rows to the table in that file
// instead. Several tests can add to one file, one after another.
func Tell(tb testing.TB, file string, rows []Row) {
	tb.Helper()
	if file == "" {
		_, _ = io.WriteString(tb.Output(), Table(rows)) // the reader may have gone away
		return
	}
	before, err := os.ReadFile(file) //nolint:gosec // whoever runs the tests names it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Error(err)
		return
	}
	added := Table(rows)
	if len(before) > 0 {
		added = lines(rows)
	}
	if err := os.WriteFile(file, append(before, added...), 0o600); err != nil { //nolint:gosec // as above
		tb.Error(err)
	}
}

const tableLine = "| %-42s | %9s | %11s | %9s | %8s | %10s |\n"

// Table returns rows as a Markdown table that is also aligned for a terminal.
func Table(rows []Row) string {
	return fmt.Sprintf(tableLine, "fault", "injected", "redemptions", "refusals", "unknown", "violations") +
		fmt.Sprintf(tableLine, "---", "--:", "--:", "--:", "--:", "--:") + lines(rows)
}

func lines(rows []Row) string {
	var text strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&text, tableLine, row.Fault,
			grouped(row.Injected), grouped(row.Redemptions), grouped(row.Refusals), grouped(row.Unknown),
			grouped(row.Violations))
	}
	return text.String()
}

// grouped writes a count with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
