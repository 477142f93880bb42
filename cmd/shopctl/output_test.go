package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress_OnATerminal_IsShownAndCleared(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	bar := progress{bar: newBar(&terminal, "generate", 4)}
	bar.step()
	if shown := terminal.String(); !strings.Contains(shown, "generate") || !strings.Contains(shown, "1/4") {
		t.Errorf("shows %q", shown)
	}
	bar.end()
	shown := strings.Split(strings.Trim(terminal.String(), "\r"), "\r")
	if last := shown[len(shown)-1]; strings.TrimSpace(last) != "" {
		t.Errorf("leaves %q", last)
	}
}

func TestProgress_WithoutATerminal_PrintsALineEveryTenSeconds(t *testing.T) {
	t.Parallel()
	var pipe bytes.Buffer
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := program{output: output{stderr: &pipe}, now: func() time.Time { return now }}
	bar := p.newProgress("generated", 1000)
	for range 200 {
		bar.step()
		now = now.Add(100 * time.Millisecond)
	}
	bar.end()
	if want := "generated: 101 of 1000, 10 a second, 1m29s left\n"; pipe.String() != want {
		t.Errorf("wrote %q, want %q", pipe.String(), want)
	}
}

func TestTable_ControlSequences_AreQuoted(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	table := newTable(&terminal)
	table.row("\x1b[2Jkatla", "a\tb\nc", "\u202eolleh", "", "Ｈeron 7", "\x9b31m")
	if err := table.flush(); err != nil {
		t.Fatal(err)
	}
	want := `"\x1b[2Jkatla"  "a\tb\nc"  "\u202eolleh"  -  Ｈeron 7  "\x9b31m"` + "\n"
	if terminal.String() != want {
		t.Errorf("got %q want %q", terminal.String(), want)
	}
}

func TestShellWord_IsOneWord(t *testing.T) {
	t.Parallel()
	for batch, want := range map[string]string{
		"launch-2026": "launch-2026", "spring sale": "'spring sale'",
		"rowan's": `'rowan'\''s'`, "$(id)": "'$(id)'",
	} {
		if got := shellWord(batch); got != want {
			t.Errorf("%q is written %s, want %s", batch, got, want)
		}
	}
}
