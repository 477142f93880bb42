package dynamo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/voucher"
)

// The error that a damaged item causes must not blame the request or the operator's terms.
func TestRedeem_DamagedItem_IsNotBlamedOnTheRequest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for attribute, value := range map[string]string{"reward": "", "nick": strings.Repeat("x", 1000)} {
		code := "DAMAGED-" + strings.ToUpper(attribute)
		s.create(voucher.Terms{Written: code, Nick: "Alder"})
		wanted := request(t, code, "Alder", "")
		kept, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{
			TableName: aws.String(s.table), FilterExpression: aws.String("sk = :code"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":code": &types.AttributeValueMemberS{Value: string(wanted.Code)}},
		})
		if err != nil || len(kept.Items) != 1 {
			t.Fatalf("%d items, %v", len(kept.Items), err)
		}
		kept.Items[0][attribute] = &types.AttributeValueMemberS{Value: value}
		if _, err := s.client.PutItem(t.Context(),
			&dynamodb.PutItemInput{TableName: aws.String(s.table), Item: kept.Items[0]}); err != nil {
			t.Fatal(err)
		}
		_, _, err = s.redeemer.Redeem(within(t), wanted)
		_, ofField := errors.AsType[*voucher.FieldError](err)
		if _, refused := voucher.IsRefusal(err); err == nil || ofField || refused {
			t.Errorf("with a damaged %s: Redeem = %v, want an error that is neither a refusal nor a *voucher.FieldError", attribute, err)
		}
	}
}
