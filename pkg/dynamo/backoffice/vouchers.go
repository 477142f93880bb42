// Package backoffice is the operator's side of the tables. It creates, edits and lists vouchers, writes the catalogue, the settings and the
// keys, and lists checkouts and events. For verification it reads every item strictly, so that damaged items are found. The package
// documentation of dynamo lists every key.
//
// The binaries of functions must not contain this package. It imports the rules, the AWS SDK, and the store that the functions use. It may
// import neither an HTTP package nor the packages of the local run.
package backoffice

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/voucher"
)

// API lists the DynamoDB operations that this package calls.
type API interface {
	table.Getter
	table.BatchGetter
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// store gives access to one table.
type store struct {
	api    API
	table  string
	random func(n int64) int64
}

// putNew returns the put of an item whose key must not be in use.
func (s store) putNew(it table.Item) *types.Put {
	return &types.Put{
		TableName: aws.String(s.table), Item: it,
		ConditionExpression:                 aws.String("attribute_not_exists(" + table.SortKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// noFailure means that no condition of a write failed.
const noFailure = -1

// write applies all of the actions or none. Each action is a put or a deletion. If a condition fails, failed is the number, from 0, of
// the first action whose condition failed, and old is the item that is stored under its key. Otherwise failed is noFailure.
func (s store) write(ctx context.Context, actions ...types.TransactWriteItem) (failed int, old table.Item, err error) {
	if len(actions) == 1 {
		err = s.writeAlone(ctx, actions[0])
		if old, isFailed := table.OldItem(err); isFailed {
			return 0, old, nil
		}
		return noFailure, nil, err
	}
	err = s.transact(ctx, actions)
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		for number, reason := range canceled.CancellationReasons {
			if aws.ToString(reason.Code) == table.ConditionFailed {
				return number, reason.Item, nil
			}
		}
	}
	return noFailure, nil, err
}

// writeAlone sends one action without a transaction, because a transaction takes twice the write units.
func (s store) writeAlone(ctx context.Context, action types.TransactWriteItem) error {
	if put := action.Put; put != nil {
		_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		})
		return err
	}
	deletion := action.Delete
	_, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: deletion.TableName, Key: deletion.Key, ConditionExpression: deletion.ConditionExpression,
		ExpressionAttributeNames: deletion.ExpressionAttributeNames, ExpressionAttributeValues: deletion.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: deletion.ReturnValuesOnConditionCheckFailure,
	})
	return err
}

// transact sends a transaction, and sends it again after a conflict, until the context ends.
func (s store) transact(ctx context.Context, actions []types.TransactWriteItem) error {
	for attempt := 0; ; attempt++ {
		_, err := s.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
		if !table.IsConflict(err) {
			return err
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return err
		}
	}
}

// items yields all items of a query, page by page, and stops at the first error.
func items(ctx context.Context, api dynamodb.QueryAPIClient, query *dynamodb.QueryInput) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		pages := dynamodb.NewQueryPaginator(api, query)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for i, it := range page.Items {
				page.Items[i] = nil // frees the memory of items that were yielded
				if !yield(it, nil) {
					return
				}
			}
		}
	}
}

// partition returns a query for all items with a partition key value.
func partition(name, value string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(name), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String(table.PartitionKey + " = :partition"),
		ExpressionAttributeValues: table.Item{":partition": table.Str(value)},
	}
}

// Vouchers reads and writes a vouchers table. Create it with NewVouchers.
type Vouchers struct{ store }

// NewVouchers returns the vouchers in a table. random returns a random number from 0 to n-1, where n is above 0.
func NewVouchers(api API, table string, random func(n int64) int64) *Vouchers {
	return &Vouchers{store{api, table, random}}
}

// Create stores a new voucher. If the voucher has a limit above one, Create also stores its counters. If another voucher has the code, the
// error is a *voucher.CodeTakenError. If the stored voucher is v itself, an earlier attempt was applied and its response was lost. Then
// Create succeeds.
func (s *Vouchers) Create(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) error {
	existing, taken, err := s.CreateOrFind(ctx, customer, v)
	if err == nil && taken && !createdAs(existing, v) {
		return &voucher.CodeTakenError{Existing: existing}
	}
	return err
}

// CreateOrFind creates a voucher, as Create does. If the code is taken, it returns the stored voucher that has the code. If an earlier
// attempt was applied and its response was lost, that voucher is v itself.
func (s *Vouchers) CreateOrFind(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (existing voucher.Voucher, taken bool, err error) {
	actions := []types.TransactWriteItem{{Put: s.putNew(table.EncodeVoucher(customer, v))}}
	for number := range v.Counters {
		counter := table.CounterKey(customer, v.Code, number).Attributes()
		used := share(v.Imported, v.Counters, number)
		counter[table.AttrLeft] = table.Num(max(share(int(v.MaxUses), v.Counters, number)-used, 0))
		counter[table.AttrUsed] = table.Num(used)
		counter[table.AttrVersion] = table.Num(0)
		actions = append(actions, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(s.table), Item: counter}})
	}
	failed, old, err := s.write(ctx, actions...)
	if failed == noFailure {
		return voucher.Voucher{}, false, table.Outcome(err)
	}
	stored, err := table.DecodeVoucher(old)
	return stored.Voucher, true, err
}

// Find returns the voucher that has the code of v, if the code is taken.
func (s *Vouchers) Find(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) (existing voucher.Voucher, taken bool, err error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.table, customer, v.Code)
	if _, unknown := voucher.IsRefusal(err); unknown {
		return voucher.Voucher{}, false, nil
	}
	return stored.Voucher, true, table.Outcome(err)
}

// createdAs reports whether a stored voucher was created as v. If the stored voucher was edited after its creation, createdAs compares only
// the fields that edits cannot change.
func createdAs(stored, v voucher.Voucher) bool {
	if v.Redeemed != nil && stored.Redeemed != nil && stored.Redeemed.ID != v.Redeemed.ID {
		return false
	}
	if stored.Version == v.Version {
		return sameTerms(stored, v)
	}
	return stored.Written == v.Written && stored.Reward == v.Reward && stored.Created.Equal(v.Created) && stored.Counters == v.Counters
}

// share divides whole into the given number of parts, as equal as possible, and returns the size of the part with the given number, from 0.
func share(whole, parts, number int) int {
	part := whole / parts
	if number < whole%parts {
		part++
	}
	return part
}

// Voucher reads a voucher without its counters. For an unknown code, the error is a *voucher.RefusalError.
func (s *Vouchers) Voucher(ctx context.Context, customer catalog.CustomerID, code voucher.Code) (voucher.Voucher, error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.table, customer, code)
	return stored.Voucher, table.Outcome(err)
}

// Show reads a voucher, its counters and their holds, and returns how the voucher stands at the given time. If a code has only a limit per
// nick, Show does not count its holds. For an unknown code, the error is a *voucher.RefusalError.
func (s *Vouchers) Show(ctx context.Context, customer catalog.CustomerID, code voucher.Code, at time.Time) (voucher.Standing, error) {
	stored, err := table.ReadVoucher(ctx, s.api, s.table, customer, code)
	if err != nil {
		return voucher.Standing{}, table.Outcome(err)
	}
	uses := NewUses(at)
	if stored.Limited() {
		if err := s.countUses(ctx, customer, stored, &uses); err != nil {
			return voucher.Standing{}, table.Outcome(err)
		}
	}
	standing := uses.Standing(stored.Voucher)
	standing.Editing = stored.Editing
	return standing, nil
}

func (s *Vouchers) countUses(ctx context.Context, customer catalog.CustomerID, v table.Voucher, uses *Uses) error {
	counters, err := table.ReadCounters(ctx, s.api, s.random, s.table, customer, v.Code, v.Counters)
	if err != nil {
		return err
	}
	for _, counter := range counters {
		uses.AddCounter(Counter{Left: counter.Left, Used: counter.Used})
		if counter.Lapse.IsZero() { // the counter never had a hold
			continue
		}
		for it, err := range items(ctx, s.api, table.HoldsQuery(s.table, customer, v.Code, counter.Number)) {
			if err != nil {
				return err
			}
			hold, _, err := table.DecodeHoldItem(v.HoldKind(), it)
			if err != nil {
				return err
			}
			uses.AddHold(hold)
		}
	}
	return nil
}

// Uses counts the uses of a voucher as of a given time. Create it with NewUses.
type Uses struct {
	at                       time.Time
	left, used, lapsed, held int
	lapse                    time.Time // when the first live hold lapses
}

// NewUses returns an empty count as of the given time.
func NewUses(at time.Time) Uses { return Uses{at: at} }

// AddCounter adds a counter.
func (u *Uses) AddCounter(c Counter) {
	u.left += c.Left
	u.used += c.Used
}

// AddHold adds a hold that a counter counts as used.
func (u *Uses) AddHold(hold voucher.Hold) {
	if hold.HasLapsed(u.at) {
		u.lapsed++
		return
	}
	u.held++
	if u.lapse.IsZero() || hold.Until.Before(u.lapse) {
		u.lapse = hold.Until
	}
}

// Standing returns the voucher with the counted uses. A lapsed hold counts as a use that is left. If v.Over uses are taken beyond the
// limit, v.Over lapsed holds will be dropped, so Standing does not count these holds as left.
func (u *Uses) Standing(v voucher.Voucher) voucher.Standing {
	standing := voucher.NewStanding(v, u.left+max(u.lapsed-v.Over, 0), u.used-u.lapsed, u.at)
	if !v.SingleUse() {
		standing.UsesHeld, standing.Lapse = u.held, u.lapse
	}
	return standing
}
