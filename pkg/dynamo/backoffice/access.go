package backoffice

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/voucher"
)

// maxAccessAttempts bounds how often a change starts over because another change overtook it.
const maxAccessAttempts = 20

// maxUnseenAttempts bounds how often CreateKey waits for a key that was counted but is not visible. The wait must end, because somebody may
// have deleted the key's record.
const maxUnseenAttempts = 5

// errOvertaken is the error of a change that other changes overtook maxAccessAttempts times.
var errOvertaken = errors.New("others keep changing the shop's settings: run the command again")

// Access reads and changes the settings and keys in a catalogue table. Create it with NewAccess.
type Access struct{ store }

// NewAccess returns the settings and keys in a catalogue table. random is as in NewVouchers.
func NewAccess(api API, table string, random func(n int64) int64) *Access {
	return &Access{store{api, table, random}}
}

// Settings reads a customer's settings. If none are stored, it returns access.DefaultSettings.
func (s *Access) Settings(ctx context.Context, customer catalog.CustomerID) (access.Settings, error) {
	it, err := table.Get(ctx, s.api, s.table, table.SettingsKey(customer), nil)
	return table.DecodeSettings(it), table.Outcome(err)
}

// PutSettings replaces the stored settings if their version is still settings.Version, and stores the next version. If another version is
// stored, it returns catalog.ErrChanged. There is one exception: if the stored settings equal the new ones, an earlier attempt was applied
// and its response was lost, and PutSettings succeeds. No attempt is applied once a later version is stored.
func (s *Access) PutSettings(ctx context.Context, customer catalog.CustomerID, settings access.Settings) error {
	call := &table.Update{Key: table.SettingsKey(customer)}
	call.RequireCount(table.AttrVersion, settings.Version)
	settings.Version++
	table.SetSettings(call, settings)
	_, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueNone))
	old, failed := table.OldItem(err)
	switch {
	case !failed:
		return table.Outcome(err)
	case reflect.DeepEqual(table.DecodeSettings(old), settings):
		return nil
	default:
		return catalog.ErrChanged
	}
}

// ChangePause applies a change to what a customer has paused and returns the result. It starts over if somebody else changes the settings
// meanwhile. If the function change returns an error, ChangePause returns that error unwrapped.
//
// ChangePause writes the settings as a new version even if there is nothing to change. A write of an interrupted earlier command may still
// be in flight. That write requires the old version, so it can no longer undo the result that the caller got.
func (s *Access) ChangePause(
	ctx context.Context, customer catalog.CustomerID, change func(voucher.Pause) (voucher.Pause, error),
) (voucher.Pause, error) {
	for attempt := range maxAccessAttempts {
		if err := s.pauseBefore(ctx, attempt); err != nil {
			return voucher.Pause{}, err
		}
		settings, err := s.Settings(ctx, customer)
		if err != nil {
			return voucher.Pause{}, err
		}
		paused, err := change(settings.Paused)
		if err != nil {
			return voucher.Pause{}, err
		}
		settings.Paused = paused
		if err := s.PutSettings(ctx, customer, settings); !errors.Is(err, catalog.ErrChanged) {
			return paused, err
		}
	}
	return voucher.Pause{}, errOvertaken
}

// pauseBefore waits before every attempt but the first.
func (s *Access) pauseBefore(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return nil
	}
	return table.Outcome(table.Wait(ctx, table.Backoff(attempt-1, s.random)))
}

// Keys returns the records of all keys of a customer, including revoked ones, in the order of their IDs. It leaves out damaged records,
// which accept no key.
func (s *Access) Keys(ctx context.Context, customer catalog.CustomerID) ([]access.KeyRecord, error) {
	var records []access.KeyRecord
	for it, err := range items(ctx, s.api, s.keysOf(customer)) {
		if err != nil {
			return nil, table.Outcome(err)
		}
		if record := table.DecodeKeyRecord(it); record.ID != "" {
			records = append(records, record)
		}
	}
	return records, nil
}

// keysOf returns a query for all keys of a customer.
func (s *Access) keysOf(customer catalog.CustomerID) *dynamodb.QueryInput {
	query := partition(s.table, string(customer))
	query.KeyConditionExpression = aws.String(table.PartitionKey + " = :partition AND begins_with(" + table.SortKey + ", :key)")
	query.ExpressionAttributeValues[":key"] = table.Str(table.AccessKeyPrefix)
	return query
}

// CreateKey stores the record of a new key. If access.MaxLiveKeys keys are live at the time of creation, it returns access.ErrTooManyKeys.
//
// Concurrent creations never exceed that limit. Each attempt reads the number of keys ever created, and then the keys. One transaction
// stores the new key and raises the number. CreateKey tries again if another creation has raised the number meanwhile. It also tries again
// if it sees fewer keys than were ever created, because only a part of another creation's transaction may be visible.
func (s *Access) CreateKey(ctx context.Context, customer catalog.CustomerID, record access.KeyRecord) error {
	for attempt := range maxAccessAttempts {
		if err := s.pauseBefore(ctx, attempt); err != nil {
			return err
		}
		created, records, err := s.createdKeys(ctx, customer)
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
		overtaken, err := s.putKey(ctx, customer, record, created)
		if !overtaken {
			return table.Outcome(err)
		}
	}
	return errOvertaken
}

// createdKeys first reads the number of keys ever created, and then the records. It returns both.
func (s *Access) createdKeys(ctx context.Context, customer catalog.CustomerID) (created int64, records []access.KeyRecord, err error) {
	it, err := table.Get(ctx, s.api, s.table, table.SettingsKey(customer), nil)
	if err != nil {
		return 0, nil, table.Outcome(err)
	}
	records, err = s.Keys(ctx, customer)
	return it.Num(table.AttrKeysCreated), records, err
}

// putKey stores a new record. If the number of keys ever created has changed, overtaken is true, and another attempt may succeed.
func (s *Access) putKey(ctx context.Context, customer catalog.CustomerID, record access.KeyRecord, created int64) (overtaken bool, err error) {
	count := &table.Update{Key: table.SettingsKey(customer)}
	count.RequireCount(table.AttrKeysCreated, created)
	count.Set(table.AttrKeysCreated, table.Num(created+1))
	_, err = s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: s.putNew(table.EncodeKeyRecord(table.AccessKeyKey(customer, record.ID), record))},
		count.Action(s.table),
	}})
	_, overtaken = errors.AsType[*types.TransactionCanceledException](err)
	return overtaken, err
}

// RevokeKey marks a key as revoked at the given time and returns its record. If the key was already revoked, RevokeKey changes nothing, and
// the record says when it was revoked. For an unknown key, the error is access.ErrKeyUnknown.
func (s *Access) RevokeKey(ctx context.Context, customer catalog.CustomerID, id access.KeyID, at time.Time) (access.KeyRecord, error) {
	call := &table.Update{Key: table.AccessKeyKey(customer, id), Condition: "attribute_exists(" + table.SortKey + ")"}
	call.RequireEqual(table.AttrRevoked, nil)
	call.Set(table.AttrRevoked, table.Millis(at))
	out, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueAllNew))
	old, failed := table.OldItem(err)
	switch {
	case failed && len(old) == 0:
		return access.KeyRecord{}, access.ErrKeyUnknown
	case failed:
		return table.DecodeKeyRecord(old), nil
	case err != nil:
		return access.KeyRecord{}, table.Outcome(err)
	default:
		return table.DecodeKeyRecord(out.Attributes), nil
	}
}
