package backoffice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/voucher"
)

// errEditedMeanwhile means that another edit overtook this one.
var errEditedMeanwhile = errors.New("another edit of the voucher is running or has just finished: look at the voucher and run the edit again")

// errUseReturned means that a use came back to a counter, or was dropped, during an edit of the limit. Edit starts over then, and returns
// this error after maxReturnAttempts.
var errUseReturned = errors.New("uses of the voucher keep coming back: run the edit again")

const (
	// maxEditAttempts bounds how often an edit starts over because another edit overtook it.
	maxEditAttempts = 5
	// maxReturnAttempts bounds how often an edit starts over because a use came back.
	maxReturnAttempts = 50
)

// Edit changes a voucher and returns the result. The change applies to every request that begins after Edit has returned. For an unknown
// code, the error is a *voucher.RefusalError. For an edit that the rules do not allow, it is a *voucher.FieldError. After any other error a
// part of the edit may have been applied. Running the edit again completes it.
func (s *Vouchers) Edit(ctx context.Context, customer catalog.CustomerID, code voucher.Code, edit voucher.Edit) (voucher.Voucher, error) {
	begun := false // whether an edit of the limit may have reached the counters
	overtaken := 0
	for attempt := 0; ; attempt++ {
		before, err := table.ReadVoucher(ctx, s.api, s.table, customer, code)
		if err != nil {
			return voucher.Voucher{}, table.Outcome(err)
		}
		after, err := before.Edited(edit)
		if err != nil && begun { // returning err would mean that nothing was changed
			return voucher.Voucher{}, fmt.Errorf("%w: %s", errEditedMeanwhile, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if err != nil {
			return voucher.Voucher{}, err
		}
		after, marked, err := s.apply(ctx, customer, before, after, edit)
		if err == nil {
			return after, nil
		}
		begun = begun || marked
		if errors.Is(err, errEditedMeanwhile) {
			overtaken++
		}
		again := errors.Is(err, errEditedMeanwhile) || errors.Is(err, errUseReturned)
		if !again || overtaken == maxEditAttempts || attempt == maxReturnAttempts {
			return voucher.Voucher{}, table.Outcome(err)
		}
		if err := table.Wait(ctx, table.Backoff(attempt, s.random)); err != nil {
			return voucher.Voucher{}, table.Outcome(err)
		}
	}
}

// EditRead is like Edit, for a voucher that the caller has read. If nobody has edited the voucher since then, and the edit does not change
// the limit, EditRead makes one call instead of two.
func (s *Vouchers) EditRead(ctx context.Context, customer catalog.CustomerID, read voucher.Voucher, edit voucher.Edit) (voucher.Voucher, error) {
	after, err := read.Edited(edit)
	if err == nil && edit.MaxUses == nil {
		stored, err := s.writeEdited(ctx, customer, read, after)
		if !errors.Is(err, errEditedMeanwhile) {
			return stored, table.Outcome(err)
		}
	}
	return s.Edit(ctx, customer, read.Code, edit)
}

// apply writes the voucher as it is after an edit. A new limit also changes the counters. begun reports whether counters may have been
// changed.
func (s *Vouchers) apply(
	ctx context.Context, customer catalog.CustomerID, before table.Voucher, after voucher.Voucher, edit voucher.Edit,
) (stored voucher.Voucher, begun bool, err error) {
	if edit.MaxUses != nil && after.Limited() {
		return s.moveLimit(ctx, customer, before, edit)
	}
	stored, err = s.writeEdited(ctx, customer, before.Voucher, after)
	return stored, false, err
}

// writeEdited writes an edited voucher. If the voucher no longer has the version that was read, the error is errEditedMeanwhile.
func (s *Vouchers) writeEdited(ctx context.Context, customer catalog.CustomerID, before, after voucher.Voucher) (voucher.Voucher, error) {
	after.Version = before.Version + 1
	call := editing(customer, before)
	setEditable(call, after)
	stored, err := s.commitEdit(ctx, call, func(stored table.Voucher) bool { return sameTerms(stored.Voucher, after) })
	return stored.Voucher, err
}

// editing starts an update that gives a voucher its next version. The update fails if the voucher was edited, or deleted and created again,
// since it was read.
func editing(customer catalog.CustomerID, before voucher.Voucher) *table.Update {
	call := &table.Update{Key: table.VoucherKey(customer, before.Code), Condition: "#version = :version"}
	call.Value(":version", table.Num(before.Version))
	call.RequireEqual(table.AttrCreated, table.Millis(before.Created))
	call.Set(table.AttrVersion, table.Num(before.Version+1))
	return call
}

func setEditable(call *table.Update, v voucher.Voucher) {
	attributes := table.EncodeEditable(v)
	for _, name := range []string{table.AttrFrom, table.AttrUntil, table.AttrDisabled, table.AttrPerNick, table.AttrNick, table.AttrNickHash, table.AttrBatch, table.AttrNote} {
		if attributes.Has(name) {
			call.Set(name, attributes[name])
		} else {
			call.Remove(name)
		}
	}
}

// commitEdit sends the write of an edit and returns the voucher as it is stored afterwards. The condition also fails if an earlier attempt
// was applied and its response was lost. mine recognizes such an attempt by the stored voucher. If another edit was applied instead, the
// error is errEditedMeanwhile.
func (s *Vouchers) commitEdit(ctx context.Context, call *table.Update, mine func(table.Voucher) bool) (table.Voucher, error) {
	out, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueAllNew))
	old, failed := table.OldItem(err)
	if failed && len(old) == 0 { // deleted meanwhile
		return table.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	if failed {
		stored, err := table.DecodeVoucher(old)
		if err == nil && !mine(stored) {
			err = errEditedMeanwhile
		}
		return stored, err
	}
	if err != nil {
		return table.Voucher{}, err
	}
	return table.DecodeVoucher(out.Attributes)
}

// sameTerms reports whether two vouchers are equal, except for the fields that redemptions and holds change.
func sameTerms(a, b voucher.Voucher) bool { return termsOf(a) == termsOf(b) }

func termsOf(v voucher.Voucher) voucher.Voucher {
	v.Redeemed, v.Held, v.Undone, v.Imported, v.FullUntil, v.Over, v.Returns = nil, nil, 0, 0, time.Time{}, 0, 0
	return v
}

// moveLimit changes the limit of a voucher with counters while it is being redeemed.
//
// First moveLimit takes the next version of the voucher and stores the new limit as AttrEditing. Then it fences every counter: it writes
// that version to the counter, so that an older edit can no longer write the counter. From then on no other edit changes how many uses the
// counter has, left and taken together. To raise the limit, moveLimit adds uses to the counters. To lower the limit, it removes uses that
// the counters have left. Last, it writes the limit to the voucher, in another new version. With the limit it writes AttrOver: how many
// uses it could not remove, because no counter had any left. The new version ends AttrFullUntil: a request that found all counters empty
// earlier can no longer mark the voucher as full. begun reports whether the new limit was stored as AttrEditing.
//
// If a use came back or was dropped since the first write, the edit starts over. Otherwise a use that came back could stay in a counter
// above the new limit, or AttrOver could still count a use that was dropped.
func (s *Vouchers) moveLimit(
	ctx context.Context, customer catalog.CustomerID, before table.Voucher, edit voucher.Edit,
) (moved voucher.Voucher, begun bool, err error) {
	editor := s.random(math.MaxInt64) // distinguishes this edit from others
	mine := func(stored table.Voucher) bool { return stored.Editor == editor }
	marked, err := s.commitLimit(ctx, before, edit, mine, func(before, after voucher.Voucher) *table.Update {
		begin := editing(customer, before)
		begin.Set(table.AttrEditing, table.Num(after.MaxUses))
		begin.Set(table.AttrEditor, table.Num(editor))
		return begin
	})
	if err != nil {
		return voucher.Voucher{}, false, err
	}
	over, err := s.moveCounters(ctx, customer, marked.Voucher, int(marked.Editing))
	if err != nil {
		return voucher.Voucher{}, true, err
	}
	// An edit of another field takes a version too, but does not change AttrEditor or AttrEditing.
	ended := func(stored table.Voucher) bool { return mine(stored) && stored.Editing == voucher.NoLimit }
	written, err := s.commitLimit(ctx, marked, edit, ended, func(before, after voucher.Voucher) *table.Update {
		end := editing(customer, before)
		setEditable(end, after)
		end.Set(table.AttrMaxUses, table.Num(after.MaxUses))
		end.Set(table.AttrOver, table.Num(over))
		for _, name := range []string{table.AttrEditing, table.AttrFullUntil, table.AttrFullVersion} {
			end.Remove(name)
		}
		end.RequireCount(table.AttrReturns, marked.Returns)
		return end
	})
	return written.Voucher, true, err
}

// commitLimit sends the first or the last write of an edit of the limit. If an edit of other fields overtakes this write, commitLimit
// repeats only the write, without a bound on attempts. Otherwise frequent edits of other fields, such as notes, could keep the edit of the
// limit from ever ending.
func (s *Vouchers) commitLimit(
	ctx context.Context, before table.Voucher, edit voucher.Edit, mine func(table.Voucher) bool,
	write func(before, after voucher.Voucher) *table.Update,
) (table.Voucher, error) {
	for {
		after, err := before.Edited(edit)
		if err != nil { // another edit made this one invalid; Edit starts over and reports why
			return table.Voucher{}, errEditedMeanwhile
		}
		stored, err := s.commitEdit(ctx, write(before.Voucher, after), mine)
		if !errors.Is(err, errEditedMeanwhile) || stored.Editor != before.Editor || stored.Editing != before.Editing {
			return stored, err
		}
		if stored.Version == before.Version { // the version matched, so the condition on AttrReturns failed
			return stored, errUseReturned
		}
		before = stored
	}
}

// moveCounters fences the counters and changes the sum of their uses to the limit. It returns by how much the uses taken exceed the limit.
func (s *Vouchers) moveCounters(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher, limit int) (over int, err error) {
	counters := make([]table.Counter, v.Counters)
	total := 0
	for number := range counters {
		fenced, err := s.fence(ctx, customer, v.Code, number, v.Version)
		if err != nil {
			return 0, err
		}
		counters[number] = fenced
		total += fenced.Left + fenced.Used
	}
	if total <= limit {
		return 0, s.raise(ctx, customer, v.Code, counters, limit-total)
	}
	return s.lower(ctx, customer, v.Code, counters, total-limit)
}

// writesPerEdit separates the versions that different edits give to a counter. A counter's version is the version of the edit that fenced
// it, times writesPerEdit, plus the number of writes by that edit since then. A retry recognizes its own write by the counter's version.
const writesPerEdit = 1 << 20

// fence sets a counter's version to that of an edit. If a later edit has fenced the counter, the error is errEditedMeanwhile.
func (s *Vouchers) fence(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, number int, edit int64,
) (table.Counter, error) {
	call := table.Update{Key: table.CounterKey(customer, code, number)}
	call.Set(table.AttrVersion, table.Num(edit*writesPerEdit))
	call.Condition = "#version <= " + table.Placeholder(call.Alias(table.AttrVersion))
	out, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueAllNew))
	if _, failed := table.OldItem(err); failed {
		return table.Counter{}, errEditedMeanwhile
	}
	if err != nil {
		return table.Counter{}, err
	}
	return table.DecodeCounter(number, out.Attributes), nil
}

func (s *Vouchers) raise(ctx context.Context, customer catalog.CustomerID, code voucher.Code, counters []table.Counter, by int) error {
	for number, counter := range counters {
		more := share(by, len(counters), number)
		if more == 0 {
			continue
		}
		_, done, err := s.move(ctx, customer, code, counter, more)
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("raise counter %d: %w", number, errEditedMeanwhile)
		}
	}
	return nil
}

// lower removes uses that the counters have left, until it has removed enough or no use is left. Redemptions continue meanwhile. If a
// counter has fewer uses left than were read, the failed condition returns how many are left, and lower tries to remove half of them. If it
// tried to remove all, redemptions of a busy code could make every attempt fail. remainder is how many uses lower could not remove.
func (s *Vouchers) lower(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, counters []table.Counter, by int,
) (remainder int, err error) {
	for _, counter := range counters {
		want := min(counter.Left, by)
		for want > 0 {
			moved, done, err := s.move(ctx, customer, code, counter, -want)
			if err != nil {
				return 0, err
			}
			counter = moved
			if done {
				by -= want
				want = min(counter.Left, by)
			} else {
				want = min((counter.Left+1)/2, by)
			}
		}
	}
	return by, nil
}

// move tries once to change the uses left in a counter. It returns the counter as it is stored afterwards, and whether the change was made.
func (s *Vouchers) move(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, counter table.Counter, by int,
) (moved table.Counter, done bool, err error) {
	next := counter.Version + 1
	call := table.Update{Key: table.CounterKey(customer, code, counter.Number)}
	call.Add(table.AttrLeft, by)
	call.Set(table.AttrVersion, table.Num(next))
	call.Condition = "#version = :version AND #left >= :least"
	call.Value(":version", table.Num(counter.Version))
	call.Value(":least", table.Num(max(-by, 0)))
	out, err := s.api.UpdateItem(ctx, call.Input(s.table, types.ReturnValueAllNew))
	if old, failed := table.OldItem(err); failed {
		moved = table.DecodeCounter(counter.Number, old)
		if moved.Version != next && moved.Version != counter.Version {
			return moved, false, errEditedMeanwhile
		}
		return moved, moved.Version == next, nil // if the version is next, an earlier attempt of this write was applied
	}
	if err != nil {
		return table.Counter{}, false, err
	}
	return table.DecodeCounter(counter.Number, out.Attributes), true, nil
}
