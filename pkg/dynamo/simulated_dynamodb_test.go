package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/internal/table"
)

// simulatedDynamoDB is a client of a DynamoDB that is simulated in memory. A table exists as soon as something is written to it. The
// client has the methods of the SDK's client that this package calls. It retries as the client of a function does, and returns the SDK's
// errors. It panics if a call uses anything that is not simulated.
//
// Every read sees the newest committed items: eventually consistent reads are not simulated. Indexes, time to live and size limits are
// not simulated either.
type simulatedDynamoDB struct {
	*simulatedTables

	steps *simulation // nil: every call takes effect at once and succeeds
}

// itemKey is the key of an item in one of the tables.
type itemKey struct {
	table string
	table.Key
}

func (k itemKey) String() string { return k.table + " " + k.Partition + " " + k.Sort }

// simulatedTables are the items that all clients share. One goroutine at a time uses them.
type simulatedTables struct {
	stored    map[itemKey]table.Item
	hidden    map[itemKey]table.Item // old items that reads still see, because the transaction that replaced them is half visible
	locked    map[itemKey]bool       // all items of half-visible transactions
	tokens    map[string]*transaction
	forgotten bool   // whether DynamoDB has forgotten all tokens
	committed func() // called after every write
}

// transaction is a transaction that was applied under a client's token.
type transaction struct {
	actions []types.TransactWriteItem
	keys    []itemKey
	at      time.Time
}

// tokenLifetime is how long DynamoDB remembers the token of a transaction.
const tokenLifetime = 10 * time.Minute

func newSimulatedTables() *simulatedTables {
	return &simulatedTables{
		stored: make(map[itemKey]table.Item), hidden: make(map[itemKey]table.Item), locked: make(map[itemKey]bool),
		tokens: make(map[string]*transaction), committed: func() {},
	}
}

// items yields the stored items of a table, in the order of their keys.
func (s *simulatedTables) items(name string) iter.Seq2[table.Key, table.Item] {
	return func(yield func(table.Key, table.Item) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(s.stored), func(a, b itemKey) int {
			return strings.Compare(a.Partition+"\x00"+a.Sort, b.Partition+"\x00"+b.Sort)
		}) {
			if key.table == name && !yield(key.Key, s.stored[key]) {
				return
			}
		}
	}
}

// item returns a stored item, or nil if it does not exist.
func (s *simulatedTables) item(name string, key table.Key) table.Item {
	return s.stored[itemKey{name, key}]
}

// visible returns an item as a read outside a transaction sees it, or nil if it does not exist.
func (d *simulatedDynamoDB) visible(key itemKey) table.Item {
	if old, is := d.hidden[key]; is && d.steps != nil {
		return old
	}
	return d.stored[key]
}

// moment runs f at one moment of a call. Other calls can run between two moments of a call, but not during a moment.
type moment func(f func() error) error

// operation is a call. A read may have several moments. A write makes all its changes in its first moment.
type operation[Out any] struct {
	name      string
	keys      []itemKey
	write     bool
	exclusive bool // whether the call conflicts with transactions; every write does
	apply     func(at moment) (*Out, error)
}

// call runs an operation as the SDK's client does. It makes attempts until one succeeds or fails for good, or the context ends.
func call[Out any](ctx context.Context, d *simulatedDynamoDB, options []func(*dynamodb.Options), o operation[Out]) (*Out, error) {
	if d.steps == nil {
		out, err := o.apply(func(f func() error) error { return f() })
		return out, failure(o.name, respond(err))
	}
	configured := dynamodb.Options{Retryer: dynamo.NewRetryer(d.steps.random.Int64N)}
	for _, option := range options {
		option(&configured)
	}
	var out *Out
	attempts := retry.NewAttemptMiddleware(configured.Retryer, func(request any) any { return request })
	_, _, err := attempts.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(
		func(ctx context.Context, _ middleware.FinalizeInput) (_ middleware.FinalizeOutput, _ middleware.Metadata, err error) {
			out, err = o.apply(d.attempt(ctx, arrival{o.name, o.keys, o.write, o.write || o.exclusive}))
			return middleware.FinalizeOutput{}, middleware.Metadata{}, respond(err)
		}))
	if err != nil {
		return nil, failure(o.name, err)
	}
	return out, nil
}

// arrival describes an attempt. It decides which faults the attempt may meet.
type arrival struct {
	operation        string
	keys             []itemKey
	write, exclusive bool
}

// attempt returns the moments of one attempt. The first one may meet a fault.
func (d *simulatedDynamoDB) attempt(ctx context.Context, a arrival) moment {
	request, _ := ctx.Value(requestName{}).(string)
	label := fmt.Sprintf("%s: %s %v", request, a.operation, a.keys)
	later := false
	return func(f func() error) error {
		first := !later
		later = true
		var err error
		ended := d.steps.step(ctx, label, func() (trace string) {
			switch {
			case ctx.Err() == nil && first:
				trace, err = d.meet(label, a, f)
			case ctx.Err() == nil:
				err = f()
			case first && a.write && d.steps.happens(0.5):
				return d.arriveLate(f)
			default:
				return "does not arrive, its caller gave up"
			}
			return trace + outcome(err)
		})
		if ended != nil {
			return &aws.RequestCanceledError{Err: ended}
		}
		return err
	}
}

// meet runs f, perhaps with a fault. It describes the fault for the trace.
func (d *simulatedDynamoDB) meet(label string, a arrival, f func() error) (trace string, err error) {
	s, p := d.steps, d.steps.faults
	cut := &smithyhttp.RequestSendError{Err: errCut}
	switch {
	case s.happens(p.unreached):
		return "does not arrive, ", cut
	case s.happens(p.lost):
		return "response lost (" + outcome(f()) + "), ", cut
	case a.write && s.happens(p.late):
		s.later(label, s.seeded.IntN(60), func() string { return d.arriveLate(f) })
		return "is late, ", cut
	case s.happens(p.refused):
		if s.happens(0.5) {
			return "", &types.ProvisionedThroughputExceededException{Message: aws.String("throttled by the simulation")}
		}
		return "", &types.InternalServerError{Message: aws.String("failed by the simulation")}
	case a.exclusive && s.happens(p.conflict):
		return "meets a conflict, ", d.whileLocked(a.keys, f)
	default:
		return "", f()
	}
}

// arriveLate runs f. In half of the cases, DynamoDB has forgotten the transaction's token by then.
func (d *simulatedDynamoDB) arriveLate(f func() error) string {
	d.forgotten = d.steps.happens(0.5)
	defer func() { d.forgotten = false }()
	return "arrives late, " + outcome(f())
}

// whileLocked runs f while some of the items are in another transaction.
func (d *simulatedDynamoDB) whileLocked(keys []itemKey, f func() error) error {
	certain := d.steps.seeded.IntN(len(keys))
	var invented []itemKey
	for i, key := range keys {
		if !d.locked[key] && (i == certain || d.steps.happens(0.3)) {
			d.locked[key] = true
			invented = append(invented, key)
		}
	}
	err := f()
	for _, key := range invented {
		delete(d.locked, key)
	}
	return err
}

// portion returns how many items a read takes at its next moment. It takes some or all of the n items that it has not read yet.
func (d *simulatedDynamoDB) portion(n int) int {
	if n == 0 || d.steps == nil || !d.steps.happens(d.steps.faults.torn) {
		return n
	}
	return 1 + d.steps.seeded.IntN(n)
}

// respond wraps an error of DynamoDB as the SDK's client does when it gets a response.
func respond(err error) error {
	var status int
	switch named, _ := errors.AsType[smithy.APIError](err); {
	case named == nil:
		return err
	case named.ErrorCode() == "InternalServerError":
		status = http.StatusInternalServerError
	default:
		status = http.StatusBadRequest
	}
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}}
}

func failure(operation string, err error) error {
	if err == nil {
		return nil
	}
	return &smithy.OperationError{ServiceID: dynamodb.ServiceID, OperationName: operation, Err: err}
}

// outcome describes the end of an attempt for the trace.
func outcome(err error) string {
	if err == nil {
		return "done"
	}
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		var codes []string
		for _, reason := range canceled.CancellationReasons {
			codes = append(codes, aws.ToString(reason.Code))
		}
		return "canceled " + strings.Join(codes, ", ")
	}
	if named, is := errors.AsType[smithy.APIError](err); is {
		return named.ErrorCode()
	}
	return err.Error()
}

// require panics if an input sets a field that is not simulated.
func require(input any, simulated ...string) {
	fields := reflect.Indirect(reflect.ValueOf(input))
	for field, value := range fields.Fields() {
		if field.IsExported() && !value.IsZero() && !slices.Contains(simulated, field.Name) {
			panic(fmt.Sprintf("%T.%s is not simulated", input, field.Name))
		}
	}
}

// keyIn returns the key in an item. If isKey is set, it panics if the item has more attributes than the key.
func keyIn(name *string, it table.Item, isKey bool) itemKey {
	key := table.KeyOf(it)
	if aws.ToString(name) == "" || key.Partition == "" || key.Sort == "" || isKey && len(it) != 2 {
		panic(fmt.Sprintf("the key of %v is malformed, or the table name %q is empty", it, aws.ToString(name)))
	}
	return itemKey{*name, key}
}

// GetItem reads an item.
func (d *simulatedDynamoDB) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	require(in, "TableName", "Key", "ConsistentRead")
	key := keyIn(in.TableName, in.Key, true)
	return call(ctx, d, options, operation[dynamodb.GetItemOutput]{
		name: "GetItem", keys: []itemKey{key}, apply: func(at moment) (*dynamodb.GetItemOutput, error) {
			out := &dynamodb.GetItemOutput{}
			return out, at(func() error {
				out.Item = maps.Clone(d.visible(key))
				return nil
			})
		},
	})
}

// BatchGetItem reads items in any order.
func (d *simulatedDynamoDB) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	require(in, "RequestItems")
	var keys []itemKey
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		asked := in.RequestItems[name]
		require(&asked, "Keys", "ConsistentRead")
		for _, attributes := range asked.Keys {
			key := keyIn(&name, attributes, true)
			if slices.Contains(keys, key) {
				panic("BatchGetItem asks twice for " + key.String())
			}
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 || len(keys) > 100 {
		panic(fmt.Sprintf("BatchGetItem asks for %d items", len(keys)))
	}
	return call(ctx, d, options, operation[dynamodb.BatchGetItemOutput]{
		name: "BatchGetItem", keys: keys, apply: func(at moment) (*dynamodb.BatchGetItemOutput, error) { return d.batch(at, in, keys) },
	})
}

func (d *simulatedDynamoDB) batch(at moment, in *dynamodb.BatchGetItemInput, keys []itemKey) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{
		Responses: make(map[string][]map[string]types.AttributeValue), UnprocessedKeys: make(map[string]types.KeysAndAttributes),
	}
	keys = slices.Clone(keys)
	first := true
	for len(keys) > 0 {
		err := at(func() error {
			if first && d.steps != nil {
				keys = d.process(in, keys, out)
			}
			first = false
			n := d.portion(len(keys))
			for _, key := range keys[:n] {
				if it := d.visible(key); it != nil {
					out.Responses[key.table] = append(out.Responses[key.table], maps.Clone(it))
				}
			}
			keys = keys[n:]
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// process returns the keys that a batch reads, in random order. It may leave some of them unprocessed.
func (d *simulatedDynamoDB) process(in *dynamodb.BatchGetItemInput, keys []itemKey, out *dynamodb.BatchGetItemOutput) []itemKey {
	random := d.steps.seeded
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	if !d.steps.happens(d.steps.faults.unprocessed) {
		return keys
	}
	n := random.IntN(len(keys))
	for _, key := range keys[n:] {
		asked := out.UnprocessedKeys[key.table]
		asked.ConsistentRead = in.RequestItems[key.table].ConsistentRead
		asked.Keys = append(asked.Keys, key.Attributes())
		out.UnprocessedKeys[key.table] = asked
	}
	return keys[:n]
}

// TransactGetItems reads items at one moment. It conflicts with transactions that are half visible.
func (d *simulatedDynamoDB) TransactGetItems(
	ctx context.Context, in *dynamodb.TransactGetItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactGetItemsOutput, error) {
	require(in, "TransactItems")
	var keys []itemKey
	for _, item := range in.TransactItems {
		require(item.Get, "TableName", "Key")
		keys = append(keys, keyIn(item.Get.TableName, item.Get.Key, true))
	}
	return call(ctx, d, options, operation[dynamodb.TransactGetItemsOutput]{
		name: "TransactGetItems", keys: keys, exclusive: true, apply: func(at moment) (*dynamodb.TransactGetItemsOutput, error) {
			out := &dynamodb.TransactGetItemsOutput{}
			return out, at(func() error {
				var reasons cancellation
				for _, key := range keys {
					reasons.judge(d.conflicts(key))
					out.Responses = append(out.Responses, types.ItemResponse{Item: maps.Clone(d.stored[key])})
				}
				return reasons.err()
			})
		},
	})
}

// Query reads the items of a partition that a condition selects, in the order of their sort keys. While a torn Query runs, other calls may
// write. The Query misses an item that is written at a key that it has passed, and sees an item at a key that is still ahead.
func (d *simulatedDynamoDB) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	require(in, "TableName", "KeyConditionExpression", "FilterExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"Limit", "ScanIndexForward", "ExclusiveStartKey", "ConsistentRead")
	e := newExpressions(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	partition, sort := e.keyCondition(in.KeyConditionExpression)
	q := query{
		simulatedDynamoDB: d, table: aws.ToString(in.TableName), partition: partition, sort: sort, filter: e.condition(in.FilterExpression),
		backward: in.ScanIndexForward != nil && !*in.ScanIndexForward, limit: math.MaxInt,
	}
	e.done()
	if in.Limit != nil {
		q.limit = int(*in.Limit)
	}
	if in.ExclusiveStartKey != nil {
		key := keyIn(in.TableName, in.ExclusiveStartKey, true).Key
		q.start = &key
	}
	if q.limit < 1 {
		panic("Query has no limit above 0")
	}
	return call(ctx, d, options, operation[dynamodb.QueryOutput]{name: "Query " + q.table + " " + partition, apply: q.run})
}

// query is a parsed call of Query.
type query struct {
	*simulatedDynamoDB

	table, partition string
	sort, filter     condition
	backward         bool
	limit            int
	start            *table.Key
}

func (q query) run(at moment) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	position, read, atEnd := q.start, 0, false
	for ended := false; !ended; {
		err := at(func() error {
			ahead := q.ahead(position)
			n := min(q.portion(len(ahead)), q.limit-read)
			for _, it := range ahead[:n] {
				key := table.KeyOf(it)
				position = &key
				read++
				if q.filter(it) {
					out.Items = append(out.Items, maps.Clone(it))
				}
			}
			if read == q.limit { // DynamoDB returns the position even if nothing follows
				out.LastEvaluatedKey = position.Attributes()
			}
			wasAtEnd := atEnd
			atEnd = n == len(ahead)
			ended = read == q.limit || atEnd && (wasAtEnd || !q.looksAgain())
			out.ScannedCount, out.Count = int32(read), int32(len(out.Items))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// looksAgain reports whether a torn read that has reached the end looks once more for new items.
func (q query) looksAgain() bool { return q.steps != nil && q.steps.happens(q.steps.faults.torn) }

// ahead returns the selected items after a position, or all of them if the position is nil.
func (q query) ahead(position *table.Key) []table.Item {
	keys := make(map[itemKey]bool)
	for _, items := range []map[itemKey]table.Item{q.stored, q.hidden} {
		for key := range items {
			keys[key] = key.table == q.table && key.Partition == q.partition
		}
	}
	var ahead []table.Item
	for key, is := range keys {
		if !is || position != nil && q.order(key.Sort, position.Sort) <= 0 {
			continue
		}
		if it := q.visible(key); it != nil && q.sort(it) {
			ahead = append(ahead, it)
		}
	}
	slices.SortFunc(ahead, func(a, b table.Item) int { return q.order(table.KeyOf(a).Sort, table.KeyOf(b).Sort) })
	return ahead
}

func (q query) order(a, b string) int {
	if q.backward {
		a, b = b, a
	}
	return strings.Compare(a, b)
}

// Scan is not simulated.
func (*simulatedDynamoDB) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	panic("Scan is not simulated")
}

// action is a parsed write of one item.
type action struct {
	key       itemKey
	condition condition
	change    func(before table.Item) (after table.Item, err error) // after is nil if the write deletes the item
	updated   []string                                              // attributes that an update writes
	wantsOld  bool                                                  // a failed condition returns the item
}

func wantsOld(wanted types.ReturnValuesOnConditionCheckFailure) bool {
	return wanted == types.ReturnValuesOnConditionCheckFailureAllOld
}

func putAction(in *types.Put) action {
	require(in, "TableName", "Item", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	e := newExpressions(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	item := maps.Clone(table.Item(in.Item))
	a := action{
		key: keyIn(in.TableName, item, false), condition: e.condition(in.ConditionExpression),
		change:   func(table.Item) (table.Item, error) { return item, nil },
		wantsOld: wantsOld(in.ReturnValuesOnConditionCheckFailure),
	}
	e.done()
	return a
}

func deleteAction(in *types.Delete) action {
	require(in, "TableName", "Key", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	e := newExpressions(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	a := action{
		key: keyIn(in.TableName, in.Key, true), condition: e.condition(in.ConditionExpression),
		change:   func(table.Item) (after table.Item, err error) { return after, nil },
		wantsOld: wantsOld(in.ReturnValuesOnConditionCheckFailure),
	}
	e.done()
	return a
}

func checkAction(in *types.ConditionCheck) action {
	require(in, "TableName", "Key", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	e := newExpressions(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if in.ConditionExpression == nil {
		panic("a ConditionCheck has no condition")
	}
	a := action{
		key: keyIn(in.TableName, in.Key, true), condition: e.condition(in.ConditionExpression),
		change:   func(before table.Item) (table.Item, error) { return before, nil },
		wantsOld: wantsOld(in.ReturnValuesOnConditionCheckFailure),
	}
	e.done()
	return a
}

func updateAction(in *types.Update) action {
	require(in, "TableName", "Key", "UpdateExpression", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	e := newExpressions(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	key, u := keyIn(in.TableName, in.Key, true), e.update(in.UpdateExpression)
	a := action{
		key: key, condition: e.condition(in.ConditionExpression), updated: u.names,
		change:   func(before table.Item) (table.Item, error) { return u.apply(key.Key, before) },
		wantsOld: wantsOld(in.ReturnValuesOnConditionCheckFailure),
	}
	e.done()
	return a
}

// judge returns the item as it is after the action, or an error if the action writes nothing.
func (d *simulatedDynamoDB) judge(a action) (after table.Item, err error) {
	if err := d.conflicts(a.key); err != nil {
		return nil, err
	}
	before := d.stored[a.key]
	if !a.condition(before) {
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if a.wantsOld {
			failed.Item = maps.Clone(before)
		}
		return nil, failed
	}
	return a.change(before)
}

// conflicts returns an error if an item is in another transaction.
func (d *simulatedDynamoDB) conflicts(key itemKey) error {
	if d.locked[key] && d.steps != nil {
		return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
	}
	return nil
}

// store stores an item, or deletes it if it is nil.
func (s *simulatedTables) store(key itemKey, it table.Item) {
	if it == nil {
		delete(s.stored, key)
		return
	}
	s.stored[key] = it
}

// write writes one item outside a transaction. The parameter returns says which attributes to return.
func (d *simulatedDynamoDB) write(at moment, a action, returns types.ReturnValue) (attributes table.Item, err error) {
	err = at(func() error {
		before := d.stored[a.key]
		after, err := d.judge(a)
		if err != nil {
			return err
		}
		d.store(a.key, after)
		d.committed()
		switch returns {
		case "", types.ReturnValueNone:
		case types.ReturnValueAllOld:
			attributes = maps.Clone(before)
		case types.ReturnValueAllNew:
			attributes = maps.Clone(after)
		case types.ReturnValueUpdatedNew:
			for _, name := range a.updated {
				if after.Has(name) {
					if attributes == nil {
						attributes = make(table.Item)
					}
					attributes[name] = after[name]
				}
			}
		default:
			panic("not simulated: " + string(returns))
		}
		return nil
	})
	return attributes, err
}

// PutItem stores an item.
func (d *simulatedDynamoDB) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	require(in, "TableName", "Item", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "ReturnValues",
		"ReturnValuesOnConditionCheckFailure")
	a := putAction(&types.Put{
		TableName: in.TableName, Item: in.Item, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	onlyOld(in.ReturnValues)
	return call(ctx, d, options, operation[dynamodb.PutItemOutput]{
		name: "PutItem", keys: []itemKey{a.key}, write: true, apply: func(at moment) (*dynamodb.PutItemOutput, error) {
			attributes, err := d.write(at, a, in.ReturnValues)
			return &dynamodb.PutItemOutput{Attributes: attributes}, err
		},
	})
}

// onlyOld panics if a Put or a Delete asks for attributes that only an update can return.
func onlyOld(returns types.ReturnValue) {
	if returns != "" && returns != types.ReturnValueNone && returns != types.ReturnValueAllOld {
		panic("only an update returns " + string(returns))
	}
}

// DeleteItem deletes an item.
func (d *simulatedDynamoDB) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	require(in, "TableName", "Key", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "ReturnValues",
		"ReturnValuesOnConditionCheckFailure")
	a := deleteAction(&types.Delete{
		TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	onlyOld(in.ReturnValues)
	return call(ctx, d, options, operation[dynamodb.DeleteItemOutput]{
		name: "DeleteItem", keys: []itemKey{a.key}, write: true, apply: func(at moment) (*dynamodb.DeleteItemOutput, error) {
			attributes, err := d.write(at, a, in.ReturnValues)
			return &dynamodb.DeleteItemOutput{Attributes: attributes}, err
		},
	})
}

// UpdateItem changes an item, or creates it.
func (d *simulatedDynamoDB) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	require(in, "TableName", "Key", "UpdateExpression", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValues", "ReturnValuesOnConditionCheckFailure")
	a := updateAction(&types.Update{
		TableName: in.TableName, Key: in.Key, UpdateExpression: in.UpdateExpression, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	return call(ctx, d, options, operation[dynamodb.UpdateItemOutput]{
		name: "UpdateItem", keys: []itemKey{a.key}, write: true, apply: func(at moment) (*dynamodb.UpdateItemOutput, error) {
			attributes, err := d.write(at, a, in.ReturnValues)
			return &dynamodb.UpdateItemOutput{Attributes: attributes}, err
		},
	})
}

// TransactWriteItems makes all writes or none.
func (d *simulatedDynamoDB) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	require(in, "TransactItems", "ClientRequestToken")
	if len(in.TransactItems) == 0 || len(in.TransactItems) > 100 {
		panic(fmt.Sprintf("TransactWriteItems has %d actions", len(in.TransactItems)))
	}
	actions := make([]action, len(in.TransactItems))
	keys := make([]itemKey, len(actions))
	twice := false
	for i, item := range in.TransactItems {
		switch {
		case item.Put != nil:
			actions[i] = putAction(item.Put)
		case item.Delete != nil:
			actions[i] = deleteAction(item.Delete)
		case item.Update != nil:
			actions[i] = updateAction(item.Update)
		default:
			actions[i] = checkAction(item.ConditionCheck)
		}
		twice = twice || slices.Contains(keys, actions[i].key)
		keys[i] = actions[i].key
	}
	token := aws.ToString(in.ClientRequestToken)
	if token == "" && d.steps != nil {
		token = fmt.Sprint(d.steps.random.Int64N(math.MaxInt64)) // all attempts of a call share a token
	}
	return call(ctx, d, options, operation[dynamodb.TransactWriteItemsOutput]{
		name: "TransactWriteItems", keys: keys, write: true, apply: func(at moment) (*dynamodb.TransactWriteItemsOutput, error) {
			settled := true
			err := at(func() (err error) {
				if twice {
					return invalid("Transaction request cannot include multiple operations on one item")
				}
				settled, err = d.transact(token, in.TransactItems, actions, keys)
				return err
			})
			for err == nil && !settled {
				err = at(func() error {
					settled = !slices.ContainsFunc(keys, func(key itemKey) bool { return d.locked[key] })
					return nil
				})
			}
			return &dynamodb.TransactWriteItemsOutput{}, err
		},
	})
}

// transact makes all writes of a transaction, unless the transaction was applied under its token before. settled reports whether all
// writes are visible to others.
func (d *simulatedDynamoDB) transact(
	token string, items []types.TransactWriteItem, actions []action, keys []itemKey,
) (settled bool, err error) {
	if before := d.tokens[token]; before != nil && !d.forgotten && time.Since(before.at) < tokenLifetime {
		switch {
		case !reflect.DeepEqual(before.actions, items):
			return false, &types.IdempotentParameterMismatchException{}
		case slices.ContainsFunc(before.keys, func(key itemKey) bool { return d.locked[key] }):
			return false, &types.TransactionInProgressException{}
		default:
			return true, nil
		}
	}
	var reasons cancellation
	after := make([]table.Item, len(actions))
	for i, a := range actions {
		after[i], err = d.judge(a)
		reasons.judge(err)
	}
	if err := reasons.err(); err != nil {
		return false, err
	}
	before := make([]table.Item, len(actions))
	for i, key := range keys {
		before[i] = d.stored[key]
		d.store(key, after[i])
	}
	if token != "" && !d.forgotten {
		d.tokens[token] = &transaction{actions: items, keys: keys, at: time.Now()}
	}
	settled = d.steps == nil || !d.steps.happens(d.steps.faults.halves)
	if !settled {
		d.hide(keys, before)
	}
	d.committed()
	return settled, nil
}

// hide hides some of the writes of a transaction from others. They become visible one by one.
func (d *simulatedDynamoDB) hide(keys []itemKey, before []table.Item) {
	left := len(keys)
	for i, key := range keys {
		d.locked[key] = true
		if d.steps.happens(0.7) {
			d.hidden[key] = before[i]
		}
		d.steps.later("visible: "+key.String(), d.steps.seeded.IntN(30), func() string {
			delete(d.hidden, key)
			if left--; left == 0 {
				for _, key := range keys {
					delete(d.locked, key)
				}
			}
			return "to all"
		})
	}
}

// cancellation collects the reasons for which a transaction is canceled. It has a reason, perhaps None, for each action.
type cancellation []types.CancellationReason

func (c *cancellation) judge(err error) {
	reason := types.CancellationReason{Code: aws.String("None")}
	if err != nil {
		named, _ := errors.AsType[smithy.APIError](err)
		reason = types.CancellationReason{Code: aws.String(named.ErrorCode()), Message: aws.String(named.ErrorMessage())}
	}
	switch failed := err.(type) { //nolint:errorlint // simulatedDynamoDB.judge returns it unwrapped
	case *types.ConditionalCheckFailedException:
		reason.Code, reason.Item = aws.String(table.ConditionFailed), failed.Item
	case *types.TransactionConflictException:
		reason.Code = aws.String("TransactionConflict")
	case *smithy.GenericAPIError:
		reason.Code = aws.String("ValidationError")
	}
	*c = append(*c, reason)
}

func (c *cancellation) err() error {
	if !slices.ContainsFunc(*c, func(r types.CancellationReason) bool { return aws.ToString(r.Code) != "None" }) {
		return nil
	}
	return &types.TransactionCanceledException{
		Message: aws.String("Transaction cancelled, please refer cancellation reasons for specific reasons"), CancellationReasons: *c,
	}
}
