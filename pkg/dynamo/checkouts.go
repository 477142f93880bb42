package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
)

// CheckoutsAPI lists the DynamoDB operations that Checkouts calls.
type CheckoutsAPI interface {
	table.Getter
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Checkouts stores checkouts in a table. It implements checkout.Store. Create it with NewCheckouts.
type Checkouts struct {
	api       CheckoutsAPI
	tableName string
}

// NewCheckouts returns a store of the checkouts in a table.
func NewCheckouts(api CheckoutsAPI, tableName string) *Checkouts {
	return &Checkouts{api: api, tableName: tableName}
}

// Open stores a new checkout in one call and returns it. If a checkout with the same key is still open or has
// ended, Open returns that checkout and stores nothing. If a response is lost, the SDK's retry finds the
// checkout that the first attempt stored, and Open returns it. After an *UnavailableError the checkout may or may not
// be stored.
func (s *Checkouts) Open(
	ctx context.Context, shop catalog.ShopID, c checkout.Checkout,
) (checkout.Checkout, error) {
	put := putCheckout(s.tableName, shop, c)
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames:            put.ExpressionAttributeNames,
		ExpressionAttributeValues:           put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	})
	if old, failed := table.OldItem(err); failed {
		return table.DecodeCheckout(old), nil
	}
	if err != nil {
		return checkout.Checkout{}, table.Outcome(err)
	}
	return c, nil
}

// putCheckout returns the write that stores a new checkout. The write fails if another checkout is stored under the
// same token, and that checkout is still open or has ended.
func putCheckout(tableName string, shop catalog.ShopID, c checkout.Checkout) types.Put {
	return types.Put{
		TableName: aws.String(tableName), Item: table.EncodeCheckout(shop, c),
		// The put may overwrite a checkout only if its status attribute is open and it has expired.
		ConditionExpression: aws.String("attribute_not_exists(" + table.SortKey +
			") OR #expires <= :at AND #status = :open"),
		ExpressionAttributeNames: map[string]string{"#expires": table.AttrExpires, "#status": table.AttrStatus},
		ExpressionAttributeValues: table.Item{
			":at": table.Millis(c.Created), ":open": table.Str(table.StatusOpen),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Recall reads the checkout that is stored under a token, or returns checkout.ErrNotFound.
func (s *Checkouts) Recall(
	ctx context.Context, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	return readCheckout(ctx, s.api, s.tableName, shop, token)
}

func readCheckout(
	ctx context.Context, api table.Getter, tableName string, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	it, err := table.Get(ctx, api, tableName, table.CheckoutKey(shop, token), checkout.ErrNotFound)
	if err != nil {
		return checkout.Checkout{}, table.Outcome(err)
	}
	return table.DecodeCheckout(it), nil
}

// readCheckoutSettled is like readCheckout, but first waits for a transaction in flight that writes the checkout.
func readCheckoutSettled(
	ctx context.Context, api table.TransactGetter, random func(n int64) int64, tableName string,
	shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	it, err := table.GetSettled(ctx, api, random, tableName, table.CheckoutKey(shop, token))
	switch {
	case err != nil:
		return checkout.Checkout{}, table.Outcome(err)
	case len(it) == 0:
		return checkout.Checkout{}, checkout.ErrNotFound
	default:
		return table.DecodeCheckout(it), nil
	}
}
