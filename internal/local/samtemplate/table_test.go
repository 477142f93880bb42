package samtemplate_test

import (
	"crypto/rand"
	"sync"
	"testing"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/local/samtemplate"
)

// Tests that share DynamoDB Local create its tables at the same time.
func TestTable_CreatedManyTimesAtOnce_Exists(t *testing.T) {
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	template, err := samtemplate.Load(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := localtest.Client(t)
	for _, table := range template.Tables {
		name := table.Name + "-" + rand.Text()
		var creating sync.WaitGroup
		for range 8 {
			creating.Go(func() {
				if err := table.Create(t.Context(), client, name); err != nil {
					t.Error(err)
				}
			})
		}
		creating.Wait()
	}
}
