package operator

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// editWriters is how many vouchers of a batch are edited at a time.
const editWriters = 16

// Generator generates vouchers into the shop's store; random is of cryptographic quality.
func (s *Shop) Generator(random io.Reader, now func() time.Time) voucher.Generator {
	return voucher.Generator{Store: batchStore{s.vouchers}, Random: random, Now: now}
}

// batchStore is the store as generating sees it; it is a voucher.BatchStore.
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

// BatchSwitch tells what became of a batch's vouchers.
type BatchSwitch struct {
	Vouchers int // of the batch
	Switched int // of these, by this call; the others were so already, or are not reached yet
}

// SwitchBatch disables or enables all vouchers of a batch, or returns voucher.ErrBatchUnknown where there are none. begin
// is called with the number of those to switch, and switched after each. Where it ends early, it is completed by calling it
// again. A voucher that joins the batch meanwhile is not switched.
func (s *Shop) SwitchBatch(ctx context.Context, batch string, disabled bool, begin func(count int), switched func()) (BatchSwitch, error) {
	var result BatchSwitch
	var codes []voucher.Code
	for v, err := range (batchStore{s.vouchers}).Batch(ctx, s.Customer.ID, batch) {
		if err != nil {
			return BatchSwitch{}, err
		}
		result.Vouchers++
		if v.Disabled != disabled {
			codes = append(codes, v.Code)
		}
	}
	if result.Vouchers == 0 {
		return BatchSwitch{}, fmt.Errorf("batch %s: %w", batch, voucher.ErrBatchUnknown)
	}
	begin(len(codes))
	var mu sync.Mutex
	err := each(ctx, codes, func(ctx context.Context, code voucher.Code) error {
		if _, err := s.vouchers.Edit(ctx, s.Customer.ID, code, voucher.Edit{Disabled: &disabled}); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		result.Switched++
		switched()
		return nil
	})
	return result, err
}

// each calls do for each code, several at a time, until the first error.
func each(ctx context.Context, codes []voucher.Code, do func(context.Context, voucher.Code) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan voucher.Code)
	var writers sync.WaitGroup
	for range min(editWriters, len(codes)) {
		writers.Go(func() {
			for code := range next {
				if err := do(ctx, code); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, code := range codes {
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- code:
		case <-ctx.Done():
		}
	}
	close(next)
	writers.Wait()
	return context.Cause(ctx)
}
