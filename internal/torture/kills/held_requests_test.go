package kills_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/voucher"
)

// heldRequest is a kind of request about a code that a checkout holds, or about a redemption that is undone. Each takes
// one transaction.
type heldRequest struct {
	kind, function string
	// prepare does what must come before the request, such as a checkout before its order, and returns the request.
	prepare func(c *serverDesk, code string) testshop.Request
}

func heldRequests() []heldRequest {
	checkOut := func(_ *serverDesk, code string) testshop.Request {
		return testshop.Request{
			Method: http.MethodGet, Path: "/checkout/coins/500?nick=" + alder + "&code=" + code,
			Key: "cart-" + code,
		}
	}
	place := func(c *serverDesk, code string) testshop.Request {
		return post("/orders", `{"checkout":%q,"payment":{"provider":"stripe","reference":"pi_1047"}}`,
			c.must(checkOut(c, code)))
	}
	placeWithAmount := func(c *serverDesk, code string) testshop.Request {
		return post("/orders", `{"checkout":%q,"payment":{"provider":"stripe","reference":"pi_cart","amount":%d,`+
			`"currency":"EUR"}}`, c.must(checkOut(c, code)), 1<<40)
	}
	return []heldRequest{
		{"checkout with a code", "checkout", checkOut},
		{"order with a code", "place-order", place},
		{"order with a code and an amount", "place-order", placeWithAmount},
		{"release with a code", "release-checkout", func(c *serverDesk, code string) testshop.Request {
			return post("/checkouts/"+c.must(checkOut(c, code))+"/release", "")
		}},
		{"cancel with a code", "cancel-order", func(c *serverDesk, code string) testshop.Request {
			return post("/orders/"+c.must(place(c, code))+"/cancel", `{"reason":%q}`, "chargeback")
		}},
		{"undo", "undo-redemption", func(c *serverDesk, code string) testshop.Request {
			id := c.must(post("/voucher", `{"code":%q,"nick":%q}`, code, alder))
			return post("/redemptions/"+id+"/undo", `{"code":%q,"nick":%q,"reason":"granted twice"}`, code, alder)
		}},
	}
}

func post(path, body string, members ...any) testshop.Request {
	return testshop.Request{Method: http.MethodPost, Path: path, Body: fmt.Sprintf(body, members...)}
}

// serverDesk is a desk whose requests come from the shop's server. The test kills the functions that handle these
// requests.
type serverDesk struct {
	*desk

	server string // the key of the shop's server
}

func (c *serverDesk) send(r testshop.Request) *httptest.ResponseRecorder {
	r.Server = c.server
	return r.Send(c.t.Context(), c.API, c.shopID)
}

// must sends a request that prepares another one, and returns the ID in the response.
func (c *serverDesk) must(r testshop.Request) (id string) {
	c.t.Helper()
	answer := c.send(r)
	for range 100 { // the gateway may not have noticed yet that a process was killed
		if answer.Body.String() != functionFailed {
			break
		}
		answer = c.send(r)
	}
	var named struct{ ID string }
	if err := json.Unmarshal(answer.Body.Bytes(), &named); err != nil || answer.Code != http.StatusOK ||
		named.ID == "" {
		c.t.Fatalf("the request %+v, which prepares another one, got %d %s", r, answer.Code, answer.Body)
	}
	return named.ID
}

// killHeldRequests kills the function of each kind of request before its transaction, after its transaction, and while
// its transaction is in flight. Then it sends the request again.
func killHeldRequests(t *testing.T, programs testshop.Programs) (rows []torture.Row) {
	t.Helper()
	b := newBench(t, programs)
	c := &serverDesk{desk: newDesk(t, b, "heldcave")}
	key, _, err := c.shop.CreateKey(t.Context(), "web shop", time.Time{}, rand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.server = key.Secret()
	limited := voucher.Terms{MaxUses: new(voucher.Limit(6)), MaxUsesPerNick: new(voucher.Limit(2)), Counters: 2}
	for _, kind := range heldRequests() {
		for _, fate := range []fate{lost, unanswered, late} {
			record := &recorder{torture.Row{Fault: "killed: " + kind.kind + ", " + fate.relativeTo("its transaction")}}
			for number := range max(2, wantedKills(t)) {
				c.killHeld(kind, fate, record, []voucher.Terms{{}, limited}[number%2])
			}
			wantVerified(t, record, b, c.shopID, false)
			rows = append(rows, record.row)
		}
	}
	return rows
}

// killHeld kills the function of one request with a new code, and judges what the request gets when it is sent again.
func (c *serverDesk) killHeld(kind heldRequest, fate fate, record *recorder, terms voucher.Terms) {
	c.t.Helper()
	c.codes++
	terms.Written, terms.Reward = fmt.Sprintf("SPRING-%04d", c.codes),
		voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	if _, err := c.shop.CreateVoucher(c.t.Context(), terms, time.Now()); err != nil {
		c.t.Fatal(err)
	}
	r := kind.prepare(c, terms.Written)
	if killed := c.sendKilled(kind, step{transact, 1, fate}, r); killed.Code != http.StatusInternalServerError {
		record.violation(c.t, "%s never reached its transaction: %d %s", kind.kind, killed.Code, killed.Body)
		return
	}
	record.row.Injected++
	record.row.Unknown++
	if err := c.trap.settle(); err != nil {
		c.t.Fatal(err)
	}
	again := c.send(r)
	for again.Body.String() == functionFailed { // the gateway has not noticed yet
		again = c.send(r)
	}
	if again.Code != http.StatusOK || isReplayed(again) != (fate == unanswered) {
		record.violation(c.t, "%s (killed: %s), sent again: status %d, replayed %t: %s",
			kind.kind, fate.relativeTo("its transaction"), again.Code, isReplayed(again), again.Body)
	}
	if err := c.trap.letGo(); err != nil {
		c.t.Fatal(err)
	}
	if third := c.send(r); third.Code != http.StatusOK || !isReplayed(third) ||
		third.Body.String() != again.Body.String() {
		record.violation(c.t, "%s (killed: %s), sent a third time: status %d, replayed %t: %s\nwant %s",
			kind.kind, fate.relativeTo("its transaction"), third.Code, isReplayed(third), third.Body, again.Body)
	}
}

func isReplayed(answer *httptest.ResponseRecorder) bool {
	return answer.Header().Get("Idempotency-Replayed") == "true"
}

// sendKilled sends a request, and kills its function at the step.
func (c *serverDesk) sendKilled(kind heldRequest, at step, r testshop.Request) *httptest.ResponseRecorder {
	c.t.Helper()
	for {
		over := make(chan struct{})
		c.trap.set(at, func() {
			c.kill(c.processes(kind.function))
			select {
			case <-over:
			case <-time.After(patience):
				c.t.Error("the gateway did not notice that the function was killed")
			}
		})
		answer := c.send(r)
		close(over)
		sprung := c.trap.hasSprung()
		c.trap.reset()
		if sprung || answer.Body.String() != functionFailed {
			return answer
		}
	}
}
