package backoffice_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/audit"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

// turnOnEvents gives the shop's deployment a table of events. No function records events, so tests must rebuild the
// feed.
func (s *shop) turnOnEvents() {
	s.t.Helper()
	s.names.Events = dynamotest.Table(s.t, "EventsTable")
	s.deployment = backoffice.NewDeployment(s.client, s.names, mathrand.Int64N)
	s.deployment.EventRetention = 90 * day
	var err error
	if s.operator, err = s.deployment.Shop(s.t.Context(), s.shop); err != nil {
		s.t.Fatal(err)
	}
}

func newShopWithEvents(t *testing.T) *shop {
	t.Helper()
	s := newTables(t).newShop(t)
	s.turnOnEvents()
	return s
}

func (s *shop) events(now time.Time) *backoffice.Events {
	s.t.Helper()
	events, err := s.deployment.Events(func() time.Time { return now }, rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	return events
}

// settled returns the time by which everything that happened in the shop must be in the feed.
func (s *shop) settled() time.Time {
	return s.opened.Add(audit.RecordingTime + time.Millisecond)
}

func (s *shop) rebuild(how backoffice.Rebuilding) backoffice.Rebuilt {
	s.t.Helper()
	if how.Progress == nil {
		how.Progress = func(int) {}
	}
	result, err := s.events(s.settled()).Rebuild(s.t.Context(), s.operator, how)
	if err != nil {
		s.t.Error(err)
	}
	return result
}

// feed returns the shop's whole feed.
func (s *shop) feed() []event.Event {
	s.t.Helper()
	var all []event.Event
	cursor := event.Cursor{}
	for more := true; more; {
		page, err := s.events(s.settled()).Read(s.t.Context(), s.shop, cursor, event.MaxPerPage)
		if err != nil {
			s.t.Fatal(err)
		}
		all, cursor, more = append(all, page.Events...), event.Cursor{After: page.Next, Feed: page.Feed}, page.More
	}
	return all
}

// wantFed checks that the feed has exactly the events that the lists of redemptions and orders show, and that the first
// event of each redemption or order comes before its later ones.
func (s *shop) wantFed() []event.Event {
	s.t.Helper()
	redemptions, err := backoffice.Collect(s.operator.Redemptions(s.t.Context(), backoffice.RedemptionFilter{}))
	if err != nil {
		s.t.Fatal(err)
	}
	orders, err := backoffice.Collect(s.operator.Orders(s.t.Context(), checkout.OrderFilter{}))
	if err != nil {
		s.t.Fatal(err)
	}
	var facts []event.Fact
	for _, r := range redemptions {
		facts = append(facts, event.OfRedemption(s.shop, r.Redemption)...)
	}
	for _, order := range orders {
		facts = append(facts, event.OfOrder(s.shop, order)...)
	}
	fed := s.feed()
	at := make(map[event.ID]int)
	for i, e := range fed {
		at[e.ID] = i
	}
	if len(fed) != len(facts) || len(at) != len(facts) {
		s.t.Errorf("%d events with %d different IDs, want one for each of %d facts", len(fed), len(at), len(facts))
	}
	before := -1
	for _, fact := range facts {
		i, found := at[fact.ID()]
		want, err := fact.Event()
		if err != nil || !found || fed[i].Type != fact.Type || !fed[i].At.Equal(fact.At) ||
			string(fed[i].Data) != string(want.Data) {
			s.t.Errorf("%s: in the feed %t, as %+v, want data %s, %v", fact.Type, found, fed[i], want.Data, err)
		}
		if fact.Type != event.RedemptionCreated && fact.Type != event.OrderCreated && i < before {
			s.t.Errorf("%s is event %d, but must follow event %d", fact.Type, i+1, before+1)
		}
		before = i
	}
	return fed
}

func TestRebuild_EveryKindOfRecord_IsInTheFeedOnce(t *testing.T) {
	for what, leave := range map[string]func(s *shop){
		"an empty shop": func(*shop) {}, "every kind of voucher": (*shop).stock, "an order of each status": everyOrder,
		"every kind of hold in every state": everyHold, "redemptions with keys": replaysAndRefusals,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newShopWithEvents(t)
			leave(s)
			first := s.rebuild(backoffice.Rebuilding{From: s.opened.Add(-day)})
			fed := s.wantFed()
			if again := s.rebuild(backoffice.Rebuilding{From: s.opened.Add(-day)}); first.Added != len(fed) ||
				again != (backoffice.Rebuilt{}) {
				t.Errorf("the first run added %+v, the second %+v, and the feed has %d events", first, again, len(fed))
			}
			if report := s.verify(s.settled()); report.Found != 0 {
				t.Errorf("verify: %+v", report.Findings)
			}
		})
	}
}

func TestRebuild_EventsThatWereLost_GetTheirPlacesBack(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.sellAtTimes(8)
	s.rebuild(backoffice.Rebuilding{})
	before := s.feed()
	for _, it := range s.items(s.names.Events, "e#")[:3] {
		s.remove(s.names.Events, it)
	}
	result, again := s.rebuild(backoffice.Rebuilding{}), s.rebuild(backoffice.Rebuilding{})
	if fed := s.feed(); result.Added != 3 || again.Added != 0 || !reflect.DeepEqual(fed, before) {
		t.Errorf("the first run %+v, the second %+v: %d events, want the %d from before the loss", result, again,
			len(fed), len(before))
	}
}

// sellAtTimes redeems a code once an hour. It undoes every second redemption at a time shortly before it was made, as a
// slow clock would.
func (s *shop) sellAtTimes(n int) {
	s.t.Helper()
	s.create(voucher.Terms{Written: "ARIGATO", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	opened := s.opened
	for i := range n {
		s.opened = opened.Add(time.Duration(i-n) * time.Hour)
		r, _, err := s.redeemer.Redeem(s.t.Context(), s.request("ARIGATO", "", ""))
		if err == nil && i%2 == 1 {
			_, _, err = s.operator.UndoRedemption(s.t.Context(), "AR1GAT0", r.ID, "", s.opened.Add(-time.Minute))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.opened = opened
}

func TestRebuild_LittleMemory_KeepsTheOrderOfTime(t *testing.T) {
	for _, memory := range []int{0, 1, 2, 3, 11, 12} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			t.Parallel()
			s := newShopWithEvents(t)
			s.sellAtTimes(8)
			if result := s.rebuild(backoffice.Rebuilding{Memory: memory}); result.Added != 12 {
				t.Errorf("rebuilt %+v, want 12 events", result)
			}
			fed := s.wantFed()
			created := slices.DeleteFunc(slices.Clone(fed),
				func(e event.Event) bool { return e.Type != event.RedemptionCreated })
			if !slices.IsSortedFunc(created, func(a, b event.Event) int { return a.At.Compare(b.At) }) {
				t.Errorf("not in the order of their times: %+v", created)
			}
			for i, e := range fed {
				if e.Type == event.RedemptionUndone && fed[i-1].At.Sub(e.At) != time.Minute {
					t.Errorf("event %d undoes a redemption, but follows %+v", i+1, fed[i-1])
				}
			}
		})
	}
}

func TestRebuild_RedemptionOlderThanTheRetention_IsAddedOnlyWithFrom(t *testing.T) {
	s := newShopWithEvents(t)
	s.sellAtTimes(2)
	later := s.settled().Add(90*day - 90*time.Minute) // 90 days earlier is between the two redemptions
	s.opened = later
	if result := s.rebuild(backoffice.Rebuilding{}); result.Added != 2 {
		t.Errorf("added %+v, want two events: the later redemption was made and undone", result)
	}
	if result := s.rebuild(backoffice.Rebuilding{From: later.Add(-91 * day)}); result.Added != 1 {
		t.Errorf("added %+v, want the earlier redemption", result)
	}
}

// An old redemption was undone recently. If the feed lacks the event of the undoing, Rebuild adds the event of the
// redemption, too.
func TestRebuild_UndoneAfterTheEventOfTheRedemptionExpired(t *testing.T) {
	for what, test := range map[string]struct {
		recorded bool // whether a function recorded that it was undone
		want     int
	}{"the feed lacks the event of the undoing": {false, 2}, "the feed has the event of the undoing": {true, 0}} {
		s := newShopWithEvents(t)
		code := s.create(voucher.Terms{Written: "ARIGATO"})
		r, _, err := s.redeemer.Redeem(t.Context(), s.request("ARIGATO", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		s.opened = s.opened.Add(100 * day)
		if r, _, err = s.operator.UndoRedemption(t.Context(), code, r.ID, "", s.opened); err != nil {
			t.Fatal(err)
		}
		if test.recorded {
			change := event.Change{Shop: s.shop, Facts: event.OfRedemption(s.shop, r)}
			if got := s.events(s.opened).Record(t.Context(), []event.Change{change}); got.Recorded != 1 {
				t.Fatalf("%+v", got)
			}
		}
		if result := s.rebuild(backoffice.Rebuilding{}); result.Added != test.want {
			t.Errorf("%s: added %+v, want %d", what, result, test.want)
		}
		if fed := s.feed(); fed[len(fed)-1].Type != event.RedemptionUndone {
			t.Errorf("%s: the feed ends with %+v, want the event of the undoing", what, fed[len(fed)-1])
		}
		if report := s.verify(s.settled()); report.Found != 0 {
			t.Errorf("%s: %+v", what, report.Findings)
		}
	}
}

func TestRebuild_OrderCancelledAfterItsFirstEventExpired_AddsOnlyTheCancellation(t *testing.T) {
	s := newShopWithEvents(t)
	s.checkOut(s.opened)
	s.orderedAs(checkout.OrderPlaced)
	orders, err := backoffice.Collect(s.operator.Orders(t.Context(), checkout.OrderFilter{}))
	if err != nil {
		t.Fatal(err)
	}
	s.opened = s.opened.Add(100 * day)
	order, _, err := s.operator.FulfilOrder(t.Context(), orders[0].ID, s.opened)
	if err != nil {
		t.Fatal(err)
	}
	s.events(s.opened).Record(t.Context(),
		[]event.Change{{Shop: s.shop, Facts: event.OfOrder(s.shop, order)}})
	if _, _, err := s.operator.CancelOrder(t.Context(), order.ID, "", s.opened); err != nil {
		t.Fatal(err)
	}
	s.rebuild(backoffice.Rebuilding{})
	var types []event.Type
	for _, e := range s.feed() {
		types = append(types, e.Type)
	}
	if !slices.Equal(types, []event.Type{event.OrderFulfilled, event.OrderCancelled}) {
		t.Errorf("the feed has %s, want fulfilled and cancelled", types)
	}
}

// After the retention was raised from 90 days to a year, events that had expired must not count as missing, and must
// not be added again.
func TestEvents_RetentionWasRaised_ExpiredEventsAreNotMissing(t *testing.T) {
	s := newShopWithEvents(t)
	s.create(voucher.Terms{Written: "ARIGATO", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit)})
	for _, later := range []time.Duration{0, 50 * day} {
		s.opened = s.opened.Add(later)
		s.redeem("ARIGATO", "", "")
		s.rebuild(backoffice.Rebuilding{})
	}
	s.opened = s.opened.Add(day)
	s.redeem("ARIGATO", "", "") // no function records this redemption
	s.deployment.EventRetention = 365 * day
	var err error
	if s.operator, err = s.deployment.Shop(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	s.opened = s.opened.Add(94 * day) // the first event has expired
	for _, missing := range []int{1, 0} {
		if report := s.verify(s.settled()); report.Found != missing {
			t.Errorf("%d findings, want %d: %+v", report.Found, missing, report.Findings)
		}
		if result := s.rebuild(backoffice.Rebuilding{}); result.Added != missing {
			t.Errorf("added %+v, want %d", result, missing)
		}
	}
}

func TestRebuild_ConcurrentRuns_AddEachEventOnce(t *testing.T) {
	s := newShopWithEvents(t)
	s.stock()
	everyOrder(s)
	var all sync.WaitGroup
	var added atomic.Int64
	for memory := range 6 {
		all.Go(func() { added.Add(int64(s.rebuild(backoffice.Rebuilding{Memory: memory}).Added)) })
	}
	all.Wait()
	if fed := s.wantFed(); int64(len(fed)) != added.Load() {
		t.Errorf("%d events were added, but %d are in the feed", added.Load(), len(fed))
	}
}

func TestRebuild_Interrupted_IsCompletedByAnotherRun(t *testing.T) {
	s := newShopWithEvents(t)
	s.sellAtTimes(8)
	for stopAfter := 1; ; stopAfter += 3 {
		ctx, stop := context.WithCancel(t.Context())
		steps := 0
		_, err := s.events(s.settled()).Rebuild(ctx, s.operator,
			backoffice.Rebuilding{Memory: 5, Progress: func(n int) {
				if steps += n; steps >= stopAfter {
					stop()
				}
			}})
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	s.wantFed()
}

// If a record moves to another item while everything is read, it may be read twice, like the copy here.
func TestRebuild_RecordReadTwice_IsAddedOnce(t *testing.T) {
	s := newShopWithEvents(t)
	s.stock()
	s.change("AR1GAT0#r#", nextBucket)
	if result := s.rebuild(backoffice.Rebuilding{}); result.Added != 9 || len(s.feed()) != 9 {
		t.Errorf("rebuilt %+v, and the feed has %d events; want 9", result, len(s.feed()))
	}
}

func TestRebuild_UnreadableItem_IsCountedAndTheOthersAreAdded(t *testing.T) {
	s := newShopWithEvents(t)
	s.stock()
	s.change("G1FT1", func(it attributes) { it["reward"] = text("a dragon") })
	s.remove(s.names.Vouchers, s.items(s.names.Vouchers, "NEWS")[0])
	if result := s.rebuild(backoffice.Rebuilding{}); result != (backoffice.Rebuilt{Added: 8, Unread: 1}) {
		t.Errorf("rebuilt %+v, want 8 events and 1 unread item", result)
	}
}

func TestEvents_DeploymentWithoutATableOfEvents_ReturnsErrNoEvents(t *testing.T) {
	s := newTables(t).newShop(t)
	if _, err := s.deployment.Events(time.Now, rand.Reader); !errors.Is(err, backoffice.ErrNoEvents) {
		t.Error(err)
	}
}

// Verify takes time. Events that are recorded while it reads must not cause findings.
func TestVerify_EventsRecordedWhileItReads_FindsNothing(t *testing.T) {
	s := newShopWithEvents(t)
	s.stock()
	recorded := false
	report, err := s.operator.Verify(t.Context(), backoffice.Verification{
		Now: s.settled, Settle: time.Millisecond, Read: func(int) {
			if !recorded {
				recorded = true
				return
			}
			s.rebuild(backoffice.Rebuilding{})
		},
	})
	if err != nil || report.Found != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestVerify_EventNotInTheFeed_IsReportedAfterRecordingTimeUntilItWouldExpire(t *testing.T) {
	s := newShopWithEvents(t)
	s.stock()
	for _, test := range []struct {
		later time.Duration
		want  int
	}{
		{audit.RecordingTime, 0},
		{audit.RecordingTime + time.Millisecond, 9},
		{90 * day, 9},
		{90*day + time.Millisecond, 0},
	} {
		missing := 0
		for _, f := range s.verify(s.opened.Add(test.later)).Findings {
			if f.Kind == audit.KindEventMissing {
				missing++
			}
		}
		if missing != test.want {
			t.Errorf("%s later: %d missing, want %d", test.later, missing, test.want)
		}
	}
}

func TestVerify_FeedOfALiveShop_FindsNothing(t *testing.T) {
	s := newShopWithEvents(t)
	closed := s.trade(60)
	var recorder sync.WaitGroup
	recorder.Go(func() {
		for isOpen := true; isOpen; isOpen = !isClosed(closed) {
			s.rebuild(backoffice.Rebuilding{Memory: 40})
		}
	})
	for isOpen := true; isOpen; isOpen = !isClosed(closed) {
		if report := s.verify(s.opened); report.Found > 0 {
			t.Errorf("while the shop trades: %+v", report.Findings)
		}
	}
	recorder.Wait()
	s.rebuild(backoffice.Rebuilding{From: s.opened.Add(-day)})
	if report := s.verify(s.settled()); report.Found > 0 {
		t.Errorf("afterwards: %+v", report.Findings)
	}
}

// damagedFeeds returns ways to damage the feed of a shop with more than two pages of events.
func damagedFeeds() []damage {
	page := func(number int) func(s *shop) attributes {
		return func(s *shop) attributes { return s.items(s.names.Events, fmt.Sprintf("p#%012d", number))[0] }
	}
	changed := func(number int, change func(ids []byte) []byte) func(s *shop) {
		return func(s *shop) {
			it := page(number)(s)
			ids, _ := it["events"].(*types.AttributeValueMemberB)
			it["events"] = &types.AttributeValueMemberB{Value: change(slices.Clone(ids.Value))}
			if damaged, err := table.DecodeEventPage(table.Item(it)); err != nil { // as if Shopfront had made the mistake
				it["seal"] = &types.AttributeValueMemberB{Value: damaged.Seal(s.shop)}
			}
			s.put(s.names.Events, it)
		}
	}
	withAttribute := func(prefix, name string, value types.AttributeValue) func(s *shop) {
		return func(s *shop) {
			it := s.items(s.names.Events, prefix)[0]
			if it[name] = value; value == nil {
				delete(it, name)
			}
			s.put(s.names.Events, it)
		}
	}
	withoutLast := func(ids []byte) []byte { return ids[:len(ids)-16] }
	return []damage{
		{what: "the latest event is lost", want: []string{"event_missing "}, do: changed(2, withoutLast)},
		{what: "an event is in the feed twice", want: []string{"event_twice "}, do: changed(2, func(ids []byte) []byte {
			return append(ids, ids[:16]...)
		})},
		{
			what: "no record shows what an event reports", want: []string{"event_unfounded "},
			do: changed(2, func(ids []byte) []byte {
				return append(ids, "sixteen bytes...."[:16]...)
			}),
		},
		{what: "a redemption is lost", want: []string{"event_unfounded ", "event_unfounded "}, do: func(s *shop) {
			s.remove(s.names.Vouchers, s.items(s.names.Vouchers, "AR1GAT0#r#")[0])
			s.remove(s.names.Vouchers, s.items(s.names.Vouchers, "AR1GAT0#r#")[1])
		}},
		{what: "the latest event is lost, and its change is set aside", want: []string{"event_parked "}, do: func(s *shop) {
			changed(2, withoutLast)(s)
			var all []event.Parked
			for _, it := range s.items(s.names.Vouchers, "AR1GAT0#r#") {
				place := event.Place{Table: event.Vouchers, Partition: it.text("customer"), Sort: it.text("sk")}
				all = append(all, event.Parked{Place: place, Reason: "the events table did not respond"})
			}
			if err := s.events(s.opened).Parking.Park(s.t.Context(), s.shop, all...); err != nil {
				s.t.Fatal(err)
			}
		}},
		{what: "an event's data was changed", want: []string{"event_differs "}, do: func(s *shop) {
			data := strings.Replace(s.items(s.names.Events, "e#")[0].text("data"), "ARIGATO", "SUMMER-20", 1)
			withAttribute("e#", "data", text(data))(s)
		}},
		{
			what: "an event's type was changed", want: []string{"event_differs "},
			do: withAttribute("e#", "type", text("redemption.undone")),
		},
		{
			what: "an event's time was changed", want: []string{"event_differs "},
			do: withAttribute("e#", "at", number(1795348800001)),
		},
		{
			what: "an event cannot be read", want: []string{"malformed "},
			do: withAttribute("e#", "data", text(`{"id":`)),
		},
		{what: "two events were swapped", want: []string{"malformed "}, do: func(s *shop) {
			ids, _ := page(1)(s)["events"].(*types.AttributeValueMemberB)
			swapped := slices.Concat(ids.Value[16:32], ids.Value[:16], ids.Value[32:])
			withAttribute("p#000000000001", "events", &types.AttributeValueMemberB{Value: swapped})(s)
		}},
		{
			what: "a page's feed was changed", want: []string{"malformed "},
			do: withAttribute("p#000000000001", "feed", text("Zk3p0c8QmX1a")),
		},
		{
			what: "a page's feed was removed", want: []string{"malformed "},
			do: withAttribute("p#", "feed", nil),
		},
		{what: "an event is not stored", want: []string{"event_gap "}, do: func(s *shop) {
			s.remove(s.names.Events, s.items(s.names.Events, "e#")[0])
		}},
		{what: "an event has expired too early", want: []string{"event_gap "}, do: func(s *shop) {
			it := s.items(s.names.Events, "e#")[0]
			it["expiresAt"] = number(s.opened.Unix())
			s.put(s.names.Events, it)
		}},
		{what: "the feed is lost", want: slices.Repeat([]string{"event_missing "}, 105), do: func(s *shop) {
			for _, it := range s.items(s.names.Events, "p#") {
				s.remove(s.names.Events, it)
			}
		}},
		{
			what: "the first page has expired, and every record is older than the retention", after: 90 * day,
			do: func(s *shop) {
				s.remove(s.names.Events, page(0)(s))
			},
		},
		{
			what: "a page in the middle is lost",
			want: append([]string{"event_gap "}, slices.Repeat([]string{"event_missing "}, 50)...),
			do:   func(s *shop) { s.remove(s.names.Events, page(1)(s)) },
		},
		{
			what: "a page in the middle lacks an event", want: []string{"event_gap ", "event_missing "},
			do: changed(1, withoutLast),
		},
		{
			what: "a page cannot be read",
			want: append(slices.Repeat([]string{"event_missing "}, 5), "malformed "),
			do:   changed(2, func(ids []byte) []byte { return ids[1:] }),
		},
		{
			what: "a record cannot be read, so its event is not judged", want: []string{"malformed AR1GAT0#r#"},
			do: func(s *shop) {
				s.change("AR1GAT0#r#", func(it attributes) { it[it.record()] = text("") })
			},
		},
	}
}

// docs/operating/privacy.md says how to erase the personal data of an order.
func TestVerify_PersonalDataOfAnOrderIsErased_FindsNothing(t *testing.T) {
	t.Parallel()
	s := newShopWithEvents(t)
	s.create(voucher.Terms{
		Written: "ARIGATO", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit),
	})
	c := s.order(s.hold("AR1GAT0", "Alder", s.opened, ""))
	s.rebuild(backoffice.Rebuilding{})
	s.changeCheckoutOf(c, func(it attributes) { it["data"] = text("{}") })
	var erased attributes
	for _, it := range s.items(s.names.Events, "e#") {
		if it.text("type") != "order.created" {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(it.text("data")), &members); err != nil {
			t.Fatal(err)
		}
		members["data"] = json.RawMessage(`{}`)
		delete(members, "nick")
		delete(members, "payment")
		rest, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		it["data"] = text(string(rest))
		s.put(s.names.Events, it)
		erased = it
	}
	if report := s.verify(s.settled()); report.Found != 0 || erased == nil {
		t.Errorf("%+v", report.Findings)
	}
	erased["data"] = text(strings.Replace(erased.text("data"), "EUR", "USD", 1))
	s.put(s.names.Events, erased)
	wantFindings(t, s.verify(s.settled()).Findings, []string{"event_differs "})
}

func TestVerify_DamagedFeed_IsFound(t *testing.T) {
	for _, test := range damagedFeeds() {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			s := newShopWithEvents(t)
			s.create(voucher.Terms{
				Written: "ARIGATO", MaxUses: new(voucher.NoLimit),
				MaxUsesPerNick: new(voucher.NoLimit),
			})
			for range 105 {
				s.redeem("ARIGATO", "", "")
			}
			s.rebuild(backoffice.Rebuilding{})
			if report := s.verify(s.settled()); report.Found != 0 {
				t.Fatalf("before the damage: %+v", report.Findings)
			}
			test.do(s)
			report := s.verify(s.settled().Add(test.after))
			findings := slices.SortedFunc(slices.Values(report.Findings),
				func(a, b audit.Finding) int { return cmp.Compare(a.Kind, b.Kind) })
			wantFindings(t, findings, test.want)
		})
	}
}
