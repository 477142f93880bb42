package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/internal/table"
)

// simulatedAPI lists the operations that are simulated.
type simulatedAPI interface {
	dynamo.UsesAPI
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// twins are DynamoDB Local and the simulated DynamoDB. Every call goes to both, and both must respond alike.
type twins struct {
	t         *testing.T
	local     *dynamodb.Client
	simulated *simulatedDynamoDB
	table     *string
}

func newTwins(t *testing.T) *twins {
	client, name := newTable(t)
	return &twins{t: t, local: client, simulated: &simulatedDynamoDB{simulatedTables: newSimulatedTables()}, table: &name}
}

// alike makes the call to both and returns DynamoDB Local's answer. It fails the test if the answers differ.
func (w *twins) alike(what string, call func(simulatedAPI) (any, error)) string {
	w.t.Helper()
	want, got := answer(call(w.local)), answer(call(w.simulated))
	if got != want {
		w.t.Errorf("%s: the simulation answers\n%s\nDynamoDB Local answers\n%s", what, got, want)
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
	if old, failed := table.OldItem(err); failed {
		return "condition failed: " + shown(old)
	}
	if err != nil {
		return outcome(err)
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

func shown(it table.Item) string {
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

// summer returns the key of an item in the tests of this file.
func summer(part string) table.Key {
	return table.Key{Partition: "emberforge#07", Sort: "SUMMER20" + part}
}

func (w *twins) put(key table.Key, attributes table.Item) {
	w.t.Helper()
	it := key.Attributes()
	maps.Copy(it, attributes)
	w.alike("put "+key.Sort, func(api simulatedAPI) (any, error) {
		return api.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: w.table, Item: it})
	})
}

func counterItem() table.Item {
	return table.Item{
		"left": table.Num(3), "used": table.Num(2), "version": table.Num(0), "code": table.Str("Summer20"), "disabled": table.Bool(false),
	}
}

// bind returns the names and values that expressions use. It derives each value from its placeholder: :n3 is the number 3, :m3 is -3,
// :sLeft is the text Left, and :btrue is true.
func bind(expressions ...string) (names map[string]string, values table.Item) {
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
			values = make(table.Item)
		}
		switch kind, rest := word[1], word[2:]; kind {
		case 'n':
			values[word] = &types.AttributeValueMemberN{Value: rest}
		case 'm':
			values[word] = &types.AttributeValueMemberN{Value: "-" + rest}
		case 's':
			values[word] = table.Str(rest)
		default:
			values[word] = table.Bool(rest == "true")
		}
	}
	return names, values
}

// check compares whether a condition holds in both. It sends a transaction that only checks the condition.
func (w *twins) check(key table.Key, condition string) string {
	w.t.Helper()
	names, values := bind(condition)
	return w.alike(condition, func(api simulatedAPI) (any, error) {
		return api.TransactWriteItems(w.t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{
			ConditionCheck: &types.ConditionCheck{
				TableName: w.table, Key: key.Attributes(), ConditionExpression: &condition,
				ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			},
		}}})
	})
}

func TestSimulatedDynamoDB_Conditions_HoldAsInDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	for _, key := range []table.Key{summer(""), summer("#missing")} {
		for _, condition := range []string{
			"#left = :n3", "#left <> :n3", "#left = :s3", "#left <> :s3", "#left < :n4", "#left < :n10", "#left <= :n3", "#left > :n3",
			"#left >= :n3", "#left > :s1", "#code < :sT", "#code = :sSummer", "#disabled = :bfalse", "#disabled <> :bfalse",
			"#disabled = :n0", "#left = #used", "#left > #used", "#absent = :n1", "#absent <> :n1", "#absent < :n1", "NOT #absent = :n1",
			"#absent = #gone", "#absent <> #gone", "attribute_exists(#left)", "attribute_exists(#absent)", "attribute_not_exists(#left)",
			"attribute_not_exists(#absent)", "attribute_not_exists(sk)", "begins_with(#code, :sSum)", "begins_with(#code, :ssum)",
			"begins_with(#absent, :sSum)", "begins_with(#left, :s3)", "#left IN (:n1, :n3)", "#left IN (:n1, :s3)", "#absent IN (:n1)",
			"#left BETWEEN :n3 AND :n4", "#left BETWEEN :n4 AND :n10", "#absent BETWEEN :n1 AND :n2", "#code BETWEEN :sS AND :sT",
			"#left BETWEEN #used AND :n3 AND #used = :n2", "NOT #left = :n3 AND #used = :n1", "NOT (#left = :n3 AND #used = :n1)",
			"#left = :n3 OR #used = :n1 AND #version = :n1", "(#left = :n3 OR #used = :n1) AND #version = :n1", "NOT NOT #left = :n3",
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
		return pick(left+" AND "+right, left+" OR "+right, "NOT "+left, "("+left+" OR "+right+") AND "+right, "NOT ("+left+" AND "+right+")")
	}
	name := pick("#left", "#used", "#version", "#code", "#disabled", "#absent")
	value := pick(":n0", ":n2", ":n3", ":sSummer", ":sSummer20", ":btrue", ":bfalse")
	number := pick(":n0", ":n2", ":n3")
	return pick(
		name+pick(" = ", " <> ")+value, pick("#left", "#used", "#code", "#absent")+pick(" < ", " <= ", " > ", " >= ")+number,
		pick("attribute_exists(", "attribute_not_exists(")+name+")", "begins_with("+name+", :sSum)", name+" IN ("+value+", :n2)",
		pick("#left", "#used", "#absent")+" BETWEEN "+number+" AND :n3",
	)
}

func TestSimulatedDynamoDB_RandomConditions_HoldAsInDynamoDB(t *testing.T) {
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

func TestSimulatedDynamoDB_Updates_WriteWhatDynamoDBWrites(t *testing.T) {
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
		for _, returns := range []types.ReturnValue{"", types.ReturnValueAllNew, types.ReturnValueAllOld, types.ReturnValueUpdatedNew} {
			for _, part := range []string{"", "#missing"} {
				key, old := summer(part), types.ReturnValuesOnConditionCheckFailure("")
				what := fmt.Sprintf("%s if %q of %s, returning %s", test.update, test.condition, key.Sort, returns)
				w.alike("delete", func(api simulatedAPI) (any, error) {
					return api.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
						TableName: w.table, Key: key.Attributes(), ReturnValues: types.ReturnValueAllOld,
					})
				})
				if part == "" {
					w.put(key, counterItem())
				}
				if returns != "" {
					old = types.ReturnValuesOnConditionCheckFailureAllOld
				}
				names, values := bind(test.update, test.condition)
				w.alike(what, func(api simulatedAPI) (any, error) {
					in := &dynamodb.UpdateItemInput{
						TableName: w.table, Key: key.Attributes(), UpdateExpression: &test.update, ExpressionAttributeNames: names,
						ExpressionAttributeValues: values, ReturnValues: returns, ReturnValuesOnConditionCheckFailure: old,
					}
					if test.condition != "" {
						in.ConditionExpression = &test.condition
					}
					return api.UpdateItem(t.Context(), in)
				})
				w.get(what, key)
			}
		}
	}
}

func (w *twins) get(what string, key table.Key) {
	w.t.Helper()
	w.alike("after "+what, func(api simulatedAPI) (any, error) {
		return api.GetItem(w.t.Context(), &dynamodb.GetItemInput{TableName: w.table, Key: key.Attributes(), ConsistentRead: aws.Bool(true)})
	})
}

func TestSimulatedDynamoDB_PutAndDelete_AnswerLikeDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	condition, absent := "#left = :n3", "attribute_not_exists(sk)"
	names, values := bind(condition)
	for range 2 {
		it := summer("").Attributes()
		it["left"] = table.Num(3)
		for _, guard := range []*string{&absent, nil} {
			w.alike("put", func(api simulatedAPI) (any, error) {
				return api.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: w.table, Item: it, ReturnValues: types.ReturnValueAllOld, ConditionExpression: guard,
					ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				})
			})
		}
	}
	for range 2 {
		w.alike("delete", func(api simulatedAPI) (any, error) {
			return api.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
				TableName: w.table, Key: summer("").Attributes(), ReturnValues: types.ReturnValueAllOld, ConditionExpression: &condition,
				ExpressionAttributeNames: names, ExpressionAttributeValues: values,
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
		})
		w.get("delete", summer(""))
	}
}

func TestSimulatedDynamoDB_Queries_ReturnWhatDynamoDBReturns(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	for i := range 7 {
		w.put(summer(fmt.Sprintf("#h#%02d", i)), table.Item{"left": table.Num(i % 2)})
	}
	w.put(table.Key{Partition: "emberforge#08", Sort: "SUMMER20#h#03"}, nil)
	for _, sort := range []string{
		"", "sk < :s1", "sk <= :s1", "sk > :s1", "sk >= :s1", "sk = :s1", "sk BETWEEN :s1 AND :s2", "begins_with(sk, :s1)",
		"begins_with(#sk, :s3)",
	} {
		for _, limit := range []*int32{nil, aws.Int32(1), aws.Int32(3), aws.Int32(7)} {
			for _, forward := range []*bool{nil, aws.Bool(false)} {
				w.pages(sort, limit, forward)
			}
		}
	}
}

// pages compares all pages of a query. DynamoDB Local returns no position after the last item that a condition can select, but the
// simulation does whenever the limit is reached. So the simulation may have one more page, which is empty.
func (w *twins) pages(sort string, limit *int32, forward *bool) {
	w.t.Helper()
	expression, filter := "customer = :customer", "#left = :n1"
	names, values := bind(filter)
	values[":customer"] = table.Str("emberforge#07")
	if sort != "" {
		expression += " AND " + sort
	}
	for value, text := range map[string]string{":s1": summer("#h#02").Sort, ":s2": summer("#h#05").Sort, ":s3": summer("#h#").Sort} {
		if strings.Contains(expression, value) {
			values[value] = table.Str(text)
		}
	}
	if strings.Contains(expression, "#sk") {
		names["#sk"] = "sk"
	}
	var start table.Item
	for page := 0; page == 0 || start != nil; page++ {
		what := fmt.Sprintf("%s, limit %d, page %d", expression, aws.ToInt32(limit), page)
		in := &dynamodb.QueryInput{
			TableName: w.table, KeyConditionExpression: &expression, FilterExpression: &filter, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values, Limit: limit, ScanIndexForward: forward, ExclusiveStartKey: start, ConsistentRead: aws.Bool(true),
		}
		var positions []table.Item
		w.alike(what, func(api simulatedAPI) (any, error) {
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
		after, err := w.simulated.Query(w.t.Context(), in)
		if shown(start) != shown(positions[1]) && (err != nil || start != nil || after.ScannedCount > 0) {
			w.t.Fatalf("%s: the position is %s; DynamoDB Local's is %s; %v", what, shown(positions[1]), shown(start), err)
		}
	}
}

func TestSimulatedDynamoDB_Transactions_AnswerLikeDynamoDB(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	old := types.ReturnValuesOnConditionCheckFailureAllOld
	put := func(part, condition string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{
			TableName: w.table, Item: summer(part).Attributes(), ConditionExpression: &condition, ReturnValuesOnConditionCheckFailure: old,
		}}
	}
	remove := func(part, condition string) types.TransactWriteItem {
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: w.table, Key: summer(part).Attributes(), ConditionExpression: &condition, ReturnValuesOnConditionCheckFailure: old,
		}}
	}
	change := func(part, update string) types.TransactWriteItem {
		names, values := bind(update)
		return types.TransactWriteItem{Update: &types.Update{
			TableName: w.table, Key: summer(part).Attributes(), UpdateExpression: &update, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values,
		}}
	}
	for _, actions := range [][]types.TransactWriteItem{
		{put("", "attribute_not_exists(sk)"), put("#c#00", "attribute_not_exists(sk)")},
		{put("#c#00", "attribute_not_exists(sk)"), put("", "attribute_not_exists(sk)"), remove("#gone", "attribute_exists(sk)")},
		{put("#c#00", "attribute_not_exists(sk)"), change("", "ADD #left :m1"), remove("#gone", "attribute_not_exists(sk)")},
		{change("", "ADD #left :n1"), remove("", "attribute_exists(sk)")},
		{change("", "REMOVE #left"), remove("#c#00", "attribute_exists(sk)")},
	} {
		w.alike("transaction", func(api simulatedAPI) (any, error) {
			return api.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: actions})
		})
		keys := []map[string]types.AttributeValue{summer("").Attributes(), summer("#c#00").Attributes(), summer("#gone").Attributes()}
		w.alike("batch", func(api simulatedAPI) (any, error) {
			return api.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				*w.table: {Keys: keys, ConsistentRead: aws.Bool(true)},
			}})
		})
		w.alike("transactional read", func(api simulatedAPI) (any, error) {
			in := &dynamodb.TransactGetItemsInput{}
			for _, key := range keys {
				in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: w.table, Key: key}})
			}
			return api.TransactGetItems(t.Context(), in)
		})
	}
}

func TestSimulatedDynamoDB_RepeatedToken_IsAppliedOnce(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.put(summer(""), counterItem())
	update := "ADD #left :m1"
	names, values := bind(update)
	for range 2 {
		w.alike("transaction", func(api simulatedAPI) (any, error) {
			return api.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
				ClientRequestToken: aws.String("order-1047"),
				TransactItems: []types.TransactWriteItem{{Update: &types.Update{
					TableName: w.table, Key: summer("").Attributes(), UpdateExpression: &update, ExpressionAttributeNames: names,
					ExpressionAttributeValues: values,
				}}},
			})
		})
		w.get("transaction", summer(""))
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

func TestSimulatedDynamoDB_UnknownSyntax_Panics(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{
		"", "#left", "#left =", "#left == :n3", "size(#left) = :n3", "attribute_type(#left, :sN)", "contains(#code, :sS)", "#left = :n3 AND",
		"#left = :n3 XOR #left = :n4", "(#left = :n3", "#left = :n3)", "#left.#used = :n3", "#left[0] = :n3", "#left = #", "#left and :n3",
		"#left BETWEEN :n3 OR :n4", "#left IN :n3", "begins_with(#code)", "attribute_exists(:n3)",
	} {
		if !panics(func() {
			names, values := bind(condition)
			newExpressions(names, values).condition(&condition)(counterItem())
		}) {
			t.Errorf("condition %q does not panic", condition)
		}
	}
	for _, update := range []string{
		"", "#left = :n1", "SET #left :n1", "SET #left = ", "SET #left = list_append(#left, :n1)", "DELETE #left :n1", "ADD #left = :n1",
		"SET #left = :n1 SET #used = :n1", "SET #left = :n1 REMOVE #left", "SET sk = :n1", "SET #left = :n1,", "SET #left.#used = :n1",
		"SET #left = :n1 + :n2 + :n3",
	} {
		names, values := bind(update)
		if !panics(func() { newExpressions(names, values).update(&update) }) {
			t.Errorf("update %q does not panic", update)
		}
	}
	for _, keys := range []string{
		"sk = :s1", "customer > :s1", "customer = :s1 OR sk = :s2", "customer = :s1 AND #left = :n1", "customer = :s1 AND sk <> :s2",
		"customer = :s1 AND NOT sk = :s2", "customer = :s1 AND sk = :s2 AND sk = :s3", "customer = :s1 AND sk IN (:s2)",
	} {
		names, values := bind(keys)
		if !panics(func() { newExpressions(names, values).keyCondition(&keys) }) {
			t.Errorf("key condition %q does not panic", keys)
		}
	}
	d := &simulatedDynamoDB{simulatedTables: newSimulatedTables()}
	for what, call := range map[string]func(){
		"undeclared value": func() { newExpressions(nil, nil).condition(aws.String("sk = :s1")) },
		"undeclared name":  func() { newExpressions(nil, nil).condition(aws.String("attribute_exists(#left)")) },
		"unused value":     func() { newExpressions(nil, table.Item{":n1": table.Num(1)}).done() },
		"unused name":      func() { newExpressions(map[string]string{"#left": "left"}, nil).done() },
		"projection": func() {
			_, _ = d.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: aws.String("vouchers"), Key: summer("").Attributes(), ProjectionExpression: aws.String("sk"),
			})
		},
		"index": func() {
			_, _ = d.Query(t.Context(), &dynamodb.QueryInput{IndexName: aws.String(table.OrdersIndex)})
		},
	} {
		if !panics(call) {
			t.Errorf("%s: does not panic", what)
		}
	}
}

// trial runs a trial in which several requests write and read. It returns the trace and how many writes were committed.
func trial(t *testing.T, seed uint64, f faults) (trace string, commits int) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, seed)
		s.faults = f
		s.afterCommit = func(*simulatedDynamoDB) { commits++ }
		keys := []table.Key{summer(""), summer("#c#00"), summer("#c#01")}
		for i := range 4 {
			s.request(s.t.Context(), fmt.Sprint("Alder ", i), func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				var actions []types.TransactWriteItem
				for _, key := range keys {
					take := &table.Update{Key: key, Condition: "attribute_not_exists(#taken) OR #taken >= :zero"}
					take.Value(":zero", table.Num(0))
					take.Add(table.AttrTaken, 1)
					actions = append(actions, take.Action(simulatedVouchers))
				}
				for attempt := 0; attempt == 0 || ctx.Err() == nil; attempt++ {
					_, err := s.dynamodb.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
					if err == nil {
						break
					}
					_ = table.Wait(ctx, table.Backoff(attempt, s.random.Int64N))
				}
				_, _ = table.BatchGet(ctx, s.dynamodb, s.random.Int64N, simulatedVouchers, keys...)
				_, _ = table.GetSettled(ctx, s.dynamodb, s.random.Int64N, simulatedVouchers, keys[0])
			})
		}
		s.run()
		trace = strings.Join(s.trace, "\n")
	})
	return trace, commits
}

func TestSimulation_SameSeed_GivesTheSameTrial(t *testing.T) {
	t.Parallel()
	different := make(map[string]bool)
	for seed := range uint64(20) {
		first, _ := trial(t, seed, everyFault(0.1))
		again, _ := trial(t, seed, everyFault(0.1))
		if first != again {
			t.Fatalf("seed %d gives\n%s\nand then\n%s", seed, first, again)
		}
		different[first] = true
	}
	if len(different) != 20 {
		t.Errorf("20 seeds give %d different trials", len(different))
	}
}

func TestSimulation_WithoutFaults_CommitsEveryWriteOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		if trace, commits := trial(t, seed, faults{}); commits != 4 {
			t.Errorf("%d commits; want 4:\n%s", commits, trace)
		}
	}
}

func TestSimulation_EachFault_Happens(t *testing.T) {
	t.Parallel()
	for trace, f := range map[string]faults{
		"does not arrive": {unreached: 0.2}, "response lost (done)": {lost: 0.2}, "arrives late, done": {late: 0.2},
		"ProvisionedThroughputExceededException": {refused: 0.2}, "InternalServerError": {refused: 0.2},
		"canceled TransactionConflict": {conflict: 0.2}, "visible: vouchers emberforge#07 SUMMER20: to all": {halves: 0.5},
	} {
		happened := false
		for seed := range uint64(20) {
			steps, _ := trial(t, seed, f)
			happened = happened || strings.Contains(steps, trace)
			if without, _ := trial(t, seed, faults{}); strings.Contains(without, trace) {
				t.Errorf("a trial without faults has %q in its trace", trace)
			}
		}
		if !happened {
			t.Errorf("no trial with the fault has %q in its trace", trace)
		}
	}
}

// A late attempt of a transaction may arrive after DynamoDB has forgotten the token. Then the transaction is applied twice.
func TestSimulation_LateAttempt_MayBeAppliedAgain(t *testing.T) {
	t.Parallel()
	again := 0
	for seed := range uint64(50) {
		if _, commits := trial(t, seed, faults{late: 0.2}); commits > 4 {
			again++
		}
	}
	if again == 0 {
		t.Error("no late attempt was applied again")
	}
}

// readPairs runs trials in which a transaction writes two items and a request reads them meanwhile. It counts what was read: "old new"
// means that only the second item was new.
func readPairs(t *testing.T, f faults, read func(context.Context, *simulation) []table.Item) map[string]int {
	found := make(map[string]int)
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(t, seed)
			s.faults = f
			s.request(s.t.Context(), "write", func(ctx context.Context) {
				var actions []types.TransactWriteItem
				for _, part := range []string{"#c#00", "#c#01"} {
					put := &types.Put{TableName: aws.String(simulatedVouchers), Item: summer(part).Attributes()}
					actions = append(actions, types.TransactWriteItem{Put: put})
				}
				if _, err := s.dynamodb.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}); err != nil {
					t.Error(err)
				}
			})
			s.request(s.t.Context(), "read", func(ctx context.Context) {
				var what []string
				for _, it := range read(ctx, s) {
					what = append(what, map[bool]string{false: "old", true: "new"}[len(it) > 0])
				}
				found[strings.Join(what, " ")]++
			})
			s.run()
		})
	}
	return found
}

func TestSimulation_ReadsOfATransaction_AreTornOnlyByFaults(t *testing.T) {
	t.Parallel()
	keys := []table.Key{summer("#c#00"), summer("#c#01")}
	batch := func(ctx context.Context, s *simulation) []table.Item {
		found, err := table.BatchGet(ctx, s.dynamodb, s.random.Int64N, simulatedVouchers, keys...)
		if err != nil {
			s.t.Error(err)
		}
		return []table.Item{found[keys[0]], found[keys[1]]}
	}
	query := func(ctx context.Context, s *simulation) []table.Item {
		out, err := s.dynamodb.Query(ctx, &dynamodb.QueryInput{
			TableName: aws.String(simulatedVouchers), KeyConditionExpression: aws.String("customer = :s1"),
			ExpressionAttributeValues: table.Item{":s1": table.Str(keys[0].Partition)},
		})
		if err != nil {
			s.t.Error(err)
			return nil
		}
		items := make([]table.Item, len(keys))
		for _, it := range out.Items {
			items[slices.Index(keys, table.KeyOf(it))] = it
		}
		return items
	}
	settled := func(ctx context.Context, s *simulation) []table.Item {
		var items []table.Item
		for _, key := range keys {
			it, err := table.GetSettled(ctx, s.dynamodb, s.random.Int64N, simulatedVouchers, key)
			if err != nil {
				s.t.Error(err)
			}
			items = append(items, it)
		}
		return items
	}
	for what, test := range map[string]struct {
		faults faults
		read   func(context.Context, *simulation) []table.Item
		want   []string
	}{
		"batch":                   {faults{}, batch, []string{"new new", "old old"}},
		"torn batch":              {faults{torn: 1}, batch, []string{"new new", "new old", "old new", "old old"}},
		"batch, some unprocessed": {faults{unprocessed: 0.5}, batch, []string{"new new", "new old", "old new", "old old"}},
		"batch, half visible":     {faults{halves: 1}, batch, []string{"new new", "new old", "old new", "old old"}},
		"query":                   {faults{}, query, []string{"new new", "old old"}},
		"query, half visible":     {faults{halves: 1}, query, []string{"new new", "new old", "old new", "old old"}},
		"settled, half visible":   {faults{halves: 1}, settled, []string{"new new", "old new", "old old"}},
	} {
		if found := readPairs(t, test.faults, test.read); !slices.Equal(slices.Sorted(maps.Keys(found)), test.want) {
			t.Errorf("%s: %v; want %q", what, found, test.want)
		}
	}
}

// A torn Query misses an item that moves from a key that the Query has not reached to a key that it has passed.
func TestSimulation_TornQuery_MissesAMovedItem(t *testing.T) {
	t.Parallel()
	missed := func(f faults) (missed int) {
		for seed := range uint64(100) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(t, seed)
				s.faults = f
				put := func(part string) *types.Put {
					return &types.Put{TableName: aws.String(simulatedVouchers), Item: summer(part).Attributes()}
				}
				for _, part := range []string{"#h#02", "#h#03", "#h#04"} {
					_, _ = s.setup.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: put(part).TableName, Item: put(part).Item})
				}
				s.request(s.t.Context(), "move", func(ctx context.Context) {
					_, _ = s.dynamodb.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
						{Put: put("#h#01")},
						{Delete: &types.Delete{TableName: aws.String(simulatedVouchers), Key: summer("#h#04").Attributes()}},
					}})
				})
				s.request(s.t.Context(), "list", func(ctx context.Context) {
					out, err := s.dynamodb.Query(ctx, &dynamodb.QueryInput{
						TableName: aws.String(simulatedVouchers), KeyConditionExpression: aws.String("customer = :s1"),
						ExpressionAttributeValues: table.Item{":s1": table.Str("emberforge#07")},
					})
					if err == nil && len(out.Items) == 2 {
						missed++
					}
				})
				s.run()
			})
		}
		return missed
	}
	if n := missed(faults{torn: 1}); n == 0 {
		t.Error("no torn Query misses the item")
	}
	if n := missed(faults{}); n > 0 {
		t.Errorf("%d Queries miss the item, although nothing tears them", n)
	}
}

// The simulation finds a race: two requests read a number, add one, and write the sum without a condition. One addition can be lost.
func TestSimulation_UnguardedWrites_LoseOne(t *testing.T) {
	t.Parallel()
	sums := make(map[int64]int)
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(t, seed)
			for i := range 2 {
				s.request(s.t.Context(), fmt.Sprint("Alder ", i), func(ctx context.Context) {
					it, err := table.Get(ctx, s.dynamodb, simulatedVouchers, summer(""), nil)
					if err != nil {
						t.Error(err)
					}
					write := table.Update{Key: summer("")}
					write.Set(table.AttrTaken, table.Num(it.Num(table.AttrTaken)+1))
					if _, err := s.dynamodb.UpdateItem(ctx, write.Input(simulatedVouchers, types.ReturnValueNone)); err != nil {
						t.Error(err)
					}
				})
			}
			s.run()
			sums[s.setup.item(simulatedVouchers, summer("")).Num(table.AttrTaken)]++
		})
	}
	if sums[1] == 0 || sums[2] == 0 {
		t.Errorf("sums: %v; want 1 in some trials and 2 in others", sums)
	}
}

// If the context ends during a call, the call returns the error of the context. The call may be applied later.
func TestSimulation_ContextEnds_CallMayBeAppliedLater(t *testing.T) {
	t.Parallel()
	applied := make(map[bool]int)
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(t, seed)
			s.request(s.t.Context(), "redeem", func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, 1)
				defer cancel()
				write := table.Update{Key: summer("")}
				write.Add(table.AttrTaken, 1)
				_, err := s.dynamodb.UpdateItem(ctx, write.Input(simulatedVouchers, types.ReturnValueNone))
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(table.Outcome(err), err) {
					t.Errorf("UpdateItem = %v, want an unavailable error that wraps context.DeadlineExceeded", err)
				}
				wantUnavailable(t, table.Outcome(err))
			})
			s.run()
			applied[s.setup.item(simulatedVouchers, summer("")) != nil]++
		})
	}
	if len(applied) != 2 {
		t.Errorf("applied: %v; want some and not all", applied)
	}
}
