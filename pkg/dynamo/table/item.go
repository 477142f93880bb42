package table

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item as DynamoDB stores it. Reading an attribute that is missing or has another type returns the zero
// value. That is enough, because only Shopfront writes the tables, and it leaves out only attributes whose value is
// zero.
//
// Items are mapped by hand, because the SDK's attributevalue package uses reflection on every call, and every function
// would have to load it.
type Item map[string]types.AttributeValue

// KeyOf returns the key of an item.
func KeyOf(it Item) Key { return Key{Partition: it.Str(PartitionKey), Sort: it.Str(SortKey)} }

// Str returns a string attribute.
func Str[S ~string](value S) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: string(value)}
}

// Num returns a number attribute.
func Num[N ~int | ~int64](value N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(value), 10)}
}

// Bool returns an attribute that is true or false.
func Bool(value bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: value} }

// Millis returns an attribute with a time in whole milliseconds since 1970, so that conditions can compare it.
func Millis(t time.Time) types.AttributeValue { return Num(t.UnixMilli()) }

// Str reads a string.
func (it Item) Str(name string) string {
	if value, ok := it[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

// Num reads a number.
func (it Item) Num(name string) int64 {
	if value, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(value.Value, 10, 64) // Shopfront writes no other numbers
		return n
	}
	return 0
}

// Bool reads an attribute that is true or false.
func (it Item) Bool(name string) bool {
	value, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && value.Value
}

// Time reads a time that Millis wrote. For a missing attribute it returns the beginning of 1970.
func (it Item) Time(name string) time.Time { return time.UnixMilli(it.Num(name)).UTC() }

// Has reports whether the item has an attribute of that name.
func (it Item) Has(name string) bool { return it[name] != nil }

// setStr stores a string unless it is empty.
func (it Item) setStr(name, value string) {
	if value != "" {
		it[name] = Str(value)
	}
}

// setNum stores a number unless it is 0.
func (it Item) setNum(name string, n int64) {
	if n != 0 {
		it[name] = Num(n)
	}
}

// setTrue stores true if value is true. A missing attribute means false.
func (it Item) setTrue(name string, value bool) {
	if value {
		it[name] = Bool(true)
	}
}

// setTime stores a time unless it is zero.
func (it Item) setTime(name string, t time.Time) {
	if !t.IsZero() {
		it[name] = Millis(t)
	}
}

// timeOrZero reads a time that setTime wrote.
func (it Item) timeOrZero(name string) time.Time {
	if !it.Has(name) {
		return time.Time{}
	}
	return it.Time(name)
}
