package table

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// Getter has the DynamoDB operation that Get calls.
type Getter interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// TransactGetter has the DynamoDB operation that GetTogether calls.
type TransactGetter interface {
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// BatchGetter has the DynamoDB operation that BatchGet calls.
type BatchGetter interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput,
		...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// Get reads an item consistently. If it does not exist, Get returns an empty item and the error missing, which may be
// nil.
func Get(ctx context.Context, api Getter, table string, key Key, missing error) (Item, error) {
	out, err := api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(table), Key: key.Attributes(),
		ConsistentRead: aws.Bool(true),
	})
	switch {
	case err != nil:
		return nil, err
	case len(out.Item) == 0:
		return nil, missing
	default:
		return out.Item, nil
	}
}

// Reading returns the part of a transaction that reads an item.
func Reading(table string, key Key) types.TransactGetItem {
	return types.TransactGetItem{Get: &types.Get{TableName: aws.String(table), Key: key.Attributes()}}
}

// GetTogether reads at most 100 items as they are at one moment. An item that does not exist is empty. If a transaction
// in flight writes one of the items, GetTogether waits until the transaction has ended. Other reads do not wait: they
// might miss a write although other writes of its transaction are already visible. random is as in Backoff.
func GetTogether(
	ctx context.Context, api TransactGetter, random func(n int64) int64, reads ...types.TransactGetItem,
) ([]Item, error) {
	for attempt := 0; ; attempt++ {
		out, err := api.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: reads})
		if err == nil && len(out.Responses) == len(reads) {
			items := make([]Item, len(reads))
			for i, response := range out.Responses {
				items[i] = response.Item
			}
			return items, nil
		}
		if err == nil {
			return nil, &UnavailableError{errors.New("DynamoDB's response to a transaction of reads lacks the result " +
				"of a read")}
		}
		if !IsConflict(err) {
			return nil, err
		}
		if err := Wait(ctx, Backoff(attempt, random)); err != nil {
			return nil, err
		}
	}
}

// GetSettled reads an item as GetTogether does.
func GetSettled(
	ctx context.Context, api TransactGetter, random func(n int64) int64, table string, key Key,
) (Item, error) {
	items, err := GetTogether(ctx, api, random, Reading(table, key))
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// BatchGet reads at most 100 items of one table consistently. It reads a repeated key once, because DynamoDB rejects a
// request that contains a key twice. Without keys, BatchGet makes no call. If DynamoDB leaves keys unprocessed,
// BatchGet requests those keys again, until the context ends. If a call fails, BatchGet returns the items that it has
// read, with the error. random is as in Backoff.
func BatchGet(
	ctx context.Context, api BatchGetter, random func(n int64) int64, table string, keys ...Key,
) (map[Key]Item, error) {
	found := make(map[Key]Item, len(keys))
	asked := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for i, key := range keys {
		if !slices.Contains(keys[:i], key) {
			asked.Keys = append(asked.Keys, key.Attributes())
		}
	}
	for attempt := 0; len(asked.Keys) > 0; attempt++ {
		out, err := api.BatchGetItem(ctx,
			&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: asked}})
		if err != nil {
			return found, err
		}
		for _, it := range out.Responses[table] {
			found[KeyOf(it)] = it
		}
		if asked = out.UnprocessedKeys[table]; len(asked.Keys) == 0 {
			break
		}
		if err := Wait(ctx, Backoff(attempt, random)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// ReadVoucher reads a voucher. For an unknown code, the error is a *voucher.RefusalError.
func ReadVoucher(
	ctx context.Context, api Getter, table string, shop catalog.ShopID, code voucher.Code,
) (Voucher, error) {
	it, err := Get(ctx, api, table, VoucherKey(shop, code), nil)
	if err != nil {
		return Voucher{}, err
	}
	if len(it) == 0 {
		return Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	return DecodeVoucher(it)
}
