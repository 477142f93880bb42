package csvfile_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"shopfront/pkg/csvfile"
)

// written returns what a writer of one column writes for a cell.
func written(t *testing.T, cell string) string {
	t.Helper()
	var file bytes.Buffer
	w := csvfile.NewWriter(&file, "note")
	if err := errors.Join(w.Row(cell), w.Flush()); err != nil {
		t.Fatal(err)
	}
	row, found := strings.CutPrefix(file.String(), "note\r\n")
	if !found {
		t.Fatalf("no header: %q", file.String())
	}
	return row
}

func TestWriter_Cells(t *testing.T) {
	for cell, want := range map[string]string{
		"":                      "",
		"Heron":                 "Heron",
		"two words":             "two words",
		"Alder, Heron":          `"Alder, Heron"`,
		`the "blue" one`:        `"the ""blue"" one"`,
		"two\nlines":            "\"two\nlines\"",
		"two\r\nlines":          "\"two\r\nlines\"",
		"20%":                   "20%",
		"=HYPERLINK(A1)":        "'=HYPERLINK(A1)",
		"+1":                    "'+1",
		"-SUMMER-20":            "'-SUMMER-20",
		"@SUM(A1)":              "'@SUM(A1)",
		"\tHeron":               "'\tHeron",
		"\r=1+1":                "\"'\r'=1+1\"",
		"\n=1+1":                "\"'\n'=1+1\"",
		"'Heron":                "''Heron",
		"\uff1d1":               "'\uff1d1",
		"\uff0b1":               "'\uff0b1",
		"\uff0d1":               "'\uff0d1",
		"\uff20SUM":             "'\uff20SUM",
		"1=1":                   "1=1",
		`=CMD("calc"),"and so"`: `"'=CMD(""calc""),""and so"""`,
	} {
		if got := written(t, cell); got != want+"\r\n" {
			t.Errorf("%q is written as %q, want %q", cell, got, want)
		}
	}
}

func TestWriter_FullDisk_IsAnError(t *testing.T) {
	reader, pipe := io.Pipe()
	if err := reader.CloseWithError(errors.New("no space left on device")); err != nil {
		t.Fatal(err)
	}
	w := csvfile.NewWriter(pipe, "note")
	if err := w.Flush(); err == nil {
		t.Error("Flush returned no error")
	}
	if err := w.Row("Heron"); err == nil {
		t.Error("Row returned no error after the failure")
	}
}

// FuzzWriter checks that reading returns the cells that were written. It also checks that another program reads the
// same cells, some with an apostrophe in front.
func FuzzWriter(f *testing.F) {
	for _, seed := range []string{
		"", "Heron", "=1+1", "'", "''=1", "\r", "\r\n", "a\rb", `"`, `",`, "\uff1d", "\ufeff",
		"\xff", "\xef\xbc", ",", "x;=1", ";'", "';'\"=", "\t=", ";\uff1d", `;""'`,
	} {
		f.Add(seed, "Alder")
		f.Add("Alder", seed)
	}
	f.Fuzz(func(t *testing.T, nick, note string) {
		var file bytes.Buffer
		w := csvfile.NewWriter(&file, "code", "reward", "nick", "note")
		if err := errors.Join(w.Row("SUMMER-20", "20%", nick, note), w.Flush()); err != nil {
			t.Fatal(err)
		}
		rows := slices.Collect(rowsOf(t, file.String()))
		if len(rows) != 1 {
			t.Fatalf("%d rows of %q", len(rows), file.String())
		}
		lines := strings.NewReplacer("\r\n", "\n") // a line break within a cell may change, but no voucher has one
		if terms := rows[0].Terms; terms.Nick != lines.Replace(nick) || terms.Note != lines.Replace(note) ||
			terms.Written != "SUMMER-20" {
			t.Errorf("%q is read as %+v", file.String(), terms)
		}
		checkOtherProgram(t, file.Bytes(), nick, note)
	})
}

// checkOtherProgram checks that encoding/csv reads nick and note as the last cells of the last row.
func checkOtherProgram(t *testing.T, file []byte, nick, note string) {
	t.Helper()
	if strings.Contains(nick+note, "\r") {
		return // encoding/csv drops some carriage returns
	}
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[1]) != 4 {
		t.Fatalf("encoding/csv reads %q, %v", rows, err)
	}
	for i, cell := range []string{nick, note} {
		got := rows[1][2+i]
		if strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(cell, "'", "") {
			t.Errorf("encoding/csv reads %q instead of %q", got, cell)
		}
		for _, part := range strings.FieldsFunc(got, func(r rune) bool { return r == ';' || r == '\n' || r == '\t' }) {
			if strings.ContainsAny(part[:1], "=+-@") {
				t.Errorf("a spreadsheet runs %q of %q as a formula", part, got)
			}
		}
	}
}
