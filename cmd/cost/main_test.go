package main

import (
	"io"
	"strings"
	"testing"
)

func TestArgumentsAreChecked(t *testing.T) {
	for arguments, want := range map[string]string{
		"monthly":      `unknown argument "monthly"`,
		"--requests=0": "--requests must be 1 or more",
		"--free-tier":  "flag provided but not defined",
	} {
		if err := run(t.Context(), []string{arguments}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", arguments, err, want)
		}
	}
}
