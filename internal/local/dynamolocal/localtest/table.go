package localtest

import (
	"crypto/rand"
	"testing"

	"shopfront/internal/local/samtemplate"
)

// Table creates a table for one test and returns its name. The table is defined like the stack's table with that output, such as
// VouchersTable.
func Table(tb testing.TB, output string) string {
	tb.Helper()
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		tb.Fatal(err)
	}
	template, err := samtemplate.Load(root, nil)
	if err != nil {
		tb.Fatal(err)
	}
	client := Client(tb)
	for _, table := range template.Tables {
		if table.Name == output {
			name := output + "-" + rand.Text()
			if err := table.Create(tb.Context(), client, name); err != nil {
				tb.Fatal(err)
			}
			return name
		}
	}
	tb.Fatalf("the stack has no table with the output %s", output)
	return ""
}
