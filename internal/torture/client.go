package torture

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/internal/torture/testshop"
)

// client is a storefront. It sends one request after another.
type client struct {
	*round

	number int
	random *rand.Rand
}

// nicks returns only a few nicks, so that they reach their limits and race with one another.
func nicks() []string { return []string{"alder", "birch", "cedar", "hazel", "rowan"} }

// shop sends requests until no request is left or the time is up.
func (c *client) shop(tb testing.TB) {
	tb.Helper()
	for time.Now().Before(c.end) {
		t := c.choose()
		if t == nil {
			return
		}
		c.request(tb, t)
		time.Sleep(2 * time.Duration(c.random.Int64N(int64(c.trial.pause)+1)))
	}
}

// requestsInARow is how many requests the clients send, mostly about one voucher, before they turn to the next voucher.
const requestsInARow = 12

// choose picks a voucher: mostly the voucher that the other clients request, too.
func (c *client) choose() *target {
	c.mu.Lock()
	turn := c.outcome.requests / requestsInARow % len(c.vouchers)
	c.mu.Unlock()
	if c.random.IntN(100) < 40 {
		turn = c.random.IntN(len(c.vouchers))
	}
	for i := range c.vouchers {
		if t := c.vouchers[(turn+i)%len(c.vouchers)]; t.take(&t.requests) {
			return t
		}
	}
	return nil
}

// request sends one request, and sometimes retries it while its outcome is unknown.
func (c *client) request(tb testing.TB, t *target) {
	tb.Helper()
	if !c.trial.holds || !c.buy(tb, t) {
		c.requestVoucher(tb, t)
	}
}

// requestVoucher sends a redemption or a check.
func (c *client) requestVoucher(tb testing.TB, t *target) {
	tb.Helper()
	nick := pick(c.random, nicks()...)
	if !t.perNick && c.random.IntN(3) == 0 || c.random.IntN(30) == 0 {
		nick = ""
	}
	if c.random.IntN(100) < cmp.Or(c.trial.checks, usualChecks) {
		c.check(tb, c.number, c.random, c.someone(c.random), t, nick)
		return
	}
	a := asked{nick: nick}
	switch lot := c.random.IntN(10); {
	case lot < 3:
		if earlier, has := t.earlier(c.random); has {
			a = earlier
		}
	case lot < 8 || !t.mayBeLost():
		a.key = fmt.Sprintf("basket-%016x", c.random.Uint64())
		t.remember(a)
	}
	for range 1 + c.random.IntN(3) {
		if c.redeem(tb, c.number, c.random, c.someone(c.random), t, a) != history.Unknown || a.key == "" ||
			time.Now().After(c.end) {
			return
		}
	}
}

// redeem sends a redemption, and returns its outcome.
func (r *round) redeem(tb testing.TB, client int, random *rand.Rand, by caller, t *target, a asked) history.Outcome {
	tb.Helper()
	returned := t.recorder.Call(history.Operation{Client: client, Ask: history.AskRedeem, Nick: a.nick, Key: a.key})
	received := time.Now()
	answer := r.judgeRedemption(t, a, r.send(tb, by, "", t.typed(random), spelled(random, a.nick), a.key))
	answer = r.judgeAccess(t, by, received, answer)
	returned(answer)
	t.learn(a, answer)
	return answer.Outcome
}

// check asks whether a code could be redeemed. It may send a key, which must not change the response.
func (r *round) check(tb testing.TB, client int, random *rand.Rand, by caller, t *target, nick string) history.Outcome {
	tb.Helper()
	key := ""
	if a, has := t.earlier(random); has && random.IntN(2) == 0 {
		key = a.key
	}
	returned := t.recorder.Call(history.Operation{Client: client, Ask: history.AskCheck, Nick: nick})
	received := time.Now()
	answer := r.judgeCheck(t, r.send(tb, by, "?check=true", t.typed(random), spelled(random, nick), key))
	answer = r.judgeAccess(t, by, received, answer)
	returned(answer)
	return answer.Outcome
}

// spelled returns a nick in one of the spellings that count as the same.
func spelled(random *rand.Rand, nick string) string {
	return pick(random, nick, nick, strings.ToUpper(nick), " "+nick)
}

// response is a response of the API.
type response struct {
	status   int
	header   http.Header
	body     []byte
	byServer bool // the shop's server sent the request
}

func (r response) String() string { return fmt.Sprintf("%d %v %s", r.status, r.header, r.body) }

// send sends a request about a voucher.
func (r *round) send(tb testing.TB, by caller, query, code, nick, key string) response {
	tb.Helper()
	request := testshop.Redemption(code, nick)
	request.Path += query
	request.Key = key
	return r.call(tb, by, request)
}

// call sends a request. After a 503 it waits as Retry-After says.
func (r *round) call(tb testing.TB, by caller, request testshop.Request) response {
	tb.Helper()
	request.Server = by.secret
	r.mu.Lock()
	inFlight := r.inFlight
	inFlight.Add(1)
	r.mu.Unlock()
	defer inFlight.Done()
	got := request.Send(tb.Context(), r.shop.API, r.shopID)
	r.count(&r.outcome.requests)
	if got.Code == http.StatusServiceUnavailable {
		time.Sleep(time.Second)
	}
	return response{got.Code, got.Header(), got.Body.Bytes(), by.secret != ""}
}

// redemptionAnswer is the body of a 200.
type redemptionAnswer struct{ ID, Status, Code, Nick, RedeemedAt string }

// judgeRedemption reads a response, and checks it against api/openapi.yaml.
func (r *round) judgeRedemption(t *target, a asked, got response) history.Answer {
	if got.status != http.StatusOK {
		return history.Answer{Outcome: r.judgeOther(t, got)}
	}
	var redemption redemptionAnswer
	if err := json.Unmarshal(got.body, &redemption); err != nil || redemption.ID == "" ||
		redemption.Status != "redeemed" ||
		redemption.Code != t.written || !strings.EqualFold(redemption.Nick, a.nick) || redemption.RedeemedAt == "" {
		r.violate("%s: want a redemption for %q, got %s", t.written, a.nick, got)
	}
	replayed, is := got.header["Idempotency-Replayed"]
	if is && !slices.Equal(replayed, []string{"true"}) {
		r.violate("%s: Idempotency-Replayed is present but not true: %s", t.written, got)
	}
	r.judgeBody(t, redemption.ID, got)
	if is {
		return history.Answer{Outcome: history.Replayed, ID: redemption.ID}
	}
	return history.Answer{Outcome: history.Redeemed, ID: redemption.ID}
}

// judgeBody checks that all responses with one ID have the same body.
func (r *round) judgeBody(t *target, id string, got response) {
	r.mu.Lock()
	first := r.bodies[id]
	if first == nil {
		first = &got
		r.bodies[id] = first
	}
	r.mu.Unlock()
	if !bytes.Equal(first.body, got.body) {
		r.violate("%s: two responses with the same ID have different bodies: %s and %s", t.written, first, got)
	}
}

func (r *round) judgeCheck(t *target, got response) history.Answer {
	if got.status != http.StatusOK {
		return history.Answer{Outcome: r.judgeOther(t, got)}
	}
	var redeemable redemptionAnswer
	if err := json.Unmarshal(got.body, &redeemable); err != nil || redeemable.Status != "redeemable" ||
		redeemable.Code != t.written || redeemable.ID != "" {
		r.violate("%s: wrong response to a check: %s", t.written, got)
	}
	return history.Answer{Outcome: history.Redeemable}
}

// judgeOther reads a response that is not 200. The response must be one of these:
//   - a 401
//   - the 409 of a redemption that was undone
//   - a refusal, which has a reason for the shop's server and looks the same for all strangers
//   - the function's own 503, with Retry-After; what the gateway itself responds for a function that died or timed out
//     is a violation
func (r *round) judgeOther(t *target, got response) history.Outcome {
	var problem struct{ Type, Reason string }
	if err := json.Unmarshal(got.body, &problem); err != nil {
		r.violate("%s: the response is not a problem, %v: %s", t.written, err, got)
	}
	requestID := got.header.Get("Request-Id")
	switch {
	case got.status == http.StatusUnauthorized && problem.Type == "urn:problem:shopfront:unauthorized" &&
		requestID != "" &&
		got.header.Get("Www-Authenticate") == "Bearer":
		return history.Denied
	case got.status == http.StatusConflict && problem.Type == "urn:problem:shopfront:redemption-undone" &&
		requestID != "":
		return history.Undone
	case got.status == http.StatusNotFound && problem.Type == "urn:problem:shopfront:voucher-not-found" &&
		requestID != "" &&
		got.byServer == (problem.Reason != ""):
		r.mu.Lock()
		r.outcome.row.Refusals++
		if r.notFound == nil && !got.byServer {
			r.notFound = &got
		}
		first := r.notFound
		r.mu.Unlock()
		if !got.byServer && (!bytes.Equal(first.body, got.body) ||
			!maps.EqualFunc(withoutID(first.header), withoutID(got.header), slices.Equal[[]string])) {
			r.violate("refusals can be distinguished: %s and %s", first, got)
		}
		return history.Refused
	case got.status == http.StatusServiceUnavailable && problem.Type == "urn:problem:shopfront:unavailable" &&
		requestID != "" &&
		got.header.Get("Retry-After") != "":
	default:
		r.violate("%s: undocumented response %s", t.written, got)
	}
	r.count(&r.outcome.row.Unknown)
	return history.Unknown
}

// withoutID returns the header without the two fields that hold the request's ID.
func withoutID(header http.Header) http.Header {
	header = header.Clone()
	header.Del("Request-Id")
	header.Del("Apigw-Requestid")
	return header
}

// watchLog reports log lines that contain a code, a nick, an idempotency key or a key of the shop's server.
func (r *round) watchLog(_, line string) {
	logged := strings.ToLower(withoutRequestID(line))
	for _, secret := range append(nicks(), "spring-20", "spring20", "basket-", "sf_") {
		if strings.Contains(logged, secret) {
			r.violate("a log line contains a secret: %s", line)
		}
	}
}

// withoutRequestID returns a log line without the request's ID. The ID is random, so it spells a nick about once in a
// million lines.
func withoutRequestID(line string) string {
	var record map[string]any
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		return line
	}
	delete(record, "requestId")
	left, err := json.Marshal(record)
	if err != nil {
		return line
	}
	return string(left)
}
