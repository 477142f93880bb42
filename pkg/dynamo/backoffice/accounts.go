package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

const (
	// listReaders is how many buckets are read at a time.
	listReaders = 8
	// oneCodeReaders is how many buckets readAccount reads at a time. It is lower than listReaders, because callers may read the accounts of
	// many codes concurrently, and reading one account means reading all buckets.
	oneCodeReaders = 2
	// bucketPage is how many items of a bucket one query reads. Pages of 1 MB would take fewer calls, but several hundred MB of memory,
	// because a decoded item takes about 2 KB.
	bucketPage = 250
	// codePage is how many items of a bucket one query reads if only one code is read. It is also how many items of each bucket may wait to be
	// merged, whether one code or all codes are read.
	codePage = 100
)

// Accounts yields the account of each code of a customer, in the order of the codes, and stops at the first error. An account has all items
// that are stored under its code. An item whose key contains no code gets its own account.
//
// The items of a code are spread over many buckets, but each bucket is sorted. Accounts reads listReaders buckets at a time and merges all
// buckets, which brings the items of a code together. Memory holds only one account, and up to 350 items of each bucket.
func (s *Vouchers) Accounts(ctx context.Context, customer catalog.CustomerID) iter.Seq2[*reconciliation.Account, error] {
	return func(yield func(*reconciliation.Account, error) bool) {
		reader := accountReader{s.table, customer}
		var account *reconciliation.Account // of the code whose items are being read
		for it, err := range s.inOrder(ctx, customer, "", listReaders) {
			if err != nil {
				yield(nil, table.Outcome(err))
				return
			}
			code := table.KeyOf(it).Code()
			complete := account
			switch {
			case !isCode(code):
				complete = reader.newAccount(code)
				complete.Fault(reader.place(it), reconciliation.KindMalformed, "the sort key does not begin with a code")
			case account != nil && account.Code == code:
				reader.add(account, it)
				continue
			default:
				account = reader.newAccount(code)
				reader.add(account, it)
			}
			if complete != nil && !yield(complete, nil) {
				return
			}
		}
		if account != nil {
			yield(account, nil)
		}
	}
}

// Account reads the items that are stored under one code. Before and after that it reads the voucher and its counters. Between these reads
// it waits for the duration settle: if one read sees only a part of a transaction, the next read sees all of it. If redemptions and holds
// may move between items, Account reads the items twice.
func (s *Vouchers) Account(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, settle time.Duration,
) (account *reconciliation.Account, err error) {
	defer func() { err = table.Outcome(err) }()
	before, err := s.glance(ctx, customer, code)
	if err != nil {
		return nil, err
	}
	if err := table.Wait(ctx, settle); err != nil {
		return nil, err
	}
	account, err = s.readAccount(ctx, customer, code)
	if err != nil {
		return nil, err
	}
	if err := table.Wait(ctx, settle); err != nil {
		return nil, err
	}
	if account.MayMove() {
		second, err := s.readAccount(ctx, customer, code)
		if err != nil {
			return nil, err
		}
		account.Again(second)
	}
	after, err := s.glance(ctx, customer, code)
	account.Between(before, after)
	return account, err
}

func (s *Vouchers) readAccount(ctx context.Context, customer catalog.CustomerID, code voucher.Code) (*reconciliation.Account, error) {
	reader := accountReader{s.table, customer}
	account := reader.newAccount(code)
	for it, err := range s.inOrder(ctx, customer, code, oneCodeReaders) {
		if err != nil {
			return nil, err
		}
		reader.add(account, it)
	}
	return account, nil
}

func (s *Vouchers) glance(ctx context.Context, customer catalog.CustomerID, code voucher.Code) (reconciliation.Glance, error) {
	it, err := table.Get(ctx, s.api, s.table, table.VoucherKey(customer, code), nil)
	if err != nil || len(it) == 0 {
		return reconciliation.Glance{}, err
	}
	glance := reconciliation.Glance{Found: true, Version: it.Num(table.AttrVersion), Returns: it.Num(table.AttrReturns)}
	named := min(max(it.Num(table.AttrCounters), 0), voucher.MaxCounters) // the attribute may be damaged
	if named == 0 {
		return glance, nil
	}
	counters, err := table.ReadCounters(ctx, s.api, s.random, s.table, customer, code, int(named))
	for _, counter := range counters {
		glance.Used += counter.Used
	}
	return glance, err
}
