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
	// Name is the table's name on this machine: the key of the stack's output that has the deployed name, such as VouchersTable.
	Name string

	Attributes []types.AttributeDefinition
	Keys       []types.KeySchemaElement
	Indexes    []types.GlobalSecondaryIndex // without the ceilings of a deployed index
	TTL        string                       // the attribute with which DynamoDB deletes expired items; may be empty
	Stream     types.StreamViewType         // what a record of the table's stream has; empty: the table has no stream
}

// Create creates the table under a name in DynamoDB Local, without the protection and the warm throughput of a deployed table.
// It keeps an existing table and adds the indexes and the stream that it lacks, but fails if keys differ.
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
	if err == nil || hasTTL(ctx, client, name) { // the update fails if an earlier run or another test enabled it
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

// complete adds the indexes and the stream that an existing table lacks. A table keeps its stream, even a stream with another view type,
// because a new stream would hide the records of the old stream.
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
	if isEnabled, is := errors.AsType[smithy.APIError](err); is && strings.Contains(isEnabled.ErrorMessage(), "already has an enabled stream") {
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

// describeKeys returns the keys of a table or an index as a string: their names, types and roles, the partition key first.
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
