package memdynamo

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Item is an item: its values by their attributes' names.
type Item = map[string]types.AttributeValue

// Key identifies an item.
type Key struct{ Table, Partition, Sort string }

func (k Key) String() string { return k.Table + " " + k.Partition + " " + k.Sort }

// Store holds tables in memory. Its endpoints and clients share them.
type Store struct {
	// OnlyCreated rejects reads and writes of tables that CreateTable has not created. Otherwise, such a table has the
	// keys of Shopfront's tables, and no index.
	OnlyCreated bool
	mu          sync.Mutex // held during a moment of a call that arrives at an Endpoint
	naming      sync.Mutex // guards tables
	tables      map[string]*table
	// old items that reads still see, because the transaction that replaced them is half visible
	hidden    map[Key]Item
	locked    map[Key]bool // all items of transactions that have not ended
	tokens    map[string]*transaction
	forgotten bool // whether DynamoDB has forgotten all tokens
	committed func()
	dropped   *Conjunct
	judged    func(c Conjunct, decides bool)
	verdicts  []verdict // about the conditions of the call that is being judged
}

// transaction is a transaction that was applied under a client's token.
type transaction struct {
	actions []types.TransactWriteItem
	keys    []Key
	at      time.Time
}

// tokenLifetime is how long DynamoDB remembers the token of a transaction.
const tokenLifetime = 10 * time.Minute

// New returns a store without tables.
func New() *Store {
	return &Store{
		tables: make(map[string]*table), hidden: make(map[Key]Item), locked: make(map[Key]bool),
		tokens: make(map[string]*transaction), committed: func() {},
	}
}

// Committed sets a function that is called within every write, after the write has changed the items.
func (s *Store) Committed(f func()) { s.committed = f }

// Items yields the stored items of a table, in the order of their keys. No call may be running.
func (s *Store) Items(name string) iter.Seq2[Key, Item] {
	return func(yield func(Key, Item) bool) {
		t := s.table(name)
		for _, partition := range slices.Sorted(maps.Keys(t.primary.items)) {
			for _, e := range slices.Clone(t.primary.items[partition]) {
				if !yield(t.keyIn(e.item), e.item) {
					return
				}
			}
		}
	}
}

// Item returns a stored item, or nil if it does not exist. No call may be running.
func (s *Store) Item(key Key) Item { return s.table(key.Table).get(key) }

// table returns a table, or nil if it does not exist and OnlyCreated is set.
func (s *Store) table(name string) *table {
	s.naming.Lock()
	defer s.naming.Unlock()
	t := s.tables[name]
	if t == nil && !s.OnlyCreated {
		t = &table{name: name, primary: newTree("", keyNames{"customer", "sk"}, keyNames{})}
		s.tables[name] = t
	}
	return t
}

// keyNames are the names of the key attributes of a table or an index. A table without sort keys has an empty one.
type keyNames struct{ partition, sort string }

// table is a table with its indexes and its stream.
type table struct {
	name        string
	description types.TableDescription // of a created table
	primary     *tree
	indexes     []*tree
	ttl         string // attribute
	stream      *stream
}

func (t *table) names() keyNames { return t.primary.keys }

func (t *table) keyIn(it Item) Key {
	return Key{t.name, text(it[t.names().partition]), text(it[t.names().sort])}
}

// attributes returns the key as the only attributes of an item.
func (t *table) attributes(key Key) Item {
	return t.keysOf(t.primary, map[string]types.AttributeValue{
		t.names().partition: &types.AttributeValueMemberS{Value: key.Partition},
		t.names().sort:      &types.AttributeValueMemberS{Value: key.Sort},
	})
}

// keysOf returns the attributes of an item that are a position in a tree.
func (t *table) keysOf(in *tree, it Item) Item {
	position := make(Item)
	for _, name := range []string{t.names().partition, t.names().sort, in.keys.partition, in.keys.sort} {
		if name != "" {
			position[name] = it[name]
		}
	}
	return position
}

func (t *table) get(key Key) Item {
	e, i, found := t.primary.find(key.Partition, t.primary.rank(t.attributes(key)))
	if !found {
		return nil
	}
	return e[i].item
}

// store stores an item, or deletes it if after is nil.
func (t *table) store(key Key, after Item) {
	before := t.get(key)
	for _, tree := range append(slices.Clip(t.indexes), t.primary) {
		tree.remove(before)
		tree.put(after)
	}
	if t.stream != nil {
		t.stream.add(t.attributes(key), before, after)
	}
}

// tree is a table or an index: items by their partition keys, in the order of their ranks.
type tree struct {
	name    string   // of an index
	keys    keyNames // of this tree
	primary keyNames // of the table, if this tree is an index
	items   map[string][]entry
}

type entry struct {
	rank string
	item Item
}

func newTree(name string, keys, primary keyNames) *tree {
	return &tree{name: name, keys: keys, primary: primary, items: make(map[string][]entry)}
}

// rank returns a string by which items are ordered, or an empty string if the item is not in the tree, because it has
// no such attributes.
func (t *tree) rank(it Item) string {
	parts := make([]string, 0, 4)
	for _, name := range []string{t.keys.partition, t.keys.sort, t.primary.partition, t.primary.sort} {
		switch value := it[name].(type) {
		case *types.AttributeValueMemberS:
			parts = append(parts, value.Value)
		case nil:
			if name != "" {
				return ""
			}
		default:
			panic("a key of type " + kindOf(value) + " is not simulated")
		}
	}
	return strings.Join(parts, "\x00")
}

// check returns an error if DynamoDB rejects the item because of its keys in the tree. A missing key is no error: the
// item is not in the index.
func (t *tree) check(it Item) error {
	for name, most := range map[string]int{t.keys.partition: 2048, t.keys.sort: 1024} {
		if key := text(it[name]); it[name] != nil && (key == "" || len(key) > most) {
			return invalid("The key " + name + " is empty, too long, or no string")
		}
	}
	return nil
}

func (t *tree) find(partition, rank string) (entries []entry, i int, found bool) {
	entries = t.items[partition]
	i, found = slices.BinarySearchFunc(entries, rank, func(e entry, rank string) int {
		return strings.Compare(e.rank, rank)
	})
	return entries, i, found
}

func (t *tree) put(it Item) {
	rank := t.rank(it)
	if rank == "" {
		return
	}
	partition := text(it[t.keys.partition])
	entries, i, _ := t.find(partition, rank)
	t.items[partition] = slices.Insert(entries, i, entry{rank, it})
}

func (t *tree) remove(it Item) {
	partition := text(it[t.keys.partition])
	if entries, i, found := t.find(partition, t.rank(it)); found {
		t.items[partition] = slices.Delete(entries, i, i+1)
		if len(entries) == 1 {
			delete(t.items, partition)
		}
	}
}

// checkSets returns an error if DynamoDB rejects a set of strings. Sets cannot be empty, or contain a string twice.
func checkSets(it Item) error {
	for name, value := range it {
		set, is := value.(*types.AttributeValueMemberSS)
		if !is {
			continue
		}
		if n := len(set.Value); n == 0 || len(slices.Compact(slices.Sorted(slices.Values(set.Value)))) < n {
			return invalid("The set " + name + " is empty or has duplicates")
		}
	}
	return nil
}

func text(value types.AttributeValue) string {
	if s, is := value.(*types.AttributeValueMemberS); is {
		return s.Value
	}
	return ""
}

// invalid returns DynamoDB's error for a call that can never succeed.
func invalid(message string) error { return refusal("ValidationException", message) }

func refusal(code, message string) error {
	return &smithy.GenericAPIError{Code: code, Message: message}
}

func missing(name string) error {
	return &types.ResourceNotFoundException{Message: aws.String("Requested resource not found: " + name)}
}
