package backoffice

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// rereaders is how many codes are read again at a time.
const rereaders = 16

// settleTime is how long requests in flight may take to complete. A transaction takes far less.
const settleTime = 500 * time.Millisecond

// Verification says how to verify a shop.
type Verification struct {
	Now func() time.Time
	// Read is called with the number of items read since its last call. It may be nil.
	Read func(items int)
	// Settle is how long requests in flight may take to complete. Zero means half a second.
	Settle time.Duration
}

// Verify reads all stored vouchers, redemptions and checkouts of the shop, and its settings and keys, while the
// shop stays live. It reports what does not add up, and changes nothing. It compares each checkout that has a code with
// the redemption of that code. If the deployment has events, it reads everything once more, and compares it with the
// feed. If several items contradict each other, Verify reads them again, up to audit.Readings times, before it
// reports a finding. So redemptions and edits in flight are not reported.
//
// Memory holds:
//   - the account of one code, with 16 bytes for each redemption
//   - at most 350 items of each of the 64 buckets
//   - at most 12,800 items of each code that is being read again; at most 16 codes are read again at a time
//   - the list of all codes to read again, the report, and some 300 bytes for each live hold
//   - about 100 bytes for each event of the feed, and some 500 for each payment whose amount was stated
func (s *Shop) Verify(ctx context.Context, how Verification) (audit.Report, error) {
	v := &verifier{shop: s, Verification: how, holds: make(holds)}
	if v.Read == nil {
		v.Read = func(int) {}
	}
	if v.Settle == 0 {
		v.Settle = settleTime
	}
	for _, step := range []func(context.Context) error{
		v.access, v.vouchers, v.recheck, v.sources, v.checkouts, v.judgeHolds, v.feed,
	} {
		if err := step(ctx); err != nil {
			return audit.Report{}, err
		}
	}
	v.report.Sort()
	return v.report, nil
}

// verifier is one run of Verify.
type verifier struct {
	Verification

	shop     *Shop
	doubtful []voucher.Code // the codes to read again
	holds    holds

	mu     sync.Mutex
	report audit.Report
}

func (v *verifier) judge(account *audit.Account) audit.Judgement {
	return account.Judge(v.shop.Profile.Currency, v.Now())
}

// vouchers reads every voucher once. That is enough to judge faults within a single item.
func (v *verifier) vouchers(ctx context.Context) error {
	for account, err := range v.shop.accounts(ctx) {
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
		v.holds.add(v.Now(), account.Held...)
		v.Read(account.Items)
	}
	return nil
}

// recheck reads each code again that looked wrong or was in motion. It reads several codes at a time.
func (v *verifier) recheck(ctx context.Context) error {
	readings, reading := errgroup.WithContext(ctx)
	readings.SetLimit(rereaders)
	for _, code := range v.doubtful {
		if reading.Err() != nil {
			break
		}
		readings.Go(func() error { return v.recheckCode(reading, code) })
	}
	if err := readings.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// recheckCode reads a code again, with growing pauses, until it is decided.
func (v *verifier) recheckCode(ctx context.Context, code voucher.Code) error {
	var recheck audit.Recheck
	settle := time.Duration(0)
	for decided := false; !decided; settle += v.Settle {
		account, err := v.shop.account(ctx, code, settle)
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
}

func (v *verifier) lock(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
}

func (v *verifier) access(ctx context.Context) error {
	findings, read, err := v.shop.accessFaults(ctx)
	v.report.Add(findings...)
	v.Read(read)
	return err
}

// again calls the function judge, up to audit.Readings times with growing pauses, until it finds nothing wrong. Before
// each further call, reread reads again what looked wrong.
func (v *verifier) again(
	ctx context.Context, judge func() (found int, findings []audit.Finding, err error), reread func() error,
) error {
	for reading := 1; ; reading++ {
		found, findings, err := judge()
		if err != nil {
			return err
		}
		if found == 0 || reading == audit.Readings {
			v.report.Add(findings...)
			v.report.Found += found - len(findings)
			return nil
		}
		if err := table.Wait(ctx, time.Duration(reading)*v.Settle); err != nil {
			return err
		}
		if err := reread(); err != nil {
			return err
		}
	}
}
