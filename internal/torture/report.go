package torture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// Row is what happened under one fault.
type Row struct {
	// Fault names what went wrong.
	Fault string
	// Injected counts how often the fault was injected. Where access changes, it counts the requests that had to be denied.
	Injected int
	// Redemptions counts the redemptions on record in the end, undone ones included, Refusals the refused requests, and Unknown the
	// attempts whose outcome the client does not know.
	Redemptions, Refusals, Unknown int
	// Violations counts broken promises. There must be none.
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

// Tell writes rows as a table to the test's output. If a file is named, it adds them to the table in that file instead. Several
// tests can add to one file, one after the other.
func Tell(tb testing.TB, file string, rows []Row) {
	tb.Helper()
	var err error
	if file == "" {
		err = WriteTable(tb.Output(), rows)
	} else {
		err = addToTable(file, rows)
	}
	if err != nil {
		tb.Error(err)
	}
}

func addToTable(file string, rows []Row) error {
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // whoever runs the tests names it
	if err != nil {
		return err
	}
	info, err := out.Stat()
	switch {
	case err != nil:
	case info.Size() == 0:
		err = WriteTable(out, rows)
	default:
		err = writeRows(out, rows)
	}
	return errors.Join(err, out.Close())
}

const tableLine = "| %-42s | %9s | %11s | %9s | %8s | %10s |\n"

// WriteTable writes rows as a Markdown table that is also aligned for a terminal.
func WriteTable(out io.Writer, rows []Row) error {
	var head strings.Builder
	fmt.Fprintf(&head, tableLine, "fault", "injected", "redemptions", "refusals", "unknown", "violations")
	fmt.Fprintf(&head, tableLine, "---", "--:", "--:", "--:", "--:", "--:")
	if _, err := io.WriteString(out, head.String()); err != nil {
		return err
	}
	return writeRows(out, rows)
}

func writeRows(out io.Writer, rows []Row) error {
	var lines strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&lines, tableLine, row.Fault,
			grouped(row.Injected), grouped(row.Redemptions), grouped(row.Refusals), grouped(row.Unknown), grouped(row.Violations))
	}
	_, err := io.WriteString(out, lines.String())
	return err
}

// grouped writes a count with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
