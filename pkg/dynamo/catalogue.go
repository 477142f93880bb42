package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
)

// CatalogueAPI lists the DynamoDB operations that Catalogue calls. Product calls BatchGetItem. Profile calls GetItem,
// and ProductsOnSale calls Query.
type CatalogueAPI interface {
	table.Getter
	table.BatchGetter
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Catalogue reads a catalogue table. It implements catalog.Store and catalog.AreaStore. Create it with NewCatalogue.
type Catalogue struct {
	api       CatalogueAPI
	tableName string
	random    func(n int64) int64
}

// NewCatalogue returns a reader of a catalogue table. random is as in NewRedeemer.
func NewCatalogue(api CatalogueAPI, tableName string, random func(n int64) int64) *Catalogue {
	return &Catalogue{api: api, tableName: tableName, random: random}
}

// Profile reads a shop's profile, or returns catalog.ErrNotFound. The read is eventually consistent, which costs
// half as much.
func (s *Catalogue) Profile(ctx context.Context, id catalog.ShopID) (catalog.Profile, error) {
	out, err := s.api.GetItem(ctx,
		&dynamodb.GetItemInput{TableName: aws.String(s.tableName), Key: table.ProfileKey(id).Attributes()})
	if err != nil {
		return catalog.Profile{}, table.Outcome(err)
	}
	if len(out.Item) == 0 {
		return catalog.Profile{}, catalog.ErrNotFound
	}
	return table.DecodeProfile(out.Item), nil
}

// Product reads a shop's profile and one product on sale in one consistent call. If either does not exist, it
// returns catalog.ErrNotFound.
func (s *Catalogue) Product(
	ctx context.Context, shop catalog.ShopID, product catalog.ProductID,
) (catalog.Profile, catalog.Product, error) {
	profile, sold := table.ProfileKey(shop), table.ProductKey(shop, product)
	found, err := table.BatchGet(ctx, s.api, s.random, s.tableName, profile, sold)
	if err != nil {
		return catalog.Profile{}, catalog.Product{}, table.Outcome(err)
	}
	if found[profile] == nil || found[sold] == nil {
		return catalog.Profile{}, catalog.Product{}, catalog.ErrNotFound
	}
	return table.DecodeProfile(found[profile]), table.DecodeProduct(found[sold]), nil
}

// maxPage bounds how many products one call asks for. DynamoDB ends a page at 1 MB anyway.
const maxPage = 1000

// ProductsOnSale yields all products on sale after the given one, in ID order, and stops at the first error. It reads a
// page only when it is needed, and its reads are eventually consistent. The first call reads want products. Each
// further call reads twice as many as the one before, because the caller skips products whose variants are all off
// sale.
func (s *Catalogue) ProductsOnSale(
	ctx context.Context, shop catalog.ShopID, after catalog.ProductID, want int,
) iter.Seq2[catalog.Product, error] {
	return func(yield func(catalog.Product, error) bool) {
		limit := int32(min(max(want, 1), maxPage))
		query := &dynamodb.QueryInput{
			TableName: aws.String(s.tableName),
			KeyConditionExpression: aws.String(table.PartitionKey + " = :customer AND begins_with(" + table.SortKey +
				", :product)"),
			ExpressionAttributeValues: table.Item{
				":customer": table.Str(shop),
				":product":  table.Str(table.ProductPrefix),
			},
			Limit: &limit,
		}
		if after != "" {
			query.ExclusiveStartKey = table.ProductKey(shop, after).Attributes()
		}
		for {
			out, err := s.api.Query(ctx, query)
			if err != nil {
				yield(catalog.Product{}, table.Outcome(err))
				return
			}
			for _, it := range out.Items {
				if !yield(table.DecodeProduct(it), nil) {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			query.ExclusiveStartKey = out.LastEvaluatedKey
			limit = min(limit*2, maxPage)
		}
	}
}
