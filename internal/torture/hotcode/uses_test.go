package hotcode_test

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/voucher"
)

// A crowd takes each use of a code once. The number of calls has an upper bound: a redemption takes two calls, and the
// only tries that fail are the first try of each request, and one try per till at each empty counter.
func TestCrowd_EachUseOfACode_IsTakenOnce(t *testing.T) {
	const uses, tills = 128, 16
	for _, counters := range []int{1, 4, 64} {
		t.Run(fmt.Sprint(counters, " counters"), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, memdynamo.Dials{})
			v := s.create(t, "SUMMER-20", uses, counters)
			if redeemed, refused := s.takeAll(t, tills, v.Code); redeemed != uses || refused != tills {
				t.Errorf("%d uses were redeemed and %d tills refused; want %d and %d", redeemed, refused, uses, tills)
			}
			inVain := uses + tills + tills*counters
			most := map[string]int{
				"UpdateItem":         2 * tills,    // the first call of each till, and marking the code full
				"GetItem":            uses + tills, // the terms
				"TransactGetItems":   tills,        // the lookup before a refusal
				"TransactWriteItems": uses + inVain,
				"BatchGetItem":       inVain, // the counters, after each failed try
			}
			calls := s.store.Calls()
			for operation, count := range calls {
				if count > most[operation] {
					t.Errorf("%s: %d calls, want at most %d", operation, count, most[operation])
				}
			}
			t.Logf("%d redemptions: %v", uses, calls)
		})
	}
}

// takeAll makes tills redeem at the same time, each until it is refused.
func (s *shop) takeAll(t *testing.T, tills int, code voucher.Code) (redeemed, refused int64) {
	t.Helper()
	var taken, ended atomic.Int64
	var redeeming sync.WaitGroup
	for range tills {
		redeeming.Go(func() {
			for till := s.till(code, patient); ; taken.Add(1) {
				took, err := till.redeem(t.Context(), patience)
				if err != nil {
					t.Error(err)
					return
				}
				if !took {
					ended.Add(1)
					return
				}
			}
		})
	}
	redeeming.Wait()
	return taken.Load(), ended.Load()
}

// Without a crowd, a redemption takes at most four calls, even for one of the last uses: for the terms, an empty
// counter, all counters, and a counter with uses left. The first refusal takes at most five calls, and each later
// refusal takes one call.
func TestRedeem_LastUses_TakeAtMostFourCalls(t *testing.T) {
	t.Parallel()
	const uses = 130
	s := newShop(t, memdynamo.Dials{})
	v := s.create(t, "SUMMER-20", uses, 0)
	till := s.till(v.Code, patient)
	for use := range uses {
		before := s.store.Calls()
		if took, err := till.redeem(t.Context(), patience); !took || err != nil {
			t.Fatalf("use %d was not taken; the error is %v", use, err)
		}
		if calls := s.calls(before); calls > 4 {
			t.Errorf("use %d took the calls %v; want at most 4", use, s.since(before))
		}
	}
	for refusal, most := range []int{5, 1, 1} {
		before := s.store.Calls()
		if took, err := till.redeem(t.Context(), patience); took || err != nil {
			t.Fatalf("request %d after the last use took a use: %t, with the error %v; want a refusal", refusal, took,
				err)
		}
		if calls := s.calls(before); calls > most {
			t.Errorf("refusal %d took the calls %v; want at most %d", refusal, s.since(before), most)
		}
	}
}

// A code has one counter for every 64 uses of its limit, and at most 64 counters; the operator may choose another
// number. The uses are spread evenly.
func TestCreate_Counters_FollowFromTheLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t, memdynamo.Dials{})
	for _, test := range []struct {
		uses         voucher.Limit
		override     int
		want         int
		fewest, most int // uses of a counter
	}{
		{2, 0, 1, 2, 2},
		{63, 0, 1, 63, 63},
		{64, 0, 1, 64, 64},
		{65, 0, 2, 32, 33},
		{128, 0, 2, 64, 64},
		{129, 0, 3, 43, 43},
		{4032, 0, 63, 64, 64},
		{4096, 0, 64, 64, 64},
		{4097, 0, 64, 64, 65},
		{1_000_000, 0, 64, 15625, 15625},
		{voucher.MaxMaxUses, 0, 64, 15625000, 15625000},
		{2, 2, 2, 1, 1},
		{100, 64, 64, 1, 2},
		{4096, 1, 1, 4096, 4096},
		{1_000_000, 32, 32, 31250, 31250},
	} {
		v := s.create(t, fmt.Sprintf("RAFFLE-%d-%d", test.uses, test.override), test.uses, test.override)
		kept := s.counters(t, v.Code)
		sum, fewest, most := 0, test.fewest, test.most
		for _, left := range kept {
			sum += left
			fewest, most = min(fewest, left), max(most, left)
		}
		if v.Counters != test.want || len(kept) != test.want || sum != int(test.uses) || fewest != test.fewest ||
			most != test.most {
			t.Errorf("%d uses: %d counters, of which %d are stored with %d to %d uses, %d in total; want %d "+
				"counters with %d to %d uses",
				test.uses, v.Counters, len(kept), fewest, most, sum, test.want, test.fewest, test.most)
		}
	}
}

// counters returns the uses left on each counter of a code.
func (s *shop) counters(t testing.TB, code voucher.Code) (left []int) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(dynamotest.Client(t), &dynamodb.ScanInput{
		TableName: aws.String(s.table), FilterExpression: aws.String("begins_with(sk, :counter)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":counter": &types.AttributeValueMemberS{Value: string(code) + "#c#"}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			number, is := item["left"].(*types.AttributeValueMemberN)
			if !is {
				t.Fatalf("%s: a counter has no number of uses left: %v", code, item)
			}
			uses, err := strconv.Atoi(number.Value)
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, uses)
		}
	}
	return left
}
