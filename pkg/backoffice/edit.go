package backoffice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// errEditedMeanwhile means that another edit overtook this one.
var errEditedMeanwhile = errors.New("another edit of the voucher is running or has just finished: look at the " +
	"voucher and run the edit again")

// errUseReturned means that a use came back to a counter, or was dropped, during an edit of the limit. EditVoucher
// starts over then, and returns this error after maxReturnAttempts.
var errUseReturned = errors.New("uses of the voucher keep coming back: run the edit again")

const (
	// maxEditAttempts bounds how often an edit starts over because another edit overtook it.
	maxEditAttempts = 5
	// maxReturnAttempts bounds how often an edit starts over because a use came back.
	maxReturnAttempts = 50
)

// EditVoucher changes a voucher and returns the result. The change applies to every request that begins after it has
// returned. For an unknown code, the error is a *voucher.RefusalError. For an edit that the rules do not allow, it is a
// *voucher.FieldError. After any other error a part of the edit may have been applied. Running the edit again completes
// it.
func (s *Shop) EditVoucher(ctx context.Context, code voucher.Code, edit voucher.Edit) (voucher.Voucher, error) {
	begun := false // whether an edit of the limit may have reached the counters
	overtaken := 0
	for attempt := 0; ; attempt++ {
		before, err := table.ReadVoucher(ctx, s.api, s.Tables.Vouchers, s.Profile.ID, code)
		if err != nil {
			return voucher.Voucher{}, table.Outcome(err)
		}
		after, err := before.Edited(edit)
		if err != nil && begun { // returning err would mean that nothing was changed
			return voucher.Voucher{}, fmt.Errorf("%w: %s", errEditedMeanwhile,
				strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if err != nil {
			return voucher.Voucher{}, err
		}
		after, marked, err := s.apply(ctx, before, after, edit)
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

// editRead is like EditVoucher, for a voucher that the caller has read. If nobody has edited the voucher since then,
// and the edit does not change the limit, editRead makes one call instead of two.
func (s *Shop) editRead(ctx context.Context, read voucher.Voucher, edit voucher.Edit) (voucher.Voucher, error) {
	after, err := read.Edited(edit)
	if err == nil && edit.MaxUses == nil {
		stored, err := s.writeEdited(ctx, read, after)
		if !errors.Is(err, errEditedMeanwhile) {
			return stored, table.Outcome(err)
		}
	}
	return s.EditVoucher(ctx, read.Code, edit)
}

// apply writes the voucher as it is after an edit. A new limit also changes the counters. begun reports whether
// counters may have been changed.
func (s *Shop) apply(
	ctx context.Context, before table.Voucher, after voucher.Voucher, edit voucher.Edit,
) (stored voucher.Voucher, begun bool, err error) {
	if edit.MaxUses != nil && after.Limited() {
		return s.moveLimit(ctx, before, edit)
	}
	stored, err = s.writeEdited(ctx, before.Voucher, after)
	return stored, false, err
}

// writeEdited writes an edited voucher. If the voucher no longer has the version that was read, the error is
// errEditedMeanwhile.
func (s *Shop) writeEdited(ctx context.Context, before, after voucher.Voucher) (voucher.Voucher, error) {
	after.Version = before.Version + 1
	call := s.editing(before)
	setEditable(call, after)
	if before.SingleUse() && after.Reward != before.Reward {
		keepReward(call, before.Redeemed)
	}
	stored, err := s.commitEdit(ctx, call, func(stored table.Voucher) bool { return sameTerms(stored.Voucher, after) })
	return stored.Voucher, err
}

// keepReward keeps what a single-use voucher gave, whose record may leave that to the voucher. The update fails if the
// voucher was redeemed, or its redemption undone, since it was read.
func keepReward(call *table.Update, redeemed *voucher.Redemption) {
	if redeemed == nil {
		call.RequireEqual(table.AttrUsed, nil)
		return
	}
	record := table.RecordPrefix + redeemed.ID
	call.Set(record, table.EncodeRecord(*redeemed))
	call.Require("attribute_exists(" + call.Alias(record) + ")")
}

// editing starts an update that gives a voucher its next version. The update fails if the voucher was edited, or
// deleted and created again, since it was read.
func (s *Shop) editing(before voucher.Voucher) *table.Update {
	call := &table.Update{Key: table.VoucherKey(s.Profile.ID, before.Code)}
	call.Require("#version = :version")
	call.Value(":version", table.Num(before.Version))
	call.RequireEqual(table.AttrCreated, table.Millis(before.Created))
	call.Set(table.AttrVersion, table.Num(before.Version+1))
	return call
}

func setEditable(call *table.Update, v voucher.Voucher) {
	attributes := table.EncodeEditable(v)
	for _, name := range []string{
		table.AttrReward, table.AttrCurrency, table.AttrFrom, table.AttrUntil, table.AttrDisabled, table.AttrPerNick,
		table.AttrNick, table.AttrNickHash, table.AttrBatch, table.AttrNote,
	} {
		if attributes.Has(name) {
			call.Set(name, attributes[name])
		} else {
			call.Remove(name)
		}
	}
}

// commitEdit sends the write of an edit and returns the voucher as it is stored afterwards. The condition also fails if
// an earlier attempt was applied and its response was lost. mine recognizes such an attempt by the stored voucher. If
// another edit was applied instead, the error is errEditedMeanwhile.
func (s *Shop) commitEdit(
	ctx context.Context, call *table.Update, mine func(table.Voucher) bool,
) (table.Voucher, error) {
	out, err := s.api.UpdateItem(ctx, call.Input(s.Tables.Vouchers, types.ReturnValueAllNew))
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
