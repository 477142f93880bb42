package testshop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Replacement replaces a string that occurs once in a source file. File is the file's slash-separated path in the
// source tree.
type Replacement struct{ File, Old, New string }

// Overlay returns the changed files, as BuildChanged needs them. The test fails unless each Old occurs exactly
// once.
func Overlay(tb testing.TB, replacements ...Replacement) map[string]string {
	tb.Helper()
	root, texts := findRoot(tb), make(map[string]string)
	for _, r := range replacements {
		text, changed := texts[r.File]
		if !changed {
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.File))) //nolint:gosec // a file of the source tree
			if err != nil {
				tb.Fatal(err)
			}
			text = string(source)
		}
		if n := strings.Count(text, r.Old); n != 1 {
			tb.Fatalf("%s has changed, so the replacement must be updated: the following text occurs %d times, not "+
				"once:\n%s", r.File, n, r.Old)
		}
		texts[r.File] = strings.Replace(text, r.Old, r.New, 1)
	}
	return texts
}

// overlayFlags returns the flags with which the go command reads the texts of an overlay instead of the files.
func overlayFlags(tb testing.TB, overlay map[string]string) (flags []string) {
	tb.Helper()
	if len(overlay) == 0 {
		return nil
	}
	root, dir := findRoot(tb), tb.TempDir()
	replacements := make(map[string]string)
	write := func(name string, text []byte) (path string) {
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			tb.Fatal(err)
		}
		return path
	}
	for name, text := range overlay {
		replacements[filepath.Join(root, filepath.FromSlash(name))] = write(fmt.Sprintf("overlay%d.go",
			len(replacements)), []byte(text))
	}
	list, err := json.Marshal(map[string]any{"Replace": replacements})
	if err != nil {
		tb.Fatal(err)
	}
	return []string{"-overlay", write("overlay.json", list)}
}
