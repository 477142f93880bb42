package endtoend_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"shopfront/internal/local/localrun/localruntest"
	"shopfront/pkg/voucher"
)

// unknownCheckout is a path below /shop/{customer}. Its ID is well-formed, but no checkout has it.
const unknownCheckout = "/checkouts/ySBDAj4aT84YTR_U3sQzxw_2aflcPZvHBww39tksi9GA"

// storeRequests returns requests that need the store, which is DynamoDB.
func (s shop) storeRequests() map[string]request {
	at := func(method, path string, header ...string) request {
		return request{method: method, target: "/shop/" + s.id + path, header: header}
	}
	check := s.redeemRequest(body("SINGLE", ""))
	check.target += "?check=true"
	return map[string]request{
		"redeem, with a key":         s.redeemRequest(body("SINGLE", "Alder"), key("order-1")),
		"redeem, without a key":      s.redeemRequest(body("ANOTHER", "Alder")),
		"redeem, many uses":          s.redeemRequest(body("LIMITED", "Alder"), key("order-1")),
		"redeem, an unknown code":    s.redeemRequest(body("UNKNOWN", "Alder")),
		"check":                      check,
		"area":                       at(http.MethodGet, "/checkout"),
		"area, head":                 at(http.MethodHead, "/checkout"),
		"page":                       at(http.MethodGet, ""),
		"page, head":                 at(http.MethodHead, ""),
		"check out, with a key":      at(http.MethodGet, "/checkout/coins/500", key("till-1")),
		"check out, without a key":   at(http.MethodGet, "/checkout/coins/500"),
		"check out, deprecated path": at(http.MethodGet, "/checkout/coins/variant/500"),
		"check out, head":            at(http.MethodHead, "/checkout/coins/500"),
		"show a checkout":            at(http.MethodGet, unknownCheckout),
		"show a checkout, head":      at(http.MethodHead, unknownCheckout),
	}
}

func TestStore_Unavailable_Is503AndAppliesNothing(t *testing.T) {
	t.Parallel()
	localRun(t)
	for name, failure := range map[string]localruntest.Failure{
		"no response": localruntest.Silent, "closed connections": localruntest.HangsUp,
		"throttling": localruntest.Throttles, "internal errors": localruntest.Breaks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storeShop(t)
			store, address := serveWithStore(t)
			warmUp(t, address, s)
			store.Fail(failure)
			wantUnavailable(t, address, s.storeRequests())
			store.Fail(localruntest.Works)
			wantNothingApplied(t, address, s)
		})
	}
	t.Run("unreachable when the functions start", func(t *testing.T) {
		t.Parallel()
		s := storeShop(t)
		// The port of a closed listener could be lent to another test. Port 1 never is.
		wantUnavailable(t, localRun(t).Serve(t, "http://127.0.0.1:1"), s.storeRequests())
		wantNothingApplied(t, baseURL(t), s)
	})
}

// serveWithStore serves the shops with the test's own store, which can be made to fail.
func serveWithStore(t *testing.T) (store *localruntest.Store, address string) {
	t.Helper()
	store = localRun(t).NewStore(t)
	return store, localRun(t).Serve(t, store.Endpoint)
}

func storeShop(t *testing.T) shop {
	t.Helper()
	s := newShop(t)
	s.create(t, "SINGLE", nil)
	s.create(t, "ANOTHER", nil)
	s.create(t, "LIMITED", limits(2, 1))
	return s
}

// warmUp starts a process of each function and makes it connect to the store. It does not request the shop's checkout
// area or page, because the function would still show them from memory when the store is down.
func warmUp(t *testing.T, address string, s shop) {
	t.Helper()
	send(t, address, s.redeemRequest(body("UNKNOWN", ""))).wantRefused(t)
	for _, path := range []string{
		"-2", "-2/checkout", "/checkout/coins/none", "/checkout/coins/variant/none",
		unknownCheckout,
	} {
		send(t, address, request{target: "/shop/" + s.id + path}).wantStatus(t, http.StatusNotFound)
	}
}

// wantUnavailable sends all requests at once. Each must get a 503 within patience.
func wantUnavailable(t *testing.T, address string, requests map[string]request) {
	t.Helper()
	var mu sync.Mutex
	answers := make(map[string]answer)
	var sending sync.WaitGroup
	for name, r := range requests {
		sending.Go(func() {
			a, err := tryExchange(t.Context(), address, r.methodOrGet(), r.raw())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers[name] = a
		})
	}
	sending.Wait()
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			switch {
			case requests[name].method == http.MethodHead:
				a.wantStatus(t, http.StatusServiceUnavailable)
			case name == "page":
				a.wantApology(t, http.StatusServiceUnavailable)
			default:
				a.wantProblem(t, http.StatusServiceUnavailable, "unavailable")
			}
			if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
				t.Errorf("Retry-After %q, want a second or more", a.header.Get("Retry-After"))
			}
			if a.header.Get("ETag") != "" {
				t.Errorf("the headers are %v, want no ETag", a.header)
			}
		})
	}
}

// wantNothingApplied checks that the failed requests changed nothing, and that they succeed now.
func wantNothingApplied(t *testing.T, address string, s shop) {
	t.Helper()
	if kept := s.checkouts(t); len(kept) > 0 {
		t.Errorf("checkouts are stored: %+v", kept)
	}
	requests := s.storeRequests()
	for _, name := range []string{"redeem, with a key", "redeem, without a key", "redeem, many uses"} {
		send(t, address, requests[name]).wantRedeemed(t, false)
	}
	made := send(t, address, requests["check out, with a key"])
	made.wantStatus(t, http.StatusOK)
	if made.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("a failed request had stored the checkout: %v %s", made.header, made.body)
	}
	code, err := voucher.ParseCode("LIMITED")
	if err != nil {
		t.Fatal(err)
	}
	if standing := s.standing(t, code); standing.Used != 1 || standing.UsesLeft != 1 {
		t.Errorf("%d uses are taken and %d left, want 1 and 1", standing.Used, standing.UsesLeft)
	}
}

// After a lost response, a retry with the same key is a replay and is not applied again. Without a key, the client
// cannot know whether the first request was applied.
func TestStore_LostResponses_RetryWithKeyIsReplayed(t *testing.T) {
	t.Parallel()
	s := storeShop(t)
	store, address := serveWithStore(t)
	warmUp(t, address, s)
	store.Fail(localruntest.Loses)
	requests := s.storeRequests()
	maps.DeleteFunc(requests, func(name string, _ request) bool {
		return !slices.Contains([]string{"redeem, with a key", "redeem, without a key", "check out, with a key"}, name)
	})
	wantUnavailable(t, address, requests)
	store.Fail(localruntest.Works)
	redeemed := send(t, address, requests["redeem, with a key"])
	redeemed.wantRedeemed(t, true)
	if again := send(t, address, requests["redeem, with a key"]); again.body != redeemed.body {
		t.Errorf("the retry got %s, want %s", again.body, redeemed.body)
	}
	send(t, address, requests["redeem, without a key"]).wantRefused(t)
	made := send(t, address, requests["check out, with a key"])
	made.wantStatus(t, http.StatusOK)
	if made.header.Get("Idempotency-Replayed") != "true" || len(s.checkouts(t)) != 1 {
		t.Errorf("%d checkouts are stored, want 1; the retry got %v %s, want a replay", len(s.checkouts(t)),
			made.header, made.body)
	}
}

// The gateway responds in place of the killed process. The next request starts a new process.
func TestFunction_KilledProcess_Is500AndNextRequestSucceeds(t *testing.T) {
	s := storeShop(t)
	store, address := serveWithStore(t)
	others := functionProcesses(t)
	warmUp(t, address, s)
	store.Fail(localruntest.Silent)
	r := s.redeemRequest(body("SINGLE", "Alder"), key("order-1"))
	received := make(chan answer, 1)
	go func() {
		defer close(received)
		a, err := tryExchange(t.Context(), address, r.method, r.raw())
		if err != nil {
			t.Error(err)
			return
		}
		received <- a
	}()
	<-store.Asked
	for _, process := range without(functionProcesses(t), others) {
		if !strings.Contains(process, "redeem-voucher") {
			continue
		}
		pid, err := strconv.Atoi(strings.Fields(process)[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	(<-received).wantMessage(t, http.StatusInternalServerError)
	store.Fail(localruntest.Works)
	send(t, address, r).wantRedeemed(t, false)
}
