package dynamo

import (
	"context"
	"iter"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// PutCustomer is catalog.ApplyStore's.
func (s *Shops) PutCustomer(ctx context.Context, customer catalog.Customer) error {
	read := customer.Version
	customer.Version++
	return s.put(ctx, encodeCustomer(customer), read)
}

// PutProduct is catalog.ApplyStore's. All variants are in one item.
func (s *Shops) PutProduct(ctx context.Context, customer catalog.CustomerID, product catalog.Product) error {
	read := product.Version
	product.Version++
	return s.put(ctx, encodeProduct(customer, product), read)
}

// put writes an item over the one of the version that was read, which has the same currency; 0: over none.
func (s *Shops) put(ctx context.Context, it item, read int64) error {
	put := &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: it, ConditionExpression: aws.String("attribute_not_exists(" + sortKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if read >= firstVersion {
		put.ConditionExpression = aws.String("#currency = :currency AND attribute_not_exists(#version)")
		put.ExpressionAttributeNames = map[string]string{"#currency": attrCurrency, "#version": attrVersion}
		put.ExpressionAttributeValues = item{":currency": it[attrCurrency]}
	}
	if read > firstVersion {
		put.ConditionExpression = aws.String("#currency = :currency AND #version = :version")
		put.ExpressionAttributeValues[":version"] = num(read)
	}
	_, err := s.api.PutItem(ctx, put)
	old, failed := oldItem(err)
	switch {
	case !failed:
		return outcome(err)
	case reflect.DeepEqual(old, it): // the SDK's own attempt before: its answer was lost
		return nil
	case len(old) > 0 && old.str(attrCurrency) != it.str(attrCurrency):
		return catalog.ErrCurrencyFixed
	default:
		return catalog.ErrChanged
	}
}
