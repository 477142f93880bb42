package localtest

import (
	"crypto/rand"
	"testing"

	"shopfront/internal/local/samtemplate"
)

// Table creates a table for one test alone, as the stack defines the one with that output, such as VouchersTable, and
// returns its name.
func Table(tb testing.TB, output string) string {
	tb.Helper()
	checkout, err := root()
	if err != nil {
		tb.Fatal(err)
	}
	template, err := samtemplate.Load(checkout, nil)
	if err != nil {
		tb.Fatal(err)
	}
	client := Client(tb)
	for _, table := range template.Tables() {
		if table.Output != output {
			continue
		}
		name := output + "-" + rand.Text()
		if _, err := client.CreateTable(tb.Context(), table.CreateTable(name)); err != nil {
			tb.Fatal(err)
		}
		if ttl := table.UpdateTimeToLive(name); ttl != nil {
			if _, err := client.UpdateTimeToLive(tb.Context(), ttl); err != nil {
				tb.Fatal(err)
			}
		}
		return name
	}
	tb.Fatalf("the stack has no table with the output %s", output)
	return ""
}
