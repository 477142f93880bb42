package memdynamo_test

import (
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/memdynamo"
)

// twins are DynamoDB Local and a store in memory. Every call goes to both, and both must respond alike.
type twins struct {
	t             *testing.T
	store         *memdynamo.Store
	local, memory *dynamodb.Client
	table         *string
}

// newTwins creates a table with the index in both.
func newTwins(t *testing.T) *twins {
	store := memdynamo.New()
	store.OnlyCreated = true
	w := &twins{t: t, store: store, local: localtest.Client(t), memory: clientOf(store.Endpoint(memdynamo.Dials{}))}
	w.table = aws.String(localtest.Create(t, w.local, "CheckoutsTable", false))
	described, err := w.local.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: w.table})
	if err != nil {
		t.Fatal(err)
	}
	index := described.Table.GlobalSecondaryIndexes[0]
	if _, err := w.memory.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: w.table, BillingMode: types.BillingModePayPerRequest, KeySchema: described.Table.KeySchema,
		AttributeDefinitions: described.Table.AttributeDefinitions,
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		}},
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

func clientOf(endpoint *memdynamo.Endpoint) *dynamodb.Client {
	return dynamodb.New(dynamolocal.NewClient("http://memdynamo.invalid").Options(), func(o *dynamodb.Options) {
		o.HTTPClient = endpoint
	})
}

// alike makes the call to both and returns DynamoDB Local's answer. It fails the test if the answers differ.
func (w *twins) alike(what string, call func(*dynamodb.Client) (any, error)) string {
	w.t.Helper()
	want, got := answer(call(w.local)), answer(call(w.memory))
	if got != want {
		w.t.Errorf("%s: memdynamo answers\n%s\nDynamoDB Local answers\n%s", what, got, want)
	}
	return want
}

// answer describes an output or an error, without the texts that are for people.
func answer(out any, err error) string {
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		var b strings.Builder
		for _, reason := range canceled.CancellationReasons {
			fmt.Fprintf(&b, "%s %s; ", aws.ToString(reason.Code), shown(reason.Item))
		}
		return b.String()
	}
	if failed, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return "condition failed: " + shown(failed.Item)
	}
	if err != nil {
		return memdynamo.Outcome(err)
	}
	switch out := out.(type) {
	case *dynamodb.GetItemOutput:
		return shown(out.Item)
	case *dynamodb.PutItemOutput:
		return shown(out.Attributes)
	case *dynamodb.UpdateItemOutput:
		return shown(out.Attributes)
	case *dynamodb.DeleteItemOutput:
		return shown(out.Attributes)
	case *dynamodb.QueryOutput:
		return fmt.Sprintf("%s, %d of %d", shownAll(out.Items), out.Count, out.ScannedCount)
	case *dynamodb.TransactGetItemsOutput:
		var all []string
		for _, response := range out.Responses {
			all = append(all, shown(response.Item))
		}
		return strings.Join(all, "; ")
	case *dynamodb.BatchGetItemOutput:
		var all []string
		for _, items := range out.Responses {
			all = append(all, strings.Split(shownAll(items), "; ")...)
		}
		return strings.Join(slices.Sorted(slices.Values(all)), "; ")
	case *dynamodb.TransactWriteItemsOutput:
		return "done"
	default:
		panic(fmt.Sprintf("unknown output %T", out))
	}
}

func shown(it memdynamo.Item) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(it)) {
		switch value := it[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&b, "%s=%q ", name, value.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&b, "%s=%s ", name, value.Value)
		case *types.AttributeValueMemberBOOL:
			fmt.Fprintf(&b, "%s=%t ", name, value.Value)
		default:
			fmt.Fprintf(&b, "%s=%T ", name, value)
		}
	}
	return b.String()
}

func shownAll(items []map[string]types.AttributeValue) string {
	all := make([]string, len(items))
	for i, it := range items {
		all[i] = shown(it)
	}
	return strings.Join(all, "; ")
}

// place is the key of an item.
type place struct{ Partition, Sort string }

func (k place) Attributes() memdynamo.Item {
	return memdynamo.Item{"customer": str(k.Partition), "sk": str(k.Sort)}
}

func str(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }

func boolean(is bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: is} }

// summer returns the key of an item in the tests of this file.
func summer(part string) place { return place{"emberforge#07", "SUMMER20" + part} }

func (w *twins) put(at place, attributes memdynamo.Item) {
	w.t.Helper()
	it := at.Attributes()
	maps.Copy(it, attributes)
	w.alike("put "+at.Sort, func(api *dynamodb.Client) (any, error) {
		return api.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: w.table, Item: it})
	})
}

func counterItem() memdynamo.Item {
	return memdynamo.Item{
		"left": num(3), "used": num(2), "version": num(0), "code": str("Summer20"),
		"disabled": boolean(false),
	}
}

// bind returns the names and values that expressions use. It derives each value from its placeholder: :n3 is the number
// 3, :m3 is -3, :sLeft is the text Left, and :btrue is true.
func bind(expressions ...string) (names map[string]string, values memdynamo.Item) {
	between := func(r rune) bool { return strings.ContainsRune(" (),=<>+-", r) }
	for _, word := range strings.FieldsFunc(strings.Join(expressions, " "), between) {
		if attribute, is := strings.CutPrefix(word, "#"); is {
			if names == nil {
				names = make(map[string]string)
			}
			names[word] = attribute
		}
		if !strings.HasPrefix(word, ":") {
			continue
		}
		if values == nil {
			values = make(memdynamo.Item)
		}
		switch kind, rest := word[1], word[2:]; kind {
		case 'n':
			values[word] = &types.AttributeValueMemberN{Value: rest}
		case 'm':
			values[word] = &types.AttributeValueMemberN{Value: "-" + rest}
		case 's':
			values[word] = str(rest)
		default:
			values[word] = boolean(rest == "true")
		}
	}
	return names, values
}

// check compares whether a condition holds in both. It sends a transaction that only checks the condition.
func (w *twins) check(at place, condition string) string {
	w.t.Helper()
	names, values := bind(condition)
	return w.alike(condition, func(api *dynamodb.Client) (any, error) {
		return api.TransactWriteItems(w.t.Context(),
			&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{
				ConditionCheck: &types.ConditionCheck{
					TableName: w.table, Key: at.Attributes(), ConditionExpression: &condition,
					ExpressionAttributeNames: names, ExpressionAttributeValues: values,
				},
			}}})
	})
}

func TestStore_Conditions_HoldAsInDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	for _, key := range []place{summer(""), summer("#missing")} {
		for _, condition := range []string{
			"#left = :n3", "#left <> :n3", "#left = :s3", "#left <> :s3", "#left < :n4", "#left < :n10", "#left <= :n3",
			"#left > :n3",
			"#left >= :n3", "#left > :s1", "#code < :sT", "#code = :sSummer", "#disabled = :bfalse",
			"#disabled <> :bfalse",
			"#disabled = :n0", "#left = #used", "#left > #used", "#absent = :n1", "#absent <> :n1", "#absent < :n1",
			"NOT #absent = :n1",
			"#absent = #gone", "#absent <> #gone", "attribute_exists(#left)", "attribute_exists(#absent)",
			"attribute_not_exists(#left)",
			"attribute_not_exists(#absent)", "attribute_not_exists(sk)", "begins_with(#code, :sSum)",
			"begins_with(#code, :ssum)",
			"begins_with(#absent, :sSum)", "begins_with(#left, :s3)", "#left IN (:n1, :n3)", "#left IN (:n1, :s3)",
			"#absent IN (:n1)",
			"#left BETWEEN :n3 AND :n4", "#left BETWEEN :n4 AND :n10", "#absent BETWEEN :n1 AND :n2",
			"#code BETWEEN :sS AND :sT",
			"#left BETWEEN #used AND :n3 AND #used = :n2", "NOT #left = :n3 AND #used = :n1",
			"NOT (#left = :n3 AND #used = :n1)",
			"#left = :n3 OR #used = :n1 AND #version = :n1", "(#left = :n3 OR #used = :n1) AND #version = :n1",
			"NOT NOT #left = :n3",
		} {
			w.check(key, condition)
		}
	}
}

// randomCondition returns a condition of a random shape, in which every part may hold or not.
func randomCondition(r *mathrand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	if depth > 0 {
		left, right := randomCondition(r, depth-1), randomCondition(r, depth-1)
		return pick(left+" AND "+right, left+" OR "+right, "NOT "+left, "("+left+" OR "+right+") AND "+right,
			"NOT ("+left+" AND "+right+")")
	}
	name := pick("#left", "#used", "#version", "#code", "#disabled", "#absent")
	value := pick(":n0", ":n2", ":n3", ":sSummer", ":sSummer20", ":btrue", ":bfalse")
	number := pick(":n0", ":n2", ":n3")
	return pick(
		name+pick(" = ", " <> ")+value,
		pick("#left", "#used", "#code", "#absent")+pick(" < ", " <= ", " > ", " >= ")+number,
		pick("attribute_exists(", "attribute_not_exists(")+name+")", "begins_with("+name+", :sSum)",
		name+" IN ("+value+", :n2)",
		pick("#left", "#used", "#absent")+" BETWEEN "+number+" AND :n3",
	)
}

func TestStore_RandomConditions_HoldAsInDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	r := mathrand.New(mathrand.NewPCG(1, 1))
	answers := make(map[string]int)
	for range 300 {
		answers[w.check(summer(""), randomCondition(r, r.IntN(4)))]++
	}
	if len(answers) != 2 {
		t.Errorf("answers: %v; want conditions that hold and conditions that fail", answers)
	}
}

func TestStore_Updates_WriteWhatDynamoDBWrites(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for _, test := range []struct{ update, condition string }{
		{"SET #left = :n9", ""},
		{"SET #note = :sgone, #left = :n1", ""},
		{"SET #left = if_not_exists(#left, :n9)", ""},
		{"SET #lapse = if_not_exists(#lapse, :n9)", ""},
		{"SET #left = #left + :n2", ""},
		{"SET #left = #used - :n5", ""},
		{"SET #lapse = #lapse + :n1", ""},
		{"SET #left = :n1 + #code", ""},
		{"SET #lapse = if_not_exists(#lapse, :n0) + :n1", ""},
		{"SET #left = #used, #used = #left", ""},
		{"ADD #left :m1, #used :n1", ""},
		{"ADD #taken :n1", ""},
		{"ADD #code :n1", ""},
		{"REMOVE #left", ""},
		{"REMOVE #absent", ""},
		{"SET #code = :snew ADD #used :n1 REMOVE #left, #version", ""},
		{"ADD #left :m1", "#left >= :n1"},
		{"ADD #left :m1", "#left >= :n4"},
		{"SET #left = :n1", "attribute_not_exists(sk)"},
	} {
		for _, returns := range []types.ReturnValue{
			"", types.ReturnValueAllNew, types.ReturnValueAllOld,
			types.ReturnValueUpdatedNew,
		} {
			for _, part := range []string{"", "#missing"} {
				at, old := summer(part), types.ReturnValuesOnConditionCheckFailure("")
				what := fmt.Sprintf("%s if %q of %s, returning %s", test.update, test.condition, at.Sort, returns)
				w.alike("delete", func(api *dynamodb.Client) (any, error) {
					return api.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
						TableName: w.table, Key: at.Attributes(), ReturnValues: types.ReturnValueAllOld,
					})
				})
				if part == "" {
					w.put(at, counterItem())
				}
				if returns != "" {
					old = types.ReturnValuesOnConditionCheckFailureAllOld
				}
				names, values := bind(test.update, test.condition)
				w.alike(what, func(api *dynamodb.Client) (any, error) {
					in := &dynamodb.UpdateItemInput{
						TableName: w.table, Key: at.Attributes(), UpdateExpression: &test.update,
						ExpressionAttributeNames:  names,
						ExpressionAttributeValues: values, ReturnValues: returns,
						ReturnValuesOnConditionCheckFailure: old,
					}
					if test.condition != "" {
						in.ConditionExpression = &test.condition
					}
					return api.UpdateItem(t.Context(), in)
				})
				w.get(what, at)
			}
		}
	}
}

func (w *twins) get(what string, at place) {
	w.t.Helper()
	w.alike("after "+what, func(api *dynamodb.Client) (any, error) {
		return api.GetItem(w.t.Context(),
			&dynamodb.GetItemInput{TableName: w.table, Key: at.Attributes(), ConsistentRead: aws.Bool(true)})
	})
}

func TestStore_PutAndDelete_AnswerLikeDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	condition, absent := "#left = :n3", "attribute_not_exists(sk)"
	names, values := bind(condition)
	for range 2 {
		it := summer("").Attributes()
		it["left"] = num(3)
		for _, guard := range []*string{&absent, nil} {
			w.alike("put", func(api *dynamodb.Client) (any, error) {
				return api.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: w.table, Item: it, ReturnValues: types.ReturnValueAllOld, ConditionExpression: guard,
					ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				})
			})
		}
	}
	for range 2 {
		w.alike("delete", func(api *dynamodb.Client) (any, error) {
			return api.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
				TableName: w.table, Key: summer("").Attributes(), ReturnValues: types.ReturnValueAllOld,
				ConditionExpression:      &condition,
				ExpressionAttributeNames: names, ExpressionAttributeValues: values,
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
		})
		w.get("delete", summer(""))
	}
}

func TestStore_Queries_ReturnWhatDynamoDBReturns(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for i := range 7 {
		w.put(summer(fmt.Sprintf("#h#%02d", i)), memdynamo.Item{"left": num(i % 2)})
	}
	w.put(place{Partition: "emberforge#08", Sort: "SUMMER20#h#03"}, nil)
	for _, sort := range []string{
		"", "sk < :s1", "sk <= :s1", "sk > :s1", "sk >= :s1", "sk = :s1", "sk BETWEEN :s1 AND :s2",
		"begins_with(sk, :s1)",
		"begins_with(#sk, :s3)",
	} {
		for _, limit := range []*int32{nil, aws.Int32(1), aws.Int32(3), aws.Int32(7)} {
			for _, forward := range []*bool{nil, aws.Bool(false)} {
				w.pages(sort, limit, forward)
			}
		}
	}
}

// pages compares all pages of a query. DynamoDB Local returns no position after the last item that a condition can
// select, but memdynamo does whenever the limit is reached. So memdynamo may have one more page, which is
// empty.
func (w *twins) pages(sort string, limit *int32, forward *bool) {
	w.t.Helper()
	expression, filter := "customer = :customer", "#left = :n1"
	names, values := bind(filter)
	values[":customer"] = str("emberforge#07")
	if sort != "" {
		expression += " AND " + sort
	}
	for value, text := range map[string]string{
		":s1": summer("#h#02").Sort, ":s2": summer("#h#05").Sort,
		":s3": summer("#h#").Sort,
	} {
		if strings.Contains(expression, value) {
			values[value] = str(text)
		}
	}
	if strings.Contains(expression, "#sk") {
		names["#sk"] = "sk"
	}
	var start memdynamo.Item
	for page := 0; page == 0 || start != nil; page++ {
		what := fmt.Sprintf("%s, limit %d, page %d", expression, aws.ToInt32(limit), page)
		in := &dynamodb.QueryInput{
			TableName: w.table, KeyConditionExpression: &expression, FilterExpression: &filter,
			ExpressionAttributeNames:  names,
			ExpressionAttributeValues: values, Limit: limit, ScanIndexForward: forward, ExclusiveStartKey: start,
			ConsistentRead: aws.Bool(true),
		}
		var positions []memdynamo.Item
		w.alike(what, func(api *dynamodb.Client) (any, error) {
			out, err := api.Query(w.t.Context(), in)
			if err == nil {
				positions = append(positions, out.LastEvaluatedKey)
			}
			return out, err
		})
		if w.t.Failed() {
			return
		}
		start = positions[0]
		in.ExclusiveStartKey = positions[1]
		after, err := w.memory.Query(w.t.Context(), in)
		if shown(start) != shown(positions[1]) && (err != nil || start != nil || after.ScannedCount > 0) {
			w.t.Fatalf("%s: the position is %s; DynamoDB Local's is %s; %v", what, shown(positions[1]), shown(start),
				err)
		}
	}
}

func TestStore_Transactions_AnswerLikeDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	put := func(part, condition string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{
			TableName: w.table, Item: summer(part).Attributes(), ConditionExpression: &condition,
			ReturnValuesOnConditionCheckFailure: old,
		}}
	}
	remove := func(part, condition string) types.TransactWriteItem {
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: w.table, Key: summer(part).Attributes(), ConditionExpression: &condition,
			ReturnValuesOnConditionCheckFailure: old,
		}}
	}
	change := func(part, update string) types.TransactWriteItem {
		names, values := bind(update)
		return types.TransactWriteItem{Update: &types.Update{
			TableName: w.table, Key: summer(part).Attributes(), UpdateExpression: &update,
			ExpressionAttributeNames:  names,
			ExpressionAttributeValues: values,
		}}
	}
	for _, actions := range [][]types.TransactWriteItem{
		{put("", "attribute_not_exists(sk)"), put("#c#00", "attribute_not_exists(sk)")},
		{
			put("#c#00", "attribute_not_exists(sk)"), put("", "attribute_not_exists(sk)"),
			remove("#gone", "attribute_exists(sk)"),
		},
		{
			put("#c#00", "attribute_not_exists(sk)"), change("", "ADD #left :m1"),
			remove("#gone", "attribute_not_exists(sk)"),
		},
		{change("", "ADD #left :n1"), remove("", "attribute_exists(sk)")},
		{change("", "REMOVE #left"), remove("#c#00", "attribute_exists(sk)")},
	} {
		w.alike("transaction", func(api *dynamodb.Client) (any, error) {
			return api.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions})
		})
		keys := []map[string]types.AttributeValue{
			summer("").Attributes(), summer("#c#00").Attributes(),
			summer("#gone").Attributes(),
		}
		w.alike("batch", func(api *dynamodb.Client) (any, error) {
			return api.BatchGetItem(t.Context(),
				&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
					*w.table: {Keys: keys, ConsistentRead: aws.Bool(true)},
				}})
		})
		w.alike("transactional read", func(api *dynamodb.Client) (any, error) {
			in := &dynamodb.TransactGetItemsInput{}
			for _, key := range keys {
				in.TransactItems = append(in.TransactItems,
					types.TransactGetItem{Get: &types.Get{TableName: w.table, Key: key}})
			}
			return api.TransactGetItems(t.Context(), in)
		})
	}
}

func TestStore_RepeatedToken_IsAppliedOnce(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	update := "ADD #left :m1"
	names, values := bind(update)
	for range 2 {
		w.alike("transaction", func(api *dynamodb.Client) (any, error) {
			return api.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
				ClientRequestToken: aws.String("order-1047"),
				TransactItems: []types.TransactWriteItem{{Update: &types.Update{
					TableName: w.table, Key: summer("").Attributes(), UpdateExpression: &update,
					ExpressionAttributeNames:  names,
					ExpressionAttributeValues: values,
				}}},
			})
		})
		w.get("transaction", summer(""))
	}
}

func TestStore_IndexAndScan_ReturnWhatDynamoDBReturns(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for i := range 7 {
		order := memdynamo.Item{"left": num(i % 2), "shelf": str("emberforge#07")}
		if i != 3 { // an open checkout is not in the index
			order["ordered"] = str(fmt.Sprintf("17953161917%02d", (i*5)%7/2)) // some at the same time
		}
		w.put(place{"emberforge", fmt.Sprintf("checkout-%d", i)}, order)
	}
	const ordered = "1795316191701"
	w.put(place{"sakura-goods", "checkout-1"}, memdynamo.Item{"ordered": str(ordered), "shelf": str("sakura-goods#07")})
	w.put(place{"emberforge", "checkout-7"}, memdynamo.Item{"ordered": str(ordered)}) // lacks the other key of the index
	w.put(place{"emberforge", "checkout-5"}, memdynamo.Item{"left": num(1)})          // leaves the index
	for _, limit := range []*int32{nil, aws.Int32(2)} {
		for _, forward := range []bool{false, true} {
			w.orders(forward, limit)
		}
	}
	w.alike("scan", func(api *dynamodb.Client) (any, error) {
		out, err := api.Scan(t.Context(), &dynamodb.ScanInput{
			TableName: w.table, FilterExpression: aws.String("#left = :n1"),
			ExpressionAttributeNames:  map[string]string{"#left": "left"},
			ExpressionAttributeValues: memdynamo.Item{":n1": num(1)},
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(out.Items, func(a, b map[string]types.AttributeValue) int {
			return strings.Compare(shown(a), shown(b))
		})
		return &dynamodb.QueryOutput{Items: out.Items, Count: out.Count, ScannedCount: out.ScannedCount}, nil
	})
}

// orders compares all pages of the index. DynamoDB Local orders items with equal sort keys in another way, so only what
// is equal in such items is compared.
func (w *twins) orders(forward bool, limit *int32) {
	w.t.Helper()
	var starts [2]memdynamo.Item
	for page := 0; page == 0 || starts[0] != nil || starts[1] != nil; page++ {
		twin := -1
		w.alike(fmt.Sprintf("index, forward %t, page %d", forward, page), func(api *dynamodb.Client) (any, error) {
			twin++
			out, err := api.Query(w.t.Context(), &dynamodb.QueryInput{
				TableName: w.table, IndexName: aws.String("orders"), ScanIndexForward: &forward, Limit: limit,
				KeyConditionExpression: aws.String("shelf = :c AND ordered BETWEEN :from AND :until"),
				ExpressionAttributeValues: memdynamo.Item{
					":c": str("emberforge#07"), ":from": str("1"), ":until": str("2"),
				},
				ExclusiveStartKey: starts[twin],
			})
			if err != nil {
				return nil, err
			}
			starts[twin] = out.LastEvaluatedKey
			for _, it := range out.Items {
				delete(it, "sk")
				delete(it, "left")
			}
			return out, nil
		})
		if w.t.Failed() {
			return
		}
	}
}

// DynamoDB Local accepts an update that makes the key of an index a number, so only a put tries that.
func TestStore_InvalidCalls_AreRejectedAsInDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	put := func(at place, name string, value types.AttributeValue) func(*dynamodb.Client) (any, error) {
		it := at.Attributes()
		it[name] = value
		return func(api *dynamodb.Client) (any, error) {
			return api.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: w.table, Item: it})
		}
	}
	update := func(value types.AttributeValue) func(*dynamodb.Client) (any, error) {
		return func(api *dynamodb.Client) (any, error) {
			return api.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: w.table, Key: summer("").Attributes(), UpdateExpression: aws.String("SET ordered = :o"),
				ExpressionAttributeValues: memdynamo.Item{":o": value},
			})
		}
	}
	query := func(in dynamodb.QueryInput) func(*dynamodb.Client) (any, error) {
		in.TableName, in.KeyConditionExpression = w.table, aws.String("customer = :c")
		in.ExpressionAttributeValues = memdynamo.Item{":c": str("emberforge")}
		return func(api *dynamodb.Client) (any, error) { return api.Query(t.Context(), &in) }
	}
	read := func(parts ...int) func(*dynamodb.Client) (any, error) {
		in := &dynamodb.TransactGetItemsInput{}
		for _, part := range parts {
			key := summer(strconv.Itoa(part)).Attributes()
			in.TransactItems = append(in.TransactItems,
				types.TransactGetItem{Get: &types.Get{TableName: w.table, Key: key}})
		}
		return func(api *dynamodb.Client) (any, error) { return api.TransactGetItems(t.Context(), in) }
	}
	write := func(token *string, items, size int) func(*dynamodb.Client) (any, error) {
		in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: token}
		for part := range items {
			it := summer(strconv.Itoa(part)).Attributes()
			it["note"] = str(strings.Repeat("a", size))
			in.TransactItems = append(in.TransactItems,
				types.TransactWriteItem{Put: &types.Put{TableName: w.table, Item: it}})
		}
		return func(api *dynamodb.Client) (any, error) { return api.TransactWriteItems(t.Context(), in) }
	}
	batches := func(names ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: names} }
	long := func(size int) string { return strings.Repeat("a", size) }
	hundred := make([]int, 101)
	for i := range hundred {
		hundred[i] = i
	}
	const rejected = "ValidationException"
	for name, test := range map[string]struct {
		call func(*dynamodb.Client) (any, error)
		want string
	}{
		"a consistent read of an index": {query(dynamodb.QueryInput{
			IndexName: aws.String("orders"), ConsistentRead: aws.Bool(true),
		}), rejected},
		"a filter on a key":             {query(dynamodb.QueryInput{FilterExpression: aws.String("sk > :c")}), rejected},
		"an empty key of an index":      {put(summer(""), "ordered", str("")), rejected},
		"a number as key of an index":   {put(summer(""), "ordered", num(1)), rejected},
		"an update to an empty key":     {update(str("")), rejected},
		"an empty set":                  {put(summer(""), "batches", batches()), rejected},
		"a set with duplicates":         {put(summer(""), "batches", batches("b", "a", "b")), rejected},
		"a long sort key":               {put(place{"emberforge", long(1025)}, "left", num(1)), rejected},
		"the longest sort key":          {put(place{"emberforge", long(1024)}, "left", num(1)), ""},
		"a long partition key":          {put(place{long(2049), "a"}, "left", num(1)), rejected},
		"the longest partition key":     {put(place{long(2048), "a"}, "left", num(1)), ""},
		"reading an item twice":         {read(1, 1), rejected},
		"reading 101 items":             {read(hundred...), rejected},
		"a long token":                  {write(aws.String(long(37)), 1, 1), rejected},
		"the longest token":             {write(aws.String(long(36)), 1, 1), "done"},
		"a transaction of 4.3 megabyte": {write(nil, 11, 390<<10), rejected},
	} {
		if got := w.alike(name, test.call); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
