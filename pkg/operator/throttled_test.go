package operator_test

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/pkg/operator"
	"shopfront/pkg/voucher"
)

// throttleOnce serves DynamoDB Local, but throttles the first PutItem call. All other PutItem calls wait until that one is tried again.
func throttleOnce(t *testing.T) *httptest.Server {
	t.Helper()
	local, err := url.Parse(localtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(local)
	var calls atomic.Int64
	again := make(chan struct{})
	retried := sync.OnceFunc(func() { close(again) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isPut := strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem")
		switch {
		case isPut && calls.Add(1) == 1:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"over capacity"}`))
			return
		case isPut && strings.Contains(r.Header.Get("Amz-Sdk-Request"), "attempt=2"):
			retried()
		case isPut:
			<-again
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestGenerate_ThrottledWrite_HalvesTheWritersAndCompletesTheBatch(t *testing.T) {
	s := newTables(t).newShop(t)
	deployment := operator.Local(operator.Deployment{Region: localtest.Region, Tables: s.names}, throttleOnce(t).URL, mathrand.Int64N)
	shop, err := deployment.Shop(t.Context(), s.customer)
	if err != nil {
		t.Fatal(err)
	}
	var said []int
	bulk := operator.Bulk{Slow: func(writers int) { said = append(said, writers) }}
	order := voucher.BatchOrder{
		Customer: s.customer, Count: 40,
		Terms: voucher.Terms{Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}, Batch: "launch"},
	}
	result, err := shop.Generator(rand.Reader, time.Now, bulk).Generate(t.Context(), order, func(voucher.Voucher) error { return nil })
	if err != nil || result.Created != 40 {
		t.Errorf("%+v, %v; want 40 vouchers", result, err)
	}
	if !slices.Equal(said, []int{8}) {
		t.Errorf("said %v, want once that 8 writes are in flight", said)
	}
}
