package budget_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/torture"
)

// While every call is throttled, a request costs one attempt, apart from the few retries of each instance. As soon as
// the store recovers, requests succeed. With -all, the store throttles for a minute.
func TestRequests_ThrottledStore_CostOneAttemptEach(t *testing.T) {
	f := lay(t)
	s := f.open(t, misbehaviour{})
	template := loadTemplate(t, s.store)
	s.serve(t, template, newFunctions(t, template, s.store.url()))
	s.begin(t)
	const clients, retries = 5, 4 // of newFunctions, and of each client
	before := s.attempts()
	s.memory.SetRates(memdynamo.Rates{memdynamo.Throttle: 1})
	requests, longest, begun := 0, time.Duration(0), time.Now()
	for round := 0; round < 3 || *all && time.Since(begun) < time.Minute; round++ {
		for name, r := range s.requests {
			sent := time.Now()
			answer := r.Send(t.Context(), s.api, s.shop)
			requests, longest = requests+1, max(longest, time.Since(sent))
			if answer.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %.300s; want 503", name, answer.Code, answer.Body)
				continue
			}
			r.wantTryAgain(t, name, answer)
		}
	}
	took, attempts := time.Since(begun), s.attempts()-before
	if attempts > requests+clients*retries {
		t.Errorf("%d requests made %d attempts; want one each, and %d retries", requests, attempts, clients*retries)
	}
	s.memory.SetRates(nil)
	recovered := time.Now()
	r := s.requests[redeemOnce]
	answer := r.Send(t.Context(), s.api, s.shop)
	back := time.Since(recovered)
	if !slices.Contains(r.statuses, answer.Code) {
		t.Errorf("the first request to a store that recovered: %d %.300s; want one of %d", answer.Code, answer.Body,
			r.statuses)
	}
	t.Logf("%d requests in %s, the longest %s; %d attempts; the first response after %s", requests, took, longest,
		attempts, back)
	torture.Tell(t, *table, []torture.Row{{
		Fault: fmt.Sprintf("throttle: %.2f attempts, %s, then %s", float64(attempts)/float64(requests),
			(took / time.Duration(requests)).Round(100*time.Microsecond), back.Round(100*time.Microsecond)),
		Injected: attempts, Redemptions: 1, Unknown: requests,
	}})
}

// attempts counts the calls that have reached the store.
func (s *shop) attempts() int {
	sum := 0
	for _, calls := range s.memory.Calls() {
		sum += calls
	}
	return sum
}
