package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/event"
	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

// Events reads a table of events, and the vouchers and checkouts whose changes the events report. Create it with NewEvents.
type Events struct {
	store

	tables dynamo.Tables
}

// NewEvents returns the events in the table called name. The parameter tables has the names of the tables of vouchers and checkouts. random
// is as in NewVouchers.
func NewEvents(api API, tables dynamo.Tables, name string, random func(n int64) int64) *Events {
	return &Events{store{api, name, random}, tables}
}

// Record is an item of the vouchers or checkouts table, and the facts that it shows.
type Record struct {
	Place reconciliation.Place
	Facts []event.Fact // of each redemption or order, oldest first
	Err   error        // why the facts cannot be read
}

// Records yields every item of a customer's vouchers and checkouts, and stops at the first error of the store. Redemptions, orders and
// edits continue meanwhile, so Records may miss a redemption that moves to another item, or yield it twice.
func (s *Events) Records(ctx context.Context, customer catalog.CustomerID) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var terms voucher.Voucher // the voucher of the previous item
		for it, err := range NewVouchers(s.api, s.tables.Vouchers, s.random).inOrder(ctx, customer, "", listReaders) {
			if err == nil {
				terms, err = s.termsOf(ctx, customer, it, terms)
			}
			if !yield(recordOf(s.tables.Vouchers, customer, it, &terms), table.Outcome(err)) || err != nil {
				return
			}
		}
		for it, err := range items(ctx, s.api, partition(s.tables.Checkouts, string(customer))) {
			if !yield(recordOf(s.tables.Checkouts, customer, it, nil), table.Outcome(err)) {
				return
			}
		}
	}
}

func recordOf(name string, customer catalog.CustomerID, it table.Item, terms *voucher.Voucher) Record {
	facts, err := dynamo.Facts(customer, it, terms)
	return Record{placeOf(name, table.KeyOf(it)), facts, err}
}

// termsOf returns the voucher to which an item belongs. If the voucher is missing or damaged, the result is empty. latest is the voucher of
// the previous item.
func (s *Events) termsOf(ctx context.Context, customer catalog.CustomerID, it table.Item, latest voucher.Voucher) (voucher.Voucher, error) {
	key := table.KeyOf(it)
	switch code := key.Code(); code {
	case voucher.Code(key.Sort): // the voucher itself
	case latest.Code:
		return latest, nil
	default: // the voucher is missing or damaged, or was created after its bucket was read
		var err error
		if it, err = table.Get(ctx, s.api, s.tables.Vouchers, table.VoucherKey(customer, code), nil); err != nil {
			return voucher.Voucher{}, err
		}
	}
	v, err := table.DecodeVoucher(it)
	if err != nil {
		return voucher.Voucher{}, nil //nolint:nilerr // the records of a damaged voucher cannot be read either
	}
	return v.Voucher, nil
}

// LogEntry is an entry of a customer's log.
type LogEntry struct {
	Page     reconciliation.Place
	Sequence int64     // 0: the page cannot be read
	ID       event.ID  // of the event
	At       time.Time // when the event happened; zero: the event is not stored any more
}

// Log yields the entries of a customer's log in sequence, and stops at the first error of the store. Events may be appended meanwhile.
func (s *Events) Log(ctx context.Context, customer catalog.CustomerID, now time.Time) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		for it, err := range items(ctx, s.api, table.EventPagesQuery(s.table, customer, 0)) {
			entries := []LogEntry{{Page: placeOf(s.table, table.KeyOf(it))}}
			if page, malformed := table.DecodeEventPage(it); err == nil && malformed == nil {
				entries, err = s.entries(ctx, customer, page, now)
			}
			if err != nil {
				yield(LogEntry{}, table.Outcome(err))
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
		}
	}
}

func (s *Events) entries(ctx context.Context, customer catalog.CustomerID, page table.EventPage, now time.Time) ([]LogEntry, error) {
	keys := make([]table.Key, page.Len())
	for place := range keys {
		keys[place] = table.EventKey(customer, page.ID(place))
	}
	found, err := table.BatchGet(ctx, s.api, s.random, s.table, keys...)
	entries := make([]LogEntry, page.Len())
	for place, key := range keys {
		e, _ := table.DecodeEvent(customer, 0, found[key], now)
		entries[place] = LogEntry{placeOf(s.table, table.EventPageKey(customer, page.Number)), page.First() + int64(place), page.ID(place), e.At}
	}
	return entries, err
}
