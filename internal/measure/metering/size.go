package metering

import "strings"

// Item is an item in DynamoDB's JSON protocol: the values of its attributes by name.
type Item map[string]Value

// Value is the value of an attribute. Exactly one member is set.
type Value struct {
	S    *string
	N    *string
	B    []byte // base64 in the protocol
	BOOL *bool
	NULL *bool
	SS   []string
	NS   []string
	BS   [][]byte
	L    []Value
	M    Item
}

// The overhead of a list or a map, and of each of its elements, in bytes.
const (
	nestOverhead    = 3
	elementOverhead = 1
)

// StorageOverhead is the storage for each item in addition to its size, in bytes
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
const StorageOverhead = 100

// Size is an item's size in bytes: the lengths of its attributes' names and values
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html). For numbers, AWS publishes
// only an approximation.
func (i Item) Size() int {
	size := 0
	for name, value := range i {
		size += len(name) + value.size()
	}
	return size
}

func (v Value) size() int {
	switch {
	case v.S != nil:
		return len(*v.S)
	case v.N != nil:
		return numberSize(*v.N)
	case v.BOOL != nil, v.NULL != nil:
		return 1
	case v.L != nil:
		size := nestOverhead
		for _, element := range v.L {
			size += elementOverhead + element.size()
		}
		return size
	case v.M != nil:
		return nestOverhead + len(v.M)*elementOverhead + v.M.Size()
	}
	size := len(v.B)
	for _, element := range v.SS {
		size += len(element)
	}
	for _, element := range v.NS {
		size += numberSize(element)
	}
	for _, element := range v.BS {
		size += len(element)
	}
	return size
}

// numberSize returns the size of a number: one byte for every two significant digits, and one more byte. Leading and trailing zeroes
// are not significant.
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
