package event_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// nickIndex is the index of nicks of every shop, in memory.
type nickIndex struct {
	mu      sync.Mutex
	indexed map[catalog.ShopID]map[string]voucher.Redemption
	puts    int
	stalls  bool // puts block until their time is over
}

func (x *nickIndex) Index(ctx context.Context, shop catalog.ShopID, redemptions []voucher.Redemption) error {
	if x.stalls {
		<-ctx.Done()
		return ctx.Err()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.puts += len(redemptions)
	if x.indexed[shop] == nil {
		x.indexed[shop] = map[string]voucher.Redemption{}
	}
	for _, r := range redemptions {
		x.indexed[shop][r.ID] = r
	}
	return nil
}

// of returns the IDs of a shop's redemptions, with a minus sign before each undone redemption.
func (x *nickIndex) of(shop catalog.ShopID) string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(x.indexed[shop])) {
		if !x.indexed[shop][id].Undone.IsZero() {
			id = "-" + id
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

// withNicks returns a recorder that indexes nicks, and its index.
func (l *ledger) withNicks() (event.Recorder, *nickIndex) {
	x := &nickIndex{indexed: map[catalog.ShopID]map[string]voucher.Redemption{}}
	r := l.recorder()
	r.Nicks = x
	return r, x
}

// undoing returns the change by which a redemption is undone.
func undoing(id, redemption string) event.Change {
	c := change(id, emberforge)
	c.Facts = event.OfRedemption(emberforge, undone(voucher.Redemption{ID: redemption, At: noon()}))
	return c
}

func TestRecord_Redemptions_AreIndexedForTheirShops(t *testing.T) {
	t.Parallel()
	recorder, index := newLedger().withNicks()
	got := recorder.Record(t.Context(),
		[]event.Change{change("101", emberforge, "first"), change("102", sakura, "theirs"), undoing("103", "second")})
	if got.Err != nil || got.Recorded != 4 || index.of(emberforge) != "first -second" || index.of(sakura) != "theirs" {
		t.Errorf("Record = %+v; indexed for emberforge %s, for sakura %s", got, index.of(emberforge), index.of(sakura))
	}
}

// If a redemption was undone, its records come from two shards of the stream, because undoing moves its item.
func TestRecord_UndoneBeforeCreated_IsIndexedOnceAsUndone(t *testing.T) {
	t.Parallel()
	for what, batch := range map[string][]event.Change{
		"created first": {change("101", emberforge, "first"), undoing("102", "first")},
		"undone first":  {undoing("102", "first"), change("101", emberforge, "first")},
	} {
		recorder, index := newLedger().withNicks()
		if got := recorder.Record(t.Context(), batch); got.Err != nil || index.of(emberforge) != "-first" ||
			index.puts != 1 {
			t.Errorf("%s: Record = %+v, with %d puts of %s", what, got, index.puts, index.of(emberforge))
		}
	}
}

// The index must not hold up events.
func TestRecord_IndexStalls_EventsAreRecordedFirstAndTheIndexLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		recorder, index := l.withNicks()
		index.stalls = true
		begun := time.Now()
		got := recorder.Record(t.Context(), l.stored(redemptions(100)...))
		if took := time.Since(begun); got.Recorded < 100 || got.Parked != 100 || took != 2*time.Second ||
			!errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("Record = %+v after %s", got, took)
		}
		index.stalls = false
		if got = recorder.Retry(t.Context()); got.Err != nil || got.Parked != 0 || len(index.indexed[emberforge]) != 100 {
			t.Errorf("Retry = %+v, indexed %d", got, len(index.indexed[emberforge]))
		}
	})
}

// A redemption whose event was not recorded is indexed when the change is retried.
func TestRecord_LogFails_NextDeliveryIsRecordedAndIndexed(t *testing.T) {
	t.Parallel()
	l := newLedger()
	recorder, index := l.withNicks()
	l.fails[emberforge], l.noPlaces = errAway, errAway
	batch := l.stored(change("101", emberforge, "first"))
	if got := recorder.Record(t.Context(), batch); !slices.Equal(got.Failed, []string{"101"}) || index.puts != 0 {
		t.Errorf("Record = %+v, with %d puts", got, index.puts)
	}
	delete(l.fails, emberforge)
	if got := recorder.Record(t.Context(), batch); got.Err != nil || got.Recorded != 1 ||
		index.of(emberforge) != "first" {
		t.Errorf("Record of the next delivery = %+v, indexed %s", got, index.of(emberforge))
	}
}

func TestRecord_ImportedRedemption_IsIndexedAndNotInTheFeed(t *testing.T) {
	t.Parallel()
	l := newLedger()
	recorder, index := l.withNicks()
	imported := change("101", emberforge)
	imported.Facts = event.OfRedemption(emberforge, undone(voucher.Redemption{ID: "first", At: noon(), Imported: true}))
	got := recorder.Record(t.Context(), []event.Change{imported, change("102", emberforge, "second")})
	if got.Err != nil || got.Recorded != 1 || !slices.Equal(l.ids(emberforge), []string{"second"}) ||
		index.of(emberforge) != "-first second" {
		t.Errorf("Record = %+v; in the log: %s, indexed %s", got, l.ids(emberforge), index.of(emberforge))
	}
}

// An event expires, but the index stores its redemption for good.
func TestRetry_RedemptionOlderThanTheRetention_IsIndexed(t *testing.T) {
	t.Parallel()
	l := newLedger()
	recorder, index := l.withNicks()
	recorder.Retention = 90 * 24 * time.Hour
	recorder.Now = func() time.Time { return noon().Add(91 * 24 * time.Hour) }
	old := change("101", emberforge, "first")
	l.rereads[old.Place] = old
	err := l.Park(t.Context(), emberforge,
		event.Parked{Place: old.Place, Shop: emberforge, First: recorder.Now()})
	if got := recorder.Retry(t.Context()); cmp.Or(err, got.Err) != nil || got.Recorded != 0 ||
		index.of(emberforge) != "first" {
		t.Errorf("Retry = %+v, %v; indexed %s", got, err, index.of(emberforge))
	}
}
