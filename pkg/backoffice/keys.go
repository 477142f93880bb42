package backoffice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/dynamo/table"
)

// maxUnseenAttempts bounds how often StoreKey waits for a key that was counted but is not visible. The wait must end,
// because somebody may have deleted the key's record.
const maxUnseenAttempts = 5

// CreateKey creates a key for the shop's server. expires may be zero. random must be of cryptographic quality. Errors
// are those of StoreKey. After an error of the store the key may exist, so CreateKey returns it even then.
func (s *Shop) CreateKey(
	ctx context.Context, name string, expires time.Time, random io.Reader, now time.Time,
) (access.Key, access.KeyRecord, error) {
	key, err := access.NewKey(random)
	if err != nil {
		return access.Key{}, access.KeyRecord{}, err
	}
	record := access.KeyRecord{ID: key.ID, Name: name, Digest: key.Digest(), Created: asStored(now), Expires: expires}
	return key, record, s.StoreKey(ctx, record)
}

// StoreKey stores the record of a new key. If access.MaxLiveKeys keys are live at the time of creation, it returns
// access.ErrTooManyKeys.
//
// Concurrent creations never exceed that limit. Each attempt reads the number of keys ever created, and then the keys.
// One transaction stores the new key and raises the number. StoreKey tries again if another creation has raised the
// number meanwhile. It also tries again if it sees fewer keys than were ever created, because only a part of another
// creation's transaction may be visible.
func (s *Shop) StoreKey(ctx context.Context, record access.KeyRecord) error {
	for attempt := range maxAccessAttempts {
		if err := s.backOff(ctx, attempt); err != nil {
			return err
		}
		settings, err := table.Get(ctx, s.api, s.Tables.Catalogue, table.SettingsKey(s.Profile.ID), nil)
		if err != nil {
			return table.Outcome(err)
		}
		created := settings.Num(table.AttrKeysCreated)
		records, err := s.Keys(ctx) // after the number, so that the number never exceeds the keys without a reason
		if err != nil {
			return err
		}
		if slices.Contains(records, record) { // an earlier attempt was applied, and its response was lost
			return nil
		}
		if int64(len(records)) < created && attempt < maxUnseenAttempts {
			continue
		}
		if access.CountLive(records, record.Created) >= access.MaxLiveKeys {
			return access.ErrTooManyKeys
		}
		err = s.putKey(ctx, record, created)
		if _, overtaken := errors.AsType[*types.TransactionCanceledException](err); !overtaken {
			return table.Outcome(err)
		}
	}
	return errOvertaken
}

// putKey stores a new record. If the number of keys ever created has changed, the transaction is cancelled, and another
// attempt may succeed.
func (s *Shop) putKey(ctx context.Context, record access.KeyRecord, created int64) error {
	count := &table.Update{Key: table.SettingsKey(s.Profile.ID)}
	count.RequireCount(table.AttrKeysCreated, created)
	count.Set(table.AttrKeysCreated, table.Num(created+1))
	put := putNew(s.Tables.Catalogue, table.EncodeKeyRecord(table.AccessKeyKey(s.Profile.ID, record.ID), record))
	_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Put: put}, count.Action(s.Tables.Catalogue)},
	})
	return err
}

// Keys lists all keys, including revoked ones, oldest first. It leaves out damaged records, which accept no key.
func (s *Shop) Keys(ctx context.Context) ([]access.KeyRecord, error) {
	var records []access.KeyRecord
	for it, err := range items(ctx, s.api, s.keysQuery()) {
		if err != nil {
			return nil, table.Outcome(err)
		}
		if record := table.DecodeKeyRecord(it); record.ID != "" {
			records = append(records, record)
		}
	}
	slices.SortStableFunc(records, func(a, b access.KeyRecord) int { return a.Created.Compare(b.Created) })
	return records, nil
}

// keysQuery returns a query for all keys of the shop.
func (s *Shop) keysQuery() *dynamodb.QueryInput {
	query := partition(s.Tables.Catalogue, string(s.Profile.ID))
	query.KeyConditionExpression = aws.String(table.PartitionKey + " = :partition AND begins_with(" + table.SortKey +
		", :key)")
	query.ExpressionAttributeValues[":key"] = table.Str(table.AccessKeyPrefix)
	return query
}

// RevokeKey marks a key as revoked at the given time and returns its record. If the key was already revoked, RevokeKey
// changes nothing, and the record says when it was revoked. For an unknown key, the error wraps access.ErrKeyUnknown.
func (s *Shop) RevokeKey(ctx context.Context, id access.KeyID, at time.Time) (access.KeyRecord, error) {
	call := &table.Update{Key: table.AccessKeyKey(s.Profile.ID, id)}
	call.Require("attribute_exists(" + table.SortKey + ")")
	call.RequireEqual(table.AttrRevoked, nil)
	call.Set(table.AttrRevoked, table.Millis(at))
	out, err := s.api.UpdateItem(ctx, call.Input(s.Tables.Catalogue, types.ReturnValueAllNew))
	old, failed := table.OldItem(err)
	switch {
	case failed && len(old) == 0:
		return access.KeyRecord{}, fmt.Errorf("key %s: %w", id, access.ErrKeyUnknown)
	case failed:
		return table.DecodeKeyRecord(old), nil
	case err != nil:
		return access.KeyRecord{}, fmt.Errorf("key %s: %w", id, table.Outcome(err))
	default:
		return table.DecodeKeyRecord(out.Attributes), nil
	}
}
