package backoffice

import (
	"context"
	"iter"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

// record is an item of the vouchers or checkouts table, and the facts that it shows.
type record struct {
	place audit.Place
	facts []event.Fact // of each redemption or order, oldest first
	err   error        // why the facts cannot be read
}

// records yields every item of the shop's vouchers and checkouts, and stops at the first error of the store.
// Redemptions, orders and edits continue meanwhile, so records may miss a redemption that moves to another item, or
// yield it twice.
func (s *Shop) records(ctx context.Context) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for it, err := range s.inOrder(ctx, s.Tables.Vouchers, "", listReaders) {
			if !yield(s.factsIn(event.Vouchers, it), table.Outcome(err)) || err != nil {
				return
			}
		}
		for it, err := range s.checkoutItems(ctx) {
			if !yield(s.factsIn(event.Checkouts, it), table.Outcome(err)) {
				return
			}
		}
	}
}

// factsIn returns the record of an item of a table, event.Vouchers or event.Checkouts.
func (s *Shop) factsIn(in string, it table.Item) record {
	facts, err := dynamo.Facts(s.Profile.ID, in, it)
	return record{placeOf(s.nameOf(in), table.KeyOf(it)), facts, err}
}

func (s *Shop) nameOf(table string) string {
	if table == event.Checkouts {
		return s.Tables.Checkouts
	}
	return s.Tables.Vouchers
}

// logEntry is an entry of the shop's log.
type logEntry struct {
	event.Event // if it is not stored any more, only its ID and Sequence

	page     audit.Place
	isStored bool
}

// log yields the entries of the shop's log in sequence, and stops at the first error of the store. Before the entries
// of a damaged page, which may have none, it yields an entry without a Sequence. Events may be appended meanwhile.
func (s *Shop) log(ctx context.Context, now time.Time) iter.Seq2[logEntry, error] {
	return func(yield func(logEntry, error) bool) {
		for it, err := range items(ctx, s.api, table.EventPagesQuery(s.Tables.Events, s.Profile.ID, 0)) {
			var entries []logEntry
			if err == nil {
				entries, err = s.entriesOf(ctx, it, now)
			}
			if err != nil {
				yield(logEntry{}, table.Outcome(err))
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

// entriesOf returns the entries of a page.
func (s *Shop) entriesOf(ctx context.Context, it table.Item, now time.Time) ([]logEntry, error) {
	place := placeOf(s.Tables.Events, table.KeyOf(it))
	var entries []logEntry
	page, damaged := table.DecodeEventPage(it)
	if damaged != nil {
		entries = append(entries, logEntry{page: place})
	}
	keys := make([]table.Key, page.Len())
	for i := range keys {
		keys[i] = table.EventKey(s.Profile.ID, page.ID(i))
	}
	found, err := table.BatchGet(ctx, s.api, s.random, s.Tables.Events, keys...)
	for i, key := range keys {
		e, isStored := table.DecodeEvent(s.Profile.ID, page.First()+int64(i), found[key], now)
		e.ID = page.ID(i)
		entries = append(entries, logEntry{e, place, isStored})
	}
	return entries, err
}
