package budget_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// manyUses is a store in which every code has many uses, with some uses left.
type manyUses struct {
	dynamo.UsesAPI // nil, because no other calls are made

	voucher map[string]types.AttributeValue
}

func (m manyUses) GetItem(
	context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: m.voucher}, nil
}

func (manyUses) BatchGetItem(
	context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (m manyUses) UpdateItem(
	context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return nil, &types.ConditionalCheckFailedException{Item: m.voucher}
}

func (manyUses) TransactWriteItems(
	context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// A process remembers which codes have many uses, but at most 4,096 of them, so more codes do not take more memory.
func TestRedeem_MoreCodesThanAreRemembered_TakeNoMoreMemory(t *testing.T) {
	const bound = 4096
	f := lay(t)
	s := f.open(t, misbehaviour{})
	store := manyUses{voucher: keptVoucher(t, s)}
	all := max(*sent/bound+1, 3) * bound // enough to exceed the bound
	few, many := remembered(t, store, bound), remembered(t, store, all)
	t.Logf("%d objects are held for %d codes, %d for %d", few, bound, many, all)
	if few < bound || many > few+few/2 {
		t.Errorf("%d objects are held for %d codes, want at least one for each; %d for %d codes, want at most half "+
			"as many again", few, bound, many, all)
	}
}

// remembered counts the heap objects that a voucher.Redeemer holds after it has redeemed the given number of
// codes.
func remembered(t *testing.T, store manyUses, codes int) int64 {
	t.Helper()
	nick, err := voucher.ParseNick("Alder")
	if err != nil {
		t.Fatal(err)
	}
	desk := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(store, dynamo.Tables{Vouchers: "VouchersTable"}, mathrand.Int64N),
		Random: rand.Reader,
	}
	for number := range codes {
		code, err := voucher.ParseCode(fmt.Sprintf("SUMMER-%d", number))
		if err != nil {
			t.Fatal(err)
		}
		request := voucher.Request{Shop: "emberforge", Code: code, Nick: nick, At: time.Now()}
		if _, _, err := desk.Redeem(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	with := live().objects
	runtime.KeepAlive(desk) // the desk is in use only until here
	return with - live().objects
}

// keptVoucher returns the stored item of a voucher with many uses.
func keptVoucher(t *testing.T, s *shop) map[string]types.AttributeValue {
	t.Helper()
	kept, err := dynamotest.Client(t).Scan(t.Context(), &dynamodb.ScanInput{
		TableName:        aws.String("VouchersTable"),
		FilterExpression: aws.String("begins_with(customer, :customer) AND sk = :code"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":customer": &types.AttributeValueMemberS{Value: string(s.shop)},
			":code":     &types.AttributeValueMemberS{Value: "SUMMER20"},
		},
	})
	if err != nil || len(kept.Items) != 1 {
		t.Fatalf("%d items are stored for the voucher, %v; want 1", len(kept.Items), err)
	}
	return kept.Items[0]
}
