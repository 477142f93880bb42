package backoffice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// RulesAge is how long after an edit of a voucher requests may begin that do not follow the edit.
const RulesAge = dynamo.RulesAge

// Draining is how long deleting waits after it has disabled a code with many uses. Functions that serve requests run
// for at most 10 seconds (template.yaml, Timeout). So by the end of Draining, every request has ended that began before
// RulesAge was over.
const Draining = RulesAge + 15*time.Second

// Deletion says how to delete vouchers.
type Deletion struct {
	Bulk

	Wait func(ctx context.Context, delay time.Duration) error // must return after the delay, which is Draining
}

// BatchDeletion is the result of DeleteBatch.
type BatchDeletion struct {
	Vouchers int // how many vouchers are in the batch
	Deleted  int
	Kept     int // how many were kept because they were redeemed or held
}

// DeleteVoucher deletes a voucher that was never redeemed or held, and returns it. Errors are voucher.ErrUsed,
// voucher.ErrEdited, and a *voucher.RefusalError for an unknown code. An unused code with many uses is disabled first.
// If the call is interrupted, the code stays disabled. If somebody edits the voucher meanwhile, it stays as edited.
func (s *Shop) DeleteVoucher(ctx context.Context, code voucher.Code, how Deletion) (voucher.Voucher, error) {
	v, err := s.voucher(ctx, code)
	if err != nil {
		return voucher.Voucher{}, err
	}
	d := &deleting{shop: s, Deletion: how}
	if err := d.begin(ctx, v); err != nil {
		return v, err
	}
	if err := d.finish(ctx); err != nil {
		return v, err
	}
	if d.deleted == 0 {
		return v, voucher.ErrUsed
	}
	return v, nil
}

// DeleteBatch deletes the vouchers of a batch that were never redeemed or held, and keeps the others. If the batch has
// no vouchers, it returns voucher.ErrBatchUnknown. If somebody edits one of the vouchers meanwhile, DeleteBatch goes on
// with the others and then returns voucher.ErrEdited. If DeleteBatch ends early, calling it again completes it.
func (s *Shop) DeleteBatch(ctx context.Context, batch string, how Deletion) (BatchDeletion, error) {
	d := &deleting{shop: s, Deletion: how}
	count, err := s.eachOf(ctx, batch, how.Bulk, d.begin)
	if err == nil {
		err = d.finish(ctx)
	}
	return BatchDeletion{Vouchers: count, Deleted: d.deleted, Kept: d.kept}, err
}

// deleting is one run of a deletion.
type deleting struct {
	Deletion

	shop *Shop

	mu            sync.Mutex // guards the fields below
	deleted, kept int
	edited        error             // names one of the vouchers that somebody edited meanwhile; nil: nobody edited any
	disabled      []disabledVoucher // codes with many uses, which are deleted after Draining
}

// disabledVoucher is a voucher that was disabled in order to delete it.
type disabledVoucher struct {
	voucher.Voucher

	wasEnabled bool
}

// begin deletes a single-use voucher. It only disables a voucher with many uses, because a request in flight may
// already have read the voucher. Such a request may record a redemption that no condition of the deletion sees.
func (d *deleting) begin(ctx context.Context, v voucher.Voucher) error {
	if v.SingleUse() {
		return d.deletedOr(d.shop.deleteUnused(ctx, v), v)
	}
	// a code in use must not be disabled, not even for a short time
	if err := d.shop.requireUnused(ctx, v.Code); err != nil {
		return d.deletedOr(err, v)
	}
	after, err := d.shop.EditVoucher(ctx, v.Code, voucher.Edit{Disabled: new(true)})
	if _, gone := voucher.IsRefusal(err); gone {
		return d.deletedOr(nil, v)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.disabled = append(d.disabled, disabledVoucher{after, !v.Disabled})
	return nil
}

// finish waits, and then deletes each voucher in d.disabled. If such a voucher was used meanwhile, finish keeps it. If
// the voucher was enabled before the deletion, finish enables it again. If somebody edited a voucher meanwhile, finish
// returns d.edited.
func (d *deleting) finish(ctx context.Context) error {
	if len(d.disabled) == 0 {
		return d.edited
	}
	if err := d.Wait(ctx, Draining); err != nil {
		return err
	}
	inCheckouts, err := d.shop.codesInCheckouts(ctx)
	if err != nil {
		return err
	}
	for _, v := range d.disabled {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := d.deleteDisabled(ctx, v, inCheckouts[v.Code]); err != nil {
			return err
		}
	}
	return d.edited
}

// deleteDisabled deletes a voucher of d.disabled, or keeps it if it was used.
func (d *deleting) deleteDisabled(ctx context.Context, v disabledVoucher, inCheckout bool) error {
	err := voucher.ErrUsed
	if !inCheckout {
		if err = d.shop.requireUnused(ctx, v.Code); err == nil {
			err = d.shop.deleteUnused(ctx, v.Voucher)
		}
	}
	if errors.Is(err, voucher.ErrUsed) && v.wasEnabled {
		err = cmp.Or(d.enable(ctx, v.Voucher), err)
	}
	return d.deletedOr(err, v.Voucher)
}

// enable enables a voucher again. It does not change an edited voucher, because another operator may want it disabled.
func (d *deleting) enable(ctx context.Context, v voucher.Voucher) error {
	now, err := d.shop.voucher(ctx, v.Code)
	if err != nil {
		return err
	}
	if now.Version != v.Version {
		return voucher.ErrEdited
	}
	_, err = d.shop.editRead(ctx, now, voucher.Edit{Disabled: new(false)})
	return err
}

// deletedOr counts a voucher as deleted if err is nil, and as kept if err is voucher.ErrUsed. If the voucher was
// edited, deletedOr only notes that, so that the run continues with the other vouchers. It returns any other error.
func (d *deleting) deletedOr(err error, v voucher.Voucher) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(err, voucher.ErrUsed):
		d.kept++
		d.wrote()
	case errors.Is(err, voucher.ErrEdited):
		d.edited = fmt.Errorf("voucher %s: %w", v.Written, err)
	case err != nil:
		return fmt.Errorf("voucher %s: %w", v.Written, err)
	default:
		d.deleted++
		d.wrote()
	}
	return nil
}

// codesInCheckouts returns the codes of all stored checkouts. If a code has neither a limit nor a limit per nick, only
// a checkout shows that the code is held.
func (s *Shop) codesInCheckouts(ctx context.Context) (map[voucher.Code]bool, error) {
	codes := make(map[voucher.Code]bool)
	for c, err := range s.allCheckouts(ctx) {
		if err != nil {
			return nil, err
		}
		if code, err := voucher.ParseCode(c.Code); err == nil {
			codes[code] = true
		}
	}
	return codes, nil
}
