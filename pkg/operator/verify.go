package operator

import (
	"context"
	"sync"
	"time"

	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

// settleTime is how long requests in flight may take to complete. A transaction takes far less.
const settleTime = 500 * time.Millisecond

// Verification says how to verify a shop.
type Verification struct {
	Now func() time.Time
	// Read is called with the number of items read since its last call; it may be nil.
	Read func(items int)
	// Settle is how long requests in flight may take to complete; zero means half a second.
	Settle time.Duration
}

// Verify reads all stored vouchers, redemptions and checkouts of the customer, and its settings and keys, while the shop stays live,
// and reports what does not add up. It changes nothing. If several items contradict each other, Verify reads them again, up to
// reconciliation.Readings times, before it reports a finding: redemptions and edits in flight are not findings.
//
// In memory it holds:
//   - one code's items, at 16 bytes a redemption
//   - for each of 64 buckets, a page of at most 1 MB, as it was sent
//   - 12,800 items for each code that it is reading again, at most 16 at a time
//   - the list of all codes to read again, and the report
func (s *Shop) Verify(ctx context.Context, how Verification) (reconciliation.Report, error) {
	v := &verifier{shop: s, Verification: how}
	if v.Read == nil {
		v.Read = func(int) {}
	}
	if v.Settle == 0 {
		v.Settle = settleTime
	}
	for _, step := range []func(context.Context) error{v.access, v.vouchers, v.recheck, v.checkouts} {
		if err := step(ctx); err != nil {
			return reconciliation.Report{}, err
		}
	}
	v.report.Sort()
	return v.report, nil
}

// verifier is one run of Verify.
type verifier struct {
	Verification

	shop     *Shop
	doubtful []voucher.Code // to read again

	mu     sync.Mutex
	report reconciliation.Report
}

func (v *verifier) judge(account *reconciliation.Account) reconciliation.Judgement {
	return account.Judge(v.shop.Customer.Currency, v.Now())
}

// vouchers reads every voucher once. One reading is enough to judge faults within a single item.
func (v *verifier) vouchers(ctx context.Context) error {
	for account, err := range v.shop.vouchers.Accounts(ctx, v.shop.Customer.ID) {
		if err != nil {
			return err
		}
		if account.HasVoucher() {
			v.report.Vouchers++
		}
		v.report.Redemptions += account.Redemptions()
		if judged := v.judge(account); len(judged.Doubtful) > 0 || judged.Motion != nil {
			v.doubtful = append(v.doubtful, account.Code)
		} else {
			v.report.Add(judged.Certain...)
		}
		v.Read(account.Items)
	}
	return nil
}

// recheck reads each code that looked wrong or in motion again, with growing pauses, until it is decided.
func (v *verifier) recheck(ctx context.Context) error {
	return each(ctx, v.doubtful, func(ctx context.Context, code voucher.Code) error {
		var recheck reconciliation.Recheck
		settle := time.Duration(0)
		for decided := false; !decided; settle += v.Settle {
			account, err := v.shop.vouchers.Account(ctx, v.shop.Customer.ID, code, settle)
			if err != nil {
				return err
			}
			decided = recheck.Add(account, v.judge(account))
			v.lock(func() { v.Read(account.Items) })
		}
		findings, motion := recheck.Result()
		v.lock(func() {
			v.report.Add(findings...)
			if motion != nil {
				v.report.InMotion = append(v.report.InMotion, *motion)
			}
		})
		return nil
	})
}

func (v *verifier) lock(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
}

func (v *verifier) access(ctx context.Context) error {
	findings, read, err := v.shop.access.Faults(ctx, v.shop.Customer.ID)
	v.report.Add(findings...)
	v.Read(read)
	return err
}

func (v *verifier) checkouts(ctx context.Context) error {
	for c, err := range v.shop.checkouts.Stored(ctx, v.shop.Customer.ID) {
		if err != nil {
			return err
		}
		v.report.Checkouts++
		v.report.Add(c.Judge(v.shop.Customer.Currency, v.Now())...)
		v.Read(1)
	}
	return nil
}
