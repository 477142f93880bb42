package samtemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Table is a table that the stack creates.
type Table struct {
	LogicalID string // in the template, such as Vouchers
	// Name is the table's name on this machine, such as VouchersTable. It is the key of the stack's output that contains the name of
	// the deployed table.
	Name string

	Attributes []types.AttributeDefinition
	Keys       []types.KeySchemaElement
	Indexes    []types.GlobalSecondaryIndex // without the maximum throughput of a deployed index
	TTL        string                       // the attribute that says when DynamoDB may delete an item; may be empty
	Stream     types.StreamViewType         // what a record of the table's stream contains; empty if the table has no stream
}

// Create creates the table with the given name in DynamoDB Local. Unlike a deployed table, it has no deletion protection and no warm
// throughput. If a table with this name exists, Create adds only the indexes and the stream that are missing. It fails if the keys differ.
func (t Table) Create(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: t.Attributes, KeySchema: t.Keys,
		GlobalSecondaryIndexes: t.Indexes, StreamSpecification: t.stream(),
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		err = t.complete(ctx, client, name)
	}
	if err != nil || t.TTL == "" {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(t.TTL), Enabled: aws.Bool(true)},
	})
	if err == nil || hasTTL(ctx, client, name) { // the update fails if an earlier run or another test has enabled the TTL
		return nil
	}
	return err
}

func hasTTL(ctx context.Context, client *dynamodb.Client, name string) bool {
	current, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	return err == nil && current.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled
}

func (t Table) stream() *types.StreamSpecification {
	if t.Stream == "" {
		return nil
	}
	return &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: t.Stream}
}

// complete adds the indexes and the stream that an existing table lacks. It never replaces a stream, even if the view types differ,
// because the records of the old stream could then no longer be read.
func (t Table) complete(ctx context.Context, client *dynamodb.Client, name string) error {
	existing, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		return err
	}
	attributes := existing.Table.AttributeDefinitions
	if describeKeys(existing.Table.KeySchema, attributes) != describeKeys(t.Keys, t.Attributes) {
		return errors.New("its keys differ from the template's")
	}
	keys := make(map[string]string)
	for _, index := range existing.Table.GlobalSecondaryIndexes {
		keys[aws.ToString(index.IndexName)] = describeKeys(index.KeySchema, attributes)
	}
	for _, index := range t.Indexes {
		switch keys[aws.ToString(index.IndexName)] {
		case describeKeys(index.KeySchema, t.Attributes):
		case "":
			if err := t.add(ctx, client, name, index); err != nil {
				return fmt.Errorf("add the index %s: %w", aws.ToString(index.IndexName), err)
			}
		default:
			return fmt.Errorf("the keys of its index %s differ from the template's", aws.ToString(index.IndexName))
		}
	}
	if t.Stream == "" || existing.Table.StreamSpecification != nil {
		return nil
	}
	_, err = client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String(name), StreamSpecification: t.stream()})
	if refusal, is := errors.AsType[smithy.APIError](err); is && strings.Contains(refusal.ErrorMessage(), "already has an enabled stream") {
		return nil // another test enabled the stream at the same time
	}
	return err
}

// add adds an index and waits until it can be queried.
func (t Table) add(ctx context.Context, client *dynamodb.Client, name string, index types.GlobalSecondaryIndex) error {
	_, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: aws.String(name), AttributeDefinitions: t.Attributes,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		}}},
	})
	for err == nil {
		var out *dynamodb.DescribeTableOutput
		out, err = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if err == nil && !slices.ContainsFunc(out.Table.GlobalSecondaryIndexes, func(d types.GlobalSecondaryIndexDescription) bool {
			return d.IndexStatus != types.IndexStatusActive
		}) {
			return nil
		}
	}
	return err
}

// describeKeys returns the keys of a table or an index as a string. The string contains each key's name, type and role.
func describeKeys(keys []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	kinds := make(map[string]types.ScalarAttributeType)
	for _, attribute := range attributes {
		kinds[aws.ToString(attribute.AttributeName)] = attribute.AttributeType
	}
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "%s %s %s;", aws.ToString(key.AttributeName), kinds[aws.ToString(key.AttributeName)], key.KeyType)
	}
	return text.String()
}
