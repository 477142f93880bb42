package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/idempotency"
)

// CheckoutsAPI is the part of DynamoDB that checking out needs.
type CheckoutsAPI interface {
	table.Getter
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Checkouts stores the checkouts of a table; it is a checkout.Store. Create it with NewCheckouts.
type Checkouts struct {
	api   CheckoutsAPI
	table string
}

// NewCheckouts returns the checkouts in a table.
func NewCheckouts(api CheckoutsAPI, table string) *Checkouts {
	return &Checkouts{api: api, table: table}
}

// Open stores a new checkout in one call and returns it. If another one with the same key was still open when the new one
// was created, it returns that one and stores nothing. After a lost response, the SDK's retry finds its own checkout, which
// is the new one. After an *UnavailableError the checkout may or may not be stored.
func (s *Checkouts) Open(ctx context.Context, customer catalog.CustomerID, c checkout.Checkout) (checkout.Checkout, error) {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: table.EncodeCheckout(customer, c),
		// Only an open checkout may be replaced once it has expired.
		ConditionExpression:      aws.String("attribute_not_exists(" + table.SortKey + ") OR #expires <= :at AND #status = :open"),
		ExpressionAttributeNames: map[string]string{"#expires": table.AttrExpires, "#status": table.AttrStatus},
		ExpressionAttributeValues: table.Item{
			":at": table.Millis(c.Created), ":open": table.Str(checkout.StatusOpen),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, failed := table.OldItem(err); failed {
		return table.DecodeCheckout(old), nil
	}
	if err != nil {
		return checkout.Checkout{}, table.Outcome(err)
	}
	return c, nil
}

// Recall reads the checkout that is stored under a token, or returns checkout.ErrNotFound.
func (s *Checkouts) Recall(ctx context.Context, customer catalog.CustomerID, token idempotency.Token) (checkout.Checkout, error) {
	it, err := table.Get(ctx, s.api, s.table, table.CheckoutKey(customer, token), checkout.ErrNotFound)
	if err != nil {
		return checkout.Checkout{}, table.Outcome(err)
	}
	return table.DecodeCheckout(it), nil
}
