package memdynamo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Limits of DynamoDB, in bytes.
const (
	maxItem        = 400 << 10
	maxPage        = 1 << 20
	maxTransaction = 4 << 20
	maxToken       = 36
)

// require panics if an input sets a field that is not simulated.
func require(input any, simulated ...string) {
	fields := reflect.Indirect(reflect.ValueOf(input))
	for field, value := range fields.Fields() {
		if field.IsExported() && !value.IsZero() && !slices.Contains(simulated, field.Name) {
			panic(fmt.Sprintf("%T.%s is not simulated", input, field.Name))
		}
	}
}

// key returns the key in an item, and its table. If isKey is set, it panics if the item has more attributes than the
// key.
func (s *Store) key(name *string, it Item, isKey bool) (*table, Key, error) {
	t := s.table(aws.ToString(name))
	if t == nil {
		return nil, Key{}, missing(*name)
	}
	key := t.keyIn(it)
	if aws.ToString(name) == "" || key.Partition == "" || key.Sort == "" && t.names().sort != "" ||
		isKey && len(it) != len(t.attributes(key)) {
		panic(fmt.Sprintf("the key of %v is malformed, or the table name %q is empty", it, aws.ToString(name)))
	}
	return t, key, t.primary.check(it)
}

// failing returns an operation that fails.
func failing(err error) operation {
	return operation{apply: func(*attempt) (any, error) { return nil, err }}
}

// target is an item that a call reads.
type target struct {
	*table

	key        Key
	consistent bool
}

// getItem reads an item.
func (s *Store) getItem(in *dynamodb.GetItemInput) operation {
	require(in, "TableName", "Key", "ConsistentRead")
	t, key, err := s.key(in.TableName, in.Key, true)
	if err != nil {
		return failing(err)
	}
	return operation{
		name: "GetItem", keys: []Key{key}, tables: []string{t.name}, apply: func(a *attempt) (any, error) {
			out := &dynamodb.GetItemOutput{}
			return out, a.at(func() error {
				out.Item = maps.Clone(s.visible(a, t, key))
				a.read(itemSize(out.Item), aws.ToBool(in.ConsistentRead))
				return nil
			})
		},
	}
}

// batchGetItem reads items in any order.
func (s *Store) batchGetItem(in *dynamodb.BatchGetItemInput) operation {
	require(in, "RequestItems")
	var keys []Key
	var targets []target
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		asked := in.RequestItems[name]
		require(&asked, "Keys", "ConsistentRead")
		for _, attributes := range asked.Keys {
			t, key, err := s.key(&name, attributes, true)
			if err != nil {
				return failing(err)
			}
			if slices.Contains(keys, key) {
				return failing(invalid("Provided list of item keys contains duplicates"))
			}
			keys, targets = append(keys, key), append(targets, target{t, key, aws.ToBool(asked.ConsistentRead)})
		}
	}
	if len(keys) == 0 || len(keys) > 100 {
		return failing(invalid(fmt.Sprintf("BatchGetItem asks for %d items", len(keys))))
	}
	return operation{
		name: "BatchGetItem", keys: keys, tables: slices.Sorted(maps.Keys(in.RequestItems)),
		apply: func(a *attempt) (any, error) { return s.batch(a, slices.Clone(targets)) },
	}
}

func (s *Store) batch(a *attempt, targets []target) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{
		Responses:       make(map[string][]map[string]types.AttributeValue),
		UnprocessedKeys: make(map[string]types.KeysAndAttributes),
	}
	for first := true; len(targets) > 0; first = false {
		err := a.at(func() error {
			if first {
				targets = a.process(targets, out)
			}
			n := a.portion(len(targets))
			for _, target := range targets[:n] {
				it := s.visible(a, target.table, target.key)
				a.read(itemSize(it), target.consistent)
				if it != nil {
					out.Responses[target.name] = append(out.Responses[target.name], maps.Clone(it))
				}
			}
			targets = targets[n:]
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// process returns the items that a batch reads, in random order. It may leave some of them unprocessed.
func (a *attempt) process(targets []target, out *dynamodb.BatchGetItemOutput) []target {
	if a.random == nil {
		return targets
	}
	a.random.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	if !a.happens(Unprocessed) {
		return targets
	}
	n := a.random.IntN(len(targets))
	for _, target := range targets[n:] {
		asked := out.UnprocessedKeys[target.name]
		asked.ConsistentRead = aws.Bool(target.consistent)
		asked.Keys = append(asked.Keys, target.attributes(target.key))
		out.UnprocessedKeys[target.name] = asked
	}
	return targets[:n]
}

// transactGetItems reads items at one moment. It conflicts with transactions that have not ended.
func (s *Store) transactGetItems(in *dynamodb.TransactGetItemsInput) operation {
	require(in, "TransactItems")
	var keys []Key
	var targets []*table
	var names []string
	for _, item := range in.TransactItems {
		require(item.Get, "TableName", "Key")
		t, key, err := s.key(item.Get.TableName, item.Get.Key, true)
		if err != nil {
			return failing(err)
		}
		if slices.Contains(keys, key) {
			return failing(invalid("Transaction request cannot include multiple operations on one item"))
		}
		keys, targets, names = append(keys, key), append(targets, t), append(names, t.name)
	}
	if len(keys) == 0 || len(keys) > 100 {
		return failing(invalid(fmt.Sprintf("TransactGetItems asks for %d items", len(keys))))
	}
	return operation{
		name: "TransactGetItems", keys: keys, tables: names, exclusive: true,
		apply: func(a *attempt) (any, error) {
			out := &dynamodb.TransactGetItemsOutput{}
			return out, a.at(func() error {
				var reasons cancellation
				for i, key := range keys {
					reasons.judge(s.conflicts(a, key))
					it := targets[i].get(key)
					for range 2 { // a transaction reads twice
						a.read(itemSize(it), true)
					}
					out.Responses = append(out.Responses, types.ItemResponse{Item: maps.Clone(it)})
				}
				return reasons.err()
			})
		},
	}
}

// pages reads the items of a tree that conditions select, in the order of their ranks. While a torn read runs, other
// calls may write. The read misses an item that is written at a rank that it has passed, and sees an item at a rank
// that is still ahead.
type pages struct {
	*table

	tree         *tree
	partition    *string // nil: all
	sort, filter condition
	backward     bool
	limit        int
	start        string // the rank after which the page begins; empty: at the beginning
	consistent   bool
}

func (s *Store) query(in *dynamodb.QueryInput) operation {
	require(in, "TableName", "IndexName", "KeyConditionExpression", "FilterExpression", "ExpressionAttributeNames",
		"ExpressionAttributeValues", "Limit", "ScanIndexForward", "ExclusiveStartKey", "ConsistentRead")
	p, err := s.pages(in.TableName, in.IndexName, in.Limit, in.ExclusiveStartKey, in.ConsistentRead)
	if err != nil {
		return failing(err)
	}
	e := newExpressions(p.tree.keys, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	var partition string
	partition, p.sort = e.keyCondition(in.KeyConditionExpression)
	p.partition, p.filter = &partition, e.condition(in.FilterExpression)
	p.backward = in.ScanIndexForward != nil && !*in.ScanIndexForward
	e.done()
	for _, token := range e.parser(in.FilterExpression).tokens {
		if name := cmp.Or(e.names[token], token); name == p.tree.keys.partition || name == p.tree.keys.sort {
			return failing(invalid("Filter Expression can only contain non-primary key attributes: " + name))
		}
	}
	return operation{
		name: "Query", label: p.name + " " + partition, tables: []string{p.name},
		apply: func(a *attempt) (any, error) {
			items, read, end, err := p.read(s, a)
			return &dynamodb.QueryOutput{
				Items: items, Count: int32(len(items)), ScannedCount: read, LastEvaluatedKey: end, //nolint:gosec // a page
			}, err
		},
	}
}

func (s *Store) scan(in *dynamodb.ScanInput) operation {
	require(in, "TableName", "IndexName", "FilterExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"Limit", "ExclusiveStartKey", "ConsistentRead")
	p, err := s.pages(in.TableName, in.IndexName, in.Limit, in.ExclusiveStartKey, in.ConsistentRead)
	if err != nil {
		return failing(err)
	}
	e := newExpressions(p.tree.keys, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	p.sort, p.filter = e.condition(nil), e.condition(in.FilterExpression)
	e.done()
	return operation{name: "Scan", label: p.name, tables: []string{p.name}, apply: func(a *attempt) (any, error) {
		items, read, end, err := p.read(s, a)
		return &dynamodb.ScanOutput{
			Items: items, Count: int32(len(items)), ScannedCount: read, LastEvaluatedKey: end, //nolint:gosec // a page
		}, err
	}}
}

func (s *Store) pages(name, index *string, limit *int32, start Item, consistent *bool) (*pages, error) {
	t := s.table(aws.ToString(name))
	if t == nil {
		return nil, missing(aws.ToString(name))
	}
	p := &pages{table: t, tree: t.primary, limit: math.MaxInt, consistent: aws.ToBool(consistent)}
	if index != nil {
		i := slices.IndexFunc(t.indexes, func(tree *tree) bool { return tree.name == *index })
		if i < 0 {
			return nil, invalid("The table does not have the specified index: " + *index)
		}
		if p.consistent {
			return nil, invalid("Consistent reads are not supported on global secondary indexes")
		}
		p.tree = t.indexes[i]
	}
	if limit != nil {
		p.limit = int(*limit)
	}
	if start != nil {
		if p.start = p.tree.rank(start); p.start == "" || len(start) != len(t.keysOf(p.tree, start)) {
			return nil, invalid("The provided starting key is invalid")
		}
	}
	if p.limit < 1 {
		return nil, invalid("Limit must be greater than or equal to 1")
	}
	return p, nil
}

// read returns the items that the filter leaves, how many it has read, and the position at which the next page begins.
func (p *pages) read(s *Store, a *attempt) (items []map[string]types.AttributeValue, read int32, end Item, err error) {
	limit, size, atEnd, position := p.limit, 0, false, p.start
	for first, ended := true, false; !ended; first = false {
		err := a.at(func() error {
			limit = a.shorten(limit, first)
			ahead := p.ahead(s, a, position)
			wasAtEnd := atEnd
			n := min(a.portion(len(ahead)), limit-int(read))
			atEnd = n == len(ahead)
			for _, e := range ahead[:n] {
				position = e.rank
				size += itemSize(e.item)
				read++
				if p.filter(e.item) {
					items = append(items, maps.Clone(e.item))
				}
				if int(read) == limit || size >= maxPage { // DynamoDB returns the position even if nothing follows
					end, ended = p.keysOf(p.tree, e.item), true
					break
				}
			}
			ended = ended || atEnd && (wasAtEnd || !a.happens(Torn))
			return nil
		})
		if err != nil {
			return nil, 0, nil, err
		}
	}
	a.read(size, p.consistent)
	return items, read, end, nil
}

// ahead returns the selected items after a rank.
func (p *pages) ahead(s *Store, a *attempt, after string) []entry {
	ahead := slices.DeleteFunc(p.seen(s, a), func(e entry) bool {
		return e.item == nil || after != "" && p.order(e.rank, after) <= 0 || !p.sort(e.item)
	})
	slices.SortFunc(ahead, func(a, b entry) int { return p.order(a.rank, b.rank) })
	return ahead
}

func (p *pages) order(a, b string) int {
	if p.backward {
		a, b = b, a
	}
	return strings.Compare(a, b)
}

// seen returns the items as a read outside a transaction sees them. An item that does not exist is nil.
func (p *pages) seen(s *Store, a *attempt) (seen []entry) {
	if p.partition != nil {
		seen = slices.Clone(p.tree.items[*p.partition])
	} else {
		seen = slices.Concat(slices.Collect(maps.Values(p.tree.items))...)
	}
	if p.tree != p.primary || !a.exposed {
		return seen
	}
	for key, it := range s.hidden {
		if key.Table == p.name && (p.partition == nil || key.Partition == *p.partition) {
			rank := p.tree.rank(p.attributes(key))
			seen = slices.DeleteFunc(seen, func(e entry) bool { return e.rank == rank })
			seen = append(seen, entry{rank, it})
		}
	}
	return seen
}

// action is a parsed write of one item.
type action struct {
	*table

	key       Key
	condition condition
	change    func(before Item) (after Item, err error) // after is nil if the write deletes the item
	updated   []string                                  // attributes that an update writes
	wantsOld  bool                                      // a failed condition returns the item
	// given is the size of what the call contains: an upper bound of what the write would add
	given func(before int) int
}

// guarded are the fields that every write has.
type guarded struct {
	kind      string
	table     *string
	item      Item // of a Put the whole item, else the key
	condition *string
	names     map[string]string
	values    Item
	returns   types.ReturnValuesOnConditionCheckFailure
}

// action parses a write. The function change completes it.
func (s *Store) action(g guarded, change func(*expressions, *action)) (*action, error) {
	t, key, err := s.key(g.table, g.item, g.kind != "Put")
	if err = cmp.Or(err, checkSets(g.item), checkSets(g.values)); err != nil {
		return nil, err
	}
	e := newExpressions(t.names(), g.names, g.values)
	a := &action{
		table: t, key: key, condition: s.guard(e, g.kind+" "+t.name, g.condition),
		wantsOld: g.returns == types.ReturnValuesOnConditionCheckFailureAllOld,
		given: func(before int) int {
			if g.kind == "Put" {
				return itemSize(g.item)
			}
			return before + itemSize(g.values)
		},
	}
	change(e, a)
	e.done()
	return a, nil
}

func (s *Store) putAction(in *types.Put) (*action, error) {
	require(in, "TableName", "Item", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	g := guarded{
		"Put", in.TableName, in.Item, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues,
		in.ReturnValuesOnConditionCheckFailure,
	}
	return s.action(g, func(_ *expressions, a *action) {
		item := maps.Clone(in.Item)
		a.change = func(Item) (Item, error) { return item, nil }
	})
}

func (s *Store) deleteAction(in *types.Delete) (*action, error) {
	require(in, "TableName", "Key", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	g := guarded{
		"Delete", in.TableName, in.Key, in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure,
	}
	return s.action(g, func(_ *expressions, a *action) {
		a.change = func(Item) (after Item, err error) { return after, nil }
	})
}

func (s *Store) checkAction(in *types.ConditionCheck) (*action, error) {
	require(in, "TableName", "Key", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValuesOnConditionCheckFailure")
	if in.ConditionExpression == nil {
		panic("a ConditionCheck has no condition")
	}
	g := guarded{
		"Check", in.TableName, in.Key, in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure,
	}
	return s.action(g, func(_ *expressions, a *action) {
		a.change = func(before Item) (Item, error) { return before, nil }
	})
}

func (s *Store) updateAction(in *types.Update) (*action, error) {
	require(in, "TableName", "Key", "UpdateExpression", "ConditionExpression", "ExpressionAttributeNames",
		"ExpressionAttributeValues", "ReturnValuesOnConditionCheckFailure")
	g := guarded{
		"Update", in.TableName, in.Key, in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure,
	}
	return s.action(g, func(e *expressions, a *action) {
		u := e.update(in.UpdateExpression)
		a.updated = u.names
		a.change = func(before Item) (Item, error) { return u.apply(in.Key, before) }
	})
}

// judge returns the item as it is after the action, or an error if the action writes nothing.
func (s *Store) judge(at *attempt, a *action) (after Item, err error) {
	if err := s.conflicts(at, a.key); err != nil {
		return nil, err
	}
	before := a.get(a.key)
	if !a.condition(before) {
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if a.wantsOld {
			failed.Item = maps.Clone(before)
		}
		return nil, failed
	}
	after, err = a.change(before)
	if err == nil && itemSize(after) > maxItem {
		err = invalid("Item size has exceeded the maximum allowed size")
	}
	for _, index := range a.indexes {
		err = cmp.Or(err, index.check(after))
	}
	return after, err
}

// write returns an operation that writes one item outside a transaction. The parameter returns says which attributes to
// return, and output makes the output of them.
func (s *Store) write(name string, a *action, err error, returns types.ReturnValue, output func(Item) any) operation {
	if err != nil {
		return failing(err)
	}
	return operation{
		name: name, keys: []Key{a.key}, tables: []string{a.name}, write: true,
		apply: func(at *attempt) (any, error) {
			var attributes Item
			err := at.at(func() error {
				before := a.get(a.key)
				after, err := s.judge(at, a)
				s.report()
				at.wrote(a, 1, before, after, err)
				if err != nil {
					return err
				}
				at.commit(a, after)
				s.committed()
				attributes = a.returned(returns, before, after)
				return nil
			})
			if err != nil {
				return nil, err // a late attempt may still write attributes
			}
			return output(attributes), nil
		},
	}
}

// commit stores what an action has made of its item.
func (a *attempt) commit(of *action, after Item) {
	if !a.sealed {
		of.store(of.key, after)
	}
}

func (a *action) returned(returns types.ReturnValue, before, after Item) (attributes Item) {
	switch returns {
	case "", types.ReturnValueNone:
	case types.ReturnValueAllOld:
		return maps.Clone(before)
	case types.ReturnValueAllNew:
		return maps.Clone(after)
	case types.ReturnValueUpdatedNew:
		for _, name := range a.updated {
			if after[name] != nil {
				if attributes == nil {
					attributes = make(Item)
				}
				attributes[name] = after[name]
			}
		}
	default:
		panic("not simulated: " + string(returns))
	}
	return attributes
}

// onlyOld panics if a Put or a Delete asks for attributes that only an update can return.
func onlyOld(returns types.ReturnValue) {
	if returns != "" && returns != types.ReturnValueNone && returns != types.ReturnValueAllOld {
		panic("only an update returns " + string(returns))
	}
}

func (s *Store) putItem(in *dynamodb.PutItemInput) operation {
	require(in, "TableName", "Item", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValues", "ReturnValuesOnConditionCheckFailure")
	onlyOld(in.ReturnValues)
	a, err := s.putAction(&types.Put{
		TableName: in.TableName, Item: in.Item, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	return s.write("PutItem", a, err, in.ReturnValues, func(attributes Item) any {
		return &dynamodb.PutItemOutput{Attributes: attributes}
	})
}

func (s *Store) deleteItem(in *dynamodb.DeleteItemInput) operation {
	require(in, "TableName", "Key", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues",
		"ReturnValues", "ReturnValuesOnConditionCheckFailure")
	onlyOld(in.ReturnValues)
	a, err := s.deleteAction(&types.Delete{
		TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	return s.write("DeleteItem", a, err, in.ReturnValues, func(attributes Item) any {
		return &dynamodb.DeleteItemOutput{Attributes: attributes}
	})
}

func (s *Store) updateItem(in *dynamodb.UpdateItemInput) operation {
	require(in, "TableName", "Key", "UpdateExpression", "ConditionExpression", "ExpressionAttributeNames",
		"ExpressionAttributeValues", "ReturnValues", "ReturnValuesOnConditionCheckFailure")
	a, err := s.updateAction(&types.Update{
		TableName: in.TableName, Key: in.Key, UpdateExpression: in.UpdateExpression,
		ConditionExpression:      in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	return s.write("UpdateItem", a, err, in.ReturnValues, func(attributes Item) any {
		return &dynamodb.UpdateItemOutput{Attributes: attributes}
	})
}

// transactWriteItems makes all writes or none.
func (s *Store) transactWriteItems(in *dynamodb.TransactWriteItemsInput) operation {
	require(in, "TransactItems", "ClientRequestToken")
	if len(in.TransactItems) == 0 || len(in.TransactItems) > 100 {
		return failing(invalid(fmt.Sprintf("TransactWriteItems has %d actions", len(in.TransactItems))))
	}
	if len(aws.ToString(in.ClientRequestToken)) > maxToken {
		return failing(invalid("The ClientRequestToken is too long"))
	}
	actions := make([]*action, len(in.TransactItems))
	keys := make([]Key, len(actions))
	names := make([]string, len(actions))
	for i, item := range in.TransactItems {
		var err error
		switch {
		case item.Put != nil:
			actions[i], err = s.putAction(item.Put)
		case item.Delete != nil:
			actions[i], err = s.deleteAction(item.Delete)
		case item.Update != nil:
			actions[i], err = s.updateAction(item.Update)
		default:
			actions[i], err = s.checkAction(item.ConditionCheck)
		}
		if err == nil && slices.Contains(keys, actions[i].key) {
			err = invalid("Transaction request cannot include multiple operations on one item")
		}
		if err != nil {
			return failing(err)
		}
		keys[i], names[i] = actions[i].key, actions[i].name
	}
	return operation{
		name: "TransactWriteItems", keys: keys, tables: names, write: true,
		apply: func(a *attempt) (any, error) {
			settled := true
			err := a.at(func() (err error) {
				settled, err = s.transact(a, aws.ToString(in.ClientRequestToken), in.TransactItems, actions, keys)
				return err
			})
			for err == nil && !settled && a.awaits {
				err = a.at(func() error {
					settled = !s.anyLocked(keys)
					return nil
				})
			}
			return &dynamodb.TransactWriteItemsOutput{}, err
		},
	}
}

// transact makes all writes of a transaction, unless the transaction was applied under its token before. settled
// reports whether all writes are visible to others.
func (s *Store) transact(
	at *attempt, token string, items []types.TransactWriteItem, actions []*action, keys []Key,
) (settled bool, err error) {
	if before := s.tokens[token]; before != nil && !s.forgotten && time.Since(before.at) < tokenLifetime {
		switch {
		case !reflect.DeepEqual(before.actions, items):
			return false, &types.IdempotentParameterMismatchException{}
		case s.anyLocked(before.keys):
			return false, &types.TransactionInProgressException{}
		default:
			return true, nil
		}
	}
	var reasons cancellation
	before, after, size := make([]Item, len(actions)), make([]Item, len(actions)), 0
	for i, a := range actions {
		before[i] = a.get(a.key)
		after[i], err = s.judge(at, a)
		reasons.judge(err)
		size += max(itemSize(before[i]), itemSize(after[i]))
	}
	s.report()
	if err = reasons.err(); err == nil && size > maxTransaction {
		err = invalid("The items of the transaction exceed 4 MB")
	}
	for i, a := range actions {
		at.wrote(a, 2, before[i], after[i], err) // a transaction prepares and commits
	}
	if err != nil {
		if at.holds && !s.anyLocked(keys) {
			s.hide(at, keys, before, false)
		}
		return false, err
	}
	for i, a := range actions {
		at.commit(a, after[i])
	}
	if token != "" && !s.forgotten && !at.sealed {
		s.tokens[token] = &transaction{actions: items, keys: keys, at: time.Now()}
	}
	halves := at.happens(Halves)
	if halves || at.holds {
		s.hide(at, keys, before, halves)
	}
	s.committed()
	return !halves, nil
}

func conflict() error {
	return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
}

// cancellation collects the reasons for which a transaction is canceled. It has a reason, perhaps None, for each
// action.
type cancellation []types.CancellationReason

func (c *cancellation) judge(err error) {
	reason := types.CancellationReason{Code: aws.String("None")}
	if err != nil {
		named, _ := errors.AsType[smithy.APIError](err)
		reason = types.CancellationReason{
			Code:    aws.String(named.ErrorCode()),
			Message: aws.String(named.ErrorMessage()),
		}
	}
	switch failed := err.(type) { //nolint:errorlint // judge returns it unwrapped
	case *types.ConditionalCheckFailedException:
		reason.Code, reason.Item = aws.String("ConditionalCheckFailed"), failed.Item
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
		Message: aws.String(
			"Transaction cancelled, please refer cancellation reasons for specific reasons",
		),
		CancellationReasons: *c,
	}
}
