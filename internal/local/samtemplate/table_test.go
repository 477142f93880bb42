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

// checkouts returns the definition of the checkouts table twice: now is the template's definition, and before is an older version's
// definition, without the index.
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

func TestTable_ExistingWithoutAnIndex_GetsTheIndex(t *testing.T) {
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
		t.Errorf("got %v, want an error about the keys", err)
	}
}

// The tables of an older version have no stream. Create adds the stream, but never replaces an existing stream, because its unread records
// would be lost.
func TestTable_ExistingWithoutAStream_GetsAStreamOnce(t *testing.T) {
	client, name := localtest.Client(t), "checkouts-"+rand.Text()
	table, _ := checkouts(t)
	stream := func(want types.StreamViewType) (arn string) {
		t.Helper()
		out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if err != nil {
			t.Fatal(err)
		}
		got := types.StreamViewType("")
		if out.Table.StreamSpecification != nil {
			got = out.Table.StreamSpecification.StreamViewType
		}
		if got != want {
			t.Errorf("the stream's view type is %q, want %q", got, want)
		}
		return aws.ToString(out.Table.LatestStreamArn)
	}
	create := func(view types.StreamViewType) {
		t.Helper()
		table.Stream = view
		if err := table.Create(t.Context(), client, name); err != nil {
			t.Fatal(err)
		}
	}
	create("")
	stream("")
	create(types.StreamViewTypeNewAndOldImages)
	first := stream(types.StreamViewTypeNewAndOldImages)
	for _, view := range []types.StreamViewType{types.StreamViewTypeNewAndOldImages, types.StreamViewTypeKeysOnly, ""} {
		create(view)
		if again := stream(types.StreamViewTypeNewAndOldImages); again != first {
			t.Errorf("the stream %s was replaced by %s", first, again)
		}
	}
}

func TestTable_StreamEnabledManyTimesAtOnce_IsNoError(t *testing.T) {
	client, name := localtest.Client(t), "checkouts-"+rand.Text()
	table, _ := checkouts(t)
	for _, view := range []types.StreamViewType{"", types.StreamViewTypeNewAndOldImages} {
		table.Stream = view
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
