package samtemplate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is a table that the stack creates.
type Table struct {
	LogicalID string // in the template, such as Vouchers
	// Name is the table's name on this machine: that of the stack's output with the deployed table's name, such as VouchersTable.
	Name string

	Attributes []types.AttributeDefinition
	Keys       []types.KeySchemaElement
	TTL        string // the attribute by which DynamoDB deletes expired items, empty for none
}

// Create creates the table under a name, in DynamoDB Local: without what protects a deployed table or prepares it for load. It
// keeps a table that exists, and fails if that one has other keys.
func (t Table) Create(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: t.Attributes, KeySchema: t.Keys,
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		err = t.compare(ctx, client, name)
	}
	if err != nil || t.TTL == "" {
		return err
	}
	// An earlier run may have ended after it created the table and before it came here.
	current, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil || current.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(t.TTL), Enabled: aws.Bool(true)},
	})
	return err
}

func (t Table) compare(ctx context.Context, client *dynamodb.Client, name string) error {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err == nil && describeKeys(out.Table.KeySchema, out.Table.AttributeDefinitions) != describeKeys(t.Keys, t.Attributes) {
		err = errors.New("its keys differ from the template's")
	}
	return err
}

// describeKeys writes a table's keys as text: their names, types and roles, the partition key first.
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
