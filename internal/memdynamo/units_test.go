package memdynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo"
)

// voucherOf returns an item of the given size in bytes. The size must be at least 22 plus the length of the code.
func voucherOf(code string, size int) memdynamo.Item {
	const names = len("customer") + len("sk") + len("note")
	return memdynamo.Item{
		"customer": str("ember#07"), "sk": str(code),
		"note": str(strings.Repeat("x", size-names-len("ember#07")-len(code))),
	}
}

func keyOf(item memdynamo.Item) memdynamo.Item {
	return memdynamo.Item{"customer": item["customer"], "sk": item["sk"]}
}

// call is a call that can report its units.
type call func(client *dynamodb.Client, reports types.ReturnConsumedCapacity) (*types.ConsumedCapacity, error)

// metered returns the call since the last Take, and fails the test if there is not exactly one.
func metered(t *testing.T, meter *memdynamo.Endpoint) memdynamo.Call {
	t.Helper()
	calls := meter.Take()
	if len(calls) != 1 {
		t.Fatalf("%d calls were metered; want 1", len(calls))
	}
	return calls[0]
}

// DynamoDB Local reports the correct units for calls that have no condition and are not transactions.
func TestTake_SimpleCalls_AgreeWithDynamoDBLocal(t *testing.T) {
	w := newTwins(t)
	meter := w.store.Endpoint(memdynamo.Dials{Metered: true})
	compare := func(what string, call call) memdynamo.Call {
		t.Helper()
		reported, err := call(w.local, types.ReturnConsumedCapacityTotal)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call(clientOf(meter), ""); err != nil {
			t.Fatal(err)
		}
		metered := metered(t, meter)
		if got := metered.Units.Read + metered.Units.Write; got != aws.ToFloat64(reported.CapacityUnits) {
			t.Errorf("%s: metered %+v; DynamoDB Local reports %v", what, metered.Units, *reported.CapacityUnits)
		}
		return metered
	}
	put := func(item memdynamo.Item) memdynamo.Call {
		return compare(fmt.Sprintf("put of %v", item["sk"]),
			func(client *dynamodb.Client, reports types.ReturnConsumedCapacity) (*types.ConsumedCapacity, error) {
				out, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: w.table, Item: item, ReturnConsumedCapacity: reports,
				})
				return out.ConsumedCapacity, err
			})
	}
	update := func(key memdynamo.Item, expression string) memdynamo.Call {
		names, values := bind(expression)
		return compare(expression,
			func(client *dynamodb.Client, reports types.ReturnConsumedCapacity) (*types.ConsumedCapacity, error) {
				out, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
					TableName: w.table, Key: key, UpdateExpression: &expression, ExpressionAttributeNames: names,
					ExpressionAttributeValues: values, ReturnConsumedCapacity: reports,
				})
				return out.ConsumedCapacity, err
			})
	}
	for _, size := range []int{100, 1024, 1025, 4096, 4097} {
		item := voucherOf(fmt.Sprintf("SUMMER%d", size), size)
		if call := put(item); call.Operation != "PutItem" || call.Grown != size+100 ||
			!slices.Equal(call.Tables, []string{*w.table}) {
			t.Errorf("the put is metered as %+v", call)
		}
		update(keyOf(item), "REMOVE #note")
		put(item)
		for _, key := range []memdynamo.Item{keyOf(item), keyOf(voucherOf("UNKNOWN", 100))} {
			for _, consistent := range []bool{true, false} {
				compare(fmt.Sprintf("read of %d bytes, consistent %t", size, consistent),
					func(client *dynamodb.Client, reports types.ReturnConsumedCapacity) (
						*types.ConsumedCapacity, error,
					) {
						out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
							TableName: w.table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: reports,
						})
						return out.ConsumedCapacity, err
					})
			}
		}
	}
	compare("a query whose filter leaves nothing",
		func(client *dynamodb.Client, reports types.ReturnConsumedCapacity) (*types.ConsumedCapacity, error) {
			out, err := client.Query(t.Context(), &dynamodb.QueryInput{
				TableName: w.table, KeyConditionExpression: aws.String("customer = :customer"),
				FilterExpression:          aws.String("attribute_not_exists(note)"),
				ExpressionAttributeValues: memdynamo.Item{":customer": str("ember#07")},
				ReturnConsumedCapacity:    reports,
			})
			return out.ConsumedCapacity, err
		})
	compare("a batch of reads, each rounded up",
		func(client *dynamodb.Client, reports types.ReturnConsumedCapacity) (*types.ConsumedCapacity, error) {
			out, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{*w.table: {
					Keys: []map[string]types.AttributeValue{
						keyOf(voucherOf("SUMMER4097", 100)), keyOf(voucherOf("SUMMER100", 100)),
					},
					ConsistentRead: aws.Bool(true),
				}},
				ReturnConsumedCapacity: reports,
			})
			return &append(out.ConsumedCapacity, types.ConsumedCapacity{})[0], err
		})
	// An item that has an entry in the index is written and stored twice.
	const size, more = 1020, len("ordered") + len("1795316191729")
	checkout := voucherOf("ySBDAj4aT84YTR_U3sQzxw", size-len("shelf")-len("ember#07"))
	checkout["shelf"] = str("ember#07")
	put(checkout)
	if ordered := update(keyOf(checkout), "SET #ordered = :s1795316191729"); ordered.Units.Write != 4 ||
		ordered.Grown != more+size+more+100 {
		t.Errorf("a checkout that becomes an order is metered as %+v", ordered)
	}
	if changed := update(keyOf(checkout), "SET #shipped = :s1795316191729"); changed.Units.Write != 4 ||
		changed.Grown != 2*more {
		t.Errorf("a change of an order is metered as %+v", changed)
	}
}

// DynamoDB bills a write whose condition fails, bills the writes of a transaction twice, and bills missing items of a
// batch. DynamoDB Local reports wrong units for all of them.
func TestTake_FailedConditionsTransactionsAndMissingItems_AreBilled(t *testing.T) {
	t.Parallel()
	name := aws.String("vouchers")
	meter := memdynamo.New().Endpoint(memdynamo.Dials{Metered: true})
	client := clientOf(meter)
	small, large := voucherOf("SUMMER20", 300), voucherOf("GRAND2026", 1500)
	for _, item := range []memdynamo.Item{small, large} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	const holds, fails = "attribute_exists(note)", "attribute_not_exists(note)"
	set := func(item memdynamo.Item, condition string) *types.Update {
		return &types.Update{
			TableName: name, Key: keyOf(item), UpdateExpression: aws.String("SET redeemedBy = :nick"),
			ConditionExpression:       aws.String(condition),
			ExpressionAttributeValues: memdynamo.Item{":nick": str("Rowan")},
		}
	}
	update := func(item memdynamo.Item, condition string) error {
		u := set(item, condition)
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression,
			ConditionExpression: u.ConditionExpression, ExpressionAttributeValues: u.ExpressionAttributeValues,
		})
		return err
	}
	transact := func(conditions ...string) error {
		_, err := client.TransactWriteItems(t.Context(),
			&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Update: set(small, conditions[0])}, {Update: set(large, conditions[1])},
			}})
		return err
	}
	batch := func(consistent bool) error {
		_, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{*name: {
				Keys: []map[string]types.AttributeValue{
					keyOf(voucherOf("UNKNOWN", 100)), keyOf(voucherOf("UNHEARD", 100)),
				},
				ConsistentRead: &consistent,
			}},
		})
		return err
	}
	for _, test := range []struct {
		what    string
		call    func() error
		units   memdynamo.Units
		outcome string
	}{
		{
			"update, small item", func() error { return update(small, fails) },
			memdynamo.Units{Write: 1},
			"ConditionalCheckFailedException",
		},
		{
			"update, no item", func() error { return update(voucherOf("UNKNOWN", 100), holds) },
			memdynamo.Units{Write: 1},
			"ConditionalCheckFailedException",
		},
		{
			"update, large item", func() error { return update(large, fails) },
			memdynamo.Units{Write: 2},
			"ConditionalCheckFailedException",
		},
		{"put, large item", func() error {
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: name, Item: voucherOf("SUMMER20", 2049),
				ConditionExpression: aws.String("attribute_not_exists(sk)"),
			})
			return err
		}, memdynamo.Units{Write: 3}, "ConditionalCheckFailedException"},
		{
			"transaction that fails", func() error { return transact(fails, holds) },
			memdynamo.Units{Write: 2 * (1 + 2)},
			"canceled ConditionalCheckFailed None",
		},
		{
			"transaction that succeeds", func() error { return transact(holds, holds) },
			memdynamo.Units{Write: 2 * (1 + 2)},
			"done",
		},
		{"missing items", func() error { return batch(true) }, memdynamo.Units{Read: 2}, "done"},
		{"missing items, eventually", func() error { return batch(false) }, memdynamo.Units{Read: 1}, "done"},
	} {
		meter.Take()
		if outcome := memdynamo.Outcome(test.call()); outcome != test.outcome {
			t.Errorf("%s: %s, want %s", test.what, outcome, test.outcome)
		}
		if units := metered(t, meter).Units; units != test.units {
			t.Errorf("%s: metered %+v; want %+v", test.what, units, test.units)
		}
	}
}
