package operator

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// editWriters is how many vouchers are edited or read again at a time.
const editWriters = 16

// Generator returns a generator of vouchers of this shop; random must be of cryptographic quality.
func (s *Shop) Generator(random io.Reader, now func() time.Time) voucher.Generator {
	return voucher.Generator{Store: batchStore{s.vouchers}, Random: random, Now: now}
}

// batchStore is a voucher.BatchStore.
type batchStore struct{ *backoffice.Vouchers }

func (s batchStore) Batch(ctx context.Context, customer catalog.CustomerID, batch string) iter.Seq2[voucher.Voucher, error] {
	return func(yield func(voucher.Voucher, error) bool) {
		for entry, err := range s.Entries(ctx, customer, "") {
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
	Vouchers int // in the batch
	Switched int // by this call; the others were switched before, or were not reached
}

// SwitchBatch disables or enables all vouchers of a batch, or returns voucher.ErrBatchUnknown if the batch has none. It calls
// begin with the number of vouchers to write, and wrote after each. If it ends early, calling it again completes it. A voucher
// that joins the batch during the call is not switched.
//
// Vouchers that already were switched are written, too, after the others: that gives them a new version. A write of an interrupted
// earlier call that is still in flight can then no longer undo this call, because that write is conditional on the old version.
func (s *Shop) SwitchBatch(ctx context.Context, batch string, disabled bool, begin func(count int), wrote func()) (BatchSwitch, error) {
	var result BatchSwitch
	var others, already []voucher.Code
	for v, err := range (batchStore{s.vouchers}).Batch(ctx, s.Customer.ID, batch) {
		if err != nil {
			return BatchSwitch{}, err
		}
		result.Vouchers++
		if v.Disabled == disabled {
			already = append(already, v.Code)
		} else {
			others = append(others, v.Code)
		}
	}
	if result.Vouchers == 0 {
		return BatchSwitch{}, fmt.Errorf("batch %s: %w", batch, voucher.ErrBatchUnknown)
	}
	begin(result.Vouchers)
	var mu sync.Mutex
	write := func(codes []voucher.Code, written *int) error {
		return each(ctx, codes, func(ctx context.Context, code voucher.Code) error {
			if _, err := s.vouchers.Edit(ctx, s.Customer.ID, code, voucher.Edit{Disabled: &disabled}); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			*written++
			wrote()
			return nil
		})
	}
	err := write(others, &result.Switched)
	if err == nil {
		err = write(already, new(int))
	}
	return result, err
}

// each calls do for each code, several at a time, until the first error or the end of the context.
func each(ctx context.Context, codes []voucher.Code, do func(context.Context, voucher.Code) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(editWriters)
	for _, code := range codes {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error { return do(groupCtx, code) })
	}
	return cmp.Or(group.Wait(), context.Cause(ctx))
}
