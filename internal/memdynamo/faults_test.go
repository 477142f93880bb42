package memdynamo_test

import (
	"errors"
	"maps"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
)

// shop is a vouchers table, reached through an endpoint with faults and through one without.
type shop struct {
	endpoint *memdynamo.Endpoint
	hostile  *dynamodb.Client // does not retry
	direct   *dynamodb.Client
	table    string
}

func newShop(t *testing.T, dials memdynamo.Dials) *shop {
	t.Helper()
	store := memdynamo.New()
	s := &shop{endpoint: store.Endpoint(dials), direct: clientOf(store.Endpoint(memdynamo.Dials{})), table: "vouchers"}
	once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	s.hostile = dynamodb.New(dynamolocal.NewClient(dynamotest.Serve(t, s.endpoint)).Options(), once)
	return s
}

func key(sk string) memdynamo.Item {
	return memdynamo.Item{"customer": str("minecave#07"), "sk": str(sk)}
}

func (s *shop) use(t *testing.T, sk string) error {
	t.Helper()
	_, err := s.hostile.UpdateItem(t.Context(), s.oneUse(sk))
	return err
}

func (s *shop) oneUse(sk string) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: key(sk), UpdateExpression: aws.String("ADD uses :one"),
		ExpressionAttributeValues: memdynamo.Item{":one": num(1)},
	}
}

func (s *shop) useTogether(t *testing.T, token string, sks ...string) error {
	t.Helper()
	input := &dynamodb.TransactWriteItemsInput{}
	if token != "" {
		input.ClientRequestToken = &token
	}
	for _, sk := range sks {
		one := s.oneUse(sk)
		input.TransactItems = append(input.TransactItems, types.TransactWriteItem{Update: &types.Update{
			TableName: one.TableName, Key: one.Key, UpdateExpression: one.UpdateExpression,
			ExpressionAttributeValues: one.ExpressionAttributeValues,
		}})
	}
	_, err := s.hostile.TransactWriteItems(t.Context(), input)
	return err
}

// uses returns the stored count of uses, whatever the endpoint responded.
func (s *shop) uses(t *testing.T, sk string) int {
	t.Helper()
	out, err := s.direct.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &s.table, Key: key(sk)})
	if err != nil {
		t.Fatal(err)
	}
	uses, is := out.Item["uses"].(*types.AttributeValueMemberN)
	if !is {
		return 0
	}
	n, err := strconv.Atoi(uses.Value)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// errorCode returns DynamoDB's name for an error, or "lost" if no complete response came.
func errorCode(err error) string {
	if _, damaged := errors.AsType[*smithy.DeserializationError](err); damaged {
		return "lost"
	}
	if api, is := errors.AsType[smithy.APIError](err); is {
		return api.ErrorCode()
	}
	if err != nil {
		return "lost"
	}
	return ""
}

func TestEndpoint_FaultOnAWrite_DoesWhatItsNameSays(t *testing.T) {
	for _, tt := range []struct {
		fault   memdynamo.Fault
		codes   map[string]bool
		applied func(times int) bool // of 20
	}{
		{
			memdynamo.Conflict,
			map[string]bool{"TransactionConflictException": true},
			func(n int) bool { return n == 0 },
		},
		{memdynamo.Throttle, map[string]bool{
			"ProvisionedThroughputExceededException": true, "ThrottlingException": true, "RequestLimitExceeded": true,
		}, func(n int) bool { return n == 0 }},
		{
			memdynamo.ServerError,
			map[string]bool{"InternalServerError": true, "ServiceUnavailable": true},
			func(n int) bool { return n > 0 && n < 20 },
		},
		{memdynamo.SlowRequest, map[string]bool{"": true}, func(n int) bool { return n == 20 }},
		{memdynamo.LateRequest, map[string]bool{"lost": true}, func(n int) bool { return n == 20 }},
		{memdynamo.SlowResponse, map[string]bool{"": true}, func(n int) bool { return n == 20 }},
		{memdynamo.LostRequest, map[string]bool{"lost": true}, func(n int) bool { return n == 0 }},
		{memdynamo.LostResponse, map[string]bool{"lost": true}, func(n int) bool { return n == 20 }},
		{memdynamo.CutResponse, map[string]bool{"lost": true}, func(n int) bool { return n == 20 }},
		{memdynamo.Halves, map[string]bool{"": true}, func(n int) bool { return n == 20 }},
		{memdynamo.Unprocessed, map[string]bool{"": true}, func(n int) bool { return n == 20 }},
		{memdynamo.ShortPage, map[string]bool{"": true}, func(n int) bool { return n == 20 }},
	} {
		t.Run(string(tt.fault), func(t *testing.T) {
			shop := newShop(t, memdynamo.Dials{
				Seed: 7, Rates: memdynamo.Rates{tt.fault: 1},
				Delay: 20 * time.Millisecond,
			})
			seen := make(map[string]bool)
			for range 20 {
				seen[errorCode(shop.use(t, "LAUNCH"))] = true
			}
			shop.endpoint.Settle()
			if !maps.Equal(seen, tt.codes) {
				t.Errorf("the calls got the errors %v, want %v", seen, tt.codes)
			}
			if got := shop.uses(t, "LAUNCH"); !tt.applied(got) {
				t.Errorf("%d of 20 calls were applied", got)
			}
		})
	}
}

func TestEndpoint_ConflictOrThrottle_CancelsATransaction(t *testing.T) {
	for fault, code := range map[memdynamo.Fault]string{
		memdynamo.Conflict: "TransactionConflict",
		memdynamo.Throttle: "ThrottlingError",
	} {
		shop := newShop(t, memdynamo.Dials{Seed: 3, Rates: memdynamo.Rates{fault: 1}})
		found := false
		for range 20 {
			canceled, is := errors.AsType[*types.TransactionCanceledException](shop.useTogether(t, "", "LAUNCH#c#00",
				"LAUNCH#n#0001"))
			if !is {
				continue
			}
			for _, reason := range canceled.CancellationReasons {
				found = found || aws.ToString(reason.Code) == code
				if got := aws.ToString(reason.Code); got != code && got != "None" {
					t.Errorf("a transaction was canceled for the reason %s, want %s", got, code)
				}
			}
		}
		if !found {
			t.Errorf("no transaction was canceled by %s", fault)
		}
	}
}

func TestEndpoint_TransactionInFlight_RefusesOtherWritesOfItsItems(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	shop := newShop(t, memdynamo.Dials{
		Hold: time.Nanosecond,
		Watch: func(operation string, stage memdynamo.Stage) {
			if operation == "TransactWriteItems" && stage == memdynamo.Applied && held.CompareAndSwap(false, true) {
				close(began)
				<-finish
			}
		},
	})
	var first sync.WaitGroup
	first.Go(func() {
		if err := shop.useTogether(t, "the first", "LAUNCH#c#00", "LAUNCH#n#0001"); err != nil {
			t.Error(err)
		}
	})
	<-began
	if got := errorCode(shop.use(t, "LAUNCH#c#00")); got != "TransactionConflictException" {
		t.Errorf("a write of a held item got %q, want TransactionConflictException", got)
	}
	if err := shop.use(t, "LAUNCH#c#01"); err != nil {
		t.Errorf("a write of another item failed: %v", err)
	}
	canceled, _ := errors.AsType[*types.TransactionCanceledException](shop.useTogether(t, "another", "LAUNCH#c#01",
		"LAUNCH#n#0001"))
	if canceled == nil || aws.ToString(canceled.CancellationReasons[1].Code) != "TransactionConflict" ||
		aws.ToString(canceled.CancellationReasons[0].Code) != "None" {
		t.Errorf("a transaction with a held item got %v, want a conflict at its second item", canceled)
	}
	if got := errorCode(shop.useTogether(t, "the first", "LAUNCH#c#00",
		"LAUNCH#n#0001")); got != "TransactionInProgressException" {
		t.Errorf("a transaction with the same token got %q, want TransactionInProgressException", got)
	}
	close(finish)
	first.Wait()
	if err := shop.use(t, "LAUNCH#c#00"); err != nil {
		t.Errorf("a write after the transaction failed: %v", err)
	}
	if got := shop.endpoint.Injected()[memdynamo.HeldItem]; got != 3 {
		t.Errorf("%d calls were refused because of held items, want 3", got)
	}
}

func TestEndpoint_TransactionInHalves_ShowsItsFirstItemLast(t *testing.T) {
	half, finish := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	shop := newShop(t, memdynamo.Dials{
		Rates: memdynamo.Rates{memdynamo.Halves: 1},
		Watch: func(operation string, stage memdynamo.Stage) {
			if operation == "TransactWriteItems" && stage == memdynamo.Applied && held.CompareAndSwap(false, true) {
				close(half)
				<-finish
			}
		},
	})
	if err := shop.use(t, "LAUNCH#n#0001"); err != nil {
		t.Fatal(err)
	}
	var first sync.WaitGroup
	first.Go(func() {
		if err := shop.useTogether(t, "", "LAUNCH#n#0001", "LAUNCH#c#00"); err != nil {
			t.Error(err)
		}
	})
	<-half
	read := func(sk string) any {
		out, err := shop.hostile.GetItem(t.Context(),
			&dynamodb.GetItemInput{TableName: &shop.table, Key: key(sk), ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		return out.Item["uses"]
	}
	if uses := read("LAUNCH#n#0001"); !reflect.DeepEqual(uses, num(1)) {
		t.Errorf("the first item has %v uses; want 1, as before the transaction", uses)
	}
	if uses := read("LAUNCH#c#00"); !reflect.DeepEqual(uses, num(1)) {
		t.Errorf("the other item has %v uses; want 1, as after the transaction", uses)
	}
	if got := errorCode(shop.use(t, "LAUNCH#n#0001")); got != "TransactionConflictException" {
		t.Errorf("a write of the first item got %q, want TransactionConflictException", got)
	}
	one := shop.oneUse("LAUNCH#c#00")
	unused := &types.Update{
		TableName: one.TableName, Key: one.Key, UpdateExpression: one.UpdateExpression,
		ExpressionAttributeValues:           one.ExpressionAttributeValues,
		ConditionExpression:                 aws.String("attribute_not_exists(uses)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	one = shop.oneUse("LAUNCH#n#0001")
	_, err := shop.hostile.TransactWriteItems(t.Context(),
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Update: &types.Update{
				TableName: one.TableName, Key: one.Key, UpdateExpression: one.UpdateExpression,
				ExpressionAttributeValues: one.ExpressionAttributeValues,
			}},
			{Update: unused},
		}})
	canceled, _ := errors.AsType[*types.TransactionCanceledException](err)
	if canceled == nil || aws.ToString(canceled.CancellationReasons[0].Code) != "TransactionConflict" ||
		aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" ||
		canceled.CancellationReasons[1].Item["uses"] == nil {
		t.Errorf("a transaction of both items got %v, want a conflict and a failed condition", err)
	}
	transactGet := func(sk string) error {
		_, err := shop.hostile.TransactGetItems(t.Context(),
			&dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
				{Get: &types.Get{TableName: &shop.table, Key: key(sk)}},
			}})
		return err
	}
	canceled, _ = errors.AsType[*types.TransactionCanceledException](transactGet("LAUNCH#n#0001"))
	if canceled == nil || aws.ToString(canceled.CancellationReasons[0].Code) != "TransactionConflict" {
		t.Errorf("a transaction that reads the first item got %v, want a conflict", canceled)
	}
	if err := errors.Join(shop.use(t, "LAUNCH#c#00"), transactGet("LAUNCH#c#00")); err != nil {
		t.Errorf("a write or a read of the other item failed: %v", err)
	}
	close(finish)
	first.Wait()
	if err := errors.Join(shop.use(t, "LAUNCH#n#0001"), transactGet("LAUNCH#n#0001")); err != nil {
		t.Errorf("a write or a read of the first item failed after the transaction: %v", err)
	}
	if first, other := shop.uses(t, "LAUNCH#n#0001"), shop.uses(t, "LAUNCH#c#00"); first != 3 || other != 2 {
		t.Errorf("the items have %d and %d uses; want 3 and 2", first, other)
	}
}

func TestEndpoint_PartitionKeyValue_RefusesWritesBeyondItsUnits(t *testing.T) {
	// ten units, and the eleventh after 1000 seconds
	shop := newShop(t, memdynamo.Dials{WriteUnits: 0.001, Reserve: 9999})
	for range 4 {
		if err := shop.useTogether(t, "", "LAUNCH#c#00"); err != nil { // two units each
			t.Fatal(err)
		}
	}
	if err := errors.Join(shop.use(t, "SUMMER"), shop.use(t, "SUMMER")); err != nil {
		t.Fatal(err)
	}
	if got := errorCode(shop.use(t, "SUMMER")); got != "ThrottlingException" {
		t.Errorf("a write beyond the ten units got %q, want ThrottlingException", got)
	}
	if shop.uses(t, "LAUNCH#c#00") != 4 || shop.uses(t, "SUMMER") != 2 {
		t.Error("a refused write was applied, or an accepted one was not")
	}
}

func TestEndpoint_UnprocessedKeysAndShortPages_ReturnReadsInParts(t *testing.T) {
	shop := newShop(t, memdynamo.Dials{
		Seed:  11,
		Rates: memdynamo.Rates{memdynamo.Unprocessed: 1, memdynamo.ShortPage: 1},
	})
	var keys []map[string]types.AttributeValue
	for _, sk := range []string{"A", "B", "C", "D", "E", "F"} {
		if err := shop.use(t, sk); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key(sk))
	}
	read, rounds := 0, 0
	for ; len(keys) > 0 && rounds < 100; rounds++ {
		out, err := shop.hostile.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{shop.table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		read += len(out.Responses[shop.table])
		keys = out.UnprocessedKeys[shop.table].Keys
		if len(keys) > 0 && !aws.ToBool(out.UnprocessedKeys[shop.table].ConsistentRead) {
			t.Fatal("unprocessed keys are no longer read consistently")
		}
		if len(keys) == 1 { // with one key left, the fault would never read it
			shop.endpoint.SetRates(memdynamo.Rates{memdynamo.ShortPage: 1})
		}
	}
	if read != 6 || rounds < 2 {
		t.Errorf("%d items were read in %d rounds; want 6 in several", read, rounds)
	}
	pages := dynamodb.NewQueryPaginator(shop.hostile, &dynamodb.QueryInput{
		TableName: &shop.table, KeyConditionExpression: aws.String("customer = :customer"),
		ExpressionAttributeValues: memdynamo.Item{":customer": str("minecave#07")},
	})
	listed, turned := 0, 0
	for ; pages.HasMorePages(); turned++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listed += len(page.Items)
	}
	if listed != 6 || turned < 2 {
		t.Errorf("%d items were listed on %d pages; want 6 on several", listed, turned)
	}
}

func TestEndpoint_SameSeed_RepeatsTheFaults(t *testing.T) {
	rates := memdynamo.Rates{
		memdynamo.LostRequest: 0.2, memdynamo.LostResponse: 0.2,
		memdynamo.Throttle: 0.2,
	}
	run := func(seed uint64) (codes []string) {
		shop := newShop(t, memdynamo.Dials{Seed: seed, Rates: rates, Burst: 2})
		for i := range 40 {
			codes = append(codes, errorCode(shop.use(t, "LAUNCH#n#"+strconv.Itoa(i))))
		}
		return codes
	}
	first := run(1)
	if again := run(1); !reflect.DeepEqual(first, again) {
		t.Errorf("the same seed gave different faults:\n%q\n%q", first, again)
	}
	if other := run(2); reflect.DeepEqual(first, other) {
		t.Error("another seed has the same faults")
	}
}

func TestEndpoint_FaultOfTheSecondCall_HitsItAlone(t *testing.T) {
	shop := newShop(t, memdynamo.Dials{Fault: func(operation string, n int) memdynamo.Fault {
		if operation == "UpdateItem" && n == 2 {
			return memdynamo.LostResponse
		}
		return ""
	}})
	for n, want := range []string{"", "lost", ""} {
		if got := errorCode(shop.use(t, "LAUNCH")); got != want {
			t.Errorf("call %d got %q, want %q", n+1, got, want)
		}
	}
	if got := shop.uses(t, "LAUNCH"); got != 3 {
		t.Errorf("%d calls were applied, want 3", got)
	}
}

func TestEndpoint_Sealed_StoresNothing(t *testing.T) {
	shop := newShop(t, memdynamo.Dials{Sealed: true, Latency: time.Millisecond})
	began := time.Now()
	for range 2 {
		if err := shop.use(t, "LAUNCH"); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 2*time.Millisecond {
		t.Errorf("two calls took %v, want at least 1 ms each", took)
	}
	if got := shop.uses(t, "LAUNCH"); got != 0 {
		t.Errorf("%d calls were stored, want 0", got)
	}
}
