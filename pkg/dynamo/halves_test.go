package dynamo_test

import (
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/torture/faultproxy"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// halves is a shop behind a proxy that stops the first transaction while only half of it is visible.
type halves struct {
	*shop

	proxy   *faultproxy.Proxy
	hostile voucher.Redeemer // through the proxy
	half    chan struct{}    // closed when the first transaction is half visible
	finish  chan struct{}    // when closed, the first transaction ends
	arrived chan string      // the operations of all calls
}

func newHalves(t *testing.T) *halves {
	t.Helper()
	s := &halves{shop: newShop(t), half: make(chan struct{}), finish: make(chan struct{}), arrived: make(chan string, 1000)}
	var once sync.Once
	var err error
	s.proxy, err = faultproxy.Start(faultproxy.Settings{
		Target: localtest.Endpoint(t), Rates: map[faultproxy.Fault]float64{faultproxy.Halves: 1}, //nolint:exhaustive // only this fault
		Watch: func(operation string, stage faultproxy.Stage) {
			if stage == faultproxy.Arrived {
				s.arrived <- operation
				return
			}
			if operation == "TransactWriteItems" {
				once.Do(func() {
					close(s.half)
					<-s.finish
				})
			}
		},
	})
	must(t, err)
	t.Cleanup(func() { _ = s.proxy.Close() })
	client := dynamo.NewClient(dynamo.Settings{
		Region: localtest.Region, Endpoint: s.proxy.URL(), Jitter: mathrand.Int64N,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	s.hostile = redeemerOf(client, s.table)
	return s
}

// redeem redeems the code for Alder through the proxy, always with the same key.
func (s *halves) redeem() (voucher.Redemption, error) {
	redemption, _, err := s.hostile.Redeem(within(s.t), request(s.t, "SUMMER-20", "Alder", "order-1047"))
	return redemption, err
}

// awaitCalls waits for n calls of an operation. It returns false if done is closed first.
func (s *halves) awaitCalls(n int, operation string, done <-chan struct{}) bool {
	for n > 0 {
		select {
		case arrived := <-s.arrived:
			if arrived == operation {
				n--
			}
		case <-done:
			return false
		}
	}
	return true
}

// Two requests with the same key race for the last use of a code. The first request's transaction is half visible: the counter is empty,
// but the record does not exist yet. The second request must not be refused, because the first request will succeed.
func TestRedeem_SameKeyAtTheLastUse_WaitsForTheTransactionInFlight(t *testing.T) {
	t.Parallel()
	markFull := func(s *halves) {
		wantRequestRefused(s.t, s.redeemer, request(s.t, "SUMMER-20", "Birch", "order-1048"), voucher.ReasonUsedUp)
	}
	for what, test := range map[string]struct {
		perNick   voucher.Limit
		meanwhile func(*halves) // while the transaction is half visible
		waits     string        // the operation that meets the transaction and is retried
	}{
		"the transactions conflict":                 {voucher.NoLimit, func(*halves) {}, "TransactWriteItems"},
		"the transactions conflict, limit per nick": {1, func(*halves) {}, "TransactWriteItems"},
		"the code is marked as full":                {voucher.NoLimit, markFull, "TransactGetItems"},
		"the code is marked as full, per nick":      {1, markFull, "TransactGetItems"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newHalves(t)
			s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: &test.perNick})
			s.mustRedeem(request(t, "SUMMER-20", "Cedar", ""))
			var first, second voucher.Redemption
			var firstErr, secondErr error
			var redeeming sync.WaitGroup
			redeeming.Go(func() { first, firstErr = s.redeem() })
			<-s.half
			s.proxy.SetRates(nil)
			s.awaitCalls(1, "TransactWriteItems", nil) // of the first request
			test.meanwhile(s)
			done := make(chan struct{})
			redeeming.Go(func() {
				defer close(done)
				second, secondErr = s.redeem()
			})
			if !s.awaitCalls(2, test.waits, done) {
				t.Error("the second request did not wait for the first")
			}
			close(s.finish)
			redeeming.Wait()
			if err := errors.Join(firstErr, secondErr); err != nil || first != second {
				t.Errorf("redeemed %+v and %+v, %v; want the same redemption", first, second, err)
			}
		})
	}
}
