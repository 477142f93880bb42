package backoffice_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// pageItems is how many items of a bucket one query of Verify or of a list requests. waitingItems is how many items of
// a bucket may still wait to be read when the next page is requested: those in the channel, the one before them, and
// the one that is being read.
const (
	pageItems    = 250
	waitingItems = 100 + 2
)

// counting is a client that counts queries and the items that they return. It also records how many of these items were
// waiting when more were requested.
type counting struct {
	*dynamodb.Client

	mu                                                    sync.Mutex
	queries, returned, consumed, mostWaiting, wrongLimits int
}

func (c *counting) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	out, err := c.Client.Query(ctx, in, options...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries++
	if aws.ToInt32(in.Limit) != pageItems {
		c.wrongLimits++
	}
	if len(in.ExclusiveStartKey) > 0 {
		c.mostWaiting = max(c.mostWaiting, c.returned-c.consumed)
	}
	if err == nil {
		c.returned += len(out.Items)
	}
	return out, err
}

func (c *counting) consume(items int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.consumed += items
}

// However many items there are, Verify and the lists hold at most a page of each bucket and the items that wait to be
// merged.
func TestAccounts_LargeBucket_IsReadPageByPage(t *testing.T) {
	t.Parallel()
	s := newTables(t).newShop(t)
	const items = 4*pageItems + 10
	for n := range items {
		s.put(s.names.Vouchers, attributes{
			"customer": text(string(s.shop) + "#00"),
			"sk":       text(fmt.Sprintf("G%05d", n)), "left": number(1),
		})
	}
	client := &counting{Client: s.client}
	if err := s.over(client).EachAccount(t.Context(), client.consume); err != nil {
		t.Fatal(err)
	}
	if client.consumed != items || client.queries != 64+4 || client.wrongLimits > 0 {
		t.Errorf("read %d items in %d queries, want %d in %d; %d queries did not ask for %d items",
			client.consumed, client.queries, items, 64+4, client.wrongLimits, pageItems)
	}
	if client.mostWaiting > waitingItems {
		t.Errorf("%d items were waiting when more were requested, want at most %d", client.mostWaiting, waitingItems)
	}
}
