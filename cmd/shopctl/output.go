package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
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

// list writes rows as JSON lines, or as a table with a head. If there are no rows, it writes a note to stderr instead
// of the table. The plural names the rows in that note.
func list[R row](o *output, plural string, head []string, rows []R) error {
	return stream(o, plural, head, func(yield func(R, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}, func(r R) R { return r })
}

// rowsPerTable is how many rows are aligned together. They are kept in memory until they are aligned.
const rowsPerTable = 1000

// stream writes items like list, but as they come. The parameter one converts an item to its row.
func stream[T any, R row](o *output, plural string, head []string, items iter.Seq2[T, error], one func(T) R) error {
	table := newTable(o.stdout)
	count := 0
	for item, err := range items {
		if err != nil {
			if flushErr := table.flush(); flushErr != nil {
				return flushErr
			}
			return err
		}
		switch {
		case o.json:
			err = writeJSON(o.stdout, one(item))
		case count == 0:
			table.row(head...)
		case count%rowsPerTable == 0:
			err = table.flush()
		}
		if err != nil {
			return err
		}
		if !o.json {
			table.row(one(item).cells()...)
		}
		count++
	}
	if count == 0 {
		o.note("no " + plural)
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
	_, err := fmt.Fprintln(&visible{to: o.stdout}, text)
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
		_, _ = fmt.Fprintln(&visible{to: o.stderr}, text) // a closed stderr cannot be reported anywhere
	}
}

func (o *output) warn(text string) {
	if o.json {
		_ = writeJSON(o.stderr, map[string]string{"warning": text}) // the error is ignored, as in note
		return
	}
	o.note("warning: " + text)
}

func (o *output) reportProblems(problems []*problem) {
	for _, p := range problems {
		if o.json {
			// as in note
			_ = writeJSON(o.stderr, map[string]any{"error": map[string]string{"kind": p.kind, "message": p.Error()}})
			continue
		}
		_, _ = fmt.Fprintln(&visible{to: o.stderr}, "error: "+strings.ReplaceAll(p.Error(), "\n", "\n  ")) // as in note
	}
}

func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(&visible{to: w})
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// file returns the writer of a file that goes to stdout. A file stays as it is, unless it is shown on a terminal.
func (o *output) file() io.Writer {
	if isTerminal(o.stdout) {
		return &visible{to: o.stdout}
	}
	return o.stdout
}

// visible escapes control and invisible characters as JSON does, because texts of shoppers must not control a terminal.
type visible struct {
	to   io.Writer
	rest []byte // of a character that is not complete yet
}

func (v *visible) Write(text []byte) (int, error) {
	var shown []byte
	for v.rest = append(v.rest, text...); utf8.FullRune(v.rest); {
		r, size := utf8.DecodeRune(v.rest)
		switch isInvalid := r == utf8.RuneError && size == 1; {
		case r == '\n' || r == '\t' || unicode.IsGraphic(r) && !isInvalid:
			shown = append(shown, v.rest[:size]...)
		case r != '\r': // CSV has one at the end of each line
			for _, unit := range utf16.Encode([]rune{r}) {
				shown = fmt.Appendf(shown, `\u%04x`, unit)
			}
		}
		v.rest = v.rest[size:]
	}
	_, err := v.to.Write(shown)
	return len(text), err
}

// table prints rows in aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (t table) row(cells ...string) {
	_, _ = fmt.Fprintln(t.w, joinCells(cells, "\t")) // flush returns the error
}

func (t table) flush() error { return t.w.Flush() }

// joinCells makes each cell printable. An empty cell becomes a dash.
func joinCells(cells []string, separator string) string {
	return strings.Join(represent(cells, func(cell string) string { return cmp.Or(printable(cell), "-") }), separator)
}

// printable quotes a string with control sequences or invisible characters, because nicks and data come from shoppers.
func printable(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// isTerminal reports whether a reader or a writer is a terminal.
func isTerminal[S any](stream S) bool {
	file, is := any(stream).(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}
