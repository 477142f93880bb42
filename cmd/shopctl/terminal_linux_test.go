package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFile_OnlyOnATerminal_IsEscaped(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	file, err := os.Create(filepath.Join(t.TempDir(), "orders.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, isEscaped := (&output{stdout: terminal}).file().(*visible); !isEscaped {
		t.Error("a file on a terminal is not escaped")
	}
	if _, isEscaped := (&output{stdout: file}).file().(*visible); isEscaped {
		t.Error("a file is escaped although it is not on a terminal")
	}
}
