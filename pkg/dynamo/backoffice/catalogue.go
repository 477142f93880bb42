package backoffice

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
)

// Catalogue is a catalogue table; it is a catalog.ApplyStore. Create it with NewCatalogue.
type Catalogue struct {
	api   API
	table string
}

// NewCatalogue returns the catalogue in a table.
func NewCatalogue(api API, table string) *Catalogue { return &Catalogue{api: api, table: table} }

// Shop reads a customer with all products, on sale or not, or returns catalog.ErrNotFound.
func (s *Catalogue) Shop(ctx context.Context, id catalog.CustomerID) (catalog.Shop, error) {
	var shop catalog.Shop
	for it, err := range items(ctx, s.api, partition(s.table, string(id))) {
		if err != nil {
			return catalog.Shop{}, table.Outcome(err)
		}
		switch key := table.KeyOf(it); {
		case key.Sort == table.ProfileSort:
			shop.Customer = table.DecodeCustomer(it)
		case strings.HasPrefix(key.Sort, table.ProductPrefix):
			shop.Products = append(shop.Products, table.DecodeProduct(it))
		}
	}
	if shop.Customer.ID == "" {
		return catalog.Shop{}, catalog.ErrNotFound
	}
	return shop, nil
}

// Product reads a product, on sale or not, or returns catalog.ErrNotFound.
func (s *Catalogue) Product(ctx context.Context, customer catalog.CustomerID, id catalog.ProductID) (catalog.Product, error) {
	it, err := table.Get(ctx, s.api, s.table, table.ProductKey(customer, id), catalog.ErrNotFound)
	if err != nil {
		return catalog.Product{}, table.Outcome(err)
	}
	return table.DecodeProduct(it), nil
}

// Customers returns all customers, in ID order. It reads the whole table.
func (s *Catalogue) Customers(ctx context.Context) ([]catalog.Customer, error) {
	var customers []catalog.Customer
	pages := dynamodb.NewScanPaginator(s.api, &dynamodb.ScanInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true),
		FilterExpression:          aws.String(table.SortKey + " = :profile"),
		ExpressionAttributeValues: table.Item{":profile": table.Str(table.ProfileSort)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, table.Outcome(err)
		}
		for _, it := range page.Items {
			customers = append(customers, table.DecodeCustomer(it))
		}
	}
	slices.SortFunc(customers, func(a, b catalog.Customer) int { return cmp.Compare(a.ID, b.ID) })
	return customers, nil
}

// PutCustomer implements catalog.ApplyStore.
func (s *Catalogue) PutCustomer(ctx context.Context, customer catalog.Customer) error {
	read := customer.Version
	customer.Version++
	return s.put(ctx, table.EncodeCustomer(customer), read)
}

// PutProduct implements catalog.ApplyStore. All variants of a product are in one item.
func (s *Catalogue) PutProduct(ctx context.Context, customer catalog.CustomerID, product catalog.Product) error {
	read := product.Version
	product.Version++
	return s.put(ctx, table.EncodeProduct(customer, product), read)
}

// put replaces an item that still has the version that was read and the same currency. Version 0 means that no item was read,
// and then none may exist.
func (s *Catalogue) put(ctx context.Context, it table.Item, read int64) error {
	put := &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: it, ConditionExpression: aws.String("attribute_not_exists(" + table.SortKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if read >= table.FirstVersion {
		put.ConditionExpression = aws.String("#currency = :currency AND attribute_not_exists(#version)")
		put.ExpressionAttributeNames = map[string]string{"#currency": table.AttrCurrency, "#version": table.AttrVersion}
		put.ExpressionAttributeValues = table.Item{":currency": it[table.AttrCurrency]}
	}
	if read > table.FirstVersion {
		put.ConditionExpression = aws.String("#currency = :currency AND #version = :version")
		put.ExpressionAttributeValues[":version"] = table.Num(read)
	}
	_, err := s.api.PutItem(ctx, put)
	old, failed := table.OldItem(err)
	switch {
	case !failed:
		return table.Outcome(err)
	case reflect.DeepEqual(old, it): // written by an earlier attempt whose response was lost
		return nil
	case len(old) > 0 && old.Str(table.AttrCurrency) != it.Str(table.AttrCurrency):
		return catalog.ErrCurrencyFixed
	default:
		return catalog.ErrChanged
	}
}
