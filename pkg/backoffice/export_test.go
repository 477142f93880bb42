package backoffice

import (
	"context"

	"shopfront/pkg/voucher"
)

// StoredVoucher reads a voucher without its counters.
func (s *Shop) StoredVoucher(ctx context.Context, code voucher.Code) (voucher.Voucher, error) {
	return s.voucher(ctx, code)
}

// StoredItems returns all items that are stored under a code, without the version of the voucher, which any edit
// changes. If the code is empty, it returns the items of all codes.
func (s *Shop) StoredItems(ctx context.Context, code voucher.Code) ([]any, error) {
	var stored []any
	for item, err := range s.entries(ctx, code) {
		if err != nil {
			return nil, err
		}
		if item.voucher != nil {
			item.voucher.Version = 0
		}
		stored = append(stored, item)
	}
	return stored, nil
}

// EditRead is editRead.
func (s *Shop) EditRead(ctx context.Context, read voucher.Voucher, edit voucher.Edit) (voucher.Voucher, error) {
	return s.editRead(ctx, read, edit)
}

// DeleteUnused is deleteUnused.
func (s *Shop) DeleteUnused(ctx context.Context, read voucher.Voucher) error {
	return s.deleteUnused(ctx, read)
}

// EachAccount calls a function with the number of items of each account.
func (s *Shop) EachAccount(ctx context.Context, do func(items int)) error {
	for account, err := range s.accounts(ctx) {
		if err != nil {
			return err
		}
		do(account.Items)
	}
	return nil
}
