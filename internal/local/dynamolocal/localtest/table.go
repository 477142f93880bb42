package localtest

import (
	"crypto/rand"
	"testing"

	"shopfront/internal/local/samtemplate"
)

// Table creates a table for one test and returns its name. The table is like the stack's table that the given output
// names, such as VouchersTable. It has no stream, because in DynamoDB Local a stream makes writes several times slower.
func Table(tb testing.TB, output string) string {
	tb.Helper()
	return create(tb, output, false)
}

// TableWithStream creates a table like Table, but with the stream.
func TableWithStream(tb testing.TB, output string) string {
	tb.Helper()
	return create(tb, output, true)
}

func create(tb testing.TB, output string, hasStream bool) string {
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
			if !hasStream {
				table.Stream = ""
			}
			if err := table.Create(tb.Context(), client, name); err != nil {
				tb.Fatal(err)
			}
			return name
		}
	}
	tb.Fatalf("the stack has no table with the output %s", output)
	return ""
}
