package backoffice

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
)

// profile reads the shop without its products, or returns catalog.ErrNotFound.
func (s *Shop) profile(ctx context.Context) (catalog.Profile, error) {
	it, err := table.Get(ctx, s.api, s.Tables.Catalogue, table.ProfileKey(s.Profile.ID), catalog.ErrNotFound)
	if err != nil {
		return catalog.Profile{}, table.Outcome(err)
	}
	return table.DecodeProfile(it), nil
}

// Catalogue reads the shop with all products, including those off sale, or returns catalog.ErrNotFound.
//
// While another operator's apply moves a product between ProductKey and OffSaleKey, Catalogue may read both copies, or
// miss the product. Of two copies, it returns the one with the later version. If it misses the product, the product
// looks new, and writing it returns catalog.ErrChanged.
func (s *Shop) Catalogue(ctx context.Context) (catalog.Shop, error) {
	var shop catalog.Shop
	products := make(map[catalog.ProductID]catalog.Product)
	for it, err := range items(ctx, s.api, partition(s.Tables.Catalogue, string(s.Profile.ID))) {
		if err != nil {
			return catalog.Shop{}, table.Outcome(err)
		}
		switch key := table.KeyOf(it); {
		case key.Sort == table.ProfileSort:
			shop.Profile = table.DecodeProfile(it)
		case strings.HasPrefix(key.Sort, table.OffSalePrefix), strings.HasPrefix(key.Sort, table.ProductPrefix):
			if product := table.DecodeProduct(it); product.Version > products[product.ID].Version {
				products[product.ID] = product
			}
		}
	}
	if shop.Profile.ID == "" {
		return catalog.Shop{}, catalog.ErrNotFound
	}
	for _, id := range slices.Sorted(maps.Keys(products)) {
		shop.Products = append(shop.Products, products[id])
	}
	return shop, nil
}

// product reads a product, on sale or not, or returns catalog.ErrNotFound.
func (s *Shop) product(ctx context.Context, id catalog.ProductID) (catalog.Product, error) {
	it, err := table.Get(ctx, s.api, s.Tables.Catalogue, table.ProductKey(s.Profile.ID, id), nil)
	if err == nil && len(it) == 0 {
		it, err = table.Get(ctx, s.api, s.Tables.Catalogue, table.OffSaleKey(s.Profile.ID, id), catalog.ErrNotFound)
	}
	if err != nil {
		return catalog.Product{}, table.Outcome(err)
	}
	return table.DecodeProduct(it), nil
}

// Shops lists all shops, in ID order. It reads the whole table.
func (d *Deployment) Shops(ctx context.Context) ([]catalog.Profile, error) {
	var shops []catalog.Profile
	pages := dynamodb.NewScanPaginator(d.api, &dynamodb.ScanInput{
		TableName: aws.String(d.Tables.Catalogue), ConsistentRead: aws.Bool(true),
		FilterExpression:          aws.String(table.SortKey + " = :profile"),
		ExpressionAttributeValues: table.Item{":profile": table.Str(table.ProfileSort)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, table.Outcome(err)
		}
		for _, it := range page.Items {
			shops = append(shops, table.DecodeProfile(it))
		}
	}
	slices.SortFunc(shops, func(a, b catalog.Profile) int { return cmp.Compare(a.ID, b.ID) })
	return shops, nil
}

// PutProfile implements catalog.ApplyStore.
func (s *Shop) PutProfile(ctx context.Context, profile catalog.Profile) error {
	read := profile.Version
	profile.Version++
	it := table.EncodeProfile(profile)
	return s.putGuarded(ctx, it, types.TransactWriteItem{Put: s.guarded(it, read)})
}

// PutProduct implements catalog.ApplyStore. All variants of a product are in one item. Its key is ProductKey while the
// product is on sale, and OffSaleKey while it is off sale. A transaction writes the item under one key and deletes it
// under the other. Both actions have a condition. So an attempt that arrives late, after the product has moved to the
// other key, fails.
func (s *Shop) PutProduct(ctx context.Context, product catalog.Product) error {
	read := product.Version
	product.Version++
	it, other := table.EncodeProduct(s.Profile.ID, product), table.OffSaleKey(s.Profile.ID, product.ID)
	if product.OffSale {
		other = table.ProductKey(s.Profile.ID, product.ID)
	}
	put := s.guarded(it, read)
	return s.putGuarded(ctx, it, types.TransactWriteItem{Put: put}, types.TransactWriteItem{Delete: &types.Delete{
		TableName: put.TableName, Key: other.Attributes(), ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames:            put.ExpressionAttributeNames,
		ExpressionAttributeValues:           put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	}})
}

// guarded returns the put of an item. The parameter read is the version that was read before, or 0 if no item was
// found. The put fails if a later version or another currency is stored. If read is 0, it fails if any item is stored.
func (s *Shop) guarded(it table.Item, read int64) *types.Put {
	put := putNew(s.Tables.Catalogue, it)
	if read > 0 {
		put.ConditionExpression = aws.String(*put.ConditionExpression +
			" OR #currency = :currency AND #version <= :version")
		put.ExpressionAttributeNames = map[string]string{"#currency": table.AttrCurrency, "#version": table.AttrVersion}
		put.ExpressionAttributeValues = table.Item{":currency": it[table.AttrCurrency], ":version": table.Num(read)}
	}
	return put
}

// putGuarded sends guarded actions that store an item. If a condition fails because an earlier attempt was applied and
// its response was lost, the item is already stored, and putGuarded returns nil.
func (s *Shop) putGuarded(ctx context.Context, it table.Item, actions ...types.TransactWriteItem) error {
	failed, old, err := s.write(ctx, actions...)
	switch {
	case failed == noConditionFailed:
		return table.Outcome(err)
	case reflect.DeepEqual(old, it):
		return nil
	case len(old) > 0 && old.Str(table.AttrCurrency) != it.Str(table.AttrCurrency):
		return catalog.ErrCurrencyFixed
	default:
		return catalog.ErrChanged
	}
}
