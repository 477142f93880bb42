package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
)

// CheckoutRecordsAPI is what an operator's look at checkouts calls of DynamoDB.
type CheckoutRecordsAPI interface {
	CheckoutsAPI
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// CheckoutRecords is the operator's side of a checkouts table. Make it with NewCheckoutRecords.
type CheckoutRecords struct {
	*Checkouts
	api CheckoutRecordsAPI
}

// NewCheckoutRecords returns the checkouts of a table.
func NewCheckoutRecords(api CheckoutRecordsAPI, table string) *CheckoutRecords {
	return &CheckoutRecords{Checkouts: NewCheckouts(api, table), api: api}
}

// Show reads the checkout of a customer that has an ID, open or expired, or returns checkout.ErrNotFound. A checkout that
// only shares the ID's first half is another: its key has made a new one.
func (s *CheckoutRecords) Show(ctx context.Context, customer catalog.CustomerID, id checkout.ID) (checkout.Checkout, error) {
	kept, err := s.Recall(ctx, customer, id.Token())
	if err == nil && kept.ID != id {
		err = checkout.ErrNotFound
	}
	if err != nil {
		return checkout.Checkout{}, err
	}
	return kept, nil
}

// List yields all checkouts of a customer that are kept, open and expired, in no order, and stops at the first error. It
// reads page by page; the shop goes on meanwhile.
func (s *CheckoutRecords) List(ctx context.Context, customer catalog.CustomerID) iter.Seq2[checkout.Checkout, error] {
	return func(yield func(checkout.Checkout, error) bool) {
		query := &dynamodb.QueryInput{
			TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
			KeyConditionExpression:    aws.String(partitionKey + " = :customer"),
			ExpressionAttributeValues: item{":customer": str(string(customer))},
		}
		for {
			out, err := s.api.Query(ctx, query)
			if err != nil {
				yield(checkout.Checkout{}, outcome(err))
				return
			}
			for _, it := range out.Items {
				if !yield(decodeCheckout(it), nil) {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			query.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}
