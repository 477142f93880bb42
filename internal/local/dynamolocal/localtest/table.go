package localtest

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/samtemplate"
)

//nolint:gochecknoglobals // the template is the same for all tests
var tables = sync.OnceValues(func() ([]samtemplate.Table, error) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		return nil, err
	}
	template, err := samtemplate.Load(root, nil)
	if err != nil {
		return nil, err
	}
	return template.Tables, nil
})

// Create creates a table for one test and returns its name. The table is like the stack's table that the given output
// names, such as VouchersTable. Without a stream, writes in DynamoDB Local are several times faster.
func Create(tb testing.TB, client *dynamodb.Client, output string, hasStream bool) string {
	tb.Helper()
	tables, err := tables()
	if err != nil {
		tb.Fatal(err)
	}
	for _, table := range tables {
		if table.Name == output {
			name := output + "-" + rand.Text()
			table.TTL = "" // DynamoDB Local deletes expired items, and items of tests are as old as their fixed clocks
			if !hasStream {
				table.Stream = ""
			}
			if err := table.Create(context.Background(), client, name); err != nil {
				tb.Fatal(err)
			}
			return name
		}
	}
	tb.Fatalf("the stack has no table with the output %s", output)
	return ""
}
