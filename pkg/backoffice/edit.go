package backoffice

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// errEditedMeanwhile means that another edit overtook this one.
var errEditedMeanwhile = errors.New("another edit of the voucher is running or has just finished: look at the " +
	"voucher and run the edit again")

// maxEditAttempts bounds how often an edit starts over because another edit overtook it.
const maxEditAttempts = 20

// EditVoucher changes a voucher and returns the result. Every request that begins after RulesAge follows the edit. For
// an unknown code, the error is a *voucher.RefusalError. For an edit that the rules do not allow, it is a
// *voucher.FieldError. After any other error a part of the edit may have been applied. Running the edit again completes
// it.
func (s *Shop) EditVoucher(ctx context.Context, code voucher.Code, edit voucher.Edit) (voucher.Voucher, error) {
	for attempt := 1; ; attempt++ {
		before, err := s.voucher(ctx, code)
		if err != nil {
			return voucher.Voucher{}, err
		}
		after, err := before.Edited(edit)
		if err != nil {
			return voucher.Voucher{}, err
		}
		after, err = s.writeEdited(ctx, before, after)
		if err == nil && (edit.MaxUses != nil || edit.Parts != nil) {
			err = s.settle(ctx, after)
		}
		if !errors.Is(err, errEditedMeanwhile) || attempt == maxEditAttempts {
			return after, table.Outcome(err)
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
	if err == nil && edit.MaxUses == nil && edit.Parts == nil {
		stored, err := s.writeEdited(ctx, read, after)
		if !errors.Is(err, errEditedMeanwhile) {
			return stored, table.Outcome(err)
		}
	}
	return s.EditVoucher(ctx, read.Code, edit)
}

// writeEdited writes an edited voucher in its next version. Another limit changes what is left by as much; below zero
// that is a debt, see table.Allowance. If the voucher was edited, or deleted and created again, since it was read, the
// error is errEditedMeanwhile. If an earlier attempt was applied and its response was lost, the stored voucher equals
// the edited one.
func (s *Shop) writeEdited(ctx context.Context, before, after voucher.Voucher) (voucher.Voucher, error) {
	if err := s.addParts(ctx, before, after.Parts); err != nil {
		return voucher.Voucher{}, err
	}
	after.Version = before.Version + 1
	call := &table.Update{Key: table.VoucherKey(s.Profile.ID, before.Code)}
	call.RequireEqual(table.AttrVersion, table.Num(before.Version))
	call.RequireEqual(table.AttrCreated, table.Millis(before.Created))
	call.Set(table.AttrVersion, table.Num(after.Version))
	if after.MaxUses != before.MaxUses {
		call.Set(table.AttrLimit, table.Num(after.MaxUses))
		call.Add(table.AttrLeft, int(after.MaxUses-before.MaxUses))
	}
	if after.Parts != before.Parts {
		call.Set(table.AttrParts, table.Num(after.Parts))
	}
	if after.Reward != before.Reward && before.SingleUse() {
		recordReward(call, before)
	}
	setEditable(call, after)
	out, err := s.api.UpdateItem(ctx, call.Input(s.Tables.Vouchers, types.ReturnValueAllNew))
	old, failed := table.OldItem(err)
	if failed && len(old) == 0 { // deleted meanwhile
		return voucher.Voucher{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
	}
	if err != nil && !failed {
		return voucher.Voucher{}, err
	}
	if !failed {
		old = out.Attributes
	}
	stored, err := table.DecodeVoucher(old)
	if err == nil && !sameTerms(stored.Voucher, after) {
		err = errEditedMeanwhile
	}
	return stored.Voucher, err
}

// recordReward adds to an edit of the reward that the redemption of a single-use code keeps the reward that it gave:
// its record may not say it, see table.EncodeRecord. If the code was redeemed or undone since it was read, the edit
// fails.
func recordReward(call *table.Update, before voucher.Voucher) {
	if r := before.Redeemed; r != nil {
		name := table.RecordPrefix + r.ID
		call.Set(name, table.EncodeRecord(*r))
		call.Require("attribute_exists(" + call.Alias(name) + ")")
		return
	}
	call.RequireEqual(table.AttrUsed, table.Num(0))
}

func setEditable(call *table.Update, v voucher.Voucher) {
	attributes := table.EncodeEditable(v)
	for _, name := range []string{
		table.AttrFrom, table.AttrUntil, table.AttrDisabled, table.AttrPerNick,
		table.AttrNick, table.AttrNickHash, table.AttrBatch, table.AttrNote, table.AttrReward, table.AttrCurrency,
	} {
		if attributes.Has(name) {
			call.Set(name, attributes[name])
		} else {
			call.Remove(name)
		}
	}
}

// sameTerms reports whether two vouchers are equal, except for the fields that redemptions change.
func sameTerms(a, b voucher.Voucher) bool { return termsOf(a) == termsOf(b) }

func termsOf(v voucher.Voucher) voucher.Voucher {
	v.Redeemed, v.Imported = nil, 0
	return v
}
