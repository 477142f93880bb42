package samtemplate_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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

// Tests that share DynamoDB Local create its tables at the same time.
func TestTable_CreatedManyTimesAtOnce_Exists(t *testing.T) {
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

// checkouts returns the table of checkouts as the template defines it, and as a shop of an older version has it: without the index.
func checkouts(t *testing.T) (now, before samtemplate.Table) {
	t.Helper()
	all := tables(t)
	now = all[slices.IndexFunc(all, func(table samtemplate.Table) bool { return table.LogicalID == "Checkouts" })]
	before = now
	before.Indexes, before.Attributes = nil, slices.DeleteFunc(slices.Clone(now.Attributes), func(a types.AttributeDefinition) bool {
		return aws.ToString(a.AttributeName) == "ordered"
	})
	return now, before
}

func TestTable_ExistingWithoutTheIndex_GetsIt(t *testing.T) {
	client, name := localtest.Client(t), "checkouts-"+rand.Text()
	now, before := checkouts(t)
	for _, table := range []samtemplate.Table{before, now, now} {
		if err := table.Create(t.Context(), client, name); err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(name), IndexName: now.Indexes[0].IndexName, KeyConditionExpression: aws.String("customer = :customer"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":customer": &types.AttributeValueMemberS{Value: "emberforge"}},
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTable_ExistingIndexWithOtherKeys_IsRejected(t *testing.T) {
	client, name := localtest.Client(t), "checkouts-"+rand.Text()
	now, before := checkouts(t)
	before.Indexes = []types.GlobalSecondaryIndex{{
		IndexName: now.Indexes[0].IndexName, Projection: now.Indexes[0].Projection,
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("sk"), KeyType: types.KeyTypeHash}},
	}}
	if err := before.Create(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	err := now.Create(t.Context(), client, name)
	if err == nil || !strings.Contains(err.Error(), "the keys of its index orders differ") {
		t.Errorf("%v, want an error about the keys", err)
	}
}
