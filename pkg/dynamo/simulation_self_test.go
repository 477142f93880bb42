package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/dynamo/table"
)

// summer returns the key of an item in the tests of this file.
func summer(part string) table.Key {
	return table.Key{Partition: "emberforge#07", Sort: "SUMMER20" + part}
}

// trial runs a trial in which several requests write and read. It returns the trace and how many writes were committed.
func trial(t *testing.T, seed uint64, f memdynamo.Rates) (trace string, commits int) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, seed)
		s.faults = f
		s.afterCommit = func(*simulatedDynamoDB) { commits++ }
		keys := []table.Key{summer(""), summer("#p#00"), summer("#p#01")}
		for i := range 4 {
			s.request(s.t.Context(), fmt.Sprint("Alder ", i), func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				var actions []types.TransactWriteItem
				for _, key := range keys {
					take := &table.Update{Key: key}
					take.Require("attribute_not_exists(#used) OR #used >= :zero")
					take.Value(":zero", table.Num(0))
					take.Add(table.AttrUsed, 1)
					actions = append(actions, take.Action(simulatedVouchers))
				}
				for attempt := 0; attempt == 0 || ctx.Err() == nil; attempt++ {
					_, err := s.dynamodb.TransactWriteItems(ctx,
						&dynamodb.TransactWriteItemsInput{TransactItems: actions})
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
		if trace, commits := trial(t, seed, memdynamo.Rates{}); commits != 4 {
			t.Errorf("%d commits; want 4:\n%s", commits, trace)
		}
	}
}

func TestSimulation_EachFault_Happens(t *testing.T) {
	t.Parallel()
	for trace, f := range map[string]memdynamo.Rates{
		"does not arrive": {memdynamo.LostRequest: 0.2}, "response lost (done)": {memdynamo.LostResponse: 0.2},
		"arrives late, done":                               {memdynamo.LateRequest: 0.2},
		"ProvisionedThroughputExceededException":           {memdynamo.Throttle: 0.2},
		"canceled ThrottlingError":                         {memdynamo.Throttle: 0.2},
		"InternalServerError":                              {memdynamo.ServerError: 0.2},
		"applied (done), ServiceUnavailable":               {memdynamo.ServerError: 0.2},
		"canceled TransactionConflict":                     {memdynamo.Conflict: 0.2},
		"visible: vouchers emberforge#07 SUMMER20: to all": {memdynamo.Halves: 0.5},
	} {
		happened := false
		for seed := range uint64(20) {
			steps, _ := trial(t, seed, f)
			happened = happened || strings.Contains(steps, trace)
			if without, _ := trial(t, seed, memdynamo.Rates{}); strings.Contains(without, trace) {
				t.Errorf("a trial without faults has %q in its trace", trace)
			}
		}
		if !happened {
			t.Errorf("no trial with the fault has %q in its trace", trace)
		}
	}
}

// A late attempt of a transaction may arrive after DynamoDB has forgotten the token. Then the transaction is applied
// twice.
func TestSimulation_LateAttempt_MayBeAppliedAgain(t *testing.T) {
	t.Parallel()
	again := 0
	for seed := range uint64(50) {
		if _, commits := trial(t, seed, memdynamo.Rates{memdynamo.LateRequest: 0.2}); commits > 4 {
			again++
		}
	}
	if again == 0 {
		t.Error("no late attempt was applied again")
	}
}

// readPairs runs trials in which a transaction writes two items and a request reads them meanwhile. It counts what was
// read: "old new" means that only the second item was new.
func readPairs(t *testing.T, f memdynamo.Rates, read func(context.Context, *simulation) []table.Item) map[string]int {
	found := make(map[string]int)
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(t, seed)
			s.faults = f
			s.request(s.t.Context(), "write", func(ctx context.Context) {
				var actions []types.TransactWriteItem
				for _, part := range []string{"#p#00", "#p#01"} {
					put := &types.Put{TableName: aws.String(simulatedVouchers), Item: summer(part).Attributes()}
					actions = append(actions, types.TransactWriteItem{Put: put})
				}
				if _, err := s.dynamodb.TransactWriteItems(ctx,
					&dynamodb.TransactWriteItemsInput{TransactItems: actions}); err != nil {
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
	keys := []table.Key{summer("#p#00"), summer("#p#01")}
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
		faults memdynamo.Rates
		read   func(context.Context, *simulation) []table.Item
		want   []string
	}{
		"batch":      {memdynamo.Rates{}, batch, []string{"new new", "old old"}},
		"torn batch": {memdynamo.Rates{memdynamo.Torn: 1}, batch, []string{"new new", "new old", "old new", "old old"}},
		"batch, some unprocessed": {
			memdynamo.Rates{memdynamo.Unprocessed: 0.5},
			batch,
			[]string{"new new", "new old", "old new", "old old"},
		},
		"batch, half visible": {
			memdynamo.Rates{memdynamo.Halves: 1},
			batch,
			[]string{"new new", "new old", "old new", "old old"},
		},
		"query": {memdynamo.Rates{}, query, []string{"new new", "old old"}},
		"query, half visible": {
			memdynamo.Rates{memdynamo.Halves: 1},
			query,
			[]string{"new new", "new old", "old new", "old old"},
		},
		"settled, half visible": {
			memdynamo.Rates{memdynamo.Halves: 1},
			settled,
			[]string{"new new", "old new", "old old"},
		},
	} {
		if found := readPairs(t, test.faults, test.read); !slices.Equal(slices.Sorted(maps.Keys(found)), test.want) {
			t.Errorf("%s: %v; want %q", what, found, test.want)
		}
	}
}

// A torn Query misses an item that moves from a key that the Query has not reached to a key that it has passed.
func TestSimulation_TornQuery_MissesAMovedItem(t *testing.T) {
	t.Parallel()
	missed := func(f memdynamo.Rates) (missed int) {
		for seed := range uint64(100) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation(t, seed)
				s.faults = f
				put := func(part string) *types.Put {
					return &types.Put{TableName: aws.String(simulatedVouchers), Item: summer(part).Attributes()}
				}
				for _, part := range []string{"#h#02", "#h#03", "#h#04"} {
					_, _ = s.setup.PutItem(t.Context(),
						&dynamodb.PutItemInput{TableName: put(part).TableName, Item: put(part).Item})
				}
				s.request(s.t.Context(), "move", func(ctx context.Context) {
					_, _ = s.dynamodb.TransactWriteItems(ctx,
						&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
							{Put: put("#h#01")},
							{Delete: &types.Delete{
								TableName: aws.String(simulatedVouchers),
								Key:       summer("#h#04").Attributes(),
							}},
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
	if n := missed(memdynamo.Rates{memdynamo.Torn: 1}); n == 0 {
		t.Error("no torn Query misses the item")
	}
	if n := missed(memdynamo.Rates{}); n > 0 {
		t.Errorf("%d Queries miss the item, although nothing tears them", n)
	}
}

// The simulation finds a race: two requests read a number, add one, and write the sum without a condition. One addition
// can be lost.
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
					write.Set(table.AttrUsed, table.Num(it.Num(table.AttrUsed)+1))
					if _, err := s.dynamodb.UpdateItem(ctx,
						write.Input(simulatedVouchers, types.ReturnValueNone)); err != nil {
						t.Error(err)
					}
				})
			}
			s.run()
			sums[s.setup.item(simulatedVouchers, summer("")).Num(table.AttrUsed)]++
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
				write.Add(table.AttrUsed, 1)
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
