package metering

// Units are request units. Read units come in halves.
type Units struct {
	Read  float64 `json:"read"`
	Write float64 `json:"write"`
}

// Plus adds units.
func (u Units) Plus(other Units) Units { return Units{u.Read + other.Read, u.Write + other.Write} }

// The sizes of units, in bytes
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

// started returns how many units a size takes, rounded up. It returns at least 1, because a missing item costs a unit, too.
func started(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

// reading returns the cost of a read of size bytes. An eventually consistent read costs half.
func reading(size int, consistent bool) Units {
	if consistent {
		return Units{Read: started(size, readUnit)}
	}
	return Units{Read: started(size, readUnit) / 2}
}

// writing returns the cost of a write. AWS bills the item's size before or after the write, whichever is larger.
func writing(before, after int) Units { return Units{Write: started(max(before, after), writeUnit)} }

// body holds the members of a request body that affect the price, for all operations.
type body struct {
	TableName                 string
	Key                       Item
	Item                      Item // of a put
	ExpressionAttributeValues Item
	ConsistentRead            bool
	RequestItems              map[string]struct {
		Keys           []Item
		ConsistentRead bool
	}
	TransactItems []map[string]body // each action under its verb
}

// item is an item that a call reads or writes.
type item struct {
	table      string
	key        Item
	consistent bool
	// refusedSize returns the size for which AWS bills a write whose condition failed: the size that the item would have reached
	// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html). AWS does not report that size, so
	// the result is an upper bound.
	refusedSize func(before int) int
}

// items returns the items that the call names. A Query names no items.
func (b body) items() (items []item) {
	for table, asked := range b.RequestItems {
		for _, key := range asked.Keys {
			items = append(items, item{table: table, key: key, consistent: asked.ConsistentRead})
		}
	}
	for _, actions := range b.TransactItems {
		for _, action := range actions {
			items = append(items, action.items()...)
		}
	}
	key := b.Key
	if b.Item != nil { // every table in infra/ has these key attributes
		key = Item{"customer": b.Item["customer"], "sk": b.Item["sk"]}
	}
	if key != nil {
		items = append(items, item{b.TableName, key, b.ConsistentRead, func(before int) int {
			return max(b.Item.Size(), before+b.ExpressionAttributeValues.Size())
		}})
	}
	return items
}
