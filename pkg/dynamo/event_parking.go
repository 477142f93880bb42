package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/event"
)

// EventParking stores changes that could not be recorded as events, in the table of events. It implements event.Parking. Create it with
// NewEventParking.
type EventParking struct {
	*EventSource

	api   EventParkingAPI
	table string
}

// EventParkingAPI is the part of DynamoDB that EventParking needs.
type EventParkingAPI interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// NewEventParking returns the parked changes in a table of events. source reads their items again.
func NewEventParking(api EventParkingAPI, name string, source *EventSource) *EventParking {
	return &EventParking{source, api, name}
}

// maxReason bounds the stored text of an error, in bytes.
const maxReason = 500

// Park implements event.Parking.
func (p *EventParking) Park(ctx context.Context, parked event.Parked) error {
	call := &table.Update{Key: table.ParkedKey(parked.Place)}
	call.Set(table.AttrReason, table.Str(parked.Reason[:min(len(parked.Reason), maxReason)]))
	call.Set(table.AttrOwner, table.Str(parked.Customer))
	call.SetOnce(table.AttrFirst, table.Millis(parked.First))
	call.Add(table.AttrAttempts, 1)
	_, err := p.api.UpdateItem(ctx, call.Input(p.table, types.ReturnValueNone))
	return table.Outcome(err)
}

// Release implements event.Parking. If another change of the item was set aside meanwhile, the attempts have increased, and the item stays
// parked.
func (p *EventParking) Release(ctx context.Context, parked event.Parked) error {
	_, err := p.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(p.table), Key: table.ParkedKey(parked.Place).Attributes(),
		ConditionExpression:       aws.String(table.AttrAttempts + " = :attempts"),
		ExpressionAttributeValues: table.Item{":attempts": table.Num(parked.Attempts)},
	})
	if _, changed := table.OldItem(err); changed {
		return nil
	}
	return table.Outcome(err)
}

// maxParked bounds how many parked changes are read at a time.
const maxParked = 1000

// Parked implements event.Parking.
func (p *EventParking) Parked(ctx context.Context) ([]event.Parked, error) {
	out, err := p.api.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(p.table), ConsistentRead: aws.Bool(true), Limit: aws.Int32(maxParked),
		KeyConditionExpression:    aws.String(table.PartitionKey + " = :parked"),
		ExpressionAttributeValues: table.Item{":parked": table.Str(table.ParkedPartition)},
	})
	if err != nil {
		return nil, table.Outcome(err)
	}
	parked := make([]event.Parked, len(out.Items))
	for i, attributes := range out.Items {
		it := table.Item(attributes)
		parked[i] = event.Parked{
			Place: table.ParkedPlace(it.Str(table.SortKey)), Customer: catalog.CustomerID(it.Str(table.AttrOwner)),
			Reason: it.Str(table.AttrReason), First: it.Time(table.AttrFirst), Attempts: int(it.Num(table.AttrAttempts)),
		}
	}
	return parked, nil
}
