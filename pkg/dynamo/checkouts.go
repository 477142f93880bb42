package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

// CheckoutsAPI is what checking out calls of DynamoDB.
type CheckoutsAPI interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Checkouts keeps the checkouts of one table; it is a checkout.Store. Make it with NewCheckouts.
type Checkouts struct {
	api   CheckoutsAPI
	table string
}

// NewCheckouts returns the checkouts of a table.
func NewCheckouts(api CheckoutsAPI, table string) *Checkouts {
	return &Checkouts{api: api, table: table}
}

// Open keeps a new checkout in one call and returns it, or the one that stands in its place and was still open when the new
// one was created. Its own, which the SDK's repetition of the call finds after a lost answer, is the new one. Errors are an
// *UnavailableError, which leaves open whether the checkout was kept, and DynamoDB's own.
func (s *Checkouts) Open(ctx context.Context, customer catalog.CustomerID, c checkout.Checkout) (checkout.Checkout, error) {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: encodeCheckout(customer, c),
		// Only an open checkout makes room for another once its time is up.
		ConditionExpression:      aws.String("attribute_not_exists(" + sortKey + ") OR #expires <= :at AND #status = :open"),
		ExpressionAttributeNames: map[string]string{"#expires": attrExpires, "#status": attrStatus},
		ExpressionAttributeValues: item{
			":at": millis(c.Created), ":open": str(string(checkout.StatusOpen)),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, failed := oldItem(err); failed {
		return decodeCheckout(old), nil
	}
	if err != nil {
		return checkout.Checkout{}, outcome(err)
	}
	return c, nil
}

// Recall reads the checkout that is kept under a token, or returns checkout.ErrNotFound.
func (s *Checkouts) Recall(ctx context.Context, customer catalog.CustomerID, token idempotency.Token) (checkout.Checkout, error) {
	out, err := s.api.GetItem(ctx, consistentGet(s.table, checkoutKey{customer, string(token)}.primary()))
	if err != nil {
		return checkout.Checkout{}, outcome(err)
	}
	if len(out.Item) == 0 {
		return checkout.Checkout{}, checkout.ErrNotFound
	}
	return decodeCheckout(out.Item), nil
}

// Attributes of the checkouts table, beside attrCurrency and attrCreated. A small checkout stays within 1 KB, the size that
// one write unit covers.
const (
	attrID        = "id" // whole; its first half is the sort key
	attrProduct   = "product"
	attrVariant   = "variant"
	attrAmount    = "amount"
	attrData      = "data"   // as it was sent; absent: empty
	attrObject    = "object" // the data is a JSON object, not any text
	attrUnitPrice = "unitPrice"
	attrSubtotal  = "subtotal"
	attrDiscount  = "discount"
	attrTotal     = "total"
	attrStatus    = "status"    // open: time alone makes an open checkout an expired one
	attrExpires   = "expires"   // milliseconds
	attrExpiresAt = "expiresAt" // seconds: when DynamoDB may delete the item, see template.yaml
)

func encodeCheckout(customer catalog.CustomerID, c checkout.Checkout) item {
	it := checkoutKey{customer, string(c.ID.Token())}.primary().attributes()
	it[attrID] = str(string(c.ID))
	it[attrProduct] = str(string(c.Product))
	it[attrVariant] = str(string(c.Variant))
	it[attrAmount] = num(c.Amount)
	it.setStr(attrData, c.Data)
	it.setTrue(attrObject, c.DataIsObject)
	it[attrCurrency] = str(string(c.UnitPrice.Currency))
	it[attrUnitPrice] = num(c.UnitPrice.Minor)
	it[attrSubtotal] = num(c.Subtotal.Minor)
	it[attrDiscount] = num(c.Discount.Minor)
	it[attrTotal] = num(c.Total.Minor)
	it[attrStatus] = str(string(checkout.StatusOpen))
	it[attrCreated] = millis(c.Created)
	it[attrExpires] = millis(c.Expires)
	it[attrExpiresAt] = num(c.Expires.Add(checkout.Retention + time.Second - 1).Unix()) // not a moment too early
	return it
}

func decodeCheckout(it item) checkout.Checkout {
	amount := func(name string) money.Money {
		return money.Money{Minor: it.num(name), Currency: money.Currency(it.str(attrCurrency))}
	}
	return checkout.Checkout{
		ID: checkout.ID(it.str(attrID)), Product: catalog.ProductID(it.str(attrProduct)), Variant: catalog.VariantID(it.str(attrVariant)),
		Amount: it.num(attrAmount), Data: it.str(attrData), DataIsObject: it.boolean(attrObject),
		UnitPrice: amount(attrUnitPrice), Subtotal: amount(attrSubtotal), Discount: amount(attrDiscount), Total: amount(attrTotal),
		Created: it.time(attrCreated), Expires: it.time(attrExpires),
	}
}
