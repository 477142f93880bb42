package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"shopfront/internal/measure/benchmark"
)

func TestRun_WrongArguments_AreRefused(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                    "bench, oracle, cost or bulk",
		"speed":               `"speed" is not`,
		"bench --rounds=0":    "1 or more",
		"bench --samples=-1":  "1 or more",
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

func TestWrite_JSON_HasEveryFigure(t *testing.T) {
	measured := benchmark.Oracle{Samples: 1, Refusals: []benchmark.Refusal{{Code: "expired", P50: time.Millisecond}}}
	measured.Refusals[0].Superiority = 0.5
	var out strings.Builder
	if err := write(&out, measured, true); err != nil {
		t.Fatal(err)
	}
	var oracle benchmark.Oracle
	if err := json.Unmarshal([]byte(out.String()), &oracle); err != nil {
		t.Fatal(err)
	}
	if oracle.Samples != 1 || len(oracle.Refusals) != 1 || oracle.Refusals[0] != measured.Refusals[0] {
		t.Errorf("%+v, want %+v", oracle, measured)
	}
}
