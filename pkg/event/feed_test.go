package event_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
)

const (
	emberforge catalog.ShopID = "emberforge"
	sakura     catalog.ShopID = "sakura-goods"
)

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func minutes(n int64) time.Time { return noon().Add(time.Duration(n) * time.Minute) }

// shelf is the log of one shop, in pages of 50. Event n happens n minutes after noon.
type shelf struct {
	feed  string
	last  int64
	pages int64          // how many pages are deleted, beginning with the first
	gone  map[int64]bool // events that are deleted
	bad   int64          // the event that is damaged
	reads int
	err   error
}

// shelves are the logs of all shops.
type shelves map[catalog.ShopID]*shelf

func (s shelves) Window(_ context.Context, shop catalog.ShopID, after int64, limit int) (event.Window, error) {
	l := s[shop]
	if l == nil {
		return event.Window{}, nil
	}
	l.reads++
	if l.err != nil || l.last == 0 {
		return event.Window{}, l.err
	}
	page := min(max(after/50, l.pages), (l.last-1)/50)
	w := event.Window{
		Feed: l.feed, First: page*50 + 1, Last: l.last, FirstExtended: minutes(min(page*50+50, l.last)),
		LastExtended: minutes(l.last),
	}
	for sequence := max(after+1, w.First); sequence <= l.last && len(w.Events) < limit; sequence++ {
		e := event.Event{Sequence: sequence, Shop: shop}
		if !l.gone[sequence] {
			e.ID, e.At, e.Data = event.ID(fmt.Sprintf("%s-%d", shop, sequence)), minutes(sequence), []byte("{}")
		}
		if sequence == l.bad {
			e.Data = nil
		}
		w.Events = append(w.Events, e)
	}
	return w, nil
}

func sequences(events []event.Event) (numbers []int64) {
	for _, e := range events {
		numbers = append(numbers, e.Sequence)
	}
	return numbers
}

// between returns the numbers from first to last.
func between(first, last int64) (numbers []int64) {
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// deleted returns a value for shelf.gone from lists of sequence numbers.
func deleted(ranges ...[]int64) map[int64]bool {
	gone := make(map[int64]bool)
	for _, n := range slices.Concat(ranges...) {
		gone[n] = true
	}
	return gone
}

func TestRead(t *testing.T) {
	t.Parallel()
	const feed, other = "Zk3p0c8Q", "9xA1b2C3"
	oldest := event.Cursor{After: event.FromOldest}
	at := func(after int64) event.Cursor { return event.Cursor{After: after} }
	expired := func(earliest int64) error { return &event.ExpiredError{Earliest: earliest, Feed: feed} }
	for what, test := range map[string]struct {
		log     shelf
		cursor  event.Cursor
		limit   int
		want    []int64
		next    int64
		more    bool
		wantErr error
	}{
		"a new feed, from the oldest event": {log: shelf{}, cursor: oldest, limit: 100},
		"a new feed, from 0":                {log: shelf{}, cursor: at(0), limit: 100},
		"beyond the end of a new feed":      {log: shelf{}, cursor: at(1), limit: 100, wantErr: event.ErrBeyond},
		"from the oldest event": {
			log: shelf{last: 120}, cursor: oldest, limit: 100, want: between(1, 100),
			next: 100, more: true,
		},
		"from 0": {
			log: shelf{last: 120}, cursor: at(0), limit: 100, want: between(1, 100),
			next: 100, more: true,
		},
		"from 0 with its feed": {
			log: shelf{last: 3}, cursor: event.Cursor{Feed: feed}, limit: 100,
			want: between(1, 3), next: 3,
		},
		"in the middle": {
			log: shelf{last: 120}, cursor: at(49), limit: 3, want: between(50, 52),
			next: 52, more: true,
		},
		"exactly what is left": {
			log: shelf{last: 120}, cursor: at(110), limit: 10,
			want: between(111, 120), next: 120,
		},
		"one event left": {
			log: shelf{last: 50}, cursor: at(49), limit: 100, want: between(50, 50),
			next: 50,
		},
		"at the end":                {log: shelf{last: 120}, cursor: at(120), limit: 100, next: 120},
		"at the end of a full page": {log: shelf{last: 100}, cursor: at(100), limit: 100, next: 100},
		"beyond the last event": {
			log: shelf{last: 120}, cursor: at(121), limit: 100,
			wantErr: event.ErrBeyond,
		},
		"far beyond the last event": {
			log: shelf{last: 120}, cursor: at(1 << 62), limit: 100,
			wantErr: event.ErrBeyond,
		},

		"another feed": {
			log: shelf{last: 120}, cursor: event.Cursor{After: 7, Feed: other},
			limit: 100, wantErr: expired(0),
		},
		"another feed, near the end": {
			log: shelf{last: 120}, cursor: event.Cursor{After: 110, Feed: other},
			limit: 100, wantErr: expired(0),
		},
		"another feed, beyond the end": {
			log: shelf{last: 120}, cursor: event.Cursor{After: 500, Feed: other},
			limit: 100, wantErr: expired(0),
		},
		"another feed, some events gone": {
			log:    shelf{last: 120, pages: 1, gone: deleted(between(1, 60))},
			cursor: event.Cursor{After: 110, Feed: other}, limit: 1, wantErr: expired(60),
		},
		"another feed, the new one empty": {
			log: shelf{}, cursor: event.Cursor{After: 7, Feed: other}, limit: 100,
			wantErr: &event.ExpiredError{},
		},

		"expired by page, from the oldest event": {
			log: shelf{last: 320, pages: 2}, cursor: oldest, limit: 3,
			want: between(101, 103), next: 103, more: true,
		},
		"expired by page, from 0": {
			log: shelf{last: 320, pages: 2}, cursor: at(0), limit: 3,
			wantErr: expired(100),
		},
		"expired by page, one event too early": {
			log: shelf{last: 320, pages: 2}, cursor: at(99), limit: 3,
			wantErr: expired(100),
		},
		"expired by page, the first stored event": {
			log: shelf{last: 320, pages: 2}, cursor: at(100), limit: 3,
			want: between(101, 103), next: 103, more: true,
		},
		"expired by event, from the oldest event": {
			log:    shelf{last: 320, pages: 1, gone: deleted(between(1, 77))},
			cursor: oldest, limit: 3, want: between(78, 80), next: 80, more: true,
		},
		"expired by event, from 0": {
			log:    shelf{last: 320, gone: deleted(between(1, 77))},
			cursor: at(0), limit: 3, wantErr: expired(77),
		},
		"expired by event, one event too early": {
			log:    shelf{last: 320, pages: 1, gone: deleted(between(1, 77))},
			cursor: at(76), limit: 100, wantErr: expired(77),
		},
		"expired by event, the first stored event": {
			log:    shelf{last: 320, pages: 1, gone: deleted(between(1, 77))},
			cursor: at(77), limit: 3, want: between(78, 80), next: 80, more: true,
		},
		"every event has expired, from the oldest": {
			log:    shelf{last: 70, pages: 1, gone: deleted(between(1, 70))},
			cursor: oldest, limit: 100, next: 70,
		},
		"every event has expired, from 0": {
			log:    shelf{last: 70, pages: 1, gone: deleted(between(1, 70))},
			cursor: at(0), limit: 100, wantErr: expired(70),
		},
		"every event has expired, at the end": {
			log:    shelf{last: 70, pages: 1, gone: deleted(between(1, 70))},
			cursor: at(70), limit: 100, next: 70,
		},
		"every event of full pages has expired": {
			log:    shelf{last: 100, pages: 1, gone: deleted(between(1, 100))},
			cursor: oldest, limit: 100, next: 100,
		},
		"expired out of order, from the oldest event": {
			log: shelf{
				last: 90,
				gone: deleted(between(1, 20), between(40, 42)),
			}, cursor: oldest, limit: 100, want: between(43, 90),
			next: 90,
		},
		"expired out of order, in front of the gap": {log: shelf{
			last: 90,
			gone: deleted(between(1, 20), between(40, 42)),
		}, cursor: at(30), limit: 10, wantErr: expired(42)},
		"up to a damaged event": {
			log: shelf{last: 90, bad: 33}, cursor: at(30), limit: 10, want: between(31, 32), next: 32, more: true,
		},
		"a damaged event": {
			log: shelf{last: 90, bad: 33}, cursor: at(32), limit: 10,
			wantErr: &event.DamagedError{Shop: emberforge, Sequence: 33, ID: "emberforge-33"},
		},
		"after a damaged event": {
			log: shelf{last: 90, bad: 33}, cursor: at(33), limit: 10, want: between(34, 43), next: 43, more: true,
		},
		"expired out of order, from 0": {log: shelf{
			last: 90,
			gone: deleted(between(1, 20), between(40, 42)),
		}, cursor: at(0), limit: 10, wantErr: expired(42)},
	} {
		if test.log.last > 0 {
			test.log.feed = feed
		}
		page, err := event.Feed{Store: shelves{emberforge: &test.log}}.Read(t.Context(), emberforge, test.cursor,
			test.limit)
		if test.wantErr != nil {
			if fmt.Sprintf("%+v", err) != fmt.Sprintf("%+v", test.wantErr) ||
				errors.Is(test.wantErr, event.ErrBeyond) != errors.Is(err, event.ErrBeyond) {
				t.Errorf("%s: %v; want %v", what, err, test.wantErr)
			}
			got, is := errors.AsType[*event.ExpiredError](err)
			if want, isWanted := errors.AsType[*event.ExpiredError](test.wantErr); isWanted && (!is || *got != *want) {
				t.Errorf("%s: %+v; want %+v", what, got, want)
			}
			continue
		}
		if err != nil || page.Feed != test.log.feed || !slices.Equal(sequences(page.Events), test.want) ||
			page.Next != test.next || page.More != test.more {
			t.Errorf("%s: feed %q, events %v, next %d, more %t, %v", what, page.Feed, sequences(page.Events), page.Next,
				page.More, err)
		}
	}
}

// nextCursor returns the cursor with which a poller continues after a response.
func nextCursor(t *testing.T, page event.Page, err error) event.Cursor {
	t.Helper()
	if expired, is := errors.AsType[*event.ExpiredError](err); is {
		return event.Cursor{After: expired.Earliest, Feed: expired.Feed}
	}
	if err != nil {
		t.Fatal(err)
	}
	return event.Cursor{After: page.Next, Feed: page.Feed}
}

// Whichever events have expired, a poller that continues where the feed says reaches the last event. It may skip events
// up to 191, because no later event has expired in any case.
func TestRead_PollerThatContinuesAtEarliest_ReachesTheEnd(t *testing.T) {
	t.Parallel()
	for what, gone := range map[string]map[int64]bool{
		"nothing is gone": nil, "a prefix": deleted(between(1, 130)),
		"out of order": deleted(between(1, 20), between(30, 35), between(190, 191)),
	} {
		for _, limit := range []int{1, 7, 100} {
			log := &shelf{feed: "Zk3p0c8Q", last: 420, gone: gone}
			feed := event.Feed{Store: shelves{emberforge: log}}
			cursor := event.Cursor{}
			for reads := 0; cursor.After < log.last; reads++ {
				page, err := feed.Read(t.Context(), emberforge, cursor, limit)
				next := nextCursor(t, page, err)
				if next.After <= cursor.After || reads > 500 {
					t.Fatalf("%s, limit %d: %d follows %d", what, limit, next.After, cursor.After)
				}
				if err != nil && next.After > 191 {
					t.Errorf("%s, limit %d: skips to %d", what, limit, next.After)
				}
				cursor = next
			}
		}
	}
}

func TestRead_AnotherShopsFeed_IsNotRead(t *testing.T) {
	t.Parallel()
	mine, theirs := &shelf{feed: "Zk3p0c8Q", last: 120, pages: 1, gone: deleted(between(1, 60))},
		&shelf{feed: "9xA1b2C3", last: 300}
	feed := event.Feed{Store: shelves{emberforge: mine, sakura: theirs}}
	for _, cursor := range []event.Cursor{
		{After: event.FromOldest},
		{After: 0},
		{After: 100},
		{After: 200},
		{After: 100, Feed: theirs.feed},
	} {
		page, _ := feed.Read(t.Context(), emberforge, cursor, 100)
		for _, e := range page.Events {
			if e.Shop != emberforge {
				t.Errorf("%+v: event %d of %s", cursor, e.Sequence, e.Shop)
			}
		}
	}
	if _, err := feed.Since(t.Context(), emberforge, noon()); err != nil || theirs.reads > 0 || mine.reads == 0 {
		t.Errorf("%d reads of the other shop's feed, %d of the shop's own, %v", theirs.reads, mine.reads, err)
	}
}

func TestRead_StoreFails_FailsAtOnce(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	log := &shelf{err: away}
	feed := event.Feed{Store: shelves{emberforge: log}}
	if page, err := feed.Read(t.Context(), emberforge, event.Cursor{}, 100); !errors.Is(err, away) || page.Feed != "" {
		t.Errorf("Read = %+v, %v", page, err)
	}
	if _, err := feed.Since(t.Context(), emberforge, noon()); !errors.Is(err, away) || log.reads != 2 {
		t.Errorf("Since = %v after %d reads", err, log.reads)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		log   shelf
		since time.Duration // after noon
		want  int64
	}{
		"a new feed":                                  {shelf{}, 0, 0},
		"before the first event":                      {shelf{last: 320}, 0, 0},
		"the moment of the first event":               {shelf{last: 320}, time.Minute, 0},
		"the moment of a page's end":                  {shelf{last: 320}, 100 * time.Minute, 50},
		"the clock skew after a page's end":           {shelf{last: 320}, 101 * time.Minute, 50},
		"more than the clock skew after a page's end": {shelf{last: 320}, 101*time.Minute + time.Second, 100},
		"the moment of the last event":                {shelf{last: 320}, 320 * time.Minute, 300},
		"after the last event":                        {shelf{last: 320}, 322 * time.Minute, 320},
		"before the oldest stored event": {
			shelf{last: 320, pages: 2, gone: deleted(between(101, 120))},
			110 * time.Minute, 120,
		},
		"in a page after deleted pages": {shelf{last: 320, pages: 2}, 150 * time.Minute, 100},
		"before events out of order": {shelf{
			last: 320,
			gone: deleted(between(1, 20), between(40, 42)),
		}, 30 * time.Minute, 42},
		"every event has expired": {shelf{last: 70, gone: deleted(between(1, 70))}, 0, 70},
		"every event of full pages has expired": {
			shelf{last: 100, pages: 1, gone: deleted(between(1, 100))},
			0,
			100,
		},
	} {
		if test.log.last > 0 {
			test.log.feed = "Zk3p0c8Q"
		}
		cursor, err := event.Feed{Store: shelves{emberforge: &test.log}}.Since(t.Context(), emberforge,
			noon().Add(test.since))
		if want := (event.Cursor{After: test.want, Feed: test.log.feed}); err != nil || cursor != want {
			t.Errorf("%s: %+v, %v; want %+v", what, cursor, err, want)
		}
	}
}
