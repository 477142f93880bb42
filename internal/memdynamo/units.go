package memdynamo

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Call is one call with AWS's bill for it, by AWS's published rules.
type Call struct {
	Operation string // such as UpdateItem
	Units     Units
	// Tables are the tables that the call names. A transaction names one for each of its items.
	Tables []string
	// Grown is the growth of storage in bytes, including the storage overhead of new items.
	Grown int
}

// Units are request units. Read units come in halves.
type Units struct {
	Read  float64
	Write float64
}

// Plus adds units.
func (u Units) Plus(other Units) Units { return Units{u.Read + other.Read, u.Write + other.Write} }

// The sizes of units, in bytes
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const (
	readUnit  = 4 << 10
	writeUnit = 1 << 10
)

// started returns how many units a size takes, rounded up. It returns at least 1, because a missing item costs a unit,
// too.
func started(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

// bill adds up what an attempt costs.
type bill struct {
	metered bool
	units   Units
	grown   int
}

// read adds a read of size bytes. An eventually consistent read costs half.
func (b *bill) read(size int, consistent bool) {
	units := started(size, readUnit)
	if !consistent {
		units /= 2
	}
	b.units.Read += units
}

// wrote adds a write of an item, in its table and in the indexes that have it. The parameter times is how often the
// service writes each item. AWS bills the item's size before or after the write, whichever is larger. If the condition
// of any action failed, AWS bills the size that the item would have reached
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html). AWS does not report
// that size, so the bill is an upper bound.
func (b *bill) wrote(a *action, times int, before, after Item, err error) {
	if !b.metered {
		return
	}
	was, now := itemSize(before), itemSize(after)
	_, failed := errors.AsType[*types.ConditionalCheckFailedException](err)
	_, canceled := errors.AsType[*types.TransactionCanceledException](err)
	refused := failed || canceled
	billed := now
	if refused {
		billed = a.given(was)
	}
	b.units.Write += float64(times) * started(max(was, billed), writeUnit)
	if err != nil {
		return
	}
	b.grown += grown(was, now)
	for _, index := range a.indexes {
		indexed := [2]int{}
		for i, it := range []Item{before, after} {
			if index.rank(it) != "" {
				indexed[i] = itemSize(it)
			}
		}
		b.grown += grown(indexed[0], indexed[1])
		if size := max(indexed[0], indexed[1]); size > 0 {
			b.units.Write += started(size, writeUnit)
		}
	}
}

// storageOverhead is the storage for each item in addition to its size, in bytes
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
const storageOverhead = 100

// grown returns how many more bytes of storage an item takes after its size changed.
func grown(before, after int) int {
	if before == 0 && after > 0 {
		return after + storageOverhead
	}
	return after - before
}

// The overhead of a list or a map, and of each of its elements, in bytes.
const (
	nestOverhead    = 3
	elementOverhead = 1
)

// itemSize returns an item's size in bytes: the lengths of its attributes' names and values
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html). For numbers, AWS
// publishes only an approximation.
func itemSize(it Item) int {
	size := 0
	for name, value := range it {
		size += len(name) + valueSize(value)
	}
	return size
}

func valueSize(value types.AttributeValue) (size int) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		for _, element := range v.Value {
			size += len(element)
		}
	case *types.AttributeValueMemberNS:
		for _, element := range v.Value {
			size += numberSize(element)
		}
	case *types.AttributeValueMemberBS:
		for _, element := range v.Value {
			size += len(element)
		}
	case *types.AttributeValueMemberL:
		size = nestOverhead
		for _, element := range v.Value {
			size += elementOverhead + valueSize(element)
		}
	case *types.AttributeValueMemberM:
		size = nestOverhead + len(v.Value)*elementOverhead + itemSize(v.Value)
	default: // true, false or null
		size = 1
	}
	return size
}

// numberSize returns the size of a number: one byte for every two significant digits, and one more byte. Leading and
// trailing zeroes are not significant.
func numberSize(n string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, mantissa)
	return (len(strings.Trim(digits, "0"))+1)/2 + 1
}
