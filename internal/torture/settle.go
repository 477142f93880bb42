package torture

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

// overseer is the client that finishes a round.
const overseer = clients + operators

// settle completes unfinished work without faults. It completes deletions and edits. It retries the redemptions with a
// key, the orders, the cancellations and the undos whose outcome is unknown. Then it waits until every hold has lapsed,
// and checks each voucher for a new nick: if a use is left, the voucher must be redeemable.
func (r *round) settle(tb testing.TB) {
	tb.Helper()
	r.shop.Store.Settle()
	random := rand.New(rand.NewPCG(0, 0)) //nolint:gosec // only for spellings
	if r.trial.access {
		r.allowAgain(tb, random)
	}
	for _, t := range r.vouchers {
		if t.doomed {
			r.completeDeletion(tb, t)
		}
		if !t.deleted && (t.terms.Disabled || t.pending != (history.Edit{})) {
			r.completeEdit(tb, t)
		}
		for _, a := range t.unsettled() {
			r.insist(func() history.Outcome { return r.redeem(tb, overseer, random, r.stranger(), t, a) })
		}
	}
	r.finishAll()
	for _, t := range r.vouchers {
		r.insist(func() history.Outcome { return r.check(tb, overseer, random, r.stranger(), t, "willow") })
	}
}

// patienceOfOverseer is how many attempts the overseer makes. It needs several, because a store with few units may
// still throttle.
const patienceOfOverseer = 20

// completeEdit retries edits with an unknown outcome until they are applied, and enables the voucher. It edits nothing
// else, because an edit could repair a fault that should be found.
func (r *round) completeEdit(tb testing.TB, t *target) {
	tb.Helper()
	edit := t.pending
	edit.Disabled = new(false)
	for range patienceOfOverseer {
		if r.tryEdit(tb, overseer, t, edit, 30*time.Second) {
			return
		}
	}
	r.violate("%s: the edit%s cannot be completed", t.written, edit)
}

// insist retries a request until its outcome is known.
func (r *round) insist(request func() history.Outcome) {
	for range patienceOfOverseer {
		if request() != history.Unknown {
			return
		}
	}
	r.violate("a request got 503 although the faults have ended")
}

// judge compares the responses with the stored redemptions, judges the import, and runs shopctl verify.
func (r *round) judge(tb testing.TB) {
	tb.Helper()
	recorded := r.recorded(tb)
	for _, t := range r.vouchers {
		r.judgeVoucher(tb, t, recorded[t.written])
	}
	r.judgeSold(tb)
	r.verify(tb.Context())
}

// verify runs shopctl verify over the shop. No edit is in flight any more.
func (r *round) verify(ctx context.Context) {
	status, printed := r.shopctl(ctx, "verify", string(r.shopID), "--json")
	var report struct{ Findings, InMotion []any }
	err := json.NewDecoder(strings.NewReader(printed)).Decode(&report) // after findings, shopctl also prints an error
	switch {
	case err == nil && len(report.Findings) > 0:
		r.breach("shopctl verify finds %s", printed)
	case err == nil && len(report.InMotion) > 0:
		r.violate("shopctl verify reports an edit in progress, but there is none: %s", printed)
	case err != nil || status != 0:
		r.violate("shopctl verify exited with status %d, %v: %s", status, err, printed)
	}
}

// recorded returns the stored redemptions by code. This list is also the last operation of each history.
func (r *round) recorded(tb testing.TB) map[string][]backoffice.Redemption {
	tb.Helper()
	returned := make(map[string]func(history.Answer))
	for _, t := range r.vouchers {
		returned[t.written] = t.recorder.Call(history.Operation{Client: overseer, Ask: history.AskList})
	}
	redemptions, err := backoffice.Collect(r.calm.Redemptions(tb.Context(), backoffice.RedemptionFilter{}))
	if err != nil {
		tb.Fatal(err)
	}
	recorded := make(map[string][]backoffice.Redemption)
	listed := make(map[string][]history.Redemption)
	for _, redemption := range redemptions {
		if redemption.Imported {
			continue
		}
		recorded[redemption.Code] = append(recorded[redemption.Code], redemption)
		if redemption.Undone.IsZero() {
			listed[redemption.Code] = append(listed[redemption.Code],
				history.Redemption{ID: redemption.ID, Nick: strings.ToLower(redemption.Nick)})
		}
	}
	for written, done := range returned {
		done(history.Answer{Outcome: history.Done, Listed: listed[written]})
	}
	r.outcome.row.Redemptions += len(redemptions)
	return recorded
}

// judgementTime bounds the judging of one history.
const judgementTime = 10 * time.Minute

func (r *round) judgeVoucher(tb testing.TB, t *target, recorded []backoffice.Redemption) {
	tb.Helper()
	r.judgeSums(tb.Context(), t, recorded)
	switch verdict, text := t.recorder.History().Judge(judgementTime); verdict {
	case history.Kept:
	case history.Broken:
		r.breach("%s: the history is %s (! marks what does not fit): %s", t.written, verdict, text)
	case history.Undecided:
		r.violate("%s: the history is %s after %s: %s", t.written, verdict, judgementTime, text)
	}
}

// judgeSums compares the voucher's sums with its stored redemptions. Its messages are easier to read than a history's.
func (r *round) judgeSums(ctx context.Context, t *target, recorded []backoffice.Redemption) {
	var ids []string
	used, byNick := 0, make(map[string]int)
	for _, redemption := range recorded {
		ids = append(ids, redemption.ID)
		if redemption.Undone.IsZero() {
			used++
			byNick[strings.ToLower(redemption.Nick)]++
		}
	}
	r.judgeIDs(t, "the records", ids, t.knownRedemptions())
	if most := t.greatest.MaxUses; most != history.None && used > most {
		r.breach("%s: redeemed %d times, but its limit was never above %d", t.written, used, most)
	}
	for nick, times := range byNick {
		if most := t.greatest.MaxUsesPerNick; most != history.None && times > most {
			r.breach("%s: redeemed %d times by %s, but the limit of a nick was never above %d", t.written, times, nick,
				most)
		}
	}
	r.judgeStanding(ctx, t, used+t.imported)
}

// judgeStanding checks that the voucher shows correctly how many uses are taken and left. A deleted voucher must be
// gone.
func (r *round) judgeStanding(ctx context.Context, t *target, used int) {
	standing, err := r.calm.Voucher(ctx, t.code, time.Now())
	if _, unknown := voucher.IsRefusal(err); t.deleted {
		if !unknown {
			r.breach("%s: was deleted, but reading it still succeeds, or fails with another error: %v", t.written, err)
		}
		return
	}
	if err != nil {
		r.violate("%s: the voucher cannot be read: %v", t.written, err)
		return
	}
	limit := t.terms.MaxUses
	if limit == history.None || t.pending.MaxUses != nil { // an edit that cannot be completed was already reported
		return
	}
	if standing.Used != used || standing.UsesLeft != max(0, limit-used) || standing.MaxUses != voucher.Limit(limit) {
		r.breach("%s: limit %d, %d redemptions on record; the voucher says %d used and %d left of %d",
			t.written, limit, used, standing.Used, standing.UsesLeft, standing.MaxUses)
	}
}
