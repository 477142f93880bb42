package dynamo_test

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
)

var window = access.Window{ //nolint:gochecknoglobals // a constant
	Start: time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC),
	End:   time.Date(2026, time.November, 22, 12, 10, 0, 0, time.UTC),
}

func newRefusals(t *testing.T, options ...func(*dynamodb.Options)) (*dynamo.Refusals, string) {
	t.Helper()
	name := dynamotest.Table(t, "RefusalsTable")
	return dynamo.NewRefusals(newClient(t, options...), name), name
}

func TestCount_RefusalsOfOneSource_AddUp(t *testing.T) {
	refusals, _ := newRefusals(t)
	next := access.Window{Start: window.End, End: window.End.Add(10 * time.Minute)}
	for i, c := range []struct {
		name   string
		shop   catalog.ShopID
		source access.Source
		window access.Window
		want   access.RefusalCount
	}{
		{"first", "emberforge", access.Source{Name: "203.0.113.7"}, window, access.RefusalCount{Source: 1}},
		{"second", "emberforge", access.Source{Name: "203.0.113.7"}, window, access.RefusalCount{Source: 2}},
		{"another source", "emberforge", access.Source{Name: "203.0.113.8"}, window, access.RefusalCount{Source: 1}},
		{"another shop", "brambleshop", access.Source{Name: "203.0.113.7"}, window, access.RefusalCount{Source: 1}},
		{"the next window", "emberforge", access.Source{Name: "203.0.113.7"}, next, access.RefusalCount{Source: 1}},
		{
			"first of a /48", "emberforge",
			access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"},
			window,
			access.RefusalCount{Source: 1, Network: 1},
		},
		{
			"another /64 of it", "emberforge",
			access.Source{Name: "2001:db8:5::/48", Subnet: "0000"},
			window,
			access.RefusalCount{Source: 1, Network: 2},
		},
		{
			"its first /64 again", "emberforge",
			access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"},
			window,
			access.RefusalCount{Source: 2, Network: 3},
		},
		{
			"the next /48", "emberforge",
			access.Source{Name: "2001:db8:6::/48", Subnet: "00a1"},
			window,
			access.RefusalCount{Source: 1, Network: 1},
		},
	} {
		if got, err := refusals.Count(t.Context(), c.shop, c.source, c.window); err != nil || got != c.want {
			t.Errorf("%d, %s: %+v, %v; want %+v", i, c.name, got, err, c.want)
		}
	}
}

func TestCount_ConcurrentRefusals_AreAllCounted(t *testing.T) {
	const processes, each = 4, 25
	_, name := newRefusals(t)
	seen := make(chan int, processes*each)
	var all sync.WaitGroup
	for range processes {
		refusals := dynamo.NewRefusals(newClient(t), name)
		all.Go(func() {
			for range each {
				count, err := refusals.Count(t.Context(), "emberforge", access.Source{Name: "203.0.113.7"}, window)
				if err != nil {
					t.Error(err)
				}
				seen <- count.Source
			}
		})
	}
	all.Wait()
	close(seen)
	counts := make(map[int]bool)
	for count := range seen {
		counts[count] = true
	}
	if len(counts) != processes*each || !counts[1] || !counts[processes*each] {
		t.Errorf("%d different counts, want each from 1 to %d once", len(counts), processes*each)
	}
}

// The item has few attributes, so that one write unit covers even 150 subnets. It is deleted two days after its window.
func TestCount_Item_IsSmallAndExpires(t *testing.T) {
	refusals, name := newRefusals(t)
	if _, err := refusals.Count(t.Context(), "emberforge", access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"},
		window); err != nil {
		t.Fatal(err)
	}
	found, err := newClient(t).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(name)})
	if err != nil || len(found.Items) != 1 {
		t.Fatalf("%d items, %v; want one", len(found.Items), err)
	}
	it := found.Items[0]
	expires, _ := it["expiresAt"].(*types.AttributeValueMemberN)
	if expires == nil || expires.Value != "1795522200" { // 2026-11-24 12:10 UTC
		t.Errorf("the item expires at %v, want 1795522200", it["expiresAt"])
	}
	if len(it) != 5 || it["00a1"] == nil {
		t.Errorf("the item has the attributes %v, want five, and one of them 00a1", it)
	}
}

func TestCount_StoreOutOfReach_IsRetriedUntilTheContextEnds(t *testing.T) {
	network := losingRequests("UpdateItem", 1<<30)
	refusals, _ := newRefusals(t, over(network))
	source := access.Source{Name: "203.0.113.7"}
	_, err := refusals.Count(network.untilItFails(t), "emberforge", source, window)
	wantUnavailable(t, err)
}

// If a response is lost, the SDK's retry counts the refusal again. So the source is blocked one refusal early, which is
// harmless.
func TestCount_LostResponse_CountsTheRefusalTwice(t *testing.T) {
	network := losingResponses("UpdateItem", 1)
	refusals, _ := newRefusals(t, over(network))
	got, err := refusals.Count(within(t), "emberforge", access.Source{Name: "203.0.113.7"}, window)
	if err != nil || got != (access.RefusalCount{Source: 2}) {
		t.Errorf("Count = %+v, %v; want 2", got, err)
	}
}
