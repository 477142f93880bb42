package backoffice

import (
	"cmp"
	"context"
	"errors"
	"maps"
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
	api    API
	table  string
	random func(n int64) int64
}

// NewCatalogue returns the catalogue in a table; random is as in NewVouchers.
func NewCatalogue(api API, table string, random func(n int64) int64) *Catalogue {
	return &Catalogue{api: api, table: table, random: random}
}

// Customer reads a customer, or returns catalog.ErrNotFound.
func (s *Catalogue) Customer(ctx context.Context, id catalog.CustomerID) (catalog.Customer, error) {
	it, err := table.Get(ctx, s.api, s.table, table.ProfileKey(id), catalog.ErrNotFound)
	if err != nil {
		return catalog.Customer{}, table.Outcome(err)
	}
	return table.DecodeCustomer(it), nil
}

// Shop reads a customer with all products, on sale or not, or returns catalog.ErrNotFound.
//
// A product can be found under both keys if another apply is moving it, or if an older shopctl, which does not know OffSaleKey,
// stored it again. The copy under ProductKey counts, because functions read that one. It gets the later version of the two, so
// that the next write removes the other copy. A product that Shop misses in the middle of a move looks new, and its write
// returns catalog.ErrChanged.
func (s *Catalogue) Shop(ctx context.Context, id catalog.CustomerID) (catalog.Shop, error) {
	var shop catalog.Shop
	products := make(map[catalog.ProductID]catalog.Product)
	for it, err := range items(ctx, s.api, partition(s.table, string(id))) {
		if err != nil {
			return catalog.Shop{}, table.Outcome(err)
		}
		switch key := table.KeyOf(it); {
		case key.Sort == table.ProfileSort:
			shop.Customer = table.DecodeCustomer(it)
		case strings.HasPrefix(key.Sort, table.OffSalePrefix), strings.HasPrefix(key.Sort, table.ProductPrefix): // in this order
			product := table.DecodeProduct(it)
			product.Version = max(product.Version, products[product.ID].Version)
			products[product.ID] = product
		}
	}
	if shop.Customer.ID == "" {
		return catalog.Shop{}, catalog.ErrNotFound
	}
	for _, id := range slices.Sorted(maps.Keys(products)) {
		shop.Products = append(shop.Products, products[id])
	}
	return shop, nil
}

// Product reads a product, on sale or not, or returns catalog.ErrNotFound.
func (s *Catalogue) Product(ctx context.Context, customer catalog.CustomerID, id catalog.ProductID) (catalog.Product, error) {
	it, err := table.Get(ctx, s.api, s.table, table.ProductKey(customer, id), nil)
	if err == nil && len(it) == 0 {
		it, err = table.Get(ctx, s.api, s.table, table.OffSaleKey(customer, id), catalog.ErrNotFound)
	}
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
	it := table.EncodeCustomer(customer)
	g := guarding(it, read)
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(s.table), Item: it, ConditionExpression: g.condition,
		ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, failed := table.OldItem(err); failed {
		return refused(it, old)
	}
	return table.Outcome(err)
}

// PutProduct implements catalog.ApplyStore. All variants of a product are in one item, which has one key while the product is on
// sale and another one while it is off sale. A transaction writes the item under the one key and deletes it under the other.
// Both parts are guarded: a late attempt that finds its own key free fails at the other key.
func (s *Catalogue) PutProduct(ctx context.Context, customer catalog.CustomerID, product catalog.Product) error {
	read := product.Version
	product.Version++
	it, other := table.EncodeProduct(customer, product), table.OffSaleKey(customer, product.ID)
	if product.OffSale {
		other = table.ProductKey(customer, product.ID)
	}
	g := guarding(it, read)
	err := transact(ctx, s.api, s.random, []types.TransactWriteItem{
		{Put: &types.Put{
			TableName: aws.String(s.table), Item: it, ConditionExpression: g.condition,
			ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
		{Delete: &types.Delete{
			TableName: aws.String(s.table), Key: other.Attributes(), ConditionExpression: g.condition,
			ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
	})
	canceled, _ := errors.AsType[*types.TransactionCanceledException](err)
	if canceled != nil {
		for _, reason := range canceled.CancellationReasons {
			if aws.ToString(reason.Code) == table.ConditionFailed {
				return refused(it, reason.Item)
			}
		}
	}
	return table.Outcome(err)
}

// guard is the condition of a write. It holds unless a later version than the one read is stored.
type guard struct {
	condition *string
	names     map[string]string
	values    table.Item
}

// guarding guards the write of an item whose version was read. Version 0 means that no item was read, and then none may exist.
// Otherwise the item must have the same currency.
func guarding(it table.Item, read int64) guard {
	if read < table.FirstVersion {
		return guard{condition: aws.String("attribute_not_exists(" + table.SortKey + ")")}
	}
	return guard{
		aws.String("attribute_not_exists(" + table.SortKey + ") OR " +
			"#currency = :currency AND (attribute_not_exists(#version) OR #version <= :version)"),
		map[string]string{"#currency": table.AttrCurrency, "#version": table.AttrVersion},
		table.Item{":currency": it[table.AttrCurrency], ":version": table.Num(read)},
	}
}

// refused returns the error of a write whose guard failed: it is the item to write, and old is the stored item. If they are equal, an
// earlier attempt of this write was applied and its response was lost, and refused returns nil.
func refused(it, old table.Item) error {
	switch {
	case reflect.DeepEqual(old, it):
		return nil
	case len(old) > 0 && old.Str(table.AttrCurrency) != it.Str(table.AttrCurrency):
		return catalog.ErrCurrencyFixed
	default:
		return catalog.ErrChanged
	}
}
