package samtemplate

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is a table that the stack creates.
type Table struct {
	// Output is the name of the stack's output that tells the table's name, such as VouchersTable. The parameter of the
	// same name takes an existing table instead.
	Output string
	// LogicalID is its name in its template, such as Vouchers.
	LogicalID string

	address    string
	attributes []types.AttributeDefinition
	keys       []types.KeySchemaElement
	ttl        string // the attribute's name, empty for none
}

// readTables reads the tables of the stack and of those nested in it.
func (s *stack) readTables() ([]Table, error) {
	var tables []Table
	for _, name := range s.order {
		r := s.resources[name]
		creates, err := s.creates(r)
		if err != nil {
			return nil, err
		}
		switch {
		case creates && r.kind == typeTable:
			table, err := s.readTable(r)
			if err != nil {
				return nil, err
			}
			tables = append(tables, table)
		case creates && r.kind == typeStack:
			nested, err := s.stacks[name].readTables()
			if err != nil {
				return nil, err
			}
			tables = append(tables, nested...)
		}
	}
	return tables, nil
}

// readTable reads a table. What protects or prepares a deployed one has no counterpart in DynamoDB Local.
func (s *stack) readTable(r resource) (Table, error) {
	v, err := s.properties(r)
	d := decoder{err: err}
	properties := d.mapping(v, "BillingMode", "AttributeDefinitions", "KeySchema", "TimeToLiveSpecification",
		"DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "SSESpecification", "WarmThroughput", "OnDemandThroughput")
	if !properties["BillingMode"].exists() {
		d.fail(r.at.errorf("the table %s wants BillingMode: PAY_PER_REQUEST", r.name))
	}
	d.oneOf(properties["BillingMode"], string(types.BillingModePayPerRequest))
	table := Table{LogicalID: r.name, address: s.address + r.name}
	for _, item := range d.list(properties["AttributeDefinitions"]) {
		attribute := d.mapping(item, "AttributeName", "AttributeType")
		table.attributes = append(table.attributes, types.AttributeDefinition{
			AttributeName: aws.String(d.text(attribute["AttributeName"], "")),
			AttributeType: types.ScalarAttributeType(d.oneOf(attribute["AttributeType"], "S", "N", "B")),
		})
	}
	for _, item := range d.list(properties["KeySchema"]) {
		key := d.mapping(item, "AttributeName", "KeyType")
		table.keys = append(table.keys, types.KeySchemaElement{
			AttributeName: aws.String(d.text(key["AttributeName"], "")),
			KeyType:       types.KeyType(d.oneOf(key["KeyType"], "HASH", "RANGE")),
		})
	}
	if len(table.keys) == 0 {
		d.fail(r.at.errorf("the table %s wants a KeySchema", r.name))
	}
	ttl := d.mapping(properties["TimeToLiveSpecification"], "AttributeName", "Enabled")
	if d.flag(ttl["Enabled"]) {
		table.ttl = d.text(ttl["AttributeName"], "")
	}
	return table, d.err
}

// CreateTable is the call that creates the table under a name, in DynamoDB Local: without what protects a deployed table
// or makes it ready for load.
func (t Table) CreateTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: t.attributes,
		KeySchema:            t.keys,
	}
}

// UpdateTimeToLive is the call that lets DynamoDB delete expired items of the table under a name, nil where none expire.
func (t Table) UpdateTimeToLive(name string) *dynamodb.UpdateTimeToLiveInput {
	if t.ttl == "" {
		return nil
	}
	return &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(t.ttl), Enabled: aws.Bool(true),
		},
	}
}
