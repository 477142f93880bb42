package backoffice

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"shopfront/pkg/voucher"
)

// Generator returns a generator of vouchers for this shop. random must be of cryptographic quality. Of the functions in
// bulk, the generator calls only Slow.
func (s *Shop) Generator(random io.Reader, now func() time.Time, bulk Bulk) voucher.Generator {
	return voucher.Generator{Store: batchStore{s, bulk}, Random: random, Now: now}
}

// batchStore implements voucher.BatchStore for a shop.
type batchStore struct {
	*Shop

	bulk Bulk
}

// InParallel implements voucher.BatchStore.
func (s batchStore) InParallel(ctx context.Context, count int, do func(context.Context) error) error {
	return inParallel(ctx, s.pace(s.bulk), withoutErrors(make([]struct{}, count)),
		func(ctx context.Context, _ struct{}) error { return do(ctx) })
}

// Batch implements voucher.BatchStore.
func (s *Shop) Batch(ctx context.Context, batch string) iter.Seq2[voucher.Voucher, error] {
	return each(s.entries(ctx, ""), func(item entry) (v voucher.Voucher, picked bool) {
		if item.voucher != nil {
			v = *item.voucher
		}
		return v, item.voucher != nil && v.Batch == batch
	})
}

// CountBatch returns how many vouchers a batch has. If the batch has no vouchers, it returns voucher.ErrBatchUnknown.
func (s *Shop) CountBatch(ctx context.Context, batch string) (int, error) {
	count := 0
	for _, err := range s.Batch(ctx, batch) {
		if err != nil {
			return 0, err
		}
		count++
	}
	if count == 0 {
		return 0, batchUnknown(batch)
	}
	return count, nil
}

// BatchSwitch is the result of SwitchBatch.
type BatchSwitch struct {
	Vouchers int // how many vouchers are in the batch
	Switched int // how many this call switched; the others already were as wanted, or were not reached
}

// SwitchBatch disables or enables all vouchers of a batch. If the batch has no vouchers, it returns
// voucher.ErrBatchUnknown. It reads the batch twice, the first time only to count its vouchers. If SwitchBatch ends
// early, calling it again completes it. A voucher that joins the batch during the call may not be switched.
//
// SwitchBatch also writes vouchers that already are as wanted, which gives them a new version. A write of an
// interrupted earlier call may still be in flight. That write depends on the old version, so it can no longer undo this
// call.
func (s *Shop) SwitchBatch(ctx context.Context, batch string, disabled bool, bulk Bulk) (BatchSwitch, error) {
	var mu sync.Mutex
	switched := 0
	count, err := s.eachOf(ctx, batch, bulk, func(ctx context.Context, v voucher.Voucher) error {
		_, err := s.editRead(ctx, v, voucher.Edit{Disabled: &disabled})
		if _, deleted := voucher.IsRefusal(err); err != nil && !deleted {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if v.Disabled != disabled {
			switched++
		}
		bulk.wrote()
		return nil
	})
	return BatchSwitch{Vouchers: count, Switched: switched}, err
}

// eachOf counts the vouchers of a batch. If the batch has no vouchers, it returns voucher.ErrBatchUnknown. Then it
// reads the vouchers again, and calls the function do for each of them, several at a time.
func (s *Shop) eachOf(
	ctx context.Context, batch string, bulk Bulk, do func(context.Context, voucher.Voucher) error,
) (int, error) {
	count, err := s.CountBatch(ctx, batch)
	if err != nil {
		return 0, err
	}
	bulk.begin(count)
	return count, inParallel(ctx, s.pace(bulk), s.Batch(ctx, batch), do)
}

func batchUnknown(batch string) error {
	return fmt.Errorf("batch %s: %w", batch, voucher.ErrBatchUnknown)
}

// pace returns the pace for one run of a command.
func (s *Shop) pace(bulk Bulk) *pace { return newPace(s.throttled.Load, bulk.Slow) }
