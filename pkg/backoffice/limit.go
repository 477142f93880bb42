package backoffice

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// moveLimit changes the limit of a voucher with counters while it is being redeemed.
//
// First moveLimit takes the next version of the voucher and stores the new limit as AttrEditing. Then it fences every
// counter: it writes that version to the counter, so that an older edit can no longer write the counter. From then on
// no other edit changes how many uses the counter has, left and taken together. To raise the limit, moveLimit adds uses
// to the counters. To lower the limit, it removes uses that the counters have left. Last, it writes the limit to the
// voucher, in another new version. With the limit it writes AttrOver: how many uses it could not remove, because no
// counter had any left. The new version ends AttrFullUntil: a request that found all counters empty earlier can no
// longer mark the voucher as full. begun reports whether the new limit was stored as AttrEditing.
//
// If a use came back or was dropped since the first write, the edit starts over. Otherwise a use that came back could
// stay in a counter above the new limit, or AttrOver could still count a use that was dropped.
func (s *Shop) moveLimit(
	ctx context.Context, before table.Voucher, edit voucher.Edit,
) (moved voucher.Voucher, begun bool, err error) {
	editor := s.random(math.MaxInt64) // distinguishes this edit from others
	mine := func(stored table.Voucher) bool { return stored.Editor == editor }
	marked, err := s.commitLimit(ctx, before, edit, mine, func(before, after voucher.Voucher) *table.Update {
		begin := s.editing(before)
		begin.Set(table.AttrEditing, table.Num(after.MaxUses))
		begin.Set(table.AttrEditor, table.Num(editor))
		return begin
	})
	if err != nil {
		return voucher.Voucher{}, false, err
	}
	over, err := s.moveCounters(ctx, marked.Voucher, int(marked.Editing))
	if err != nil {
		return voucher.Voucher{}, true, err
	}
	// An edit of another field takes a version too, but does not change AttrEditor or AttrEditing.
	ended := func(stored table.Voucher) bool { return mine(stored) && stored.Editing == voucher.NoLimit }
	written, err := s.commitLimit(ctx, marked, edit, ended, func(before, after voucher.Voucher) *table.Update {
		end := s.editing(before)
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

// commitLimit sends the first or the last write of an edit of the limit. If an edit of other fields overtakes this
// write, commitLimit repeats only the write, without a bound on attempts. Otherwise frequent edits of other fields,
// such as notes, could keep the edit of the limit from ever ending.
func (s *Shop) commitLimit(
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

// moveCounters fences the counters and changes the sum of their uses to the limit. It returns by how much the uses
// taken exceed the limit.
func (s *Shop) moveCounters(ctx context.Context, v voucher.Voucher, limit int) (over int, err error) {
	counters := make([]table.Counter, v.Counters)
	total := 0
	for number := range counters {
		fenced, err := s.fence(ctx, v.Code, number, v.Version)
		if err != nil {
			return 0, err
		}
		counters[number] = fenced
		total += fenced.Left + fenced.Used
	}
	if total <= limit {
		return 0, s.raise(ctx, v.Code, counters, limit-total)
	}
	return s.lower(ctx, v.Code, counters, total-limit)
}

// writesPerEdit separates the versions that different edits give to a counter. A counter's version is the version of
// the edit that fenced it, times writesPerEdit, plus the number of writes by that edit since then. A retry recognizes
// its own write by the counter's version.
const writesPerEdit = 1 << 20

// fence sets a counter's version to that of an edit. If a later edit has fenced the counter, the error is
// errEditedMeanwhile.
func (s *Shop) fence(ctx context.Context, code voucher.Code, number int, edit int64) (table.Counter, error) {
	call := table.Update{Key: table.CounterKey(s.Profile.ID, code, number)}
	call.Set(table.AttrVersion, table.Num(edit*writesPerEdit))
	call.Require("#version <= " + table.Placeholder(call.Alias(table.AttrVersion)))
	out, err := s.api.UpdateItem(ctx, call.Input(s.Tables.Vouchers, types.ReturnValueAllNew))
	if _, failed := table.OldItem(err); failed {
		return table.Counter{}, errEditedMeanwhile
	}
	if err != nil {
		return table.Counter{}, err
	}
	return table.DecodeCounter(number, out.Attributes), nil
}

func (s *Shop) raise(ctx context.Context, code voucher.Code, counters []table.Counter, by int) error {
	for number, counter := range counters {
		more := share(by, len(counters), number)
		if more == 0 {
			continue
		}
		_, done, err := s.move(ctx, code, counter, more)
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("raise counter %d: %w", number, errEditedMeanwhile)
		}
	}
	return nil
}

// lower removes uses that the counters have left, until it has removed enough or no use is left. Redemptions continue
// meanwhile. If a counter has fewer uses left than were read, the failed condition returns how many are left, and lower
// tries to remove half of them. If it tried to remove all, redemptions of a busy code could make every attempt fail.
// remainder is how many uses lower could not remove.
func (s *Shop) lower(
	ctx context.Context, code voucher.Code, counters []table.Counter, by int,
) (remainder int, err error) {
	for _, counter := range counters {
		want := min(counter.Left, by)
		for want > 0 {
			moved, done, err := s.move(ctx, code, counter, -want)
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

// move tries once to change the uses left in a counter. It returns the counter as it is stored afterwards, and whether
// the change was made.
func (s *Shop) move(
	ctx context.Context, code voucher.Code, counter table.Counter, by int,
) (moved table.Counter, done bool, err error) {
	next := counter.Version + 1
	call := table.Update{Key: table.CounterKey(s.Profile.ID, code, counter.Number)}
	call.Add(table.AttrLeft, by)
	call.Set(table.AttrVersion, table.Num(next))
	call.Require("#version = :version AND #left >= :least")
	call.Value(":version", table.Num(counter.Version))
	call.Value(":least", table.Num(max(-by, 0)))
	out, err := s.api.UpdateItem(ctx, call.Input(s.Tables.Vouchers, types.ReturnValueAllNew))
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
