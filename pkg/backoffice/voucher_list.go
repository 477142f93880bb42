package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/voucher"
)

// VoucherFilter selects vouchers. A zero field selects all.
type VoucherFilter struct {
	Batch  string
	Nick   voucher.Nick // the nick that the voucher is bound to
	Status voucher.Status
}

func (f VoucherFilter) picks(standing voucher.Standing, at time.Time) bool {
	return (f.Batch == "" || f.Batch == standing.Batch) &&
		(f.Nick == voucher.Nick{} || f.Nick.Compared == standing.Nick.Compared) &&
		(f.Status == "" || f.Status == standing.Status(at))
}

// Vouchers yields vouchers with their uses, in the order of their codes, and stops at the first error. It reads all of
// the shop's vouchers, while the shop stays live. Unlike Voucher, it does not report interrupted edits, and it also
// counts the uses of codes without a limit. If the filter's batch has no vouchers, the list ends with
// voucher.ErrBatchUnknown.
func (s *Shop) Vouchers(ctx context.Context, filter VoucherFilter, at time.Time) iter.Seq2[voucher.Standing, error] {
	return func(yield func(voucher.Standing, error) bool) {
		for standing, err := range s.standings(ctx, filter.Batch, at) {
			if (err != nil || filter.picks(standing, at)) && !yield(standing, err) {
				return
			}
		}
	}
}

// standings is like Vouchers, but without the filter: it yields the vouchers of all batches. The parameter batch is
// only checked: if it names a batch without vouchers, the list ends with voucher.ErrBatchUnknown.
func (s *Shop) standings(ctx context.Context, batch string, at time.Time) iter.Seq2[voucher.Standing, error] {
	return func(yield func(voucher.Standing, error) bool) {
		var last *tally
		for entry, err := range s.stored(ctx, "", batch) {
			if err != nil {
				yield(voucher.Standing{}, err)
				return
			}
			if last == nil || last.voucher.Code != entry.code {
				if last != nil && !yield(last.standing(), nil) {
					return
				}
				last = &tally{at: at}
			}
			last.add(entry)
		}
		if last != nil {
			yield(last.standing(), nil)
		}
	}
}
