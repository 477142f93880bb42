package metering

import "strings"

// Item is an item as DynamoDB's JSON protocol has it, by attribute.
type Item map[string]Value

// Value is an attribute's value. One of its members is set.
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

// What lists and maps take beside what they hold, in bytes, and what each thing in them takes beside itself.
const (
	nestOverhead    = 3
	elementOverhead = 1
)

// StorageOverhead is what each item takes in storage beside its own size, in bytes
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
const StorageOverhead = 100

// Size is an item's size in bytes: the lengths of its attributes' names and values
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html). Of numbers AWS publishes an
// approximation only.
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

// numberSize is a byte for every two significant digits, and one more. Zeroes that lead or trail are not significant.
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
