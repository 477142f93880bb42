package operator

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// Generator returns a generator of vouchers for this shop. random must be of cryptographic quality. Of the functions in bulk, the generator
// calls only Slow.
func (s *Shop) Generator(random io.Reader, now func() time.Time, bulk Bulk) voucher.Generator {
	return voucher.Generator{Store: batchStore{s, bulk}, Random: random, Now: now}
}

// batchStore implements voucher.BatchStore for a shop.
type batchStore struct {
	shop *Shop
	bulk Bulk
}

// Create implements voucher.BatchStore.
func (s batchStore) Create(ctx context.Context, customer catalog.CustomerID, v voucher.Voucher) error {
	return s.shop.vouchers.Create(ctx, customer, v)
}

// InParallel implements voucher.BatchStore.
func (s batchStore) InParallel(ctx context.Context, count int, do func(context.Context) error) error {
	times := func(yield func(int, error) bool) {
		for n := range count {
			if !yield(n, nil) {
				return
			}
		}
	}
	return inParallel(ctx, s.shop.pace(s.bulk), times, func(ctx context.Context, _ int) error { return do(ctx) })
}

// Batch implements voucher.BatchStore.
func (s batchStore) Batch(ctx context.Context, customer catalog.CustomerID, batch string) iter.Seq2[voucher.Voucher, error] {
	return func(yield func(voucher.Voucher, error) bool) {
		for entry, err := range s.shop.vouchers.Entries(ctx, customer, "") {
			if err != nil {
				yield(voucher.Voucher{}, err)
				return
			}
			if entry.Voucher != nil && entry.Voucher.Batch == batch && !yield(*entry.Voucher, nil) {
				return
			}
		}
	}
}

// BatchSwitch is the result of SwitchBatch.
type BatchSwitch struct {
	Vouchers int // how many vouchers are in the batch
	Switched int // how many this call switched; the others already were as wanted, or were not reached
}

// SwitchBatch disables or enables all vouchers of a batch. If the batch has no vouchers, it returns voucher.ErrBatchUnknown. It reads the
// batch twice, the first time only to count its vouchers. If SwitchBatch ends early, calling it again completes it. A voucher that joins
// the batch during the call may not be switched.
//
// SwitchBatch also writes vouchers that already are as wanted, which gives them a new version. A write of an interrupted earlier call may
// still be in flight. That write depends on the old version, so it can no longer undo this call.
func (s *Shop) SwitchBatch(ctx context.Context, batch string, disabled bool, bulk Bulk) (result BatchSwitch, err error) {
	var mu sync.Mutex
	result.Vouchers, err = s.eachOf(ctx, batch, bulk, func(ctx context.Context, v voucher.Voucher) error {
		_, err := s.vouchers.EditRead(ctx, s.Customer.ID, v, voucher.Edit{Disabled: &disabled})
		if _, deleted := voucher.IsRefusal(err); err != nil && !deleted {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if v.Disabled != disabled {
			result.Switched++
		}
		bulk.wrote()
		return nil
	})
	return result, err
}

// eachOf counts the vouchers of a batch. If the batch has no vouchers, it returns voucher.ErrBatchUnknown. Then it reads the vouchers
// again, and calls the function do for each of them, several at a time.
func (s *Shop) eachOf(ctx context.Context, batch string, bulk Bulk, do func(context.Context, voucher.Voucher) error) (count int, err error) {
	if count, err = s.CountBatch(ctx, batch); err != nil {
		return 0, err
	}
	bulk.begin(count)
	return count, inParallel(ctx, s.pace(bulk), batchStore{s, bulk}.Batch(ctx, s.Customer.ID, batch), do)
}

func batchUnknown(batch string) error {
	return fmt.Errorf("batch %s: %w", batch, voucher.ErrBatchUnknown)
}

// pace returns the pace for one run of a command.
func (s *Shop) pace(bulk Bulk) *pace { return newPace(s.throttled.Load, bulk.Slow) }
