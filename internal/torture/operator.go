package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/history"
	"shopfront/pkg/backoffice"
)

// staff is an operator who edits with shopctl, and sometimes kills it.
type staff struct {
	*round

	number int
	random *rand.Rand
}

// operate edits and lists until the clients are done.
func (s *staff) operate(tb testing.TB, over <-chan struct{}) {
	tb.Helper()
	for {
		t := pick(s.random, s.vouchers...)
		switch {
		case s.random.IntN(100) < cmp.Or(s.trial.lists, usualLists):
			s.list(tb, t)
		case s.trial.holds && s.random.IntN(8) == 0:
			s.takeBack(tb, t)
		case s.random.IntN(10) > 0 && t.editing.TryLock():
			s.edit(tb, t)
			t.editing.Unlock()
		default: // also while the other operator edits the same voucher
			s.annotate(tb, t)
		}
		select {
		case <-over:
			return
		case <-time.After(time.Duration(s.random.IntN(120))*time.Millisecond + s.trial.pause):
		}
	}
}

// edit changes one of the terms. If the outcome is unknown, it tries again, up to three times in all.
func (s *staff) edit(tb testing.TB, t *target) {
	tb.Helper()
	edit := s.drawEdit(t)
	for range 3 {
		if !t.take(&t.edits) || s.tryEdit(tb, s.number, t, edit, s.patience()) {
			return
		}
	}
}

// annotate edits the note. No redemption depends on it.
func (s *staff) annotate(tb testing.TB, t *target) {
	tb.Helper()
	arguments := []string{
		"voucher", "edit", string(s.shopID), t.written, "--note",
		fmt.Sprintf("looked at %d times", s.random.IntN(1000)),
	}
	if !t.doomed {
		s.run(tb, s.patience(), arguments...)
		return
	}
	ctx, cancel := context.WithTimeout(tb.Context(), s.patience())
	defer cancel()
	s.shopctl(ctx, arguments...) // is refused if the voucher is gone
}

// patience returns how long the operator waits before killing a command.
func (s *staff) patience() time.Duration {
	if s.random.IntN(6) == 0 {
		return time.Duration(10+s.random.IntN(200)) * time.Millisecond
	}
	return 3 * time.Second
}

func (s *staff) drawEdit(t *target) history.Edit {
	t.mu.Lock()
	defer t.mu.Unlock()
	edits := []history.Edit{{Disabled: new(!t.terms.Disabled)}}
	if limit := t.terms.MaxUses; limit > 1 {
		edits = append(edits, history.Edit{MaxUses: new(limit + 1 + s.random.IntN(4))},
			history.Edit{MaxUses: new(max(2, limit-1-s.random.IntN(6)))})
	}
	if t.terms.MaxUsesPerNick != history.None {
		edits = append(edits, history.Edit{MaxUsesPerNick: new(1 + s.random.IntN(3))})
	}
	if s.trial.holds && !t.terms.Disabled && len(edits) > 1 { // few edits disable it
		edits = append(edits, edits[1:]...)
		edits = append(edits, edits[1:]...)
	}
	if t.terms.Disabled { // most edits enable it again
		edits = append(edits, edits[0], edits[0], edits[0])
	}
	return pick(s.random, edits...)
}

// tryEdit runs shopctl, and reports whether the edit is certainly applied.
func (r *round) tryEdit(tb testing.TB, number int, t *target, edit history.Edit, patience time.Duration) bool {
	tb.Helper()
	t.beginEdit(edit)
	returned := t.recorder.Call(history.Operation{Client: number, Ask: history.AskEdit, Edit: edit})
	status, _ := r.run(tb, patience,
		append([]string{"voucher", "edit", string(r.shopID), t.written}, flags(edit)...)...)
	if status == 0 {
		returned(history.Answer{Outcome: history.Done})
		t.endEdit(edit)
	}
	return status == 0
}

// beginEdit records that an edit is about to be attempted.
func (t *target) beginEdit(edit history.Edit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if edit.Disabled != nil {
		t.pending.Disabled, t.terms.Disabled = edit.Disabled, *edit.Disabled
	}
	if edit.MaxUses != nil {
		t.pending.MaxUses, t.terms.MaxUses = edit.MaxUses, *edit.MaxUses
		t.greatest.MaxUses = max(t.greatest.MaxUses, *edit.MaxUses)
	}
	if edit.MaxUsesPerNick != nil {
		t.pending.MaxUsesPerNick, t.terms.MaxUsesPerNick = edit.MaxUsesPerNick, *edit.MaxUsesPerNick
		t.greatest.MaxUsesPerNick = max(t.greatest.MaxUsesPerNick, *edit.MaxUsesPerNick)
	}
}

// endEdit records that an edit is applied.
func (t *target) endEdit(edit history.Edit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if edit.Disabled != nil {
		t.pending.Disabled = nil
	}
	if edit.MaxUses != nil {
		t.pending.MaxUses = nil
	}
	if edit.MaxUsesPerNick != nil {
		t.pending.MaxUsesPerNick = nil
	}
}

func flags(edit history.Edit) []string {
	var flags []string
	if edit.MaxUses != nil {
		flags = append(flags, "--max-uses", strconv.Itoa(*edit.MaxUses))
	}
	if edit.MaxUsesPerNick != nil {
		flags = append(flags, "--max-uses-per-nick", strconv.Itoa(*edit.MaxUsesPerNick))
	}
	if edit.Disabled != nil {
		flags = append(flags, "--disabled="+strconv.FormatBool(*edit.Disabled))
	}
	return flags
}

// run runs shopctl, and kills it when the operator's patience ends. A command may fail while the store is hostile, but
// it must not be refused.
func (r *round) run(tb testing.TB, patience time.Duration, arguments ...string) (status int, printed string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	status, printed = r.shopctl(ctx, arguments...)
	if status > 1 {
		r.violate("shopctl %s exited with status %d: %s", strings.Join(arguments, " "), status, printed)
	}
	r.count(&r.outcome.operations)
	return status, printed
}

// killed is the exit status recorded for a command that was killed.
const killed = -1

// shopctl runs the operator's command against the hostile store.
func (r *round) shopctl(ctx context.Context, arguments ...string) (status int, printed string) {
	command := exec.CommandContext(ctx, r.programs.Shopctl(), append([]string{"--local"}, arguments...)...) //nolint:gosec // the program that the test built
	command.Dir = r.shop.Dir
	out, err := command.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		return killed, fmt.Sprintf("%v: %s", err, out)
	}
	return 0, string(out)
}

// list lists a voucher's redemptions while clients redeem it. Every redemption that was confirmed before must be
// listed, and no redemption may be listed twice.
func (s *staff) list(tb testing.TB, t *target) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
	defer cancel()
	known := t.knownRedemptions()
	listed, err := s.listed(ctx, t)
	if err != nil {
		return // the store is hostile, so a list may fail
	}
	var ids []string
	for _, redemption := range listed {
		if redemption.Imported || s.trial.holds && !slices.Contains(known, redemption.ID) || t.isUndone(redemption.ID) {
			continue // no client asked for it, or an undo or a cancellation may be moving it
		}
		ids = append(ids, redemption.ID)
		t.learn(asked{}, history.Answer{ID: redemption.ID, Outcome: history.Done})
	}
	s.judgeIDs(t, "a list made while clients redeem", ids, slices.DeleteFunc(known, t.isUndone))
}

// judgeIDs checks that a list of redemptions has no ID twice, and has all IDs that it must have.
func (r *round) judgeIDs(t *target, list string, ids, must []string) {
	slices.Sort(ids)
	if len(slices.Compact(slices.Clone(ids))) < len(ids) {
		r.breach("%s: a redemption is twice in %s: %v", t.written, list, ids)
	}
	for _, id := range must {
		if !slices.Contains(ids, id) {
			r.breach("%s: redemption %s is missing from %s: %v", t.written, id, list, ids)
		}
	}
}

func (s *staff) listed(ctx context.Context, t *target) ([]backoffice.Redemption, error) {
	s.count(&s.outcome.operations)
	shop, err := s.shop.Operator.Shop(ctx, s.shopID)
	if err != nil {
		return nil, err
	}
	return backoffice.Collect(shop.Redemptions(ctx, backoffice.RedemptionFilter{Code: t.code}))
}
