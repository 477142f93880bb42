package operator

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/reconciliation"
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

// Verify reads all stored vouchers, redemptions and checkouts of the customer, and its settings and keys, while the shop stays live. It
// reports what does not add up, and changes nothing. It compares each checkout that has a code with the redemption of that code. If the
// deployment has events, it reads everything once more, and compares it with the feed. If several items contradict each other, Verify reads
// them again, up to reconciliation.Readings times, before it reports a finding. So redemptions and edits in flight are not reported.
//
// Memory holds:
//   - the account of one code, with 16 bytes for each redemption and at most 96 bytes for each hold
//   - at most 350 items of each of the 64 buckets
//   - at most 12,800 items of each code that is being read again; at most 16 codes are read again at a time
//   - the list of all codes to read again, and the report
//   - about 100 bytes for each event of the feed
func (s *Shop) Verify(ctx context.Context, how Verification) (reconciliation.Report, error) {
	v := &verifier{shop: s, Verification: how}
	if v.Read == nil {
		v.Read = func(int) {}
	}
	if v.Settle == 0 {
		v.Settle = settleTime
	}
	for _, step := range []func(context.Context) error{v.access, v.vouchers, v.recheck, v.checkouts, v.feed} {
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
	doubtful []voucher.Code // the codes to read again

	mu     sync.Mutex
	report reconciliation.Report
}

func (v *verifier) judge(account *reconciliation.Account) reconciliation.Judgement {
	return account.Judge(v.shop.Customer.Currency, v.Now())
}

// vouchers reads every voucher once. That is enough to judge faults within a single item.
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
	return cmp.Or(readings.Wait(), context.Cause(ctx))
}

// recheckCode reads a code again, with growing pauses, until it is decided.
func (v *verifier) recheckCode(ctx context.Context, code voucher.Code) error {
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
	var coded []reconciliation.Checkout // checkouts with a code; they are judged together
	for c, err := range v.shop.checkouts.Stored(ctx, v.shop.Customer.ID) {
		if err != nil {
			return err
		}
		v.report.Checkouts++
		v.report.Add(c.Judge(v.shop.Customer.Currency, v.Now())...)
		v.Read(1)
		if c.Hold == nil || len(c.Faults) > 0 {
			continue
		}
		if coded = append(coded, c); len(coded) == backoffice.MaxCheckoutUses {
			if err := v.uses(ctx, coded); err != nil {
				return err
			}
			coded = nil
		}
	}
	return v.uses(ctx, coded)
}

// uses compares checkouts with the redemptions of their codes. If some checkouts look wrong, it reads these again, with growing pauses.
func (v *verifier) uses(ctx context.Context, checkouts []reconciliation.Checkout) error {
	for reading := 1; len(checkouts) > 0; reading++ {
		findings, wrong, err := v.judgeUses(ctx, checkouts)
		if err != nil {
			return err
		}
		if reading == reconciliation.Readings {
			v.report.Add(findings...)
			return nil
		}
		if checkouts, err = v.reread(ctx, wrong, time.Duration(reading)*v.Settle); err != nil {
			return err
		}
	}
	return nil
}

// judgeUses returns the findings about the uses of checkouts, and the checkouts that the findings are about.
func (v *verifier) judgeUses(
	ctx context.Context, checkouts []reconciliation.Checkout,
) (findings []reconciliation.Finding, wrong []reconciliation.Checkout, err error) {
	asked := make([]checkout.Checkout, len(checkouts))
	for i, c := range checkouts {
		asked[i] = c.Checkout
	}
	redeemed, err := v.shop.vouchers.RedeemedBy(ctx, v.shop.Customer.ID, asked)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range checkouts {
		if found := c.JudgeUse(redeemed[c.ID]); len(found) > 0 {
			findings, wrong = append(findings, found...), append(wrong, c)
		}
	}
	return findings, wrong, nil
}

// reread reads checkouts again after a pause. It leaves out checkouts that cannot be judged any more.
func (v *verifier) reread(ctx context.Context, checkouts []reconciliation.Checkout, pause time.Duration) ([]reconciliation.Checkout, error) {
	if len(checkouts) == 0 {
		return nil, nil
	}
	if err := v.pause(ctx, pause); err != nil {
		return nil, err
	}
	var again []reconciliation.Checkout
	for _, c := range checkouts {
		now, found, err := v.shop.checkouts.Reread(ctx, v.shop.Customer.ID, c.ID)
		if err != nil {
			return nil, err
		}
		if found && now.Hold != nil && len(now.Faults) == 0 {
			again = append(again, now)
		}
	}
	return again, nil
}

// feed compares the feed with the records. If they differ, it reads both again, with growing pauses.
func (v *verifier) feed(ctx context.Context) error {
	if v.shop.events == nil {
		return nil
	}
	feed := reconciliation.NewFeed(v.shop.eventRetention)
	for reading := 1; ; reading++ {
		count, findings, err := v.readFeed(ctx, feed)
		if err != nil {
			return err
		}
		if count == 0 || reading == reconciliation.Readings {
			v.report.Add(findings...)
			v.report.Found += count - len(findings)
			return nil
		}
		if err := v.pause(ctx, time.Duration(reading)*v.Settle); err != nil {
			return err
		}
	}
}

// readFeed reads the feed before the records. So the records must show everything that the feed reports.
func (v *verifier) readFeed(ctx context.Context, feed *reconciliation.Feed) (count int, findings []reconciliation.Finding, err error) {
	feed.Begin(v.Now())
	for entry, err := range v.shop.events.Log(ctx, v.shop.Customer.ID, v.Now()) {
		if err != nil {
			return 0, nil, err
		}
		feed.AddEvent(entry.Page, entry.Sequence, entry.ID, entry.At)
		v.Read(1)
	}
	for record, err := range v.shop.events.Records(ctx, v.shop.Customer.ID) {
		if err != nil {
			return 0, nil, err
		}
		if record.Err != nil {
			feed.AddUnread()
		}
		for _, fact := range record.Facts {
			feed.AddFact(record.Place, fact)
		}
		v.Read(1)
	}
	count, findings = feed.End()
	return count, findings, nil
}

func (*verifier) pause(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
