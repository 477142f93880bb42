package memdynamo

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expressions are the expressions of one call or action. They share its names and values. They panic at anything that
// is not simulated, and at anything that DynamoDB always rejects. Without the panic, a test could pass although the
// real call would fail.
type expressions struct {
	keys   keyNames
	names  map[string]string
	values Item
	used   map[string]bool // names and values that an expression uses
}

func newExpressions(keys keyNames, names map[string]string, values Item) *expressions {
	return &expressions{keys: keys, names: names, values: values, used: make(map[string]bool)}
}

// done panics if a name or a value is not used. DynamoDB rejects such calls.
func (e *expressions) done() {
	for name := range e.names {
		if !e.used[name] {
			panic("no expression uses the name " + name)
		}
	}
	for value := range e.values {
		if !e.used[value] {
			panic("no expression uses the value " + value)
		}
	}
}

// condition reports whether a condition holds for an item. The item is empty if it does not exist.
type condition func(Item) bool

// operand returns a value or an attribute, or nil if the attribute is missing.
type operand func(Item) types.AttributeValue

// condition parses a condition. If the text is nil, the condition always holds.
func (e *expressions) condition(text *string) condition {
	if text == nil {
		return func(Item) bool { return true }
	}
	p := e.parser(text)
	c := p.disjunction()
	p.end()
	return c
}

// keyCondition parses the key condition of a query, which is a partition key and, optionally, a condition for the sort
// keys.
func (e *expressions) keyCondition(text *string) (partition string, sort condition) {
	p := e.parser(text)
	if p.path() != p.keys.partition {
		p.fail("does not begin with the partition key")
	}
	p.expect("=")
	partition = str(p.value()(nil))
	sort = func(Item) bool { return true }
	if len(p.tokens) > 0 {
		p.expect("AND")
		subject := p.peek()
		if p.isFunction("begins_with") {
			subject = p.tokens[2]
		}
		if p.resolve(subject) != p.keys.sort || slices.Contains(p.tokens, "<>") || slices.Contains(p.tokens, "IN") {
			p.fail("has a condition that DynamoDB does not allow for sort keys")
		}
		sort = p.predicate()
	}
	p.end()
	return partition, sort
}

// parser reads one expression.
type parser struct {
	*expressions

	text   string
	tokens []string
}

var (
	tokenPattern = regexp.MustCompile(`^\s*([#:]?[A-Za-z0-9_]+|<>|<=|>=|[=<>(),+-])\s*`)
	wordPattern  = regexp.MustCompile(`^#?[A-Za-z0-9_]+$`)
)

func (e *expressions) parser(text *string) *parser {
	p := &parser{expressions: e, text: aws.ToString(text)}
	for rest := p.text; rest != ""; {
		found := tokenPattern.FindStringSubmatch(rest)
		if found == nil {
			p.fail("has an unknown token: " + rest)
		}
		p.tokens = append(p.tokens, found[1])
		rest = rest[len(found[0]):]
	}
	return p
}

func (p *parser) fail(why string) {
	panic(fmt.Sprintf("the expression %q %s; not yet read: %q", p.text, why, p.tokens))
}

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	if len(p.tokens) == 0 {
		p.fail("ends early")
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

func (p *parser) expect(token string) {
	if p.peek() != token {
		p.fail("lacks " + token)
	}
	p.next()
}

func (p *parser) end() {
	if len(p.tokens) > 0 {
		p.fail("does not end")
	}
}

// isFunction reports whether a call of the function follows.
func (p *parser) isFunction(name string) bool {
	return len(p.tokens) > 2 && p.tokens[0] == name && p.tokens[1] == "("
}

// resolve returns the attribute name that a token stands for.
func (p *parser) resolve(token string) string {
	switch {
	case !wordPattern.MatchString(token):
		p.fail("has no attribute at " + token)
	case token[0] != '#':
		return token
	case p.names[token] == "":
		p.fail("uses an undeclared name: " + token)
	}
	p.used[token] = true
	return p.names[token]
}

func (p *parser) path() string { return p.resolve(p.next()) }

func (p *parser) value() operand {
	token := p.next()
	value := p.values[token]
	if value == nil {
		p.fail("uses an undeclared value: " + token)
	}
	p.used[token] = true
	return func(Item) types.AttributeValue { return value }
}

func (p *parser) operand() operand {
	if strings.HasPrefix(p.peek(), ":") {
		return p.value()
	}
	name := p.path()
	if p.peek() == "(" {
		p.fail("calls a function that is not simulated: " + name)
	}
	return func(it Item) types.AttributeValue { return it[name] }
}

func (p *parser) disjunction() condition {
	c := p.conjunction()
	for p.peek() == "OR" {
		p.next()
		left, right := c, p.conjunction()
		c = func(it Item) bool { return left(it) || right(it) }
	}
	return c
}

func (p *parser) conjunction() condition {
	c := p.negation()
	for p.peek() == "AND" {
		p.next()
		left, right := c, p.negation()
		c = func(it Item) bool { return left(it) && right(it) }
	}
	return c
}

func (p *parser) negation() condition {
	switch p.peek() {
	case "NOT":
		p.next()
		c := p.negation()
		return func(it Item) bool { return !c(it) }
	case "(":
		p.next()
		c := p.disjunction()
		p.expect(")")
		return c
	default:
		return p.predicate()
	}
}

func (p *parser) predicate() condition {
	if slices.ContainsFunc([]string{"attribute_exists", "attribute_not_exists", "begins_with"}, p.isFunction) {
		return p.function()
	}
	left := p.operand()
	switch operator := p.next(); operator {
	case "IN":
		return p.in(left)
	case "BETWEEN":
		low := p.operand()
		p.expect("AND")
		high := p.operand()
		return func(it Item) bool {
			if order, is := compare(low(it), high(it)); is && order > 0 {
				panic(fmt.Sprintf("the bounds in %q are not in order", p.text))
			}
			return ordered(left(it), ">=", low(it)) && ordered(left(it), "<=", high(it))
		}
	case "=", "<>":
		right := p.operand()
		return func(it Item) bool { return equal(left(it), right(it)) == (operator == "=") }
	case "<", "<=", ">", ">=":
		right := p.operand()
		return func(it Item) bool { return ordered(left(it), operator, right(it)) }
	default:
		p.fail("has an unknown operator: " + operator)
		return nil
	}
}

func (p *parser) function() condition {
	name := p.next()
	p.expect("(")
	path := p.path()
	c := func(it Item) bool { return (it[path] != nil) == (name == "attribute_exists") }
	if name == "begins_with" {
		p.expect(",")
		prefix := p.operand()
		c = func(it Item) bool {
			text, is := it[path].(*types.AttributeValueMemberS)
			return is && strings.HasPrefix(text.Value, str(prefix(it)))
		}
	}
	p.expect(")")
	return c
}

func (p *parser) in(left operand) condition {
	var list []operand
	p.expect("(")
	for {
		list = append(list, p.operand())
		if p.peek() != "," {
			break
		}
		p.next()
	}
	p.expect(")")
	return func(it Item) bool {
		return slices.ContainsFunc(list, func(o operand) bool { return equal(left(it), o(it)) })
	}
}

func str(value types.AttributeValue) string {
	text, is := value.(*types.AttributeValueMemberS)
	if !is {
		panic(fmt.Sprintf("%T is not a string", value))
	}
	return text.Value
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func integer(number *types.AttributeValueMemberN) int64 {
	n, err := strconv.ParseInt(number.Value, 10, 64)
	if err != nil {
		panic(err) // Shopfront writes integers only
	}
	return n
}

// compare orders two values. ordered is false if they have different types, or if one is missing.
func compare(a, b types.AttributeValue) (order int, ordered bool) {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return 0, false
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		return strings.Compare(a.Value, str(b)), true
	case *types.AttributeValueMemberN:
		b, _ := b.(*types.AttributeValueMemberN)
		return cmp.Compare(integer(a), integer(b)), true
	case *types.AttributeValueMemberB:
		b, _ := b.(*types.AttributeValueMemberB)
		return bytes.Compare(a.Value, b.Value), true
	default:
		panic(fmt.Sprintf("%T has no order", a))
	}
}

func ordered(a types.AttributeValue, operator string, b types.AttributeValue) bool {
	order, is := compare(a, b)
	switch operator {
	case "<":
		return is && order < 0
	case "<=":
		return is && order <= 0
	case ">":
		return is && order > 0
	default:
		return is && order >= 0
	}
}

// equal reports whether two values are equal. A missing attribute equals nothing.
func equal(a, b types.AttributeValue) bool {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		order, _ := compare(a, b)
		return order == 0
	case *types.AttributeValueMemberS, *types.AttributeValueMemberB, *types.AttributeValueMemberBOOL,
		*types.AttributeValueMemberNULL:
		return reflect.DeepEqual(a, b)
	default:
		panic(fmt.Sprintf("comparing %T is not simulated", a))
	}
}

// update is an update expression.
type update struct {
	names   []string                         // the attributes that it writes
	actions []func(before, after Item) error // each action reads before and writes after
}

// update parses an update expression.
func (e *expressions) update(text *string) update {
	var u update
	p := e.parser(text)
	for seen := map[string]bool{}; len(p.tokens) > 0; {
		verb := p.next()
		if seen[verb] {
			p.fail("repeats " + verb)
		}
		seen[verb] = true
		for {
			u.actions = append(u.actions, p.action(verb, &u))
			if p.peek() != "," {
				break
			}
			p.next()
		}
	}
	if len(u.actions) == 0 {
		p.fail("is empty")
	}
	return u
}

// action parses an action, and appends the name of the written attribute to u.names.
func (p *parser) action(verb string, u *update) func(before, after Item) error {
	name := p.path()
	if slices.Contains(u.names, name) || name == p.keys.partition || name == p.keys.sort {
		p.fail("writes an attribute twice, or a key: " + name)
	}
	u.names = append(u.names, name)
	switch verb {
	case "SET":
		p.expect("=")
		return set(name, p.assigned())
	case "ADD":
		value := p.value()
		return func(before, after Item) (err error) {
			sum := before[name]
			if sum == nil {
				sum = number(0)
			}
			after[name], err = add(sum, value(before), 1)
			return err
		}
	case "REMOVE":
		return func(_, after Item) error {
			delete(after, name)
			return nil
		}
	default:
		p.fail("has an action that is not simulated: " + verb)
		return nil
	}
}

// computed returns the value to assign, which it computes from the item as it was before the update.
type computed func(before Item) (types.AttributeValue, error)

func set(name string, value computed) func(before, after Item) error {
	return func(before, after Item) (err error) {
		after[name], err = value(before)
		return err
	}
}

func (p *parser) assigned() computed {
	left := p.term()
	sign := int64(1)
	switch p.peek() {
	case "-":
		sign = -1
	case "+":
	default:
		return left
	}
	p.next()
	right := p.term()
	return func(before Item) (types.AttributeValue, error) {
		a, err := left(before)
		if err != nil {
			return nil, err
		}
		b, err := right(before)
		if err != nil {
			return nil, err
		}
		return add(a, b, sign)
	}
}

func (p *parser) term() computed {
	preferred, value := "", operand(nil)
	if p.isFunction("if_not_exists") {
		p.next()
		p.expect("(")
		preferred = p.path()
		p.expect(",")
		value = p.operand()
		p.expect(")")
	} else {
		value = p.operand()
	}
	return func(before Item) (types.AttributeValue, error) {
		if before[preferred] != nil {
			return before[preferred], nil
		}
		if v := value(before); v != nil {
			return v, nil
		}
		return nil, invalid("The provided expression refers to an attribute that does not exist in the item")
	}
}

func add(a, b types.AttributeValue, sign int64) (types.AttributeValue, error) {
	augend, isA := a.(*types.AttributeValueMemberN)
	addend, isB := b.(*types.AttributeValueMemberN)
	switch b.(type) {
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		panic("adding to a set is not simulated")
	}
	if !isA || !isB {
		return nil, invalid("An operand in the update expression has an incorrect data type")
	}
	return number(integer(augend) + sign*integer(addend)), nil
}

// apply returns the updated item. If the item does not exist yet, before is empty.
func (u update) apply(key, before Item) (Item, error) {
	after := maps.Clone(before)
	if after == nil {
		after = maps.Clone(key)
	}
	for _, action := range u.actions {
		if err := action(before, after); err != nil {
			return nil, err
		}
	}
	return after, nil
}
