package backoffice

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
)

// API lists the DynamoDB operations that this package calls.
type API interface {
	dynamo.UsesAPI
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Tables are the names of a deployment's tables.
type Tables struct {
	Catalogue string `json:"catalogue"`
	Vouchers  string `json:"vouchers"`
	Checkouts string `json:"checkouts"`
	Refusals  string `json:"refusals,omitempty"` // empty: verify does not read what strangers hold
	Events    string `json:"events,omitempty"`   // empty: the deployment has no events
}

// store reaches the tables of a deployment.
type store struct {
	api            API
	Tables         Tables
	EventRetention time.Duration       // how long events are stored
	random         func(n int64) int64 // returns a random number from 0 to n-1
	throttled      *atomic.Int64       // how many calls DynamoDB has throttled
}

// dynamoTables names the tables as the functions' store does.
func (s store) dynamoTables() dynamo.Tables {
	return dynamo.Tables{Checkouts: s.Tables.Checkouts, Vouchers: s.Tables.Vouchers}
}

// putNew returns the put of an item whose key must not be in use.
func putNew(name string, it table.Item) *types.Put {
	return &types.Put{
		TableName: aws.String(name), Item: it,
		ConditionExpression:                 aws.String("attribute_not_exists(" + table.SortKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// noConditionFailed means that no condition of a write failed.
const noConditionFailed = -1

// write applies all of the actions or none. Each action is a put or a deletion. If a condition fails, failed is the
// number, from 0, of the first action whose condition failed, and old is the item that is stored under its key.
// Otherwise failed is noConditionFailed.
func (s store) write(ctx context.Context, actions ...types.TransactWriteItem) (failed int, old table.Item, err error) {
	if len(actions) == 1 {
		err = s.writeAlone(ctx, actions[0])
		if old, isFailed := table.OldItem(err); isFailed {
			return 0, old, nil
		}
		return noConditionFailed, nil, err
	}
	err = s.transact(ctx, actions)
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		for number, reason := range canceled.CancellationReasons {
			if aws.ToString(reason.Code) == table.ConditionFailed {
				return number, reason.Item, nil
			}
		}
	}
	return noConditionFailed, nil, err
}

// writeAlone sends one action without a transaction, because a transaction takes twice the write units.
func (s store) writeAlone(ctx context.Context, action types.TransactWriteItem) error {
	if put := action.Put; put != nil {
		_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames:            put.ExpressionAttributeNames,
			ExpressionAttributeValues:           put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		})
		return err
	}
	deletion := action.Delete
	_, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: deletion.TableName, Key: deletion.Key, ConditionExpression: deletion.ConditionExpression,
		ExpressionAttributeNames:            deletion.ExpressionAttributeNames,
		ExpressionAttributeValues:           deletion.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: deletion.ReturnValuesOnConditionCheckFailure,
	})
	return err
}

// transact sends a transaction, and sends it again after a conflict, until the context ends.
func (s store) transact(ctx context.Context, actions []types.TransactWriteItem) error {
	for attempt := 0; ; attempt++ {
		_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
		if !table.IsConflict(err) {
			return err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return err
		}
	}
}

// items yields all items of a query, page by page, and stops at the first error.
func items(ctx context.Context, api dynamodb.QueryAPIClient, query *dynamodb.QueryInput) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		pages := dynamodb.NewQueryPaginator(api, query)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for i, it := range page.Items {
				page.Items[i] = nil // frees the memory of items that were yielded
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// partition returns a query for all items with a partition key value.
func partition(name, value string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(name), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(table.PartitionKey + " = :partition"),
		ExpressionAttributeValues: table.Item{":partition": table.Str(value)},
	}
}
