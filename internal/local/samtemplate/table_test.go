package samtemplate_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/local/samtemplate"
)

func tables(t *testing.T) []samtemplate.Table {
	t.Helper()
	template, err := samtemplate.Load(repository, nil)
	if err != nil {
		t.Fatal(err)
	}
	return template.Tables
}

// Tests that share a DynamoDB Local may create a table at the same time.
func TestTable_CreatedManyTimesAtOnce_IsNoError(t *testing.T) {
	client := localtest.Client(t)
	for _, table := range tables(t) {
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

func TestTable_ExistingWithOtherKeysIndexOrStream_IsRejected(t *testing.T) {
	client, all := localtest.Client(t), tables(t)
	checkouts := all[slices.IndexFunc(all, func(t samtemplate.Table) bool { return t.LogicalID == "Checkouts" })]
	number := func(attribute string) func(*samtemplate.Table) {
		return func(other *samtemplate.Table) {
			for i, a := range other.Attributes {
				if aws.ToString(a.AttributeName) == attribute {
					other.Attributes[i].AttributeType = types.ScalarAttributeTypeN
				}
			}
		}
	}
	for what, change := range map[string]func(*samtemplate.Table){
		"a key of another type":            number("sk"),
		"a key of its index, another type": number("ordered"),
		"an index of another name":         func(other *samtemplate.Table) { other.Indexes[0].IndexName = aws.String("sales") },
		"another stream":                   func(other *samtemplate.Table) { other.Stream = types.StreamViewTypeKeysOnly },
		"no stream":                        func(other *samtemplate.Table) { other.Stream = "" },
	} {
		other, name := checkouts, "checkouts-"+rand.Text()
		other.Indexes, other.Attributes = slices.Clone(other.Indexes), slices.Clone(other.Attributes)
		change(&other)
		for range 2 {
			if err := other.Create(t.Context(), client, name); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if err := checkouts.Create(t.Context(), client, name); err == nil || !strings.Contains(err.Error(), "differ") {
			t.Errorf("%s: got %v, want an error about the difference", what, err)
		}
	}
}
