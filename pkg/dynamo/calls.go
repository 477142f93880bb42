package dynamo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// conditionFailed is the code of a cancellation reason whose condition did not hold.
const conditionFailed = "ConditionalCheckFailed"

// update builds an UpdateItem, or the update of a transaction, which fails with the item as it is where its condition does
// not hold. Attributes are named #attribute in its expressions.
type update struct {
	key       primaryKey
	condition string
	sets      []string
	adds      []string
	removes   []string
	names     map[string]string
	values    item
}

// alias is the name that stands for an attribute in expressions.
func (u *update) alias(attribute string) string {
	alias := "#" + strings.Map(func(r rune) rune {
		if r == '#' || r == '-' { // a token's own characters
			return '_'
		}
		return r
	}, attribute)
	if u.names == nil {
		u.names = make(map[string]string)
	}
	u.names[alias] = attribute
	return alias
}

// name declares attributes that the condition names.
func (u *update) name(attributes ...string) {
	for _, attribute := range attributes {
		u.alias(attribute)
	}
}

func (u *update) value(placeholder string, value types.AttributeValue) {
	if u.values == nil {
		u.values = make(item)
	}
	u.values[placeholder] = value
}

func (u *update) set(attribute string, value types.AttributeValue) {
	alias := u.alias(attribute)
	u.sets = append(u.sets, alias+" = "+placeholder(alias))
	u.value(placeholder(alias), value)
}

func (u *update) add(attribute string, n int) {
	alias := u.alias(attribute)
	u.adds = append(u.adds, alias+" "+placeholder(alias))
	u.value(placeholder(alias), num(n))
}

func (u *update) remove(attribute string) { u.removes = append(u.removes, u.alias(attribute)) }

func placeholder(alias string) string { return ":" + alias[1:] + "_new" }

func (u *update) expression() string {
	var clauses []string
	for _, clause := range []struct {
		verb  string
		parts []string
	}{{"SET ", u.sets}, {"ADD ", u.adds}, {"REMOVE ", u.removes}} {
		if len(clause.parts) > 0 {
			clauses = append(clauses, clause.verb+strings.Join(clause.parts, ", "))
		}
	}
	return strings.Join(clauses, " ")
}

// input is the update as a call of its own.
func (u *update) input(table string, returns types.ReturnValue) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: u.key.attributes(), UpdateExpression: aws.String(u.expression()),
		ConditionExpression: aws.String(u.condition), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValues: returns, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// action is the update as a part of a transaction.
func (u *update) action(table string) *types.Update {
	return &types.Update{
		TableName: aws.String(table), Key: u.key.attributes(), UpdateExpression: aws.String(u.expression()),
		ConditionExpression: aws.String(u.condition), ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// oldItem is the item that a failed condition returned, empty where there is none; failed tells whether it was that.
func oldItem(err error) (old item, failed bool) {
	if check, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return check.Item, true
	}
	return nil, false
}

func consistentGet(table string, key primaryKey) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: aws.String(table), Key: key.attributes(), ConsistentRead: aws.Bool(true)}
}

type batchGetter interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// batchGet reads at most 100 items of one table consistently. Keys that DynamoDB left unprocessed are asked for again
// until the context ends.
func batchGet(ctx context.Context, api batchGetter, random func(n int64) int64, table string, keys ...primaryKey) (map[primaryKey]item, error) {
	found := make(map[primaryKey]item, len(keys))
	asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for _, key := range keys {
		asked.Keys = append(asked.Keys, key.attributes())
	}
	for attempt := 0; ; attempt++ {
		out, err := api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: asked}})
		if err != nil {
			return nil, err
		}
		for _, it := range out.Responses[table] {
			found[keyOf(it)] = it
		}
		if asked = out.UnprocessedKeys[table]; len(asked.Keys) == 0 {
			return found, nil
		}
		if err := wait(ctx, backoff(attempt, random)); err != nil {
			return nil, err
		}
	}
}

func wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
