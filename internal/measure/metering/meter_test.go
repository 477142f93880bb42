package metering_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/measure/metering"
)

// voucherOf returns an item of the given size in bytes. The size must be at least 22 plus the length of the code.
func voucherOf(code string, size int) map[string]types.AttributeValue {
	const names = len("customer") + len("sk") + len("note")
	return map[string]types.AttributeValue{
		"customer": &types.AttributeValueMemberS{Value: "ember#07"},
		"sk":       &types.AttributeValueMemberS{Value: code},
		"note":     &types.AttributeValueMemberS{Value: strings.Repeat("x", size-names-len("ember#07")-len(code))},
	}
}

func keyOf(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"customer": item["customer"], "sk": item["sk"]}
}

// table creates a table. It returns a meter, a client whose calls are metered, and a client that bypasses the meter.
func table(t *testing.T) (name string, meter *metering.Meter, metered, direct *dynamodb.Client) {
	t.Helper()
	direct = localtest.Client(t)
	name = strings.ReplaceAll(t.Name(), "/", "-")
	_, err := direct.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	meter, metered = connect(t)
	return name, meter, metered, direct
}

// connect returns a meter in front of DynamoDB Local, and a client of the meter.
func connect(t *testing.T) (*metering.Meter, *dynamodb.Client) {
	t.Helper()
	meter := metering.New(localtest.Endpoint(t))
	server := httptest.NewServer(meter)
	t.Cleanup(server.Close)
	return meter, dynamolocal.NewClient(server.URL)
}

// metered returns the call since the last Take, and fails the test if there is not exactly one.
func metered(t *testing.T, meter *metering.Meter) metering.Call {
	t.Helper()
	calls := meter.Take()
	if len(calls) != 1 {
		t.Fatalf("%d calls were metered; want 1", len(calls))
	}
	return calls[0]
}

// DynamoDB Local reports the correct units for calls that have no condition and are not transactions.
func TestMeter_SimpleCalls_AgreeWithDynamoDBLocal(t *testing.T) {
	name, meter, client, _ := table(t)
	compare := func(what string, consumed *types.ConsumedCapacity) {
		t.Helper()
		units := metered(t, meter).Units
		if got := units.Read + units.Write; got != aws.ToFloat64(consumed.CapacityUnits) {
			t.Errorf("%s: metered %+v; DynamoDB Local reports %v", what, units, aws.ToFloat64(consumed.CapacityUnits))
		}
	}
	for _, size := range []int{100, 1024, 1025, 4096, 4097} {
		item := voucherOf(fmt.Sprintf("SUMMER%d", size), size)
		put, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		if err != nil {
			t.Fatal(err)
		}
		compare(fmt.Sprintf("put of %d bytes", size), put.ConsumedCapacity)
		update, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &name, Key: keyOf(item), UpdateExpression: aws.String("REMOVE note"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			t.Fatal(err)
		}
		compare(fmt.Sprintf("update of an item of %d bytes", size), update.ConsumedCapacity)
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			t.Fatal(err)
		}
		meter.Take()
		for _, consistent := range []bool{true, false} {
			get, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: &name, Key: keyOf(item), ConsistentRead: &consistent, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
			})
			if err != nil {
				t.Fatal(err)
			}
			compare(fmt.Sprintf("read of %d bytes, consistent %t", size, consistent), get.ConsumedCapacity)
		}
	}
	missing := keyOf(voucherOf("UNKNOWN", 100))
	get, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &name, Key: missing, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		t.Fatal(err)
	}
	compare("read of a missing item", get.ConsumedCapacity)
	query, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &name, KeyConditionExpression: aws.String("customer = :customer"), FilterExpression: aws.String("attribute_not_exists(note)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":customer": missing["customer"]}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		t.Fatal(err)
	}
	if query.Count != 0 || query.ScannedCount != 5 {
		t.Errorf("the filter leaves %d of %d items; want 0 of 5", query.Count, query.ScannedCount)
	}
	compare("query whose filter leaves nothing", query.ConsumedCapacity)
	batch, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{name: {
			Keys: []map[string]types.AttributeValue{keyOf(voucherOf("SUMMER4097", 100)), keyOf(voucherOf("SUMMER100", 100))}, ConsistentRead: aws.Bool(true),
		}},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		t.Fatal(err)
	}
	compare("batch of reads, each rounded up", &batch.ConsumedCapacity[0])
}

// An item that has an entry in the index is written and stored twice. DynamoDB Local reports the correct units.
func TestMeter_ItemInTheIndex_IsBilledTwice(t *testing.T) {
	name := localtest.Table(t, "CheckoutsTable")
	meter, client := connect(t)
	const size = 1020
	checkout := voucherOf("ySBDAj4aT84YTR_U3sQzxw", size)
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: checkout}); err != nil {
		t.Fatal(err)
	}
	if call := metered(t, meter); call.Units.Write != 1 {
		t.Errorf("an open checkout takes %+v, want one write unit", call.Units)
	}
	const more = len("ordered") + len("1795316191729")
	for _, test := range []struct {
		set         string
		units       float64
		grown       int
		description string
	}{
		{"ordered", 4, more + size + more + metering.StorageOverhead, "a checkout that becomes an order, above 1 KB"},
		{"shipped", 4, 2 * more, "a change of the order"},
	} {
		out, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &name, Key: keyOf(checkout), UpdateExpression: aws.String("SET " + test.set + " = :at"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":at": &types.AttributeValueMemberS{Value: "1795316191729"}},
			ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			t.Fatal(err)
		}
		call := metered(t, meter)
		if reported := aws.ToFloat64(out.ConsumedCapacity.CapacityUnits); call.Units.Write != test.units || reported != test.units || call.Grown != test.grown {
			t.Errorf("%s takes %+v, and DynamoDB Local reports %v; want %v units and a growth of %d", test.description, call, reported, test.units, test.grown)
		}
	}
}

// DynamoDB bills a write whose condition fails, and bills the writes of a transaction twice. DynamoDB Local reports the wrong units
// for both.
func TestMeter_FailedConditionsAndTransactions_AreBilled(t *testing.T) {
	name, meter, client, _ := table(t)
	redeemed, large := voucherOf("SUMMER20", 300), voucherOf("GRAND2026", 1500)
	for _, item := range []map[string]types.AttributeValue{redeemed, large} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	meter.Take()
	set := func(item map[string]types.AttributeValue, condition string) *types.Update {
		return &types.Update{
			TableName: &name, Key: keyOf(item), UpdateExpression: aws.String("SET redeemedBy = :nick"), ConditionExpression: aws.String(condition),
			ExpressionAttributeValues: map[string]types.AttributeValue{":nick": &types.AttributeValueMemberS{Value: "Rowan"}},
		}
	}
	const holds, fails = "attribute_exists(note)", "attribute_not_exists(note)"
	update := func(item map[string]types.AttributeValue, condition string) error {
		u := set(item, condition)
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
			ExpressionAttributeValues: u.ExpressionAttributeValues,
		})
		return err
	}
	transact := func(conditions ...string) error {
		_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Update: set(redeemed, conditions[0])}, {Update: set(large, conditions[1])},
		}})
		return err
	}
	for _, test := range []struct {
		name   string
		call   func() error
		writes float64
		failed any
	}{
		{"update, small item", func() error { return update(redeemed, fails) }, 1, new(*types.ConditionalCheckFailedException)},
		{"update, no item", func() error { return update(voucherOf("UNKNOWN", 100), holds) }, 1, new(*types.ConditionalCheckFailedException)},
		{"update, large item", func() error { return update(large, fails) }, 2, new(*types.ConditionalCheckFailedException)},
		{"put, large item", func() error {
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: &name, Item: voucherOf("SUMMER20", 2049), ConditionExpression: aws.String("attribute_not_exists(sk)"),
			})
			return err
		}, 3, new(*types.ConditionalCheckFailedException)},
		{"transaction that fails", func() error { return transact(fails, holds) }, 2 * (1 + 2), new(*types.TransactionCanceledException)},
		{"transaction that succeeds", func() error { return transact(holds, holds) }, 2 * (1 + 2), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.call()
			if test.failed == nil && err != nil || test.failed != nil && !errors.As(err, test.failed) {
				t.Fatalf("the call returned %v", err)
			}
			if units := metered(t, meter).Units; units != (metering.Units{Write: test.writes}) {
				t.Errorf("metered %+v; want %v write units", units, test.writes)
			}
		})
	}
}

// A missing item costs the minimum, even in a batch
// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html). DynamoDB Local reports no units for it.
func TestMeter_MissingItemsOfABatch_AreBilled(t *testing.T) {
	name, meter, client, _ := table(t)
	for consistent, want := range map[bool]float64{true: 2, false: 1} {
		_, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{name: {
			Keys:           []map[string]types.AttributeValue{keyOf(voucherOf("UNKNOWN", 100)), keyOf(voucherOf("UNHEARD", 100))},
			ConsistentRead: &consistent,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if units := metered(t, meter).Units; units != (metering.Units{Read: want}) {
			t.Errorf("consistent %t: metered %+v; want %v read units", consistent, units, want)
		}
	}
}

func TestMeter_Calls_AreForwardedUnchanged(t *testing.T) {
	name, meter, client, direct := table(t)
	item := voucherOf("SUMMER20", 300)
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
		t.Fatal(err)
	}
	if call := metered(t, meter); call.Operation != "PutItem" || call.Grown != 300+metering.StorageOverhead || !slices.Equal(call.Tables, []string{name}) {
		t.Errorf("the put is metered as %+v", call)
	}
	for _, reader := range []*dynamodb.Client{client, direct} {
		read, err := reader.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: keyOf(item)})
		if err != nil || !reflect.DeepEqual(read.Item, item) {
			t.Errorf("read %v, %v; want %v", read, err, item)
		}
	}
}

func TestMeter_CallThatCannotBeMetered_Fails(t *testing.T) {
	name, meter, client, _ := table(t)
	if _, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name}); err == nil || !strings.Contains(err.Error(), "not metered") {
		t.Errorf("a Scan returned %v, want an error, because its price is unknown", err)
	}
	unknown := aws.String("no-such-table")
	if _, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: unknown, Key: keyOf(voucherOf("SUMMER20", 100))}); err == nil {
		t.Error("a missing table was read")
	}
	if calls := meter.Take(); len(calls) > 0 {
		t.Errorf("calls that failed are metered as %+v", calls)
	}
}
