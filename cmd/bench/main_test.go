package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"shopfront/internal/measure/benchmark"
)

func TestArgumentsAreChecked(t *testing.T) {
	for argument, want := range map[string]string{
		"--rounds=0": "1 or more", "--samples=-1": "1 or more", "fast": "unknown argument", "--speed": "not defined", "--starts=many": "invalid value",
	} {
		if err := run(t.Context(), []string{argument}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", argument, err, want)
		}
	}
	if err := run(t.Context(), []string{"oracle", "--rounds=1"}, io.Discard, io.Discard); err == nil {
		t.Error("the oracle has rounds")
	}
}

func TestOracleAsJSON(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"oracle", "--samples", "1", "--json"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var oracle benchmark.Oracle
	if err := json.Unmarshal([]byte(out.String()), &oracle); err != nil {
		t.Fatal(err)
	}
	if oracle.Samples != 1 || len(oracle.Refusals) == 0 || oracle.Refusals[0].P50 <= 0 {
		t.Errorf("%+v", oracle)
	}
}
