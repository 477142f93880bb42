package hotcode_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

const (
	emberforge catalog.ShopID = "emberforge"
	// budget is the time that a function gives a request.
	budget = 5 * time.Second
	// patience is how long a test waits for a response on a busy machine.
	patience = time.Minute
)

// shop is a vouchers table behind a model of the service's limits.
type shop struct {
	store *memdynamo.Endpoint
	url   string // of store
	table string
	nicks atomic.Int64
}

func newShop(tb testing.TB, limits memdynamo.Dials) *shop {
	tb.Helper()
	dynamotest.InMemory(tb)
	store := dynamotest.Memory().Endpoint(limits)
	return &shop{store: store, url: dynamotest.Serve(tb, store), table: dynamotest.Table(tb, "VouchersTable")}
}

// create creates the code SUMMER-20 with a number of parts. It bypasses the limits.
func (s *shop) create(tb testing.TB, uses voucher.Limit, parts int) voucher.Voucher {
	tb.Helper()
	owned := backoffice.NewDeployment(dynamotest.Client(tb), backoffice.Tables{Vouchers: s.table}, mathrand.Int64N)
	v, err := owned.Open(catalog.Profile{ID: emberforge}).CreateVoucher(tb.Context(), voucher.Terms{
		Written: "SUMMER-20", MaxUses: &uses, Parts: &parts,
		Reward: voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1},
	}, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// till redeems one code like a process of the function: one request at a time, with its own client.
type till struct {
	shop *shop
	code voucher.Code
	desk voucher.Redeemer
}

func (s *shop) till(code voucher.Code, options ...func(*dynamodb.Options)) till {
	client := dynamo.NewClient(dynamo.Settings{
		Region: dynamotest.Region, Endpoint: s.url, Jitter: mathrand.Int64N,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	client = dynamodb.New(client.Options(), options...)
	return till{s, code, voucher.Redeemer{
		Store:  dynamo.NewRedeemer(client, dynamo.Tables{Vouchers: s.table}, mathrand.Int64N),
		Random: rand.Reader,
	}}
}

// patient lets a till wait for up to a minute for each response, so that the till never retries because of a timeout.
func patient(o *dynamodb.Options) { o.HTTPClient = &http.Client{Timeout: patience} }

// redeem redeems the code for a new nick. It returns false if the code is used up.
func (t till) redeem(ctx context.Context, budget time.Duration) (redeemed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	nick, err := voucher.ParseNick(fmt.Sprint("Alder ", t.shop.nicks.Add(1)))
	if err != nil {
		return false, err
	}
	_, _, err = t.desk.Redeem(ctx, voucher.Request{Shop: emberforge, Code: t.code, Nick: nick, At: time.Now()})
	if reason, refused := voucher.IsRefusal(err); refused && reason == voucher.ReasonUsedUp {
		return false, nil
	}
	return err == nil, err
}

// crowd makes tills redeem at the same time until the context ends or the code is used up. A till sends its requests
// one after another. If a response tells it to retry, it sends a new request instead. After each redemption it calls
// taken; these calls may be concurrent.
func (s *shop) crowd(
	ctx context.Context, tb testing.TB, size int, code voucher.Code, budget time.Duration, taken func(),
	options ...func(*dynamodb.Options),
) {
	tb.Helper()
	var redeeming sync.WaitGroup
	for range size {
		redeeming.Go(func() {
			for t := s.till(code, options...); ctx.Err() == nil; {
				redeemed, err := t.redeem(ctx, budget)
				switch _, unavailable := errors.AsType[*dynamo.UnavailableError](err); {
				case redeemed:
					taken()
				case err == nil:
					return
				case !unavailable:
					tb.Errorf("a redemption failed: %v", err)
					return
				}
			}
		})
	}
	redeeming.Wait()
}

// calls counts all calls since an earlier count.
func (s *shop) calls(before map[string]int) (all int) {
	for operation, count := range s.store.Calls() {
		all += count - before[operation]
	}
	return all
}

// since counts the calls since an earlier count, by operation.
func (s *shop) since(before map[string]int) map[string]int {
	now := s.store.Calls()
	for operation, count := range before {
		now[operation] -= count
	}
	maps.DeleteFunc(now, func(_ string, count int) bool { return count == 0 })
	return now
}
