package dynamo_test

import (
	"errors"
	"sync"
	"testing"

	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/voucher"
)

// halves is a shop with an endpoint that stops the first transaction while only half of it is visible.
type halves struct {
	*shop

	endpoint *memdynamo.Endpoint
	hostile  voucher.Redeemer // through the endpoint
	half     chan struct{}    // closed when the first transaction is half visible
	finish   chan struct{}    // when closed, the first transaction ends
	arrived  chan string      // the operations of all calls
}

func newHalves(t *testing.T) *halves {
	t.Helper()
	dynamotest.InMemory(t)
	s := &halves{
		shop: newShop(t), half: make(chan struct{}), finish: make(chan struct{}),
		arrived: make(chan string, 1000),
	}
	var once sync.Once
	s.endpoint = dynamotest.Memory().Endpoint(memdynamo.Dials{
		Rates: memdynamo.Rates{memdynamo.Halves: 1},
		Watch: func(operation string, stage memdynamo.Stage) {
			if stage == memdynamo.Arrived {
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
	s.hostile = s.over(s.endpoint)
	return s
}

// redeem redeems the code for Alder through the endpoint, always with the same key.
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

// Two requests with the same key race for the last use of a code. The first request's transaction is half visible: no
// use is left, but the record does not exist yet. The second request must not be refused, because the first
// request will succeed.
func TestRedeem_SameKeyAtTheLastUse_WaitsForTheTransactionInFlight(t *testing.T) {
	t.Parallel()
	for what, perNick := range map[string]voucher.Limit{"no limit per nick": voucher.NoLimit, "limit per nick": 1} {
		t.Run(what, func(t *testing.T) {
			s := newHalves(t)
			s.create(voucher.Terms{Written: "SUMMER-20", MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: &perNick})
			s.mustRedeem(request(t, "SUMMER-20", "Cedar", ""))
			var first, second voucher.Redemption
			var firstErr, secondErr error
			var redeeming sync.WaitGroup
			redeeming.Go(func() { first, firstErr = s.redeem() })
			<-s.half
			s.endpoint.SetRates(nil)
			s.awaitCalls(1, "TransactWriteItems", nil) // of the first request
			done := make(chan struct{})
			redeeming.Go(func() {
				defer close(done)
				second, secondErr = s.redeem()
			})
			if !s.awaitCalls(2, "TransactWriteItems", done) {
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
