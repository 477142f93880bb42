package main

import (
	"bytes"
	"encoding/json"
	"slices"
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

func TestJSON_ControlAndInvisibleCharacters_AreEscaped(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	nick := "\x1b[2JAlder\x7f\u009b31m\u202e\U000E0041 桜　🌾"
	if err := writeJSON(&stdout, map[string]any{"nick": nick, "data": json.RawMessage(`{"a":"\u009b"}`)}); err != nil {
		t.Fatal(err)
	}
	want := `{"data":{"a":"\u009b"},"nick":"\u001b[2JAlder\u007f\u009b31m\u202e\udb40\udc41 桜　🌾"}` + "\n"
	if stdout.String() != want {
		t.Errorf("got %q, want %q", stdout.String(), want)
	}
	var read struct{ Nick string }
	if err := json.Unmarshal(stdout.Bytes(), &read); err != nil || read.Nick != nick {
		t.Errorf("reads as %q, %v", read.Nick, err)
	}
}

// A file arrives in pieces, which may divide a character.
func TestVisible_AnyPieces_ShowTheSame(t *testing.T) {
	t.Parallel()
	const file, want = "nick,data\r\nAlder,\"a\u009b\rb;桜\u202e\xff\"\r\n", "nick,data\nAlder,\"a\\u009bb;桜\\u202e\\ufffd\"\n"
	for size := 1; size <= len(file); size++ {
		var terminal bytes.Buffer
		screen := visible{to: &terminal}
		for piece := range slices.Chunk([]byte(file), size) {
			if n, err := screen.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if terminal.String() != want {
			t.Errorf("in pieces of %d bytes: %q, want %q", size, terminal.String(), want)
		}
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
