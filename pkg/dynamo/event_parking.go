package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

// EventParking stores, in the table of events, the places of changes that could not be recorded as events. It
// implements event.Parking. Create it with NewEventParking.
type EventParking struct {
	*EventSource

	api   EventParkingAPI
	table string
}

// EventParkingAPI lists the DynamoDB operations that EventParking calls.
type EventParkingAPI interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// NewEventParking returns an EventParking that stores parked changes in the named table of events. source reads the
// changed items again.
func NewEventParking(api EventParkingAPI, name string, source *EventSource) *EventParking {
	return &EventParking{source, api, name}
}

// maxReason bounds the text of an error that is stored as the reason, in bytes.
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

// Release implements event.Parking. If a change at the same place was parked meanwhile, the stored Attempts or First
// differ, and the parked change stays.
func (p *EventParking) Release(ctx context.Context, parked event.Parked) (bool, error) {
	_, err := p.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(p.table), Key: table.ParkedKey(parked.Place).Attributes(),
		ConditionExpression:      aws.String(table.AttrAttempts + " = :attempts AND #first = :first"),
		ExpressionAttributeNames: map[string]string{"#first": table.AttrFirst}, // a reserved word
		ExpressionAttributeValues: table.Item{
			":attempts": table.Num(parked.Attempts),
			":first":    table.Millis(parked.First),
		},
		// If the SDK sent the request twice, the first request may have deleted the parked change.
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if now, changed := table.OldItem(err); changed {
		return len(now) == 0, nil
	}
	return err == nil, table.Outcome(err)
}

const (
	// parkedPerPage is how many parked changes a query returns.
	parkedPerPage = 1000
	// maxParked bounds how many parked changes are read into memory. Once so many are read, no further page is read.
	maxParked = 10000
)

// Parked implements event.Parking.
func (p *EventParking) Parked(ctx context.Context) (parked []event.Parked, err error) {
	query := &dynamodb.QueryInput{
		TableName: aws.String(p.table), ConsistentRead: aws.Bool(true), Limit: aws.Int32(parkedPerPage),
		KeyConditionExpression:    aws.String(table.PartitionKey + " = :parked"),
		ExpressionAttributeValues: table.Item{":parked": table.Str(table.ParkedPartition)},
	}
	for {
		out, err := p.api.Query(ctx, query)
		if err != nil {
			return nil, table.Outcome(err)
		}
		for _, attributes := range out.Items {
			it := table.Item(attributes)
			parked = append(parked, event.Parked{
				Place: table.ParkedPlace(it.Str(table.SortKey)), Customer: catalog.CustomerID(it.Str(table.AttrOwner)),
				Reason: it.Str(table.AttrReason), First: it.Time(table.AttrFirst),
				Attempts: int(it.Num(table.AttrAttempts)),
			})
		}
		if query.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 || len(parked) >= maxParked {
			return parked, nil
		}
	}
}
