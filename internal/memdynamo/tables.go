package memdynamo

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// arn is what the names of tables and streams begin with.
const arn = "arn:aws:dynamodb:eu-central-1:000000000000:table/"

// createTable creates a table. Its keys must be strings.
func (s *Store) createTable(in *dynamodb.CreateTableInput) (any, error) {
	require(in, "TableName", "BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes",
		"StreamSpecification")
	s.naming.Lock()
	defer s.naming.Unlock()
	name := aws.ToString(in.TableName)
	if s.tables[name] != nil {
		return nil, &types.ResourceInUseException{Message: aws.String("Cannot create preexisting table")}
	}
	now := time.Now()
	t := &table{name: name, primary: newTree("", keysIn(in.KeySchema), keyNames{}), description: types.TableDescription{
		TableName: in.TableName, TableArn: aws.String(arn + name), TableStatus: types.TableStatusActive,
		CreationDateTime: &now, AttributeDefinitions: in.AttributeDefinitions, KeySchema: in.KeySchema,
		BillingModeSummary: &types.BillingModeSummary{BillingMode: in.BillingMode},
	}}
	for _, index := range in.GlobalSecondaryIndexes {
		t.addIndex(index.IndexName, index.KeySchema, index.Projection)
	}
	t.setStream(in.StreamSpecification)
	s.tables[name] = t
	return &dynamodb.CreateTableOutput{TableDescription: &t.description}, nil
}

func keysIn(schema []types.KeySchemaElement) (names keyNames) {
	for _, element := range schema {
		if element.KeyType == types.KeyTypeHash {
			names.partition = *element.AttributeName
		} else {
			names.sort = *element.AttributeName
		}
	}
	return names
}

func (t *table) addIndex(name *string, keys []types.KeySchemaElement, projection *types.Projection) {
	if projection == nil || projection.ProjectionType != types.ProjectionTypeAll {
		panic("an index that does not have all attributes is not simulated")
	}
	index := newTree(*name, keysIn(keys), t.names())
	for _, entries := range t.primary.items {
		for _, e := range entries {
			index.put(e.item)
		}
	}
	t.indexes = append(t.indexes, index)
	t.description.GlobalSecondaryIndexes = append(t.description.GlobalSecondaryIndexes,
		types.GlobalSecondaryIndexDescription{
			IndexName: name, KeySchema: keys, Projection: projection, IndexStatus: types.IndexStatusActive,
		})
}

func (t *table) setStream(specification *types.StreamSpecification) {
	if specification == nil {
		return
	}
	t.stream, t.description.StreamSpecification, t.description.LatestStreamArn = nil, nil, nil
	if aws.ToBool(specification.StreamEnabled) {
		t.stream = &stream{arn: t.streamARN(), view: specification.StreamViewType}
		t.description.StreamSpecification, t.description.LatestStreamArn = specification, &t.stream.arn
	}
}

// updateTable adds indexes, and turns the stream on or off.
func (s *Store) updateTable(in *dynamodb.UpdateTableInput) (any, error) {
	require(in, "TableName", "AttributeDefinitions", "GlobalSecondaryIndexUpdates", "StreamSpecification")
	t, err := s.created(in.TableName)
	if err != nil {
		return nil, err
	}
	if in.StreamSpecification != nil && aws.ToBool(in.StreamSpecification.StreamEnabled) == (t.stream != nil) {
		return nil, invalid("Table already has an enabled stream, or has no stream: " + t.name)
	}
	if in.AttributeDefinitions != nil {
		t.description.AttributeDefinitions = in.AttributeDefinitions
	}
	for _, update := range in.GlobalSecondaryIndexUpdates {
		require(&update, "Create")
		t.addIndex(update.Create.IndexName, update.Create.KeySchema, update.Create.Projection)
	}
	t.setStream(in.StreamSpecification)
	return &dynamodb.UpdateTableOutput{TableDescription: &t.description}, nil
}

// created returns a table that CreateTable has created.
func (s *Store) created(name *string) (*table, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	if t := s.tables[aws.ToString(name)]; t != nil && t.description.TableName != nil {
		return t, nil
	}
	return nil, missing(aws.ToString(name))
}

func (s *Store) describeTable(in *dynamodb.DescribeTableInput) (any, error) {
	t, err := s.created(in.TableName)
	if err != nil {
		return nil, err
	}
	description := t.description
	for _, entries := range t.primary.items {
		description.ItemCount = aws.Int64(aws.ToInt64(description.ItemCount) + int64(len(entries)))
	}
	return &dynamodb.DescribeTableOutput{Table: &description}, nil
}

func (s *Store) deleteTable(in *dynamodb.DeleteTableInput) (any, error) {
	t, err := s.created(in.TableName)
	if err != nil {
		return nil, err
	}
	s.naming.Lock()
	defer s.naming.Unlock()
	delete(s.tables, t.name)
	return &dynamodb.DeleteTableOutput{TableDescription: &t.description}, nil
}

func (s *Store) listTables(in *dynamodb.ListTablesInput) (any, error) {
	require(in)
	s.naming.Lock()
	defer s.naming.Unlock()
	return &dynamodb.ListTablesOutput{TableNames: slices.Sorted(maps.Keys(s.tables))}, nil
}

// updateTimeToLive names the attribute that says when DynamoDB may delete an item. Items are never deleted, as
// DynamoDB may take days to do that.
func (s *Store) updateTimeToLive(in *dynamodb.UpdateTimeToLiveInput) (any, error) {
	t, err := s.created(in.TableName)
	if err != nil {
		return nil, err
	}
	if aws.ToBool(in.TimeToLiveSpecification.Enabled) == (t.ttl != "") {
		return nil, invalid("TimeToLive is already enabled or disabled")
	}
	t.ttl = aws.ToString(in.TimeToLiveSpecification.AttributeName)
	return &dynamodb.UpdateTimeToLiveOutput{TimeToLiveSpecification: in.TimeToLiveSpecification}, nil
}

func (s *Store) describeTimeToLive(in *dynamodb.DescribeTimeToLiveInput) (any, error) {
	t, err := s.created(in.TableName)
	if err != nil {
		return nil, err
	}
	described := &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	if t.ttl != "" {
		described.TimeToLiveStatus, described.AttributeName = types.TimeToLiveStatusEnabled, &t.ttl
	}
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: described}, nil
}
