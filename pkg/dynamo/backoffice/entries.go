package backoffice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Entry is one item among a customer's vouchers. Only the fields for its kind of item are set.
type Entry struct {
	Code    voucher.Code
	Voucher *voucher.Voucher
	Counter *Counter
	Hold    *voucher.Hold // of a code with a limit above one; the hold's Kind is not set
	// Redemptions are the redemptions that the item records: those of a code with many uses, or one undone redemption of any code. Their
	// fields Code and Reward are not set, because only the item of the voucher has them. The redemption of a single-use code is in the
	// field Voucher.
	Redemptions []voucher.Redemption
}

// Counter has a part of the uses of a code with a limit above one.
type Counter struct{ Left, Used int }

// Entries yields every item of a customer's vouchers in the order of the codes. For a damaged item, it yields an error and continues. It
// stops at the first failed read. If code is not empty, it yields only the items of that code. Redemptions and edits continue meanwhile.
func (s *Vouchers) Entries(ctx context.Context, customer catalog.CustomerID, code voucher.Code) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for it, err := range s.inOrder(ctx, customer, code, listReaders) {
			entry, damaged := Entry{}, error(nil)
			if err == nil {
				entry, damaged = decodeEntry(it)
			}
			if !yield(entry, cmp.Or(table.Outcome(err), damaged)) {
				return
			}
		}
	}
}

var errUnknownItem = errors.New("item of an unknown kind in the vouchers table")

func decodeEntry(it table.Item) (Entry, error) {
	key := table.KeyOf(it)
	entry := Entry{Code: key.Code()}
	rest := strings.TrimPrefix(key.Sort, string(entry.Code))
	switch {
	case rest == "":
		v, err := table.DecodeVoucher(it)
		entry.Voucher = &v.Voucher
		return entry, err
	case strings.HasPrefix(rest, table.CounterInfix):
		number, err := strconv.Atoi(strings.TrimPrefix(rest, table.CounterInfix))
		if err != nil {
			return Entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.Sort)
		}
		counter := table.DecodeCounter(number, it)
		entry.Counter = &Counter{Left: counter.Left, Used: counter.Used}
	case strings.HasPrefix(rest, table.NickInfix), strings.HasPrefix(rest, table.RedemptionInfix):
		for name := range it {
			token, is := strings.CutPrefix(name, table.RecordPrefix)
			if !is {
				continue
			}
			redemption, _, err := table.Recorded(idempotency.Token(token), voucher.Voucher{}, it)
			if err != nil {
				return Entry{}, fmt.Errorf("item %q: %w", key.Sort, err)
			}
			entry.Redemptions = append(entry.Redemptions, redemption)
		}
	case strings.HasPrefix(rest, table.HoldInfix):
		hold, _, err := table.DecodeHoldItem("", it)
		if err != nil {
			return Entry{}, fmt.Errorf("item %q: %w", key.Sort, err)
		}
		entry.Hold = &hold
	default:
		return Entry{}, fmt.Errorf("%w: %q", errUnknownItem, key.Sort)
	}
	return entry, nil
}
