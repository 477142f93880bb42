package metering

import (
	"encoding/json"
	"fmt"
)

// Sizes that a unit reads or writes, in bytes
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

// Units are request units. Those that read come in halves.
type Units struct {
	Read  float64 `json:"read"`
	Write float64 `json:"write"`
}

// Plus adds units.
func (u Units) Plus(other Units) Units { return Units{u.Read + other.Read, u.Write + other.Write} }

// times multiplies units, for transactions, which do everything twice.
func (u Units) times(factor float64) Units { return Units{u.Read * factor, u.Write * factor} }

// started is how many units a size begins, one at least: what is not there costs one too.
func started(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

// reading is what reading so many bytes takes. A read that is eventually consistent takes half.
func reading(size int, consistent bool) Units {
	units := Units{Read: started(size, readUnit)}
	if !consistent {
		return units.times(0.5)
	}
	return units
}

// writing is what a write takes: it is billed for the item as it was or as it becomes, whichever is larger.
func writing(before, after int) Units { return Units{Write: started(max(before, after), writeUnit)} }

// action is a write, alone or as a part of a transaction: as much of it as its price depends on.
type action struct {
	TableName                 string
	Key                       Item
	Item                      Item // of a put
	ExpressionAttributeValues Item
}

// key is the key of the action's item.
func (a action) key() Item {
	if a.Key != nil {
		return a.Key
	}
	return Item{partitionKey: a.Item[partitionKey], sortKey: a.Item[sortKey]}
}

// The key of every table in infra/.
const (
	partitionKey = "customer"
	sortKey      = "sk"
)

// refused is what a write takes whose condition failed: it is billed as if it had been done
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html). How large the item would have
// become is not told; it is at most what it was, with all that the call brought along.
func (a action) refused(before int) Units {
	return writing(before, max(a.Item.Size(), before+a.ExpressionAttributeValues.Size()))
}

// transaction is the body of TransactWriteItems: each part under its verb.
type transaction struct {
	TransactItems []map[string]action
}

func (t transaction) actions() []action {
	var actions []action
	for _, part := range t.TransactItems {
		for _, a := range part {
			actions = append(actions, a)
		}
	}
	return actions
}

// get is the body of GetItem, or one table of BatchGetItem.
type get struct {
	TableName      string
	Key            Item
	Keys           []Item
	ConsistentRead bool
}

type batchGet struct{ RequestItems map[string]get }

func parse[Body any](body []byte) (parsed Body, err error) {
	if err := json.Unmarshal(body, &parsed); err != nil {
		return parsed, fmt.Errorf("read a call: %w", err)
	}
	return parsed, nil
}
