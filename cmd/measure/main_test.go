package main

import (
	"io"
	"strings"
	"testing"
)

func TestRun_WrongArguments_AreRefused(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                    "bench, oracle, cost or bulk",
		"speed":               `"speed" is not`,
		"bench --rounds=0":    "1 or more",
		"oracle --samples=-1": "1 or more",
		"bench fast":          `unknown argument "fast"`,
		"bench --speed":       "not defined",
		"bench --starts=many": "invalid value",
		"oracle --rounds=1":   "not defined",
		"cost monthly":        `unknown argument "monthly"`,
		"cost --requests=0":   "1 or more",
		"cost --free-tier":    "not defined",
		"bulk --count=0":      "1 or more",
	} {
		if err := run(t.Context(), strings.Fields(arguments), io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("measure %s: error %v, want %q", arguments, err, want)
		}
	}
}
