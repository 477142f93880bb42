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

// output writes what a command has to say: to people as text, with json set to scripts as JSON.
type output struct {
	stdout, stderr io.Writer
	json           bool
}

// field is a line of a document.
type field struct{ name, value string }

// document writes one JSON document, or its fields one below the other.
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

// row is an item of a list: with its cells for people, and as it is for JSON.
type row interface{ cells() []string }

// list writes the rows as JSON lines, or as a table with a head. Where there are none, people are told on stderr.
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

// line writes a line of a stream: at once, so that it was written when the command is interrupted.
func (o *output) line(document any, text string) error {
	if o.json {
		return writeJSON(o.stdout, document)
	}
	_, err := fmt.Fprintln(o.stdout, text)
	return err
}

// summary writes to stderr what was done, where stdout has a stream.
func (o *output) summary(document any, text string) {
	if o.json {
		_ = writeJSON(o.stderr, document) // what was done is done
		return
	}
	o.note(text)
}

// note tells people something beside the output. Scripts do not want it.
func (o *output) note(text string) {
	if !o.json {
		_, _ = fmt.Fprintln(o.stderr, text) // nothing to do where stderr is gone
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

// table aligns columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(t.w, "\t") // an error stays with the writer until flush
		}
		if cell == "" {
			cell = "-"
		}
		_, _ = fmt.Fprint(t.w, printable(cell))
	}
	_, _ = fmt.Fprintln(t.w)
}

func (t table) flush() error { return t.w.Flush() }

// printable quotes text that a terminal might obey, or that shows nothing: nicks and data come from shoppers.
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

// progress shows on a terminal how far long work has come; elsewhere it is silent.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress begins a bar on stderr, unless that is no terminal or one of the others, whose output it would tear, is one.
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
		progressbar.OptionSetSpinnerChangeInterval(0)) // or a spinner would be drawn by itself, also over what follows the bar
}

func (p progress) step() {
	if p.bar != nil {
		_ = p.bar.Add(1) // a bar that cannot be drawn is no reason to stop
	}
}

// end clears the bar, finished or not.
func (p progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear() // as in step
	}
}

func isTerminal(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// moneyJSON is an amount of money, as the HTTP interface has it.
type moneyJSON struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"`
	Display  string `json:"display"`
}

func representMoney(m money.Money) *moneyJSON {
	return &moneyJSON{Minor: m.Minor, Currency: string(m.Currency), Display: m.String()}
}

// formatTime writes a time as RFC 3339 in UTC, with milliseconds; the zero time as nothing.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
