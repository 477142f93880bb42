package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

const (
	// listReaders is how many buckets are read at a time.
	listReaders = 8
	// oneCodeReaders is how many buckets account reads at a time. It is lower than listReaders, because callers may
	// read the accounts of many codes concurrently, and reading one account means reading all buckets.
	oneCodeReaders = 2
	// bucketPage is how many items of a bucket one query reads. Pages of 1 MB would take fewer calls, but several
	// hundred MB of memory, because a decoded item takes about 2 KB.
	bucketPage = 250
	// codePage is how many items of a bucket one query reads if only one code is read. It is also how many items of
	// each bucket may wait to be merged, whether one code or all codes are read.
	codePage = 100
)

// accounts yields the account of each code of the shop, in the order of the codes, and stops at the first error. An
// account has all items that are stored under its code. An item whose key contains no code gets its own account.
//
// The items of a code are spread over many buckets, but each bucket is sorted. accounts reads listReaders buckets at a
// time and merges all buckets, which brings the items of a code together. Memory holds only one account, and up to 350
// items of each bucket.
func (s *Shop) accounts(ctx context.Context) iter.Seq2[*audit.Account, error] {
	return func(yield func(*audit.Account, error) bool) {
		reader := accountReader{s}
		var account *audit.Account // of the code whose items are being read
		for it, err := range s.inOrder(ctx, s.Tables.Vouchers, "", listReaders) {
			if err != nil {
				yield(nil, table.Outcome(err))
				return
			}
			code := table.KeyOf(it).Code()
			complete := account
			switch {
			case !isCode(code):
				complete = reader.newAccount(code)
				complete.Fault(reader.place(it), audit.KindMalformed,
					"the sort key does not begin with a code")
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

// account reads the items that are stored under one code. Before and after that it reads the voucher and its parts.
// Between these reads it waits for the duration settle: if one read sees only a part of a transaction, the next read
// sees all of it.
func (s *Shop) account(
	ctx context.Context, code voucher.Code, settle time.Duration,
) (account *audit.Account, err error) {
	defer func() { err = table.Outcome(err) }()
	before, err := s.glance(ctx, code)
	if err != nil {
		return nil, err
	}
	if err := table.Wait(ctx, settle); err != nil {
		return nil, err
	}
	reader := accountReader{s}
	account = reader.newAccount(code)
	for it, err := range s.inOrder(ctx, s.Tables.Vouchers, code, oneCodeReaders) {
		if err != nil {
			return nil, err
		}
		reader.add(account, it)
	}
	if err := table.Wait(ctx, settle); err != nil {
		return nil, err
	}
	after, err := s.glance(ctx, code)
	account.Between(before, after)
	return account, err
}

func (s *Shop) glance(ctx context.Context, code voucher.Code) (audit.Glance, error) {
	v, items, err := s.allowance(ctx, code)
	if _, unknown := voucher.IsRefusal(err); unknown {
		return audit.Glance{}, nil
	}
	glance := audit.Glance{Version: v.Version}
	for _, item := range items {
		glance.Items = append(glance.Items, auditedItem(item))
	}
	return glance, err
}
