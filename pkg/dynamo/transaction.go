package dynamo

import (
	"cmp"
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
)

// errLookAgain means that a condition failed because an item has changed since it was read. Nothing was written.
var errLookAgain = errors.New("the items have changed since they were read")

// transactor lists the DynamoDB operations that transact calls.
type transactor interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// action is one write of a transaction. If the condition of the write fails, transact calls the function rejected with
// the stored item, and returns its error. The function returns nil if the stored item is the result. If rejected is
// nil, the error is errLookAgain. A weak action is the last one, and decides only if no other was refused.
type action struct {
	write    types.TransactWriteItem
	rejected func(old table.Item) error
	weak     bool
}

// updating returns an action that sends an update.
func updating(tableName string, call *table.Update, rejected func(old table.Item) error) action {
	return action{write: call.Action(tableName), rejected: rejected}
}

// inserting returns an action that puts an item and requires that no item has its key.
func inserting(tableName string, it table.Item) action {
	return action{write: types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String(tableName), Item: it,
		ConditionExpression: aws.String("attribute_not_exists(" + table.SortKey + ")"),
	}}}
}

// requiringAbsent returns an action that writes nothing and requires that no item has the key.
func requiringAbsent(tableName string, key table.Key, rejected func(old table.Item) error) action {
	return action{checking(tableName, key, "attribute_not_exists("+table.SortKey+")"), rejected, false}
}

func checking(tableName string, key table.Key, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: aws.String(tableName), Key: key.Attributes(), ConditionExpression: aws.String(condition),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// transact applies all of the actions or none. If conditions fail, all of their actions are asked. If one has the
// result, that decides; else the first error that is neither weak nor errLookAgain. After a conflict (see
// table.IsConflict), nothing was applied. A single update is sent without a transaction, which would take twice the
// write units.
func transact(ctx context.Context, api transactor, actions []action, options ...func(*dynamodb.Options)) error {
	if update := actions[0].write.Update; update != nil && len(actions) == 1 {
		_, err := api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: update.TableName, Key: update.Key, UpdateExpression: update.UpdateExpression,
			ConditionExpression:                 update.ConditionExpression,
			ExpressionAttributeNames:            update.ExpressionAttributeNames,
			ExpressionAttributeValues:           update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: update.ReturnValuesOnConditionCheckFailure,
		}, options...)
		if old, failed := table.OldItem(err); failed {
			return actions[0].meaning(old)
		}
		return err
	}
	input := &dynamodb.TransactWriteItemsInput{}
	for _, a := range actions {
		input.TransactItems = append(input.TransactItems, a.write)
	}
	_, err := api.TransactWriteItems(ctx, input, options...)
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is || len(canceled.CancellationReasons) != len(actions) || table.IsConflict(err) {
		return err
	}
	var decided error
	for i, reason := range canceled.CancellationReasons {
		if aws.ToString(reason.Code) != table.ConditionFailed {
			continue
		}
		switch meant := actions[i].meaning(reason.Item); {
		case meant == nil:
			return nil
		case decided == nil || errors.Is(decided, errLookAgain) && !actions[i].weak:
			decided = meant
		}
	}
	return cmp.Or(decided, err)
}

// meaning returns the error for a failed condition of the action, or nil if the stored item is the result.
func (a action) meaning(old table.Item) error {
	if a.rejected == nil {
		return errLookAgain
	}
	return a.rejected(old)
}
