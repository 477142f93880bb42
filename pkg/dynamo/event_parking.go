package dynamo

import (
	"context"
	"sync/atomic"
	"time"

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

	api       EventParkingAPI
	tableName string
	now       func() time.Time
}

// EventParkingAPI lists the DynamoDB operations that EventParking calls.
type EventParkingAPI interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// NewEventParking returns an EventParking that stores parked changes in the table of events. source reads the
// changed items again.
func NewEventParking(
	api EventParkingAPI, tableName string, source *EventSource, now func() time.Time,
) *EventParking {
	return &EventParking{source, api, tableName, now}
}

// announced is how long a shop stays announced after a change of it was set aside. Retrying the change announces the
// shop again.
const announced = 30 * 24 * time.Hour

// Announce implements event.Parking. Parked changes of different shops have different partition keys. The items of
// announced shops share one, so that the changes are found without a Scan.
func (p *EventParking) Announce(ctx context.Context, shop catalog.ShopID) error {
	it := table.ParkedShopKey(shop).Attributes()
	it[table.AttrOwner], it[table.AttrExpiresAt] = table.Str(shop), table.Num(p.now().Add(announced).Unix())
	_, err := p.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(p.tableName), Item: it})
	return table.Outcome(err)
}

// maxReason bounds the text of an error that is stored as the reason, in bytes.
const maxReason = 500

// Park implements event.Parking.
func (p *EventParking) Park(ctx context.Context, shop catalog.ShopID, changes ...event.Parked) error {
	if err := p.Announce(ctx, shop); err != nil {
		return err
	}
	return table.Outcome(atOnce(changes, func(parked event.Parked) error {
		update := &table.Update{Key: table.ParkedKey(shop, parked.Place)}
		update.Set(table.AttrReason, table.Str(parked.Reason[:min(len(parked.Reason), maxReason)]))
		update.Set(table.AttrOwner, table.Str(shop))
		update.SetOnce(table.AttrFirst, table.Millis(parked.First))
		update.Add(table.AttrAttempts, 1)
		_, err := p.api.UpdateItem(ctx, update.Input(p.tableName, types.ReturnValueNone))
		return err
	}))
}

// Release implements event.Parking.
func (p *EventParking) Release(ctx context.Context, changes ...event.Parked) (kept int, err error) {
	var released atomic.Int64
	err = atOnce(changes, func(parked event.Parked) error {
		isReleased, err := p.release(ctx, parked)
		if isReleased {
			released.Add(1)
		}
		return err
	})
	return len(changes) - int(released.Load()), table.Outcome(err)
}

// release forgets a parked change, and reports whether it is forgotten. If a change at the same place was parked
// meanwhile, the stored Attempts or First differ, and the parked change stays.
func (p *EventParking) release(ctx context.Context, parked event.Parked) (bool, error) {
	_, err := p.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(p.tableName), Key: table.ParkedKey(parked.Shop, parked.Place).Attributes(),
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
	return err == nil, err
}

const (
	// parkedPerPage is how many items a query returns.
	parkedPerPage = 1000
	// maxParked bounds how many items are read into memory. Once so many are read, no further page is read.
	maxParked = 10000
)

// Shops implements event.Parking.
func (p *EventParking) Shops(ctx context.Context) (shops []catalog.ShopID, err error) {
	items, err := p.items(ctx, table.ParkedPartition)
	for _, it := range items {
		shops = append(shops, catalog.ShopID(it.Str(table.AttrOwner)))
	}
	return shops, err
}

// Parked implements event.Parking.
func (p *EventParking) Parked(
	ctx context.Context, shop catalog.ShopID,
) (parked []event.Parked, err error) {
	items, err := p.items(ctx, table.ParkedKey(shop, event.Place{}).Partition)
	for _, it := range items {
		parked = append(parked, event.Parked{
			Place: table.ParkedPlace(it.Str(table.SortKey)), Shop: shop,
			Reason: it.Str(table.AttrReason), First: it.Time(table.AttrFirst),
			Attempts: int(it.Num(table.AttrAttempts)),
		})
	}
	return parked, err
}

// items returns the items of a partition, up to maxParked.
func (p *EventParking) items(ctx context.Context, partition string) (items []table.Item, err error) {
	query := &dynamodb.QueryInput{
		TableName: aws.String(p.tableName), ConsistentRead: aws.Bool(true), Limit: aws.Int32(parkedPerPage),
		KeyConditionExpression:    aws.String(table.PartitionKey + " = :parked"),
		ExpressionAttributeValues: table.Item{":parked": table.Str(partition)},
	}
	for {
		out, err := p.api.Query(ctx, query)
		if err != nil {
			return nil, table.Outcome(err)
		}
		for _, it := range out.Items {
			items = append(items, it)
		}
		if query.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 || len(items) >= maxParked {
			return items, nil
		}
	}
}
