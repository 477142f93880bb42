package torture

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
)

// discard deletes a voucher while two shoppers request it. If the outcome is unknown, it tries again, up to three times
// in all.
func (s *staff) discard(tb testing.TB, t *target) {
	tb.Helper()
	time.Sleep(time.Duration(s.random.IntN(1500)) * time.Millisecond)
	ctx, cancel := s.untilTheEnd(tb)
	defer cancel()
	var rush sync.WaitGroup
	defer rush.Wait()
	for range 2 {
		late := time.Duration(s.random.IntN(300)) * time.Millisecond
		shopper := &client{s.round, s.number, mathrand.New(mathrand.NewPCG(s.random.Uint64(), 0))} //nolint:gosec // repeatable, not secret
		rush.Go(func() {
			time.Sleep(late)
			shopper.requestVoucher(tb, t)
		})
	}
	for range 3 {
		shop, err := s.shop.Operator.Shop(ctx, s.shopID)
		if err == nil && s.tryDelete(ctx, s.number, t, shop, s.drain) != history.Unknown {
			return
		}
	}
}

// untilTheEnd returns a context that ends a second after the last request. The round completes unfinished work once the
// faults have ended.
func (s *staff) untilTheEnd(tb testing.TB) (context.Context, context.CancelFunc) {
	tb.Helper()
	return context.WithDeadline(tb.Context(), s.end.Add(time.Second))
}

// completeDeletion deletes a voucher if the outcome of an operator's deletion is unknown, or if no operator tried.
func (r *round) completeDeletion(tb testing.TB, t *target) {
	tb.Helper()
	if outcome := t.deletion; outcome == history.Unknown || outcome == "" {
		atOnce := func(context.Context, time.Duration) error { return nil } // no request is in flight any more
		r.insist(func() history.Outcome { return r.tryDelete(tb.Context(), overseer, t, r.calm, atOnce) })
	}
}

// tryDelete deletes a voucher. During the deletion, a code with many uses may be disabled. If the voucher was used, the
// deletion enables the code again.
func (r *round) tryDelete(
	ctx context.Context, number int, t *target, shop *backoffice.Shop, wait func(context.Context, time.Duration) error,
) history.Outcome {
	asked := history.Operation{Client: number, Ask: history.AskDelete}
	enabled := func(history.Answer) {}
	isFirst := t.deletion == ""
	if t.terms.MaxUses != 1 {
		asked.Edit.Disabled = new(true)
	}
	wasDisabled := t.terms.Disabled
	t.beginEdit(asked.Edit)
	returned := t.recorder.Call(asked)
	if isFirst && asked.Edit.Disabled != nil {
		enabled = t.recorder.Call(history.Operation{
			Client: number, Ask: history.AskEdit,
			Edit: history.Edit{Disabled: &wasDisabled},
		})
	}
	_, err := shop.DeleteVoucher(ctx, t.code, backoffice.Deletion{Wait: wait})
	t.deletion = history.Unknown
	if _, gone := voucher.IsRefusal(err); gone || err == nil {
		t.deletion, t.deleted = history.Deleted, true
	} else if errors.Is(err, voucher.ErrUsed) {
		t.deletion = history.WasUsed
	}
	returned(history.Answer{Outcome: t.deletion})
	if isFirst && t.deletion == history.WasUsed {
		enabled(history.Answer{Outcome: history.Done})
		t.beginEdit(history.Edit{Disabled: &wasDisabled})
		t.endEdit(asked.Edit)
	}
	r.count(&r.outcome.operations)
	return t.deletion
}

// drain replaces the wait of a deletion: it waits until no process remembers the code as it was, the requests in flight
// have ended, and their calls are applied.
func (r *round) drain(ctx context.Context, _ time.Duration) error {
	time.Sleep(RulesAge)
	r.draining.Lock()
	defer r.draining.Unlock()
	r.mu.Lock()
	before, delay := r.inFlight, r.outcome.plan.dials.Delay
	r.inFlight = new(sync.WaitGroup)
	r.mu.Unlock()
	before.Wait()
	time.Sleep(delay)
	return ctx.Err()
}

// takeBack undoes a redemption with shopctl.
func (s *staff) takeBack(tb testing.TB, t *target) {
	tb.Helper()
	id, has := t.redemption(s.random)
	if !has {
		return
	}
	s.finish(tb, t, "undo "+id, func() history.Outcome {
		returned := t.recorder.Call(history.Operation{Client: s.number, Ask: history.AskUndo, Of: id})
		outcome := history.Unknown
		status, _ := s.run(tb, s.patience(), "redemption", "undo", string(s.shopID), t.written, id, "--reason",
			"granted twice")
		if status == 0 {
			outcome = history.Undone
		}
		returned(history.Answer{Outcome: outcome})
		return outcome
	})
}

const soldHeader = "code,reward,max-uses,max-uses-per-nick,parts,batch,disabled,created_at,redeemed_at,redeemed_by,uses\n"

const (
	soldRows = 12
	soldAt   = "2026-02-03T11:00:00Z"
)

// drawSold draws a file of codes that another system sold. Of every three codes, the first is unused, the second was
// redeemed, and the third has a random number of its 8 uses taken.
func drawSold(random *mathrand.Rand) string {
	var file strings.Builder
	file.WriteString(soldHeader)
	for n := range soldRows / 3 {
		uses := random.IntN(9)
		fmt.Fprintf(
			&file, "SOLD-%d-A,20%%,,,,sold,,%[2]s,,,\nSOLD-%[1]d-B,20%%,,,,sold,,,%[2]s,Alder,\nSOLD-%[1]d-C,20%%,8,none,2,sold,,,,,%[3]d\n", n, soldAt, uses,
		)
	}
	return file.String()
}

// importSold imports the file four times. If a fault ends an import early, the next import completes it, or judgeSold
// does.
func (s *staff) importSold(tb testing.TB) {
	tb.Helper()
	ctx, cancel := s.untilTheEnd(tb)
	defer cancel()
	for range 4 {
		shop, err := s.shop.Operator.Shop(ctx, s.shopID)
		if err != nil {
			continue
		}
		hasty, cancel := context.WithTimeout(ctx, s.patience())
		result, err := s.importFile(hasty, shop, s.sold)
		cancel()
		if err == nil && (result.OtherTerms > 0 || result.Created+result.Existed != soldRows) {
			s.breach("an import has the result %+v; want all of %d codes", result, soldRows)
		}
	}
}

func (r *round) importFile(ctx context.Context, shop *backoffice.Shop, file string) (backoffice.ImportResult, error) {
	r.count(&r.outcome.operations)
	return shop.Import(ctx, strings.NewReader(file), backoffice.ImportOptions{
		Now: time.Now(), Random: rand.Reader, Reject: func(row csvfile.Row, err error) error {
			r.breach("an import rejects line %d: %v", row.Line, err)
			return nil
		},
	})
}

// judgeSold completes the import, and checks that each code has its earlier uses. Importing once more must change
// nothing.
func (r *round) judgeSold(tb testing.TB) {
	tb.Helper()
	for _, again := range []bool{false, true} {
		result, err := r.importFile(tb.Context(), r.calm, r.sold)
		if err != nil || result.Created+result.Existed != soldRows || again && result.Created > 0 {
			r.breach("an import after the round has the result %+v, %v; want all of %d codes, and no new codes "+
				"when it is repeated",
				result, err, soldRows)
		}
	}
	at, err := time.Parse(time.RFC3339, soldAt)
	if err != nil {
		tb.Fatal(err)
	}
	for standing, err := range r.calm.Vouchers(tb.Context(), backoffice.VoucherFilter{Batch: "sold"}, time.Now()) {
		if err != nil {
			tb.Fatal(err)
		}
		redeemed := standing.Redeemed
		wrong := standing.Used != standing.Imported
		switch standing.Written[len(standing.Written)-1] {
		case 'A':
			wrong = wrong || standing.Used != 0 || redeemed != nil || !standing.Created.Equal(at)
		case 'B':
			wrong = wrong || standing.Used != 1 || redeemed == nil || redeemed.Nick != "Alder" || !redeemed.At.Equal(at)
		default:
			wrong = wrong || !strings.Contains(r.sold,
				fmt.Sprintf("%s,20%%,8,none,2,sold,,,,,%d\n", standing.Written, standing.Used))
		}
		if wrong {
			r.breach("%s: its import does not match the file: %+v", standing.Written, standing)
		}
	}
}

// importOrder creates a voucher with uses that were made in another system.
func importOrder(ctx context.Context, shop *backoffice.Shop, terms voucher.Terms, uses int) error {
	redeemedAt := ""
	if *terms.MaxUses == 1 {
		redeemedAt = soldAt
	}
	limit := func(limit *voucher.Limit) string {
		switch {
		case limit == nil:
			return ""
		case *limit == voucher.NoLimit:
			return "none"
		default:
			return fmt.Sprint(*limit)
		}
	}
	parts := ""
	if terms.Parts != nil {
		parts = fmt.Sprint(*terms.Parts)
	}
	row := strings.Join([]string{
		terms.Written, terms.Reward.String(), limit(terms.MaxUses), limit(terms.MaxUsesPerNick), parts, terms.Batch,
		fmt.Sprint(terms.Disabled), "", redeemedAt, "", fmt.Sprint(uses),
	}, ",")
	result, err := shop.Import(ctx, strings.NewReader(soldHeader+row+"\n"), backoffice.ImportOptions{
		Now: time.Now(), Random: rand.Reader, Reject: func(_ csvfile.Row, err error) error { return err },
	})
	if err == nil && result.Created != 1 {
		err = fmt.Errorf("the import of a code has the result %+v", result)
	}
	return err
}
