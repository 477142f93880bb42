package dynamo

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is what DynamoDB stores. Reading an attribute that is missing or of another type gives its zero value: the tables
// are written by this package alone, and an absent attribute is how a zero is stored.
//
// Items are mapped by hand: the SDK's attributevalue package reflects on every call and is one more import that each
// function would load.
type item map[string]types.AttributeValue

func str(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func num[N ~int | ~int64](value N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(value), 10)}
}

func boolean(value bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: value} }

// millis stores a time in whole milliseconds since 1970, so that conditions can compare it.
func millis(t time.Time) types.AttributeValue { return num(t.UnixMilli()) }

func (it item) str(name string) string {
	if value, ok := it[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

func (it item) num(name string) int64 {
	if value, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(value.Value, 10, 64) // zero for what this package did not write
		return n
	}
	return 0
}

func (it item) boolean(name string) bool {
	value, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && value.Value
}

func (it item) time(name string) time.Time { return time.UnixMilli(it.num(name)).UTC() }

func (it item) has(name string) bool { return it[name] != nil }

// setStr stores text that is not empty.
func (it item) setStr(name, value string) {
	if value != "" {
		it[name] = str(value)
	}
}
