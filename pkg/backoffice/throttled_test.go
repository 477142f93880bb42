package backoffice_test

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

// throttleOnce serves a DynamoDB that throttles the first call of an operation. The calls of the other writers wait
// until the throttled call is retried. It returns the URL.
func throttleOnce(t *testing.T, operation, response string) string {
	t.Helper()
	calm := dynamotest.Memory().Endpoint(memdynamo.Dials{})
	var calls atomic.Int64
	again := make(chan struct{})
	retried := sync.OnceFunc(func() { close(again) })
	return dynamotest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const writers = 16 // the number of writers at first
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+operation) {
			switch call := calls.Add(1); {
			case call == 1:
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(response))
				return
			case call > writers:
				retried()
			default:
				<-again
			}
		}
		calm.ServeHTTP(w, r)
	}))
}

func TestGenerate_ThrottledWrite_HalvesTheWritersAndCompletesTheBatch(t *testing.T) {
	dynamotest.InMemory(t)
	tables := newTables(t)
	for operation, test := range map[string]struct {
		response string
		maxUses  voucher.Limit
		parts    int
	}{
		"PutItem": {`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",` +
			`"message":"over capacity"}`, 1, 0},
		"TransactWriteItems": {`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
			`"message":"canceled",` +
			`"CancellationReasons":[{"Code":"None"},{"Code":"ThrottlingError","Message":"over capacity"}]}`, 5, 1},
	} {
		t.Run(operation, func(t *testing.T) {
			s := tables.newShop(t)
			endpoint := throttleOnce(t, operation, test.response)
			deployment := backoffice.Local(backoffice.Deployment{Region: dynamotest.Region}, s.names, endpoint,
				mathrand.Int64N)
			shop, err := deployment.Shop(t.Context(), s.shop)
			if err != nil {
				t.Fatal(err)
			}
			var reported []int
			bulk := backoffice.Bulk{Slow: func(writers int) { reported = append(reported, writers) }}
			order := voucher.BatchRequest{Count: 40, Terms: voucher.Terms{
				Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}, Batch: "launch",
				MaxUses: &test.maxUses, Parts: &test.parts,
			}}
			result, err := shop.Generator(rand.Reader, time.Now, bulk).Generate(t.Context(), order,
				func(voucher.Voucher) error { return nil })
			if err != nil || result.Created != 40 {
				t.Errorf("%+v, %v; want 40 vouchers", result, err)
			}
			if !slices.Equal(reported, []int{8}) {
				t.Errorf("reported %v, want one report that at most 8 writes are in flight", reported)
			}
		})
	}
}
