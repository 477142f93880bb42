package torture

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/access"
)

// settings holds the rules of a shop. The rule strangers is for requests without a key, codes is for all codes, and
// batch is for the codes of launchBatch.
type settings struct{ strangers, codes, batch *rule }

const launchBatch = "launch"

func newSettings() settings {
	strangers := newRule("a stranger", true)
	strangers.repeat = true
	return settings{strangers, newRule("all codes", true), newRule("the batch", true)}
}

func (s settings) all() []*rule { return []*rule{s.strangers, s.codes, s.batch} }

// caller is who sends a request: a stranger or, with a key, the shop's server.
type caller struct {
	*rule

	secret string
}

func (r *round) stranger() caller { return caller{rule: r.settings.strangers} }

// someone draws who sends a request. Some of the keys are revoked.
func (r *round) someone(random *mathrand.Rand) caller {
	if keys := r.keys(); len(keys) > 0 && random.IntN(2) == 0 {
		return pick(random, keys...)
	}
	return r.stranger()
}

// prepareAccess prepares the commands for the settings, and creates two keys of the shop's server.
func (r *round) prepareAccess(tb testing.TB) {
	tb.Helper()
	shop := string(r.shopID)
	policies, verbs := map[bool]string{true: "anyone", false: "server"}, map[bool]string{true: "resume", false: "pause"}
	for _, policy := range policies {
		text := testshop.Catalogue(r.shopID, noRefusals, "access: {redeem: "+policy+"}")
		if err := os.WriteFile(filepath.Join(r.shop.Dir, policy), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	r.settings.strangers.command = func(allow bool) []string { return []string{"catalog", "apply", policies[allow]} }
	r.settings.codes.command = func(allow bool) []string { return []string{"voucher", verbs[allow], shop} }
	r.settings.batch.command = func(allow bool) []string {
		return []string{
			"voucher", verbs[allow], shop, "--batch",
			launchBatch,
		}
	}
	r.createKey(tb)
	r.createKey(tb)
}

// createKey creates a key of the shop's server. No fault hits its calls.
func (r *round) createKey(tb testing.TB) {
	tb.Helper()
	key, _, err := r.calm.CreateKey(tb.Context(), "till", time.Time{}, rand.Reader, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	r.addKey(key, newRule("", true))
}

func (r *round) addKey(key access.Key, live *rule) {
	live.name = "key " + string(key.ID)
	live.command = func(bool) []string { return []string{"key", "revoke", string(r.shopID), string(key.ID)} }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created = append(r.created, caller{live, key.Secret()})
}

func (r *round) keys() []caller {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.created)
}

// judgeAccess judges a response by the rules that may have been in effect when the request was received. It returns the
// answer for the voucher's history. In that history, a request that had to be denied counts as denied, whatever its
// response says. So does a refusal for which a pause may be the reason.
func (r *round) judgeAccess(t *target, by caller, received time.Time, answer history.Answer) history.Answer {
	mayCall, mayBeDenied := by.judge(received)
	mayRedeem, mayBePaused := r.settings.codes.judge(received)
	if t.batch != "" {
		mayRedeemBatch, mayPauseBatch := r.settings.batch.judge(received)
		mayRedeem, mayBePaused = mayRedeem && mayRedeemBatch, mayBePaused || mayPauseBatch
	}
	outcome := answer.Outcome
	switch {
	case outcome == history.Denied && !mayBeDenied:
		r.breach("%s: %s got 401, but was allowed all the time", t.written, by.name)
	case outcome != history.Denied && outcome != history.Unknown && !mayCall:
		r.breach("%s: %s got %q more than %s after it was last allowed to call", t.written, by.name, outcome,
			TakesEffect)
	case (outcome == history.Redeemed || outcome == history.Redeemable) && !mayRedeem:
		r.breach("%s: %s got %q more than %s after the code was paused", t.written, by.name, outcome, TakesEffect)
	}
	denied := !mayCall || !mayRedeem && outcome != history.Replayed
	if denied && outcome != history.Unknown {
		r.count(&r.outcome.row.Injected)
	}
	if denied || outcome == history.Refused && mayBePaused {
		answer.Outcome = history.Denied
	}
	return answer
}

// supervise makes one change after another until the clients are done, and waits for each change to take effect.
func (s *staff) supervise(tb testing.TB, over <-chan struct{}, change func(testing.TB)) {
	tb.Helper()
	for {
		change(tb)
		select {
		case <-over:
			return
		case <-time.After(TakesEffect + time.Duration(s.random.IntN(1000))*time.Millisecond):
		}
	}
}

// changeSettings changes the policy or a pause, so that at most one of these rules denies at a time.
func (s *staff) changeSettings(tb testing.TB) {
	tb.Helper()
	changing := pick(s.random, s.settings.all()...)
	for _, other := range s.settings.all() {
		if allow, confirmed := other.last(); !allow || !confirmed {
			changing = other
		}
	}
	allow, confirmed := changing.last()
	if confirmed || !changing.repeat && s.random.IntN(2) == 0 {
		allow = !allow
	}
	s.tryChange(tb, changing, allow, s.patience())
}

// changeKeys creates a key, or revokes one.
func (s *staff) changeKeys(tb testing.TB) {
	tb.Helper()
	revocable := slices.DeleteFunc(s.keys(), func(c caller) bool {
		allow, confirmed := c.last()
		return !allow && confirmed
	})
	if len(revocable) > 1 && s.random.IntN(2) == 0 {
		s.tryChange(tb, pick(s.random, revocable...).rule, false, s.patience())
		return
	}
	live := newRule("", false)
	confirmed := live.change(true)
	if status, printed := s.run(tb, s.patience(), "key", "create", string(s.shopID), "--name", "till"); status == 0 {
		confirmed(time.Now())
		for word := range strings.FieldsSeq(printed) {
			if key, valid := access.ParseKey(word); valid {
				s.addKey(key, live)
			}
		}
	}
}

// tryChange runs shopctl, and reports whether the change is certainly applied.
func (r *round) tryChange(tb testing.TB, changing *rule, allow bool, patience time.Duration) bool {
	tb.Helper()
	confirmed := changing.change(allow)
	status, _ := r.run(tb, patience, changing.command(allow)...)
	if status == 0 {
		confirmed(time.Now())
	}
	return status == 0
}

// allowAgain lifts the policy that denies strangers, and all pauses. Then the overseer sends a check with each key.
func (r *round) allowAgain(tb testing.TB, random *mathrand.Rand) {
	tb.Helper()
	for _, denying := range r.settings.all() {
		for try := 0; !r.tryChange(tb, denying, true, 30*time.Second); try++ {
			if try == patienceOfOverseer {
				r.violate("the settings cannot be changed: %s", denying.name)
				return
			}
		}
	}
	time.Sleep(TakesEffect + time.Millisecond)
	for _, by := range r.keys() {
		r.check(tb, overseer, random, by, r.vouchers[0], "willow")
	}
}
