package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"shopfront/pkg/money"
)

// output writes results and messages: as text for people or, with json set, as JSON for scripts.
type output struct {
	stdout, stderr io.Writer
	json           bool
}

// field is a line of a document.
type field struct{ name, value string }

// document writes one JSON document, or its fields as lines of text.
func (o *output) document(document any, fields []field) error {
	if o.json {
		return writeJSON(o.stdout, document)
	}
	table := newTable(o.stdout)
	for _, f := range fields {
		table.row(f.name, f.value)
	}
	return table.flush()
}

// row is an item of a list. Its cells are for the table; JSON has the item itself.
type row interface{ cells() []string }

// list writes rows as JSON lines, or as a table with a head. For people, an empty list is a note on stderr.
func list[R row](o *output, what string, head []string, rows []R) error {
	if o.json {
		for _, r := range rows {
			if err := writeJSON(o.stdout, r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		o.note("no " + what)
		return nil
	}
	table := newTable(o.stdout)
	table.row(head...)
	for _, r := range rows {
		table.row(r.cells()...)
	}
	return table.flush()
}

// represent converts items for output. The result is never nil, so that JSON has an empty list.
func represent[T, R any](items []T, one func(T) R) []R {
	represented := make([]R, len(items))
	for i, item := range items {
		represented[i] = one(item)
	}
	return represented
}

// line writes one line of a stream immediately, so that an interruption does not lose it.
func (o *output) line(document any, text string) error {
	if o.json {
		return writeJSON(o.stdout, document)
	}
	_, err := fmt.Fprintln(o.stdout, text)
	return err
}

// summary writes the outcome to stderr, for commands that stream to stdout.
func (o *output) summary(document any, text string) {
	if o.json {
		_ = writeJSON(o.stderr, document) // the work is done, so a failed summary is not an error
		return
	}
	o.note(text)
}

// note writes a message for people to stderr. With JSON it writes nothing.
func (o *output) note(text string) {
	if !o.json {
		_, _ = fmt.Fprintln(o.stderr, text) // a closed stderr cannot be reported anywhere
	}
}

func (o *output) warn(text string) {
	if o.json {
		_ = writeJSON(o.stderr, map[string]string{"warning": text}) // as in note
		return
	}
	o.note("warning: " + text)
}

func (o *output) reportProblems(problems []*problem) {
	for _, p := range problems {
		if o.json {
			_ = writeJSON(o.stderr, map[string]any{"error": map[string]string{"kind": p.kind, "message": p.Error()}}) // as in note
			continue
		}
		_, _ = fmt.Fprintln(o.stderr, "error: "+strings.ReplaceAll(p.Error(), "\n", "\n  ")) // as in note
	}
}

func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// table prints rows in aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(t.w, "\t") // flush returns the error
		}
		if cell == "" {
			cell = "-"
		}
		_, _ = fmt.Fprint(t.w, printable(cell))
	}
	_, _ = fmt.Fprintln(t.w)
}

func (t table) flush() error { return t.w.Flush() }

// printable quotes a string with control sequences or invisible characters, because nicks and data come from shoppers.
func printable(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// progress is a progress bar on a terminal; elsewhere it is silent.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress starts a bar on stderr if that is a terminal. If one of the other writers is a terminal too, there is no bar, because
// it would garble their output.
func (o *output) newProgress(what string, count int, others ...io.Writer) progress {
	if !isTerminal(o.stderr) || o.json || slices.ContainsFunc(others, isTerminal) {
		return progress{}
	}
	return progress{newBar(o.stderr, what, count)}
}

func newBar(w io.Writer, what string, count int) *progressbar.ProgressBar {
	return progressbar.NewOptions(count,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0)) // otherwise a spinner would draw over the output that follows
}

func (p progress) step() {
	if p.bar != nil {
		_ = p.bar.Add(1) // a bar that cannot be drawn must not stop the work
	}
}

// end clears the bar, whether it is finished or not.
func (p progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear() // as in step
	}
}

func isTerminal(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// moneyJSON is an amount of money as in the HTTP interface.
type moneyJSON struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
	Display  string `json:"display"`
}

func representMoney(m money.Money) *moneyJSON {
	return &moneyJSON{Minor: m.Minor, Currency: string(m.Currency), Display: m.String()}
}

// formatTime writes a time as RFC 3339 in UTC, with milliseconds, and the zero time as the empty string.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
