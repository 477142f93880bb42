package dynamo

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/reconciliation"
)

// Kept yields all checkouts of a customer as they stand, with what is wrong with them as items, and stops at the first
// error. It reads page by page.
func (s *CheckoutRecords) Kept(ctx context.Context, customer catalog.CustomerID) iter.Seq2[reconciliation.Checkout, error] {
	return func(yield func(reconciliation.Checkout, error) bool) {
		wanted := checkoutShape()
		query := &dynamodb.QueryInput{
			TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
			KeyConditionExpression:    aws.String(partitionKey + " = :customer"),
			ExpressionAttributeValues: item{":customer": str(string(customer))},
		}
		for {
			out, err := s.api.Query(ctx, query)
			if err != nil {
				yield(reconciliation.Checkout{}, outcome(err))
				return
			}
			for _, it := range out.Items {
				if !yield(readCheckout(s.table, customer, wanted, it), nil) {
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

func checkoutShape() shape {
	return shape{
		always: map[string]attributeType{
			attrID: typeText, attrProduct: typeText, attrVariant: typeText, attrAmount: typeNumber, attrCurrency: typeText, attrUnitPrice: typeNumber,
			attrSubtotal: typeNumber, attrDiscount: typeNumber, attrTotal: typeNumber, attrStatus: typeText, attrCreated: typeNumber, attrExpires: typeNumber,
		},
		sometimes: map[string]attributeType{attrData: typeText, attrObject: typeTruth, attrExpiresAt: typeNumber},
	}
}

func readCheckout(table string, customer catalog.CustomerID, wanted shape, it item) reconciliation.Checkout {
	c := reconciliation.Checkout{Place: placeOf(table, keyOf(it))}
	if err := wanted.check(it); err != nil {
		c.Fault(reconciliation.KindMalformed, err.Error())
		return c
	}
	c.Checkout, c.Status = decodeCheckout(it), checkout.Status(it.str(attrStatus))
	if it.has(attrExpiresAt) {
		c.DeletedAt = time.Unix(it.num(attrExpiresAt), 0).UTC()
	}
	id, err := checkout.ParseID(it.str(attrID))
	switch {
	case err != nil:
		c.Fault(reconciliation.KindMalformed, err.Error())
	case belongs(it, checkoutKey{customer, string(id.Token())}.primary()) != nil:
		c.Fault(reconciliation.KindMisplaced, "the sort key is not the first half of the checkout's ID")
	}
	return c
}
