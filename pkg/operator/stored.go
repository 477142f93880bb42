package operator

import (
	"context"
	"iter"

	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// storedEntry is an entry with the voucher that it belongs to.
type storedEntry struct {
	backoffice.Entry

	Of voucher.Voucher
}

// stored yields all entries in the order of the codes, and stops at the first error. If code is not empty, it yields only the entries of
// that code. The voucher is the first entry of its code. Entries without a voucher are left out. Redemptions, edits and deletions continue
// meanwhile. If the code is unknown, the list ends with a *voucher.RefusalError.
//
// The batch does not filter the entries. If a batch but no code is given, and the batch has no vouchers, the list ends with
// voucher.ErrBatchUnknown.
func (s *Shop) stored(ctx context.Context, code voucher.Code, batch string) iter.Seq2[storedEntry, error] {
	return func(yield func(storedEntry, error) bool) {
		codeFound, batchFound := code == "", batch == "" || code != ""
		for entry, err := range s.withVouchers(ctx, code) {
			if !yield(entry, err) || err != nil {
				return
			}
			codeFound, batchFound = true, batchFound || entry.Of.Batch == batch
		}
		if !codeFound {
			yield(storedEntry{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown})
		} else if !batchFound {
			yield(storedEntry{}, batchUnknown(batch))
		}
	}
}

// withVouchers yields the same entries as stored, but not the errors at the end.
func (s *Shop) withVouchers(ctx context.Context, code voucher.Code) iter.Seq2[storedEntry, error] {
	return func(yield func(storedEntry, error) bool) {
		var of voucher.Voucher
		var missing voucher.Code
		for entry, err := range s.vouchers.Entries(ctx, s.Customer.ID, code) {
			switch {
			case err != nil:
			case entry.Voucher != nil:
				of = *entry.Voucher
			case entry.Code == missing:
				continue
			case entry.Code != of.Code: // the voucher was created after its bucket was read
				var found voucher.Voucher
				found, err = s.vouchers.Voucher(ctx, s.Customer.ID, entry.Code)
				if _, unknown := voucher.IsRefusal(err); unknown {
					missing = entry.Code
					continue
				}
				of = found
				if err == nil && !yield(storedEntry{backoffice.Entry{Code: of.Code, Voucher: &of}, of}, nil) {
					return
				}
			}
			if !yield(storedEntry{entry, of}, err) || err != nil {
				return
			}
		}
	}
}

// Collect returns all elements of a list, or its error. Without an error the result is never nil.
func Collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for one, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
