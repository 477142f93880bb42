package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

// bureau records events in its own table. Its clock stands at noon unless a test moves it.
type bureau struct {
	t      testing.TB
	client *dynamodb.Client
	table  string
	clock  time.Time
	log    *dynamo.EventLog
	feed   event.Feed
}

func newBureau(t testing.TB) *bureau {
	b := &bureau{t: t, client: newClient(t), table: dynamotest.Table(t, "EventsTable"), clock: noon()}
	b.log = b.logOver(b.client)
	b.feed = event.Feed{Store: b.log}
	return b
}

func (b *bureau) logOver(api dynamo.EventAPI) *dynamo.EventLog {
	return dynamo.NewEventLog(api, b.table, retention, func() time.Time { return b.clock }, mathrand.Int64N,
		rand.Reader)
}

// append appends events of a shop, and fails the test unless it adds the wanted number.
func (b *bureau) append(shop catalog.ShopID, events []event.Event, want int) {
	b.t.Helper()
	added, err := b.log.Append(within(b.t), shop, events)
	if err != nil || added != want {
		b.t.Errorf("Append of %d events = %d, %v; want %d", len(events), added, err, want)
	}
}

// all reads the feed of a shop from its oldest event on.
func (b *bureau) all(shop catalog.ShopID) (events []event.Event) {
	b.t.Helper()
	for cursor := (event.Cursor{After: event.FromOldest}); ; {
		page, err := b.feed.Read(within(b.t), shop, cursor, 33)
		must(b.t, err)
		events = append(events, page.Events...)
		if !page.More {
			return events
		}
		cursor = event.Cursor{After: page.Next, Feed: page.Feed}
	}
}

// wantFeed fails the test unless the feed of a shop has these events, in sequence.
func (b *bureau) wantFeed(shop catalog.ShopID, want []event.Event) {
	b.t.Helper()
	got := b.all(shop)
	if len(got) != len(want) {
		b.t.Fatalf("the feed of %s has %d events, want %d", shop, len(got), len(want))
	}
	for i, e := range want {
		e.Sequence = int64(i) + 1
		if !reflect.DeepEqual(got[i], e) {
			b.t.Errorf("event %d of %s is %+v, want %+v", i+1, shop, got[i], e)
		}
	}
}

func (b *bureau) item(key table.Key) table.Item {
	b.t.Helper()
	it, err := table.Get(within(b.t), b.client, b.table, key, nil)
	must(b.t, err)
	return it
}

func (b *bureau) delete(key table.Key) {
	b.t.Helper()
	input := &dynamodb.DeleteItemInput{TableName: aws.String(b.table), Key: key.Attributes()}
	if _, err := b.client.DeleteItem(within(b.t), input); err != nil {
		b.t.Fatal(err)
	}
}

// leave stores an event but does not add it to the log, as if a function died between the two writes. The stored item
// says that the last page of the log was page 0 at that time.
func (b *bureau) leave(e event.Event, expires time.Time) {
	b.t.Helper()
	input := &dynamodb.PutItemInput{TableName: aws.String(b.table), Item: table.EncodeEvent(e, 0, expires)}
	if _, err := b.client.PutItem(within(b.t), input); err != nil {
		b.t.Fatal(err)
	}
}

func TestAppend_AcrossPages_KeepsTheSequence(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1, 48, 49, 50, 51, 100} {
		t.Run(fmt.Sprintf("after %d events", before), func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			events := eventsOf(emberforge, "redemptions", 150)[:before+60]
			if before > 0 {
				b.append(emberforge, events[:before], before)
			}
			b.append(emberforge, events[before:before+2], 2)
			b.append(emberforge, events[before:], 58)
			b.wantFeed(emberforge, events)
			for again := range slices.Chunk(events, 37) { // the same events in other batches
				b.append(emberforge, again, 0)
			}
			b.wantFeed(emberforge, events)
		})
	}
}

func TestAppend_OverlappingBatchesAtOnce_AddEachEventOnce(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 80)
	var functions sync.WaitGroup
	for i := range 8 {
		functions.Go(func() {
			for first := i * 3; first < len(events); first += 20 {
				if _, err := b.log.Append(within(t), emberforge,
					events[max(0, first-5):min(len(events), first+20)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	functions.Wait()
	b.append(emberforge, events, 0)
	seen := make(map[event.ID]bool)
	for i, e := range b.all(emberforge) {
		if seen[e.ID] || e.Sequence != int64(i)+1 {
			t.Errorf("event %s has the sequence %d at place %d; seen before: %t", e.ID, e.Sequence, i+1, seen[e.ID])
		}
		seen[e.ID] = true
	}
	if len(seen) != len(events) {
		t.Errorf("the log has %d of %d events", len(seen), len(events))
	}
}

func TestAppend_LostResponse_AddsEachEventOnce(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"Query", "PutItem", "UpdateItem", "TransactWriteItems"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			network := losingResponses(operation, 3)
			events := eventsOf(emberforge, "redemptions", 60)
			if _, err := b.logOver(newClient(t, over(network))).Append(within(t), emberforge, events); err != nil {
				t.Error(err)
			}
			if network.failures.Load() >= 0 {
				t.Error("no response was lost")
			}
			b.wantFeed(emberforge, events)
		})
	}
}

// Events and full pages expire. A full page expires at least one day after its last event. The last page never expires:
// if it did, the sequence would start over.
func TestAppend_Pages_ExpireAfterTheirEventsButTheLastNever(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 100)
	b.append(emberforge, events[:50], 50)
	if b.item(table.EventPageKey(emberforge, 0)).Has(table.AttrExpiresAt) {
		t.Error("the last page expires")
	}
	b.clock = noon().Add(time.Hour)
	b.append(emberforge, events[50:101], 51)
	want := b.clock.Add(retention + 8*24*time.Hour)
	for number := range int64(2) {
		if got := b.item(table.EventPageKey(emberforge, number)).Num(table.AttrExpiresAt); got != want.Unix() {
			t.Errorf("page %d expires at %d, want %d", number, got, want.Unix())
		}
	}
	if b.item(table.EventPageKey(emberforge, 2)).Has(table.AttrExpiresAt) {
		t.Error("the last page expires")
	}
	for i, at := range map[int]time.Time{0: noon(), 100: b.clock} {
		want := at.Add(retention + 7*24*time.Hour)
		if got := b.item(table.EventKey(emberforge, events[i].ID)).Num(table.AttrExpiresAt); got != want.Unix() {
			t.Errorf("event %d expires at %d, want %d", i+1, got, want.Unix())
		}
	}
	feeds := make(map[string]bool)
	for number := range 3 {
		feeds[b.item(table.EventPageKey(emberforge, int64(number))).Str(table.AttrFeed)] = true
	}
	if len(feeds) != 1 || feeds[""] {
		t.Errorf("the pages have the feeds %v, want one feed that is not empty", feeds)
	}
}

// An event may be added to the log long after it was stored. It is then kept for the whole retention, counted from the
// time it was added.
func TestAppend_EventStoredLongAgo_IsKeptForTheWholeRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for what, test := range map[string]struct {
		waited time.Duration
		want   time.Duration // how long the event is kept after it was added
	}{
		"an hour": {time.Hour, retention + 7*day - time.Hour}, "7 days": {7 * day, retention},
		"8 days": {8 * day, retention + 7*day}, "a year": {365 * day, retention + 7*day},
	} {
		b := newBureau(t)
		events := eventsOf(emberforge, "redemptions", 2)
		b.leave(events[1], noon().Add(retention+7*day))
		b.clock = noon().Add(test.waited)
		b.append(emberforge, events, len(events))
		b.wantFeed(emberforge, events)
		if got := b.item(table.EventKey(emberforge,
			events[1].ID)).Num(table.AttrExpiresAt); got != b.clock.Add(test.want).Unix() {
			t.Errorf("after waiting for %s: kept for %s, want %s", what, time.Unix(got, 0).Sub(b.clock), test.want)
		}
	}
}

// A function stores an event while the log is empty, and dies. By the time another function adds the event, the log has
// six full pages.
func TestAppend_EventStoredSixPagesAgo_IsAddedOnce(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 301)[:301]
	b.leave(events[300], noon().Add(2*retention))
	b.append(emberforge, events[:300], 300)
	b.append(emberforge, events[300:], 1)
	b.append(emberforge, events[300:], 0)
	b.wantFeed(emberforge, events)
}

// A function stores an event and dies before it adds the event to the log.
func TestAppend_EventStoredByAFunctionThatDied_IsAddedOnce(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 100)
	b.append(emberforge, events[:20], 20)
	b.leave(events[120], noon().Add(retention))
	b.append(emberforge, events[20:120], 100)
	b.append(emberforge, events[120:121], 1)
	b.append(emberforge, slices.Concat(events[110:121], events[:30]), 0)
	b.wantFeed(emberforge, events[:121])
}

// pageByPage is a client that reads one page in a call, as DynamoDB does when a response is full. It calls beforeSecond
// before it reads the second page.
type pageByPage struct {
	*dynamodb.Client

	beforeSecond func()
}

func (p *pageByPage) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if in.Limit == nil {
		in.Limit = aws.Int32(1)
	}
	if in.ExclusiveStartKey != nil && p.beforeSecond != nil {
		p.beforeSecond()
		p.beforeSecond = nil
	}
	return p.Client.Query(ctx, in, options...)
}

func TestAppend_PageFillsUpAfterItWasRead_AddsEachEventOnce(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 60)
	b.append(emberforge, events[:49], 49)
	b.leave(events[49], noon().Add(retention))
	slow := b.logOver(&pageByPage{Client: b.client, beforeSecond: func() { b.append(emberforge, events[49:60], 11) }})
	if added, err := slow.Append(within(t), emberforge, events[49:50]); added != 0 || err != nil {
		t.Errorf("Append = %d, %v, want 0 added events", added, err)
	}
	b.wantFeed(emberforge, events[:60])
}

func TestWindow(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 300)[:320]
	for batch := range slices.Chunk(events, 100) {
		b.append(emberforge, batch, len(batch))
	}
	b.delete(table.EventPageKey(emberforge, 0))
	b.delete(table.EventKey(emberforge, events[50].ID))
	b.delete(table.EventPageKey(emberforge, 3)) // DynamoDB deletes in any order
	feed := b.item(table.EventPageKey(emberforge, 6)).Str(table.AttrFeed)
	for what, test := range map[string]struct {
		after       int64
		limit       int
		first, last int64 // of the window
		from, to    int64 // of its events
		gone        bool  // whether the first of these events is deleted
	}{
		"before the oldest page":   {0, 10, 51, 150, 51, 60, true},
		"on the oldest page":       {51, 10, 51, 150, 52, 61, false},
		"up to the missing page":   {101, 100, 101, 150, 102, 150, false},
		"on the missing page":      {150, 10, 201, 320, 201, 210, false},
		"three pages":              {249, 100, 201, 320, 250, 320, false},
		"as many as asked for":     {200, 100, 201, 320, 201, 300, false},
		"the last page":            {300, 100, 301, 320, 301, 320, false},
		"after the last event":     {320, 100, 301, 320, 321, 320, false},
		"far after the last event": {1 << 62, 100, 301, 320, 321, 320, false},
	} {
		w, err := b.log.Window(within(t), emberforge, test.after, test.limit)
		// If the window ends before the log, Last may be lower than the log's last event, but not lower than the
		// window's last event.
		if err != nil || w.Feed != feed || w.First != test.first || w.Last < test.to || w.Last > test.last ||
			len(w.Events) != int(test.to-test.from)+1 {
			t.Errorf("%s: Window = feed %q, %d to %d with %d events, %v; want feed %q, %d to %d with events %d to %d",
				what, w.Feed, w.First, w.Last, len(w.Events), err, feed, test.first, test.last, test.from, test.to)
			continue
		}
		for i, e := range w.Events {
			want := events[test.from-1+int64(i)]
			want.Sequence = test.from + int64(i)
			if i == 0 && test.gone {
				want = event.Event{Sequence: want.Sequence, Shop: emberforge}
			}
			if !reflect.DeepEqual(e, want) {
				t.Errorf("%s: the window has %+v; want %+v", what, e, want)
			}
		}
	}
	if w, err := b.log.Window(within(t), sakura, 7, 100); err != nil || !reflect.DeepEqual(w, event.Window{}) {
		t.Errorf("the window of a shop without events is %+v, %v; want it empty", w, err)
	}
}

// DynamoDB may delete an item days after it has expired. The feed hides an event as soon as it expires.
func TestWindow_ExpiredEvent_IsGoneBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 60)
	b.append(emberforge, events[:55], 55)
	b.clock = noon().Add(time.Hour)
	b.append(emberforge, events[55:70], 15)
	b.clock = noon().Add(retention + 7*24*time.Hour)
	_, err := b.feed.Read(within(t), emberforge, event.Cursor{}, 100)
	if want := (&event.ExpiredError{
		Earliest: 55,
		Feed:     b.item(table.EventPageKey(emberforge, 0)).Str(table.AttrFeed),
	}); !reflect.DeepEqual(err, want) {
		t.Errorf("Read = %v; want %v", err, want)
	}
	if left := b.all(emberforge); len(left) != 15 || left[0].Sequence != 56 || left[0].ID != events[55].ID {
		t.Errorf("the feed has %+v, want the 15 events from number 56 on", left)
	}
	if _, found, err := b.log.Find(within(t), emberforge, events[54].ID); found || err != nil {
		t.Errorf("an expired event is found: %t, %v", found, err)
	}
	b.clock = noon().Add(2 * retention)
	b.append(emberforge, events[70:71], 1)
	if left := b.all(emberforge); len(left) != 1 || left[0].Sequence != 71 {
		t.Errorf("the feed has %+v, want only event 71", left)
	}
}

// A rebuild can append an expired event again while the page that names the event still exists. Then the log names the
// event twice.
func TestWindow_EventAppendedAgain_IsInBothPlaces(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 3)[:3]
	b.append(emberforge, events, 3)
	b.delete(table.EventKey(emberforge, events[1].ID))
	b.append(emberforge, events[1:2], 1)
	b.wantFeed(emberforge, []event.Event{events[0], events[1], events[2], events[1]})
}

// A damaged page must hold up only the events from that page on.
func TestWindow_DamagedPage_EventsBeforeItAreRead(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.append(emberforge, eventsOf(emberforge, "redemptions", 120)[:120], 120)
	_, err := b.client.UpdateItem(within(t), &dynamodb.UpdateItemInput{
		TableName: aws.String(b.table), Key: table.EventPageKey(emberforge, 1).Attributes(),
		UpdateExpression: aws.String("REMOVE " + table.AttrFeed),
	})
	must(t, err)
	page, err := b.feed.Read(within(t), emberforge, event.Cursor{After: 7}, event.MaxPerPage)
	if err != nil || len(page.Events) != 43 || page.Next != 50 {
		t.Errorf("Read = %d events up to %d, %v; want those up to 50", len(page.Events), page.Next, err)
	}
	_, err = b.feed.Read(within(t), emberforge, event.Cursor{After: 50, Feed: page.Feed}, event.MaxPerPage)
	if damage, is := errors.AsType[*event.DamagedError](err); !is || damage.Page != "p#000000000001" {
		t.Errorf("Read = %v, want the damaged page", err)
	}
}

func TestFind_StoredEvent_IsFound(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	events := eventsOf(emberforge, "redemptions", 2)
	b.append(emberforge, events, len(events))
	got, found, err := b.log.Find(within(t), emberforge, events[1].ID)
	if !found || err != nil || !reflect.DeepEqual(got, events[1]) {
		t.Errorf("Find = %+v, %t, %v; want %+v", got, found, err, events[1])
	}
	unknown := eventsOf(emberforge, "others", 1)[0].ID
	if got, found, err := b.log.Find(within(t), emberforge, unknown); found || err != nil {
		t.Errorf("Find of an unknown event = %+v, %t, %v; want false", got, found, err)
	}
}

// Events of two shops with the same ID are two events, in two feeds.
func TestEvents_OtherShopsEvents_AreInvisible(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	mine := eventsOf(emberforge, "redemptions", 60)
	theirs := slices.Clone(mine)
	for i := range theirs {
		theirs[i].Shop, theirs[i].Data = sakura, []byte(`{"id":"theirs"}`)
	}
	b.append(emberforge, mine, len(mine))
	if len(b.all(sakura)) != 0 {
		t.Error("sakura-goods has a feed with events before its first event was appended")
	}
	if _, found, err := b.log.Find(within(t), sakura, mine[0].ID); found || err != nil {
		t.Errorf("Find(sakura-goods, an event of emberforge) = %t, %v, want false", found, err)
	}
	b.append(sakura, theirs[:70], 70)
	b.append("emberforge-2", nil, 0)
	b.wantFeed(emberforge, mine)
	b.wantFeed(sakura, theirs[:70])
	feeds := []string{
		b.item(table.EventPageKey(emberforge, 0)).Str(table.AttrFeed),
		b.item(table.EventPageKey(sakura, 0)).Str(table.AttrFeed),
	}
	if feeds[0] == feeds[1] || len(feeds[0]) != 12 {
		t.Errorf("the feeds are %q, want two different feeds of 12 characters", feeds)
	}
	for _, other := range []catalog.ShopID{"emberforge-2", "emberforg", "Emberforge"} {
		if found := b.all(other); len(found) != 0 {
			t.Errorf("the feed of %s has %+v, want no events", other, found)
		}
	}
}

func (b *bureau) parking() *dynamo.EventParking {
	return dynamo.NewEventParking(b.client, b.table, nil, func() time.Time { return b.clock })
}

func (b *bureau) parked(p *dynamo.EventParking, shop catalog.ShopID) []event.Parked {
	b.t.Helper()
	all, err := p.Parked(within(b.t), shop)
	must(b.t, err)
	return all
}

func TestPark_SamePlaceAgain_CountsAndKeepsTheFirstTime(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	p := b.parking()
	at := func(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }
	first := event.Parked{
		Place: event.Place{Table: event.Vouchers, Partition: "emberforge#07", Sort: "SUMMER20#n#a/b"},
		Shop:  emberforge,
	}
	lost := event.Parked{Reason: "malformed record of a stream", First: at(1)}
	for i, reason := range []string{"timeout", "malformed", strings.Repeat("ä", 400)} {
		first.Reason, first.First = reason, at(i)
		must(t, p.Park(within(t), emberforge, first))
	}
	must(t, p.Park(within(t), "", lost))
	first.Reason, first.First, first.Attempts, lost.Attempts = strings.Repeat("ä", 250), at(0), 3, 1
	if shops, err := p.Shops(within(t)); err != nil || !slices.Equal(shops, []catalog.ShopID{"", emberforge}) {
		t.Errorf("Shops = %q, %v", shops, err)
	}
	for shop, want := range map[catalog.ShopID][]event.Parked{"": {lost}, emberforge: {first}, "ember": nil} {
		if got := b.parked(p, shop); !reflect.DeepEqual(got, want) {
			t.Errorf("Parked(%q) = %+v; want %+v", shop, got, want)
		}
	}
	if kept, err := p.Release(within(t), first); err != nil || kept > 0 {
		t.Fatal(kept, err)
	}
	if got := b.parked(p, emberforge); len(got) != 0 {
		t.Errorf("after the release: Parked = %+v", got)
	}
	expiry := b.item(table.ParkedShopKey(emberforge)).Num(table.AttrExpiresAt)
	if want := noon().Add(30 * 24 * time.Hour).Unix(); expiry != want {
		t.Errorf("the shop is announced until %d, want %d", expiry, want)
	}
}

// After an item was read and before its change is released, another change of the item may be parked. That change must
// be retried, too.
func TestRelease_ParkedAgainMeanwhile_Stays(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	p := b.parking()
	parked := event.Parked{
		Place: event.Place{Table: event.Vouchers, Partition: "emberforge#07", Sort: "SUMMER20"},
		Shop:  emberforge, First: noon(),
	}
	for range 2 {
		must(t, p.Park(within(t), emberforge, parked))
	}
	stays := func(what string) {
		kept, err := p.Release(within(t), parked)
		if stay := len(b.parked(p, emberforge)); err != nil || kept != 1 || stay != 1 {
			t.Errorf("%s: Release = %d, %v, and %d changes stay; want 1", what, kept, err, stay)
		}
	}
	parked.Attempts = 1
	stays("with one attempt fewer than stored")
	parked.Attempts, parked.First = 2, noon().Add(-time.Minute)
	stays("with an earlier first time than stored")
	parked.First = noon()
	for range 2 { // the response may be lost
		kept, err := p.Release(within(t), parked)
		if stay := len(b.parked(p, emberforge)); err != nil || kept != 0 || stay != 0 {
			t.Errorf("Release = %d, %v, and %d changes stay; want 0", kept, err, stay)
		}
	}
}

// smallPages is a client whose queries return one item each, or pages of 1,000 items without end.
type smallPages struct {
	*dynamodb.Client

	endless bool
}

func (s smallPages) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if !s.endless {
		asked := *in
		asked.Limit = aws.Int32(1)
		return s.Client.Query(ctx, &asked, options...)
	}
	items := slices.Repeat([]map[string]types.AttributeValue{table.ParkedKey("", event.Place{}).Attributes()}, 1000)
	return &dynamodb.QueryOutput{Items: items, LastEvaluatedKey: items[0]}, ctx.Err()
}

func TestParked_SeveralPages_ReturnsUpTo10000Changes(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	for i := range 5 {
		place := event.Place{Table: event.Vouchers, Partition: "emberforge#07", Sort: fmt.Sprint("SUMMER-", i)}
		must(t, b.parking().Park(within(t), emberforge, event.Parked{Place: place, First: noon()}))
	}
	for endless, want := range map[bool]int{false: 5, true: 10000} {
		parking := dynamo.NewEventParking(smallPages{b.client, endless}, b.table, nil, nil)
		if got := len(b.parked(parking, emberforge)); got != want {
			t.Errorf("Parked returns %d changes, want %d", got, want)
		}
	}
}

func TestEventLog_StoreOutOfReach_IsUnavailable(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	gone := b.logOver(dynamodb.New(b.client.Options(),
		func(o *dynamodb.Options) { o.BaseEndpoint = aws.String("http://127.0.0.1:1") }))
	ctx := endingAfter(t, time.Second)
	_, appending := gone.Append(ctx, emberforge, eventsOf(emberforge, "redemptions", 1))
	_, reading := gone.Window(ctx, emberforge, 0, 1)
	_, _, finding := gone.Find(ctx, emberforge, "MTCXgwWFAhhCzmYLdegdZw")
	for what, err := range map[string]error{"Append": appending, "Window": reading, "Find": finding} {
		if unavailable, is := err.(interface{ Unavailable() bool }); !is || !unavailable.Unavailable() {
			t.Errorf("%s = %v, want an *UnavailableError", what, err)
		}
	}
}
