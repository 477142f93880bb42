package backoffice

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// entry is one item among a shop's vouchers. Only the fields for its kind of item are set.
type entry struct {
	code        voucher.Code
	of          voucher.Voucher // the voucher that the item belongs to; only stored sets it
	voucher     *voucher.Voucher
	allowance   table.Allowance // of the code: in the voucher, or in a part
	isPart      bool
	redemptions []voucher.Redemption
}

// stored yields the items of a shop's vouchers in the order of the codes, and stops at the first error. If code is not
// empty, it yields only the items of that code. The voucher is the first item of its code. Items without a voucher are
// left out. Redemptions, edits and deletions continue meanwhile. If the code is unknown, the list ends with a
// *voucher.RefusalError.
//
// The batch does not filter the items. If a batch but no code is given, and the batch has no vouchers, the list ends
// with voucher.ErrBatchUnknown.
func (s *Shop) stored(ctx context.Context, code voucher.Code, batch string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		codeFound := code == ""
		batchFound := batch == "" || code != ""
		for entry, err := range s.withVouchers(ctx, code) {
			if !yield(entry, err) || err != nil {
				return
			}
			codeFound = true
			batchFound = batchFound || entry.of.Batch == batch
		}
		if !codeFound {
			yield(entry{}, &voucher.RefusalError{Reason: voucher.ReasonUnknown})
		} else if !batchFound {
			yield(entry{}, batchUnknown(batch))
		}
	}
}

// withVouchers yields the same items as stored, but not the errors at the end.
func (s *Shop) withVouchers(ctx context.Context, code voucher.Code) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		var of voucher.Voucher
		var missing voucher.Code
		for item, err := range s.entries(ctx, code) {
			switch {
			case err != nil:
			case item.voucher != nil:
				of = *item.voucher
			case item.code == missing:
				continue
			case item.code != of.Code: // the voucher was created after its bucket was read
				late, found, findErr := s.find(ctx, item.code)
				if findErr == nil && !found {
					missing = item.code
					continue
				}
				of, err = late.Voucher, findErr
				read := entry{code: of.Code, of: of, voucher: &late.Voucher, allowance: late.Allowance}
				if err == nil && !yield(read, nil) {
					return
				}
			}
			item.of = of
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// entries yields every item of a shop's vouchers in the order of the codes. For a damaged item, it yields an error and
// continues. It stops at the first failed read. If code is not empty, it yields only the items of that code.
// Redemptions and edits continue meanwhile.
func (s *Shop) entries(ctx context.Context, code voucher.Code) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for it, err := range s.inOrder(ctx, s.Tables.Vouchers, code, listReaders) {
			var decoded entry
			if err != nil {
				err = table.Outcome(err)
			} else {
				decoded, err = decodeEntry(it)
			}
			if !yield(decoded, err) {
				return
			}
		}
	}
}

var errUnknownItem = errors.New("item of an unknown kind in the vouchers table")

func decodeEntry(it table.Item) (entry, error) {
	key := table.KeyOf(it)
	decoded := entry{code: key.Code()}
	rest := strings.TrimPrefix(key.Sort, string(decoded.code))
	switch {
	case rest == "":
		v, err := table.DecodeVoucher(it)
		decoded.voucher, decoded.allowance = &v.Voucher, v.Allowance
		if v.Redeemed != nil {
			decoded.redemptions = []voucher.Redemption{*v.Redeemed}
		}
		return decoded, err
	case strings.HasPrefix(rest, table.PartInfix):
		var err error
		decoded.isPart = true
		if decoded.allowance, err = table.DecodeAllowance(it); err != nil {
			return entry{}, fmt.Errorf("item %q: %w", key.Sort, err)
		}
	case strings.HasPrefix(rest, table.NickInfix), strings.HasPrefix(rest, table.RedemptionInfix):
		records, err := table.Records(it)
		if err != nil {
			return entry{}, fmt.Errorf("item %q: %w", key.Sort, err)
		}
		decoded.redemptions = records
	default:
		return entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.Sort)
	}
	return decoded, nil
}

// each yields what the function makes of the elements of a list, unless picked is false, and stops at the first error.
func each[A, B any](list iter.Seq2[A, error], of func(A) (made B, picked bool)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for one, err := range list {
			if err != nil {
				var none B
				yield(none, table.Outcome(err))
				return
			}
			if made, picked := of(one); picked && !yield(made, nil) {
				return
			}
		}
	}
}

// withoutErrors yields the elements of a slice as a list that has no errors.
func withoutErrors[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range all {
			if !yield(one, nil) {
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
