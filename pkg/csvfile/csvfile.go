// Package csvfile reads and writes CSV files (RFC 4180, UTF-8): vouchers, and lists of redemptions, checkouts and
// orders. docs/reference/files.md describes the columns.
//
// A file is read row by row, in constant memory. A mistake spoils only its own row; reading continues after that row.
//
// A spreadsheet runs a cell as a formula if the cell begins with a character such as =. Therefore this package writes
// an apostrophe in front of such a character, and removes the apostrophe when it reads the cell.
//
// Only commands may import this package, never a Lambda function.
package csvfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// MaxRows bounds the rows of a file, without its header.
	MaxRows = 1_000_000
	// MaxRecordBytes bounds one row of a file, in bytes.
	MaxRecordBytes = 64 << 10
)

// Writer writes the rows of a CSV file.
type Writer struct{ to *bufio.Writer }

// NewWriter returns a writer whose first row is the header. Flush writes what is still in memory.
func NewWriter(file io.Writer, header ...string) Writer {
	w := Writer{bufio.NewWriter(file)}
	_ = w.Row(header...) // Flush returns the same error
	return w
}

// Row writes one row.
func (w Writer) Row(cells ...string) error {
	for i, cell := range cells {
		if i > 0 {
			_ = w.to.WriteByte(',') // the last write returns the same error
		}
		_, _ = w.to.WriteString(encode(cell)) // as above
	}
	_, err := w.to.WriteString("\r\n")
	return err
}

// encode returns a cell as it is written: defused, and in quotes if it needs them.
func encode(cell string) string {
	cell = defuse(cell)
	if strings.ContainsAny(cell, "\",\r\n") {
		cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
	}
	return cell
}

// Flush writes to the file what is still in memory.
func (w Writer) Flush() error { return w.to.Flush() }

// needsApostrophe reports whether a text in a cell needs an apostrophe in front, because a spreadsheet may run it as a
// formula, or because reading could remove the apostrophe with which it begins. The text is at the start of the cell if
// before is empty. Otherwise it is at risk behind a semicolon, a tab or a line break: where a comma is the decimal
// separator, a spreadsheet separates cells by semicolons, and finds no quotes after a comma.
func needsApostrophe(before, text string) bool {
	armed := "=+-@'\uff1d\uff0b\uff0d\uff20"
	if before == "" {
		armed += "\t\r\n"
	} else if !strings.Contains(";\t\r\n", before) {
		return false
	}
	first, size := utf8.DecodeRuneInString(strings.TrimLeft(text, `"`))
	return size > 0 && strings.ContainsRune(armed, first)
}

func defuse(cell string) string {
	var safe []byte
	for at := range len(cell) {
		if needsApostrophe(cell[max(at-1, 0):at], cell[at:]) {
			safe = append(safe, '\'')
		}
		safe = append(safe, cell[at])
	}
	return string(safe)
}

// undefuse removes the apostrophes that defuse adds.
func undefuse(cell string) string {
	var original []byte
	before := ""
	for at := 0; at < len(cell); at++ {
		if cell[at] == '\'' && needsApostrophe(before, cell[at+1:]) {
			at++
		}
		original, before = append(original, cell[at]), cell[at:at+1]
	}
	return string(original)
}

// record is one row as it is in the file.
type record struct {
	line  int // where it begins
	text  []byte
	cells []string
	err   error // nil, or why the cells cannot be read
}

// recordReader reads the records of a file. If a record is malformed, reading continues with the record's second line.
type recordReader struct {
	file  *bufio.Reader
	again []byte // the lines of a malformed record after its first line; each may begin a record
	line  int    // how many lines were read
}

func newRecordReader(file io.Reader) *recordReader {
	return &recordReader{file: bufio.NewReaderSize(file, MaxRecordBytes)}
}

// nextLine returns a line with its line break, or io.EOF.
func (r *recordReader) nextLine() (line []byte, err error) {
	if len(r.again) > 0 {
		end := lineEnd(r.again)
		line, r.again = r.again[:end], r.again[end:]
	} else if line, err = r.file.ReadSlice('\n'); errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("line %d is longer than %d bytes", r.line+1, MaxRecordBytes)
	}
	if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r.line++
	return line, nil
}

func lineEnd(text []byte) int {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return end + 1
	}
	return len(text)
}

// next returns the next record, or io.EOF. Any other error means that the file cannot be read any further.
func (r *recordReader) next() (record, error) {
	line, err := r.nextLine()
	if err != nil {
		return record{}, err
	}
	read := record{line: r.line, text: slices.Clone(line)}
	for quotes := countQuotes(line); quotes%2 == 1 && len(read.text) <= MaxRecordBytes; quotes += countQuotes(line) {
		if line, err = r.nextLine(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return record{}, err
		}
		read.text = append(read.text, line...)
	}
	if read.cells, read.err = parse(string(read.text)); read.err != nil {
		end := lineEnd(read.text)
		r.line, r.again = read.line, slices.Concat(read.text[end:], r.again)
		read.text = read.text[:end]
	}
	return read, nil
}

func countQuotes(line []byte) int { return bytes.Count(line, []byte{'"'}) }

// parse returns the cells of a record.
func parse(text string) (cells []string, err error) {
	if len(text) > MaxRecordBytes {
		return nil, fmt.Errorf("has more than %d bytes: is a quote missing?", MaxRecordBytes)
	}
	cells, err = csv.NewReader(strings.NewReader(text)).Read()
	if errors.Is(err, io.EOF) { // an empty line
		return []string{""}, nil
	}
	if err != nil {
		return nil, errors.New("has a quote in the wrong place: put the cell in quotes, and double each quote inside")
	}
	return cells, nil
}
