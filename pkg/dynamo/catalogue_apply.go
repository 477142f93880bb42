package dynamo

import (
	"context"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
)

// ShopsAPI is what an operator's work on the catalogue calls of DynamoDB.
type ShopsAPI interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Shops is the operator's side of a catalogue table; it is a catalog.ApplyStore. Make it with NewShops.
type Shops struct {
	api   ShopsAPI
	table string
}

// NewShops returns the shops of a catalogue table.
func NewShops(api ShopsAPI, table string) *Shops { return &Shops{api: api, table: table} }

// Shop reads all that is kept of a customer, on sale or not, or returns catalog.ErrNotFound.
func (s *Shops) Shop(ctx context.Context, id catalog.CustomerID) (catalog.Shop, error) {
	query := &dynamodb.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(partitionKey + " = :customer"),
		ExpressionAttributeValues: item{":customer": str(string(id))},
	}
	var shop catalog.Shop
	for {
		out, err := s.api.Query(ctx, query)
		if err != nil {
			return catalog.Shop{}, outcome(err)
		}
		for _, it := range out.Items {
			switch key := keyOf(it); {
			case key.sort == customerSort:
				shop.Customer = decodeCustomer(it)
			case strings.HasPrefix(key.sort, productPrefix):
				shop.Products = append(shop.Products, decodeProduct(it))
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			break
		}
		query.ExclusiveStartKey = out.LastEvaluatedKey
	}
	if shop.Customer.ID == "" {
		return catalog.Shop{}, catalog.ErrNotFound
	}
	return shop, nil
}

// Customers yields all customers in no order, and stops at the first error. It reads the whole table.
func (s *Shops) Customers(ctx context.Context) iter.Seq2[catalog.Customer, error] {
	return func(yield func(catalog.Customer, error) bool) {
		scan := &dynamodb.ScanInput{
			TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
			FilterExpression:          aws.String(sortKey + " = :profile"),
			ExpressionAttributeValues: item{":profile": str(customerSort)},
		}
		for {
			out, err := s.api.Scan(ctx, scan)
			if err != nil {
				yield(catalog.Customer{}, outcome(err))
				return
			}
			for _, it := range out.Items {
				if !yield(decodeCustomer(it), nil) {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			scan.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}

// PutCustomer creates or replaces a customer's profile. Where one is kept in another currency it returns
// catalog.ErrCurrencyFixed and changes nothing.
func (s *Shops) PutCustomer(ctx context.Context, customer catalog.Customer) error {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: encodeCustomer(customer),
		ConditionExpression:       aws.String("attribute_not_exists(" + sortKey + ") OR #currency = :currency"),
		ExpressionAttributeNames:  map[string]string{"#currency": attrCurrency},
		ExpressionAttributeValues: item{":currency": str(string(customer.Currency))},
	})
	if _, failed := oldItem(err); failed {
		return catalog.ErrCurrencyFixed
	}
	return outcome(err)
}

// PutProduct creates or replaces a product of a customer, with all its variants in one item.
func (s *Shops) PutProduct(ctx context.Context, customer catalog.CustomerID, product catalog.Product) error {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(s.table), Item: encodeProduct(customer, product)})
	return outcome(err)
}
