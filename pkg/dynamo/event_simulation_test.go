package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// simulatedEvents is the name of a simulated table.
const simulatedEvents = "events"

// retention is how long the logs of tests keep events.
const retention = 90 * 24 * time.Hour

// eventsOf returns the events of n redemptions of a shop. Every third redemption was undone.
func eventsOf(shop catalog.ShopID, label string, n int) (events []event.Event) {
	for i := range n {
		r := voucher.Redemption{
			ID: string(idempotency.Digest(label, fmt.Sprint(i))), Code: "SUMMER20",
			At: noon().Add(time.Duration(i) * time.Second),
		}
		if i%3 == 0 {
			r.Undone = r.At.Add(time.Minute)
		}
		for _, fact := range event.OfRedemption(shop, r) {
			events = append(events, event.Event{
				ID: fact.ID(), Type: fact.Type, Shop: shop, At: fact.At,
				Data: fmt.Appendf(nil, `{"id":%q}`, r.ID),
			})
		}
	}
	return events
}

// Several functions append events of one shop at once, in batches that overlap. Batches are delivered again, and
// functions die at any step. A shop's server polls meanwhile. Wherever the last page ends, whatever fails and in
// whatever order the steps happen, each event is in the log once, and no sequence number is missing.
func TestAppend_ConcurrentBatchesAndFaults_KeepTheSequence(t *testing.T) {
	t.Parallel()
	appendTrials().simulate(t, 16)
}

func appendTrials() trials {
	all := trials{}
	for _, before := range []int{0, 1, 48, 49, 50, 51} {
		for name, faults := range map[string]memdynamo.Rates{
			"reliable": {}, "every fault": everyFault(0.04),
			"torn reads": {memdynamo.LostResponse: 0.1, memdynamo.Torn: 0.6},
		} {
			all[fmt.Sprintf("after %d events/%s", before, name)] = func(s *simulation) {
				s.faults = faults
				newLogTrial(s, before).run()
			}
		}
	}
	return all
}

// logTrial is a trial in which functions record events and a shop's server polls.
type logTrial struct {
	*simulation

	recorded []event.Event // before the trial
	pool     []event.Event // the events that functions record during the trial
	known    []event.ID    // the log, as the last check saw it
	feed     string        // the ID of the log, as the last check saw it
}

func newLogTrial(s *simulation, before int) *logTrial {
	trial := &logTrial{
		simulation: s, recorded: eventsOf(emberforge, "before", before)[:before],
		pool: eventsOf(emberforge, "now", 6+int(s.random.Int64N(12))),
	}
	trial.afterCommit = trial.check
	trial.deliver(trial.recorded)
	return trial
}

func (s *logTrial) log(api dynamo.EventAPI) *dynamo.EventLog {
	return dynamo.NewEventLog(api, simulatedEvents, retention, s.now, s.random.Int64N, s.random)
}

// deliver appends events outside the simulation: one by one, and without faults.
func (s *logTrial) deliver(events []event.Event) {
	s.t.Helper()
	for batch := range slices.Chunk(events, 1) {
		if _, err := s.log(s.setup).Append(s.t.Context(), emberforge, batch); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *logTrial) run() {
	polled := make([][]event.ID, 2)
	for i := range 4 {
		s.request(s.t.Context(), fmt.Sprintf("record %d", i), func(ctx context.Context) {
			for range 3 {
				s.record(ctx)
			}
		})
	}
	for i := range polled {
		s.request(s.t.Context(), fmt.Sprintf("poll %d", i), func(ctx context.Context) { polled[i] = s.poll(ctx) })
	}
	s.simulation.run()
	s.deliver(s.pool)
	s.deliver(s.recorded)
	var want []event.ID
	for _, e := range slices.Concat(s.recorded, s.pool) {
		want = append(want, e.ID)
	}
	if got := slices.Sorted(slices.Values(s.known)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		s.t.Errorf("the log has the %d events %s, want the %d events that were recorded", len(got), got, len(want))
	}
	for _, ids := range polled {
		if len(ids) > len(s.known) || !slices.Equal(ids, s.known[:len(ids)]) {
			s.t.Errorf("polled %s, but the log begins with %s", ids, s.known)
		}
	}
	for i, e := range s.pool {
		if e.Type == event.RedemptionUndone && slices.Index(s.known, e.ID) < slices.Index(s.known, s.pool[i-1].ID) {
			s.t.Errorf("event %s undoes a redemption, but comes before the event that created it", e.ID)
		}
	}
}

// record appends some of the events. Half of the time, the function dies meanwhile. Requests that the function sent may
// still arrive.
func (s *logTrial) record(ctx context.Context) {
	limit := 5 * time.Second
	if s.random.Int64N(2) == 0 {
		limit = time.Duration(s.random.Int64N(int64(60 * time.Millisecond)))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	first := int(s.random.Int64N(int64(len(s.pool))))
	batch := slices.Clone(s.pool[first:min(len(s.pool), first+1+int(s.random.Int64N(12)))])
	// a redemption's undone event comes in one batch with its created event
	if batch[0].Type == event.RedemptionUndone {
		batch = slices.Insert(batch, 0, s.pool[first-1])
	}
	_, err := s.log(s.dynamodb).Append(ctx, emberforge, batch)
	if _, unavailable := errors.AsType[*dynamo.UnavailableError](err); err != nil && !unavailable {
		s.t.Errorf("append: %v", err)
	}
}

// poll reads the feed until it has reached the end of the feed several times, and returns the IDs of the events.
func (s *logTrial) poll(ctx context.Context) (ids []event.ID) {
	feed, cursor := event.Feed{Store: s.log(s.dynamodb)}, event.Cursor{}
	for ends := 0; ends < 6; {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		page, err := feed.Read(limited, emberforge, cursor, 1+int(s.random.Int64N(event.MaxPerPage)))
		cancel()
		if err != nil {
			if _, unavailable := errors.AsType[*dynamo.UnavailableError](err); !unavailable {
				s.t.Errorf("poll: %v", err)
			}
			ends++
			continue
		}
		for _, e := range page.Events {
			ids = append(ids, e.ID)
			if e.Sequence != int64(len(ids)) || e.Shop != emberforge || len(e.Data) == 0 {
				s.t.Errorf("polled %+v at %d", e, len(ids))
			}
		}
		if page.Next != int64(len(ids)) || cursor.Feed != "" && page.Feed != cursor.Feed {
			s.t.Errorf("with the cursor %+v, polled the page %+v; %d events were polled in all", cursor, page, len(ids))
		}
		cursor = event.Cursor{After: page.Next, Feed: page.Feed}
		if !page.More {
			ends++
			time.Sleep(time.Duration(s.random.Int64N(int64(40 * time.Millisecond))))
		}
	}
	return ids
}

// check checks the stored log. The log must not have an event twice, and must begin with the events that the last check
// saw.
func (s *logTrial) check(stored *simulatedDynamoDB) {
	var ids []event.ID
	var last table.EventPage
	lastExpires := false
	for key, it := range stored.items(simulatedEvents) {
		if !table.IsEventPage(key) {
			continue
		}
		page, err := table.DecodeEventPage(it)
		if err != nil || page.First() != int64(len(ids))+1 || page.Len() == 0 || len(ids) > 0 &&
			(page.Feed != last.Feed || !lastExpires) {
			s.t.Errorf("page %+v after %+v, which expires: %t, %v", page, last, lastExpires, err)
		}
		for place := range page.Len() {
			id := page.ID(place)
			if slices.Contains(ids, id) {
				s.t.Errorf("event %s is in the log twice", id)
			}
			if !stored.item(simulatedEvents, table.EventKey(emberforge, id)).Has(table.AttrData) {
				s.t.Errorf("event %s is in the log, but not stored", id)
			}
			ids = append(ids, id)
		}
		last, lastExpires = page, it.Has(table.AttrExpiresAt)
	}
	if lastExpires || len(ids) < len(s.known) || !slices.Equal(ids[:len(s.known)], s.known) || s.feed != "" &&
		s.feed != last.Feed {
		s.t.Errorf("the log of %q, %s, has become %q, %s; the last page expires: %t", s.feed, s.known, last.Feed, ids,
			lastExpires)
	}
	s.known, s.feed = ids, last.Feed
}
