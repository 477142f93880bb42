package budget_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamolocal/localtest"
	"shopfront/pkg/function"
	"shopfront/pkg/localrun"
	"shopfront/pkg/voucher"
)

// manyUses is a store in which every code is of many uses, and has some left.
type manyUses struct {
	voucher map[string]types.AttributeValue
}

func (m manyUses) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: m.voucher}, nil
}

func (manyUses) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{}, nil
}

func (m manyUses) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, &types.ConditionalCheckFailedException{Item: m.voucher}
}

func (manyUses) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// A process remembers which codes are of many uses, and of no more than 4,096 of them: with many times as many codes it holds
// no more than with these.
func TestRememberedCodesAreBounded(t *testing.T) {
	const bound = 4096
	f := lay(t)
	s := f.open(t, misbehaviour{})
	store := manyUses{keptVoucher(t, s)}
	all := max(*sent/bound+1, 3) * bound // where it remembers as many as it ever does
	few, many := s.remembered(t, store, bound), s.remembered(t, store, all)
	t.Logf("%d objects are held for %d codes, %d for %d", few, bound, many, all)
	if few < bound || many > few+few/2 {
		t.Errorf("%d objects are held for %d codes, %d for %d", few, bound, many, all)
	}
}

// remembered counts the objects that a function holds on to after it redeemed so many codes: those that go with it.
func (s *shop) remembered(t *testing.T, store manyUses, codes int) int64 {
	t.Helper()
	desk := voucher.Desk{Store: dynamo.NewRedemptions(store, "VouchersTable", mathrand.Int64N), Random: rand.Reader}
	env := function.Environment{Lookup: func(string) string { return "" }, Now: time.Now, Log: io.Discard}
	s.serve(t, loadTemplate(t, s.store.url()), functions{
		handlers: map[string]*function.Handler{"redeem-voucher": function.NewHandler(env.Service().RedeemVoucher(desk), env.Now)},
		timeouts: map[string]time.Duration{"redeem-voucher": time.Minute},
	})
	r := s.requests[redeemMany]
	for number := range codes {
		r.body = fmt.Sprintf(`{"code":"SUMMER-%d","nick":"Alder"}`, number)
		if answer := r.send(t.Context(), s.api); answer.Code != http.StatusOK {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
	}
	with := liveObjects()
	s.api = nil // which alone held the function
	return with - liveObjects()
}

// keptVoucher is a voucher of many uses as it is kept.
func keptVoucher(t *testing.T, s *shop) map[string]types.AttributeValue {
	t.Helper()
	kept, err := localtest.Client(t).Scan(t.Context(), &dynamodb.ScanInput{
		TableName:        aws.String(localrun.Tables(loadTemplate(t, s.store.url()))["VouchersTable"]),
		FilterExpression: aws.String("begins_with(customer, :customer) AND sk = :code"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":customer": &types.AttributeValueMemberS{Value: string(s.customer)}, ":code": &types.AttributeValueMemberS{Value: "SUMMER20"},
		},
	})
	if err != nil || len(kept.Items) != 1 {
		t.Fatalf("%d items, %v", len(kept.Items), err)
	}
	return kept.Items[0]
}
