package table

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update builds an UpdateItem call, or an update within a transaction. If the condition fails, DynamoDB returns the
// stored item. Expressions refer to an attribute as #attribute, because the names of many attributes are reserved
// words.
type Update struct {
	Key Key

	condition string
	sets      []string
	adds      []string
	removes   []string
	names     map[string]string
	values    Item
}

// Alias declares an attribute and returns its alias for expressions.
func (u *Update) Alias(attribute string) string {
	alias := "#" + strings.Map(func(r rune) rune {
		if r == '#' || r == '-' { // tokens contain these characters, but aliases must not
			return '_'
		}
		return r
	}, attribute)
	if u.names == nil {
		u.names = make(map[string]string)
	}
	for u.names[alias] != "" && u.names[alias] != attribute { // tokens may differ in those characters alone
		alias += "_"
	}
	u.names[alias] = attribute
	return alias
}

// Name declares attributes that the condition refers to.
func (u *Update) Name(attributes ...string) {
	for _, attribute := range attributes {
		u.Alias(attribute)
	}
}

// Value declares a value that the condition refers to.
func (u *Update) Value(placeholder string, value types.AttributeValue) {
	if u.values == nil {
		u.values = make(Item)
	}
	u.values[placeholder] = value
}

// Set sets an attribute.
func (u *Update) Set(attribute string, value types.AttributeValue) {
	alias := u.Alias(attribute)
	u.sets = append(u.sets, alias+" = "+Placeholder(alias))
	u.Value(Placeholder(alias), value)
}

// SetOnce sets an attribute unless it exists.
func (u *Update) SetOnce(attribute string, value types.AttributeValue) {
	alias := u.Alias(attribute)
	u.sets = append(u.sets, alias+" = if_not_exists("+alias+", "+Placeholder(alias)+")")
	u.Value(Placeholder(alias), value)
}

// Add adds n to a number.
func (u *Update) Add(attribute string, n int) {
	alias := u.Alias(attribute)
	u.adds = append(u.adds, alias+" "+Placeholder(alias))
	u.Value(Placeholder(alias), Num(n))
}

// AddTo adds n to a number. A missing attribute counts as start.
func (u *Update) AddTo(attribute string, start, n int64) {
	alias := u.Alias(attribute)
	u.sets = append(u.sets, alias+" = if_not_exists("+alias+", "+Placeholder(alias)+") + "+Placeholder(alias)+"_more")
	u.Value(Placeholder(alias), Num(start))
	u.Value(Placeholder(alias)+"_more", Num(n))
}

// AddBelow adds 1 to a number that is below the limit. A missing attribute counts as 0.
func (u *Update) AddBelow(attribute string, limit int) {
	u.Add(attribute, 1)
	alias := u.Alias(attribute)
	u.Require("(attribute_not_exists(" + alias + ") OR " + alias + " < :" + alias[1:] + "_limit)")
	u.Value(":"+alias[1:]+"_limit", Num(limit))
}

// Remove removes an attribute.
func (u *Update) Remove(attribute string) { u.removes = append(u.removes, u.Alias(attribute)) }

// Placeholder returns the name of the value that Set or Add writes to the attribute with the given alias.
func Placeholder(alias string) string { return ":" + alias[1:] + "_new" }

func (u *Update) expression() string {
	var clauses []string
	for _, clause := range []struct {
		verb  string
		parts []string
	}{{"SET ", u.sets}, {"ADD ", u.adds}, {"REMOVE ", u.removes}} {
		if len(clause.parts) > 0 {
			clauses = append(clauses, clause.verb+strings.Join(clause.parts, ", "))
		}
	}
	return strings.Join(clauses, " ")
}

// Require adds a condition. All conditions must hold.
func (u *Update) Require(condition string) {
	if u.condition != "" {
		condition = " AND " + condition
	}
	u.condition += condition
}

// RequireEqual adds the condition that an attribute has a value. If value is nil, the attribute must not exist.
func (u *Update) RequireEqual(attribute string, value types.AttributeValue) {
	alias := u.Alias(attribute)
	if value == nil {
		u.Require("attribute_not_exists(" + alias + ")")
		return
	}
	placeholder := ":" + alias[1:] + "_old"
	u.Value(placeholder, value)
	u.Require(alias + " = " + placeholder)
}

// RequireCount adds the condition that an attribute is the number n. If n is 0, the attribute must not exist.
func (u *Update) RequireCount(attribute string, n int64) {
	if n == 0 {
		u.RequireEqual(attribute, nil)
		return
	}
	u.RequireEqual(attribute, Num(n))
}

// Input returns the update as a separate call, outside a transaction. The condition is optional.
func (u *Update) Input(table string, returns types.ReturnValue) *dynamodb.UpdateItemInput {
	input := &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: u.Key.Attributes(), UpdateExpression: aws.String(u.expression()),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values, ReturnValues: returns,
	}
	if u.condition != "" {
		input.ConditionExpression = aws.String(u.condition)
		input.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return input
}

// Action returns the update as a part of a transaction.
func (u *Update) Action(table string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(table), Key: u.Key.Attributes(), UpdateExpression: aws.String(u.expression()),
		ConditionExpression: aws.String(u.condition), ExpressionAttributeNames: u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// Deletion returns the deletion of the update's item under the update's condition, as a part of a transaction. The
// update must have no Set, Add or Remove, because DynamoDB rejects names and values that no expression uses.
func (u *Update) Deletion(table string) *types.Delete {
	return &types.Delete{
		TableName: aws.String(table), Key: u.Key.Attributes(), ConditionExpression: aws.String(u.condition),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
