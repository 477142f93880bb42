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
)

// Table is a table that the stack creates.
type Table struct {
	LogicalID string // in the template, such as Vouchers
	// Name is the table's name on this machine, such as VouchersTable. It is the key of the stack's output that
	// contains the name of the deployed table.
	Name string

	Attributes []types.AttributeDefinition
	Keys       []types.KeySchemaElement
	Indexes    []types.GlobalSecondaryIndex // without the maximum throughput of a deployed index
	TTL        string                       // the attribute that says when DynamoDB may delete an item; may be empty
	// what a record of the table's stream contains; empty if the table has no stream
	Stream types.StreamViewType
}

// Create creates the table with the given name in DynamoDB Local. Unlike a deployed table, it has no deletion
// protection and no warm throughput. Create fails if a table with this name exists and differs.
func (t Table) Create(ctx context.Context, client *dynamodb.Client, name string) error {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: t.Attributes,
		KeySchema: t.Keys, GlobalSecondaryIndexes: t.Indexes,
	}
	if t.Stream != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: t.Stream}
	}
	_, err := client.CreateTable(ctx, in)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return t.compare(ctx, client, name)
	}
	if err != nil || t.TTL == "" {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(t.TTL),
			Enabled:       aws.Bool(true),
		},
	})
	return err
}

// compare returns an error if an existing table differs in its keys, indexes or stream.
func (t Table) compare(ctx context.Context, client *dynamodb.Client, name string) error {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err != nil {
		return err
	}
	existing := Table{Attributes: out.Table.AttributeDefinitions, Keys: out.Table.KeySchema}
	if stream := out.Table.StreamSpecification; stream != nil {
		existing.Stream = stream.StreamViewType
	}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		existing.Indexes = append(existing.Indexes,
			types.GlobalSecondaryIndex{IndexName: index.IndexName, KeySchema: index.KeySchema})
	}
	if has, want := existing.describe(), t.describe(); has != want {
		return fmt.Errorf("it exists and differs from the template: it has %s, and the template says %s", has, want)
	}
	return nil
}

// describe returns the parts of a table that cannot change.
func (t Table) describe() string {
	var parts []string
	for _, a := range t.Attributes {
		parts = append(parts, fmt.Sprintf("attribute %s %s", aws.ToString(a.AttributeName), a.AttributeType))
	}
	keys := func(of string, schema []types.KeySchemaElement) {
		for _, key := range schema {
			parts = append(parts, fmt.Sprintf("%s %s %s", of, key.KeyType, aws.ToString(key.AttributeName)))
		}
	}
	keys("key", t.Keys)
	for _, index := range t.Indexes {
		keys("index "+aws.ToString(index.IndexName), index.KeySchema)
	}
	slices.Sort(parts)
	return strings.Join(append(parts, "stream "+string(t.Stream)), ", ")
}
