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
	// Name is the table's name on this machine: the key of the stack's output that has the deployed name, such as VouchersTable.
	Name string

	Attributes []types.AttributeDefinition
	Keys       []types.KeySchemaElement
	TTL        string // the attribute with which DynamoDB deletes expired items; may be empty
}

// Create creates the table under a name in DynamoDB Local, without the protection and the warm throughput of a deployed table.
// It keeps an existing table, but fails if its keys differ.
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
	// An earlier run may have ended between creating the table and this step.
	enabled, err := hasTTL(ctx, client, name)
	if err != nil || enabled {
		return err
	}
	_, failed := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(t.TTL), Enabled: aws.Bool(true)},
	})
	if failed == nil {
		return nil
	}
	if enabled, err := hasTTL(ctx, client, name); err != nil || !enabled { // otherwise another test enabled it meanwhile
		return failed
	}
	return nil
}

func hasTTL(ctx context.Context, client *dynamodb.Client, name string) (bool, error) {
	current, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	return err == nil && current.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled, err
}

func (t Table) compare(ctx context.Context, client *dynamodb.Client, name string) error {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err == nil && describeKeys(out.Table.KeySchema, out.Table.AttributeDefinitions) != describeKeys(t.Keys, t.Attributes) {
		err = errors.New("its keys differ from the template's")
	}
	return err
}

// describeKeys returns a table's keys as a string: their names, types and roles, the partition key first.
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
