package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
)

// CatalogueAPI is what the shop's side of the catalogue calls of DynamoDB: checking out reads in batches, the checkout area
// gets and queries.
type CatalogueAPI interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Catalogue reads what is sold from one table; it is a catalog.Store. Make it with NewCatalogue.
type Catalogue struct {
	api    CatalogueAPI
	table  string
	random func(n int64) int64
}

// NewCatalogue returns the catalogue of a table; random is as in NewRedemptions.
func NewCatalogue(api CatalogueAPI, table string, random func(n int64) int64) *Catalogue {
	return &Catalogue{api: api, table: table, random: random}
}

// Customer reads a customer's profile, or returns catalog.ErrNotFound.
func (s *Catalogue) Customer(ctx context.Context, id catalog.CustomerID) (catalog.Customer, error) {
	out, err := s.api.GetItem(ctx, consistentGet(s.table, customerKey{id}.primary()))
	if err != nil {
		return catalog.Customer{}, outcome(err)
	}
	if len(out.Item) == 0 {
		return catalog.Customer{}, catalog.ErrNotFound
	}
	return decodeCustomer(out.Item), nil
}

// Product reads a customer's profile and one product in one call. Where either is unknown it returns catalog.ErrNotFound.
func (s *Catalogue) Product(ctx context.Context, customer catalog.CustomerID, product catalog.ProductID) (catalog.Customer, catalog.Product, error) {
	profile, sold := customerKey{customer}.primary(), productKey{customer, product}.primary()
	found, err := batchGet(ctx, s.api, s.random, s.table, profile, sold)
	if err != nil {
		return catalog.Customer{}, catalog.Product{}, outcome(err)
	}
	if found[profile] == nil || found[sold] == nil {
		return catalog.Customer{}, catalog.Product{}, catalog.ErrNotFound
	}
	return decodeCustomer(found[profile]), decodeProduct(found[sold]), nil
}

// ProductsOnSale reads the customer's products that are not off sale page by page, as they are taken, and to the end. A
// page begins with as many products as are wanted; where many are off sale, pages grow.
func (s *Catalogue) ProductsOnSale(ctx context.Context, customer catalog.CustomerID, after catalog.ProductID, want int) iter.Seq2[catalog.Product, error] {
	query := s.queryProducts(customer, after)
	query.FilterExpression = aws.String("attribute_not_exists(" + attrOffSale + ")")
	query.Limit = aws.Int32(int32(min(max(want, 1), maxPage)))
	return s.products(ctx, query)
}

// maxPage bounds how many products one call asks for; DynamoDB ends a page at 1 MB anyway.
const maxPage = 1000

// queryProducts asks for all products behind after, in ID order.
func (s *Catalogue) queryProducts(customer catalog.CustomerID, after catalog.ProductID) *dynamodb.QueryInput {
	query := &dynamodb.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(partitionKey + " = :customer AND begins_with(" + sortKey + ", :product)"),
		ExpressionAttributeValues: item{":customer": str(string(customer)), ":product": str(productPrefix)},
	}
	if after != "" {
		query.ExclusiveStartKey = productKey{customer, after}.primary().attributes()
	}
	return query
}

func (s *Catalogue) products(ctx context.Context, query *dynamodb.QueryInput) iter.Seq2[catalog.Product, error] {
	return func(yield func(catalog.Product, error) bool) {
		next := *query
		for {
			out, err := s.api.Query(ctx, &next)
			if err != nil {
				yield(catalog.Product{}, outcome(err))
				return
			}
			for _, it := range out.Items {
				if !yield(decodeProduct(it), nil) {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			next.ExclusiveStartKey = out.LastEvaluatedKey
			if next.Limit != nil {
				next.Limit = aws.Int32(min(*next.Limit*2, maxPage))
			}
		}
	}
}
