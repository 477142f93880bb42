package torture

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/internal/torture/testshop"
)

// purchase is a checkout with a target's code.
type purchase struct {
	key, nick string
	replaces  *purchase // or nil
	abandoned bool      // the shopper does not pay in time
	first     time.Time // when it was first sent

	// The target's mu guards the following fields.
	id      string // empty while it is unknown
	expires time.Time
	paid    bool // an order was sent
}

// retriedFor is how long a checkout is retried. It is so short that the function receives even the last retry before
// the checkout expires. A retry with the key of an expired checkout would make a new checkout.
const retriedFor = checkoutLifetime - longestRequest - time.Second

// longestRequest is the longest time that a function takes for a request.
const longestRequest = 5 * time.Second

// till returns the shop's server. It checks out for the shoppers, because all shoppers have one address, and the holds
// of a stranger's address are limited.
func (r *round) till() caller { return r.keys()[0] }

// buy sends a request that checks out, orders, cancels or undoes. It returns false if it found nothing to do.
func (c *client) buy(tb testing.TB, t *target) bool {
	tb.Helper()
	lot := c.random.IntN(100)
	if lot < 40 && c.checkOut(tb, t) || lot < 70 && c.pay(tb, t) {
		return true
	}
	if p := t.purchase(c.random, func(p *purchase) bool { return p.paid || isMade(p) && lot < 72 }); p != nil &&
		lot < 80 {
		c.finish(tb, t, "cancel "+p.id, func() history.Outcome { return c.cancel(tb, c.number, t, p) })
		return true
	}
	if id, has := t.redemption(c.random); has && lot < 86 {
		c.finish(tb, t, "undo "+id, func() history.Outcome { return c.undo(tb, c.number, t, id) })
		return true
	}
	return false
}

// checkOut makes a checkout, or retries a checkout whose outcome is unknown.
func (c *client) checkOut(tb testing.TB, t *target) bool {
	tb.Helper()
	p := t.purchase(c.random, func(p *purchase) bool { return p.id == "" && time.Since(p.first) < retriedFor })
	if p == nil || c.random.IntN(2) == 0 {
		if time.Until(c.end) < longestRequest || !t.take(&t.holds) {
			return false
		}
		p = &purchase{
			key: fmt.Sprintf("basket-%016x", c.random.Uint64()), abandoned: c.random.IntN(3) == 0,
			first: time.Now(),
		}
		if t.perNick || c.random.IntN(3) > 0 {
			p.nick = pick(c.random, nicks()...)
		}
		if c.random.IntN(4) == 0 {
			if p.replaces = t.purchase(c.random, isMade); p.replaces != nil {
				p.nick = p.replaces.nick
			}
		}
		t.start(p)
	}
	for range 1 + c.random.IntN(3) {
		if c.open(tb, t, p) != history.Unknown || time.Since(p.first) >= retriedFor {
			break
		}
	}
	return true
}

func isMade(p *purchase) bool { return p.id != "" }

// pay orders a checkout. It may choose a checkout whose use is about to lapse. In that case, it waits for that moment,
// and orders the checkout or redeems the code.
func (c *client) pay(tb testing.TB, t *target) bool {
	tb.Helper()
	const soon = time.Second / 2
	p := t.purchase(c.random, func(p *purchase) bool {
		left := time.Until(p.expires)
		return isMade(p) && -usesFree < left && left < soon
	})
	if p != nil && c.random.IntN(2) == 0 {
		time.Sleep(time.Until(p.expires) + time.Duration(c.random.Int64N(int64(usesFree+usesFree/2))))
		if c.random.IntN(2) == 0 {
			c.requestVoucher(tb, t)
			return true
		}
	} else if p = t.purchase(c.random,
		func(p *purchase) bool { return isMade(p) && (!p.abandoned || time.Now().After(p.expires)) }); p == nil {
		return false
	}
	t.mu.Lock()
	p.paid = true
	t.mu.Unlock()
	c.finish(tb, t, "order "+p.id, func() history.Outcome { return c.order(tb, c.number, t, p) })
	return true
}

// finish sends a request that can be retried. If the outcome is unknown, it sends the request again, up to three times
// in all. If the outcome stays unknown, the overseer retries the request.
func (r *round) finish(tb testing.TB, t *target, what string, request func() history.Outcome) {
	tb.Helper()
	for range 3 {
		outcome := request()
		t.note(what, request, outcome)
		if outcome != history.Unknown || time.Now().After(r.end) {
			return
		}
	}
}

// open sends a checkout.
func (c *client) open(tb testing.TB, t *target, p *purchase) history.Outcome {
	tb.Helper()
	query := url.Values{"code": {t.typed(c.random)}}
	if p.nick != "" {
		query.Set("nick", spelled(c.random, p.nick))
	}
	asked := history.Operation{Client: c.number, Ask: history.AskHold, Nick: p.nick, Key: p.key}
	if p.replaces != nil {
		query.Set("replaces", p.replaces.id)
		asked.Of = p.replaces.key
	}
	returned := t.recorder.Call(asked)
	got := c.call(tb, c.till(), testshop.Request{
		Method: http.MethodGet, Path: "/checkout/coins/500?" + query.Encode(),
		Key: p.key,
	})
	answer := c.judgeCheckout(t, p, got)
	returned(answer)
	t.learnCheckout(p, answer)
	return answer.Outcome
}

func (r *round) judgeCheckout(t *target, p *purchase, got response) history.Answer {
	if got.status != http.StatusOK {
		return history.Answer{Outcome: r.judgeProblem(t, got, map[string]history.Outcome{
			"409 code-refused": history.Refused, "400 malformed-request": history.NotReplaceable,
			"422 idempotency-key-in-use": history.KeyInUse,
		})}
	}
	var made struct {
		ID, Status, Code, Nick string
		CreatedAt, ExpiresAt   time.Time
		Discount               struct{ Minor int64 }
	}
	err := json.Unmarshal(got.body, &made)
	if err != nil || made.ID == "" || made.Status != "open" || made.Code != t.written ||
		!strings.EqualFold(made.Nick, p.nick) ||
		made.ExpiresAt.Sub(made.CreatedAt) != checkoutLifetime || made.Discount.Minor != 99 { // 20 % of 4.99
		r.violate("%s: want an open checkout for %q, got %s", t.written, p.nick, got)
	}
	r.judgeBody(t, made.ID, got)
	outcome := history.Held
	if got.header.Get("Idempotency-Replayed") != "" {
		outcome = history.Replayed
	}
	return history.Answer{Outcome: outcome, ID: made.ID, Expires: made.ExpiresAt}
}

// order places the order of a checkout.
func (r *round) order(tb testing.TB, client int, t *target, p *purchase) history.Outcome {
	tb.Helper()
	return r.ask(tb, t, history.Operation{Client: client, Ask: history.AskOrder, Nick: p.nick, Key: p.key}, transition{
		// orders of several checkouts race for one payment, which verify sums up
		path: "/orders", body: fmt.Sprintf(`{"checkout":%q,"payment":{"provider":"stripe","reference":"pi_%.8s",`+
			`"amount":%d,"currency":"EUR"}}`, p.id, p.key, 1<<40),
		id: p.id, status: "placed", outcome: history.Ordered,
		problems: map[string]history.Outcome{
			"409 checkout-expired": history.Expired, "409 checkout-replaced": history.Replaced,
			"409 order-cancelled": history.Cancelled,
		},
	})
}

// cancel cancels the order of a checkout, if there is one.
func (r *round) cancel(tb testing.TB, client int, t *target, p *purchase) history.Outcome {
	tb.Helper()
	return r.ask(tb, t, history.Operation{Client: client, Ask: history.AskCancel, Nick: p.nick, Key: p.key}, transition{
		path: "/orders/" + p.id + "/cancel", body: `{"reason":"chargeback"}`,
		id: p.id, status: "cancelled", outcome: history.Cancelled,
		problems: map[string]history.Outcome{"404 not-found": history.NotOrdered},
	})
}

// undo undoes a redemption.
func (r *round) undo(tb testing.TB, client int, t *target, id string) history.Outcome {
	tb.Helper()
	return r.ask(tb, t, history.Operation{Client: client, Ask: history.AskUndo, Of: id}, transition{
		path: "/redemptions/" + id + "/undo", body: fmt.Sprintf(`{"code":%q,"reason":"granted twice"}`, t.written),
		id: id, status: "undone", outcome: history.Undone,
	})
}

// transition is a request that changes an order or a redemption. A response with status 200 must show the ID, the new
// status and the code. The field problems maps other responses to their outcomes.
type transition struct {
	path, body, id, status string
	outcome                history.Outcome // of a 200
	problems               map[string]history.Outcome
}

// ask sends a transition as the shop's server, and records its outcome.
func (r *round) ask(tb testing.TB, t *target, asked history.Operation, sent transition) history.Outcome {
	tb.Helper()
	returned := t.recorder.Call(asked)
	got := r.call(tb, r.till(), testshop.Request{Method: http.MethodPost, Path: sent.path, Body: sent.body})
	outcome := sent.outcome
	if got.status == http.StatusOK {
		var shown struct{ ID, Status, Code string }
		if err := json.Unmarshal(got.body, &shown); err != nil || shown.ID != sent.id || shown.Status != sent.status ||
			shown.Code != t.written {
			r.violate("%s: want %s with the status %s, got %s", t.written, sent.id, sent.status, got)
		}
	} else {
		outcome = r.judgeProblem(t, got, sent.problems)
	}
	returned(history.Answer{Outcome: outcome})
	return outcome
}

// judgeProblem reads a response to the shop's server that is not 200. The response must be one of the given problems,
// or a 503.
func (r *round) judgeProblem(t *target, got response, problems map[string]history.Outcome) history.Outcome {
	var problem struct{ Type, Reason, Parameter string }
	err := json.Unmarshal(got.body, &problem)
	name := strings.TrimPrefix(problem.Type, "urn:problem:shopfront:")
	outcome, is := problems[fmt.Sprint(got.status, " ", name)]
	if !is {
		if outcome = r.judgeOther(t, got); outcome == history.Unknown {
			return outcome
		}
	}
	if err != nil || !is || (outcome == history.Refused) != (problem.Reason != "") ||
		(outcome == history.NotReplaceable) != (problem.Parameter == "replaces") {
		r.violate("%s: wrong response %s", t.written, got)
	}
	if outcome == history.Refused {
		r.count(&r.outcome.row.Refusals)
	}
	return outcome
}

// purchase picks one of the target's checkouts that fit. It returns nil if no checkout fits.
func (t *target) purchase(random *rand.Rand, fits func(*purchase) bool) *purchase {
	t.mu.Lock()
	defer t.mu.Unlock()
	fit := slices.DeleteFunc(slices.Clone(t.purchases), func(p *purchase) bool { return !fits(p) })
	if len(fit) == 0 {
		return nil
	}
	return pick(random, fit...)
}

func (t *target) start(p *purchase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.purchases = append(t.purchases, p)
}

// learnCheckout records what a response says about a checkout.
func (t *target) learnCheckout(p *purchase, answer history.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answer.ID != "" && p.id == "" {
		p.id, p.expires = answer.ID, answer.Expires
	}
	t.lapsed = time.Now().Add(checkoutLifetime + usesFree)
}

// redemption picks a redemption to undo. From then on, a list may lack the redemption or have it twice, because undoing
// moves the item.
func (t *target) redemption(random *rand.Rand) (id string, has bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.redeemed) == 0 {
		return "", false
	}
	id = pick(random, t.redeemed...)
	t.undone[id] = true
	return id, true
}

// note records whether the overseer must retry a request.
func (t *target) note(what string, request func() history.Outcome, outcome history.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if outcome == history.Unknown {
		t.unfinished[what] = request
	} else {
		delete(t.unfinished, what)
	}
}

// finishAll retries the requests whose outcome is unknown, and waits until every hold has lapsed.
func (r *round) finishAll() {
	for _, t := range r.vouchers {
		for _, request := range t.unfinished { // no client is left
			r.insist(request)
		}
	}
	for _, t := range r.vouchers {
		time.Sleep(time.Until(t.lapsed))
	}
}

// isUndone reports whether somebody tried to undo a redemption.
func (t *target) isUndone(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undone[id]
}
