package operator

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// CreateVoucher creates a voucher. For invalid terms it returns a *voucher.FieldError for each fault, joined. For a code that exists it
// returns a *voucher.CodeTakenError.
func (s *Shop) CreateVoucher(ctx context.Context, terms voucher.Terms, now time.Time) (voucher.Voucher, error) {
	v, err := voucher.New(terms, now)
	if err != nil {
		return voucher.Voucher{}, err
	}
	return v, s.vouchers.Create(ctx, s.Customer.ID, v)
}

// Voucher returns a voucher with its uses as of the given time, or a *voucher.RefusalError for an unknown code.
func (s *Shop) Voucher(ctx context.Context, code voucher.Code, at time.Time) (voucher.Standing, error) {
	return s.vouchers.Show(ctx, s.Customer.ID, code, at)
}

// EditVoucher edits a voucher and returns the result, which applies to every request that begins after the call. For an unknown code, the
// error is a *voucher.RefusalError. For an edit that the rules do not allow, it is one or more *voucher.FieldError, joined. After any other
// error a part of the edit may have been applied. Running the edit again completes it.
func (s *Shop) EditVoucher(ctx context.Context, code voucher.Code, edit voucher.Edit) (voucher.Voucher, error) {
	return s.vouchers.Edit(ctx, s.Customer.ID, code, edit)
}

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

// Vouchers yields vouchers with their uses, in the order of their codes, and stops at the first error. It reads all of the customer's
// vouchers, while the shop stays live. Unlike Voucher, it does not report interrupted edits, and it also counts the uses of codes without a
// limit. If the filter's batch has no vouchers, the list ends with voucher.ErrBatchUnknown.
func (s *Shop) Vouchers(ctx context.Context, filter VoucherFilter, at time.Time) iter.Seq2[voucher.Standing, error] {
	return func(yield func(voucher.Standing, error) bool) {
		for standing, err := range s.standings(ctx, filter.Batch, at) {
			if (err != nil || filter.picks(standing, at)) && !yield(standing, err) {
				return
			}
		}
	}
}

// standings is like Vouchers, but without the filter: it yields the vouchers of all batches. The parameter batch is only checked: if it
// names a batch without vouchers, the list ends with voucher.ErrBatchUnknown.
func (s *Shop) standings(ctx context.Context, batch string, at time.Time) iter.Seq2[voucher.Standing, error] {
	return func(yield func(voucher.Standing, error) bool) {
		var last *counted
		for entry, err := range s.stored(ctx, "", batch) {
			if err != nil {
				yield(voucher.Standing{}, err)
				return
			}
			if last == nil || last.voucher.Code != entry.Code {
				if last != nil && !yield(last.standing(), nil) {
					return
				}
				last = &counted{uses: backoffice.NewUses(at)}
			}
			last.add(entry.Entry)
		}
		if last != nil {
			yield(last.standing(), nil)
		}
	}
}

// counted is one voucher with the uses read so far.
type counted struct {
	voucher     voucher.Voucher
	uses        backoffice.Uses
	redemptions int // without undone ones; for a code without a limit, the uses taken are this number plus the imported uses
}

func (c *counted) add(entry backoffice.Entry) {
	switch {
	case entry.Voucher != nil:
		c.voucher = *entry.Voucher
	case entry.Counter != nil:
		c.uses.AddCounter(*entry.Counter)
	case entry.Hold != nil:
		c.uses.AddHold(*entry.Hold)
	default:
		for _, redemption := range entry.Redemptions {
			if redemption.Undone.IsZero() {
				c.redemptions++
			}
		}
	}
}

func (c *counted) standing() voucher.Standing {
	standing := c.uses.Standing(c.voucher)
	if c.voucher.MaxUses == voucher.NoLimit {
		standing.Used = c.redemptions + c.voucher.Imported
	}
	return standing
}
