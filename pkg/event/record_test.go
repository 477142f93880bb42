package event_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
)

var (
	errAway       = errors.New("the store is away")
	errUnreadable = errors.New("malformed record of a redemption")
)

// ledger is an event.Log for all shops and an event.Parking, in memory.
type ledger struct {
	mu       sync.Mutex
	logs     map[catalog.CustomerID][]event.Event
	appends  map[catalog.CustomerID]int
	stalls   map[catalog.CustomerID]bool // appends block until their time is over
	fails    map[catalog.CustomerID]error
	parked   map[event.Place]event.Parked
	parks    int
	noPlaces error // why nothing can be set aside
	hangs    bool  // the parking blocks until its time is over
	rereads  map[event.Place]event.Change
	slow     map[event.Place]bool // reading the item blocks until its time is over
	again    bool                 // each change is set aside again while it is recorded
}

func newLedger() *ledger {
	return &ledger{
		logs: map[catalog.CustomerID][]event.Event{}, appends: map[catalog.CustomerID]int{},
		stalls: map[catalog.CustomerID]bool{},
		fails:  map[catalog.CustomerID]error{}, parked: map[event.Place]event.Parked{},
		rereads: map[event.Place]event.Change{},
	}
}

func (l *ledger) recorder() event.Recorder {
	return event.Recorder{Log: l, Parking: l, Now: noon}
}

func (l *ledger) Append(ctx context.Context, customer catalog.CustomerID, events []event.Event) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends[customer]++
	if err := l.fails[customer]; err != nil {
		return 0, err
	}
	if l.stalls[customer] {
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		return 0, fmt.Errorf("append: %w", ctx.Err())
	}
	l.logs[customer] = append(l.logs[customer], events...)
	return len(events), nil
}

func (l *ledger) Park(ctx context.Context, p event.Parked) error {
	if l.hangs {
		<-ctx.Done()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parks++
	if err := cmp.Or(l.noPlaces, ctx.Err()); err != nil {
		return err
	}
	if old, is := l.parked[p.Place]; is {
		p.Attempts, p.First = old.Attempts, old.First
	}
	p.Attempts++
	l.parked[p.Place] = p
	return nil
}

func (l *ledger) Parked(ctx context.Context) ([]event.Parked, error) {
	if l.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return slices.SortedFunc(maps.Values(l.parked),
		func(a, b event.Parked) int { return cmp.Compare(a.Place.Sort, b.Place.Sort) }), l.noPlaces
}

func (l *ledger) Release(_ context.Context, p event.Parked) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.again {
		delete(l.parked, p.Place)
	}
	return !l.again, nil
}

func (l *ledger) Reread(ctx context.Context, place event.Place) event.Change {
	if l.slow[place] {
		<-ctx.Done()
		return event.Change{Place: place, Err: ctx.Err()}
	}
	return l.rereads[place]
}

// ids returns the IDs of the redemptions in a shop's log.
func (l *ledger) ids(customer catalog.CustomerID) (ids []string) {
	for _, e := range l.logs[customer] {
		var redemption struct{ ID string }
		if err := json.Unmarshal(e.Data, &redemption); err != nil {
			panic(err)
		}
		ids = append(ids, redemption.ID)
	}
	return ids
}

// change returns a change of a shop's item that shows new redemptions.
func change(id string, customer catalog.CustomerID, redemptions ...string) event.Change {
	c := event.Change{
		ID: id, Customer: customer,
		Place: event.Place{Table: event.Vouchers, Partition: string(customer) + "#07", Sort: "SUMMER20#" + id},
	}
	for _, r := range redemptions {
		c.Facts = append(c.Facts, event.OfRedemption(customer,
			voucher.Redemption{ID: r, Code: "SUMMER20", At: noon()})...)
	}
	return c
}

func unreadable(c event.Change) event.Change {
	c.Facts, c.Err = nil, errUnreadable
	return c
}

func (l *ledger) parkedSorts() []string {
	var sorts []string
	for place := range l.parked {
		sorts = append(sorts, place.Sort)
	}
	slices.Sort(sorts)
	return sorts
}

func TestRecord_Batch_GoesToTheLogsOfItsCustomers(t *testing.T) {
	t.Parallel()
	l := newLedger()
	got := l.recorder().Record(t.Context(), []event.Change{
		change("101", emberforge, "first"), change("102", sakura, "theirs"), change("103", emberforge),
		change("104", emberforge, "second", "third"),
	})
	if got.Err != nil || got.Recorded != 4 || got.Parked != 0 || len(got.Failed) != 0 {
		t.Errorf("Record = %+v, want 4 recorded events", got)
	}
	if mine, theirs := l.ids(emberforge),
		l.ids(sakura); !slices.Equal(mine, []string{"first", "second", "third"}) ||
		!slices.Equal(theirs, []string{"theirs"}) {
		t.Errorf("emberforge has %s, sakura %s", mine, theirs)
	}
	e := l.logs[sakura][0]
	fact := change("102", sakura, "theirs").Facts[0]
	if e.ID != fact.ID() || e.Type != event.RedemptionCreated || e.Customer != sakura || !e.At.Equal(noon()) ||
		e.Sequence != 0 {
		t.Errorf("the event is %+v", e)
	}
}

// Every later fact of a redemption comes with its first fact, so a batch may contain the first fact twice.
func TestRecord_RepeatsInABatch_AreRecordedOnce(t *testing.T) {
	t.Parallel()
	l := newLedger()
	undoing := change("103", emberforge)
	undoing.Facts = event.OfRedemption(emberforge, undone(voucher.Redemption{ID: "first", At: noon()}))
	got := l.recorder().Record(t.Context(), []event.Change{
		change("101", emberforge, "first"), change("102", emberforge, "second"), undoing,
		change("101", emberforge, "first"),
	})
	want := []event.Type{event.RedemptionCreated, event.RedemptionCreated, event.RedemptionUndone}
	if got.Err != nil || got.Recorded != 3 || !slices.Equal(l.ids(emberforge), []string{"first", "second", "first"}) ||
		!slices.Equal(l.types(emberforge), want) {
		t.Errorf("Record = %+v; the log has %s of types %s", got, l.ids(emberforge), l.types(emberforge))
	}
}

// types returns the types of the events in a shop's log.
func (l *ledger) types(customer catalog.CustomerID) (types []event.Type) {
	for _, e := range l.logs[customer] {
		types = append(types, e.Type)
	}
	return types
}

// If every batch waited 5 seconds for a stalled log, that log would delay all other shops.
func TestRecord_LogStalled_GetsHalfASecondForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge] = true
		recorder := l.recorder()
		recorder.Now, recorder.Stalls = time.Now, new(event.Stalls)
		for i, want := range []time.Duration{
			5 * time.Second, time.Second / 2, time.Second / 2, 5 * time.Second,
			time.Second / 2,
		} {
			begun := time.Now()
			got := recorder.Record(t.Context(),
				[]event.Change{change("101", emberforge, "first"), change("102", sakura, fmt.Sprint("theirs ", i))})
			if took := time.Since(begun); took != want || got.Parked != 1 || got.Recorded != 1 {
				t.Errorf("batch %d took %s, want %s: %+v", i, took, want, got)
			}
			time.Sleep(29 * time.Second)
		}
	})
}

func TestRecord_ManyErrors_JoinsTen(t *testing.T) {
	t.Parallel()
	l := newLedger()
	var batch []event.Change
	for i := range 100 {
		batch = append(batch, unreadable(change(fmt.Sprint(101+i), catalog.CustomerID(fmt.Sprint("shop-", i%30)))))
	}
	got := l.recorder().Record(t.Context(), batch)
	if lines := strings.Count(got.Err.Error(), errUnreadable.Error()); lines != 10 || got.Parked != 100 {
		t.Errorf("%d errors are joined, want 10; %d changes are parked, want 100", lines, got.Parked)
	}
}

// The first redemption is undone 91 days later, when the event of its creation has expired. That event must not be
// recorded again.
func TestRecord_FactOlderThanTheRetention_IsLeftOutIfALaterOneFollows(t *testing.T) {
	t.Parallel()
	l := newLedger()
	recorder := l.recorder()
	recorder.Retention = 90 * 24 * time.Hour
	recorder.Now = func() time.Time { return noon().Add(91 * 24 * time.Hour) }
	late, young := change("101", emberforge), change("102", emberforge)
	late.Facts = event.OfRedemption(emberforge, voucher.Redemption{ID: "first", At: noon(), Undone: recorder.Now()})
	young.Facts = event.OfRedemption(emberforge,
		voucher.Redemption{ID: "second", At: noon().Add(24 * time.Hour), Undone: recorder.Now()})
	got := recorder.Record(t.Context(), []event.Change{late, young, change("103", emberforge, "third")})
	want := []event.Type{
		event.RedemptionUndone, event.RedemptionCreated, event.RedemptionUndone,
		event.RedemptionCreated,
	}
	if got.Err != nil || !slices.Equal(l.types(emberforge), want) {
		t.Errorf("Record = %+v; the log has %+v", got, l.logs[emberforge])
	}
}

func TestRecord_ChangesWithoutFacts_ReachNeitherLogNorParking(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.noPlaces, l.fails[emberforge] = errAway, errAway
	got := l.recorder().Record(t.Context(), []event.Change{change("101", emberforge), change("102", emberforge)})
	if got.Err != nil || got.Recorded+got.Parked+len(got.Failed)+l.appends[emberforge] != 0 {
		t.Errorf("Record = %+v, after %d appends", got, l.appends[emberforge])
	}
}

func TestRecord_UnreadableChange_IsSetAsideAndTheOthersRecorded(t *testing.T) {
	t.Parallel()
	l := newLedger()
	lost := event.Change{ID: "103", Err: errors.New("malformed record of a stream")}
	got := l.recorder().Record(t.Context(), []event.Change{
		change("101", emberforge, "first"), unreadable(change("102", emberforge)), lost,
		change("104", emberforge, "second"),
		unreadable(change("105", sakura)),
	})
	if got.Recorded != 2 || got.Parked != 3 || len(got.Failed) != 0 || !errors.Is(got.Err, errUnreadable) ||
		!errors.Is(got.Err, lost.Err) {
		t.Errorf("Record = %+v, want 2 recorded events and 3 parked changes", got)
	}
	if ids := l.ids(emberforge); !slices.Equal(ids, []string{"first", "second"}) {
		t.Errorf("the log has %s", ids)
	}
	if sorts := l.parkedSorts(); !slices.Equal(sorts, []string{"", "SUMMER20#102", "SUMMER20#105"}) {
		t.Errorf("the changes at %q are set aside", sorts)
	}
	place := change("102", emberforge).Place
	want := event.Parked{Place: place, Customer: emberforge, Reason: errUnreadable.Error(), First: noon(), Attempts: 1}
	if l.parked[place] != want {
		t.Errorf("%+v; want %+v", l.parked[place], want)
	}
}

func TestRecord_LogsStall_TheirChangesAreSetAsideAndOthersRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge], l.stalls[sakura] = true, true
		batch := []event.Change{
			change("101", emberforge, "first"), change("102", emberforge),
			change("103", emberforge, "second"), change("999", sakura, "theirs"),
		}
		for i := range 96 {
			batch = append(batch, change(fmt.Sprint(104+i), catalog.CustomerID(fmt.Sprint("shop-", i%7)),
				fmt.Sprint("theirs ", i)))
		}
		begun := time.Now()
		got := l.recorder().Record(t.Context(), batch)
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the batch took %s", took)
		}
		if got.Recorded != 96 || got.Parked != 3 || len(got.Failed) != 0 ||
			!errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("Record = %+v, want 96 recorded events and 3 parked changes", got)
		}
		if sorts := l.parkedSorts(); !slices.Equal(sorts, []string{"SUMMER20#101", "SUMMER20#103", "SUMMER20#999"}) {
			t.Errorf("the changes at %s are set aside", sorts)
		}
	})
}

func TestRecord_NothingCanBeSetAside_ReportsTheIDs(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.fails[emberforge], l.noPlaces = errAway, errors.New("the table is away")
	got := l.recorder().Record(t.Context(), []event.Change{
		change("101", emberforge, "first"), change("102", emberforge), change("103", emberforge, "second"),
		change("104", sakura, "theirs"),
		unreadable(change("105", "cedar-mc")),
	})
	slices.Sort(got.Failed)
	if got.Recorded != 1 || got.Parked != 0 || !slices.Equal(got.Failed, []string{"101", "103", "105"}) {
		t.Errorf("Record = %+v, want 1 recorded event and 3 failed changes", got)
	}
	if !errors.Is(got.Err, errAway) || !errors.Is(got.Err, l.noPlaces) || !errors.Is(got.Err, errUnreadable) {
		t.Errorf("the error is %v", got.Err)
	}
}

// The function may run for a minute. If it took longer, Lambda would deliver records again that were already recorded.
func TestRecord_NothingResponds_EndsAfter10Seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge], l.hangs = true, true
		var batch []event.Change
		for i := range 100 {
			batch = append(batch, change(fmt.Sprint(101+i), emberforge, fmt.Sprint("redemption ", i)))
		}
		begun := time.Now()
		got := l.recorder().Record(t.Context(), batch)
		if took := time.Since(begun); took != 10*time.Second || len(got.Failed) != 100 {
			t.Errorf("%d failed after %s", len(got.Failed), took)
		}
	})
}

func TestRecord_EventThatCannotBeEncoded_IsSetAside(t *testing.T) {
	t.Parallel()
	l := newLedger()
	damaged := change("101", emberforge, "first")
	damaged.Facts = append(damaged.Facts, event.OfOrder(emberforge, checkout.Checkout{
		ID: "an order", Data: `{"player":`, DataIsObject: true, Order: &checkout.Order{Placed: noon()},
	})...)
	got := l.recorder().Record(t.Context(), []event.Change{damaged, change("102", sakura, "theirs")})
	if got.Recorded != 1 || got.Parked != 1 || got.Err == nil || l.appends[emberforge] != 0 {
		t.Errorf("Record = %+v, want 1 recorded event and 1 parked change", got)
	}
}

// setAside sets changes aside. Later reads of their items return these changes.
func (l *ledger) setAside(t *testing.T, changes ...event.Change) {
	t.Helper()
	for _, c := range changes {
		reason := cmp.Or(c.Err, errAway)
		if err := l.Park(t.Context(), event.Parked{
			Place: c.Place, Customer: c.Customer, Reason: reason.Error(),
			First: noon(),
		}); err != nil {
			t.Fatal(err)
		}
		l.rereads[c.Place] = c
	}
}

func TestRetry_ParkedChanges_AreRecordedAndReleased(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.setAside(t, change("101", emberforge, "first"), change("102", sakura, "theirs"), change("103", emberforge))
	got := l.recorder().Retry(t.Context())
	if got.Err != nil || got.Recorded != 2 || got.Parked != 0 || len(l.parked) != 0 {
		t.Errorf("Retry = %+v, with %d changes still set aside", got, len(l.parked))
	}
	if mine, theirs := l.ids(emberforge),
		l.ids(sakura); !slices.Equal(mine, []string{"first"}) || !slices.Equal(theirs, []string{"theirs"}) {
		t.Errorf("emberforge has %s, sakura %s", mine, theirs)
	}
	if got := l.recorder().Retry(t.Context()); got.Err != nil || got.Recorded != 0 || got.Parked != 0 {
		t.Errorf("Retry with nothing set aside = %+v", got)
	}
}

// The event of the item's first redemption had expired before the change with the second redemption was set aside.
func TestRetry_SetAsideForLongerThanTheRetention_IsRecorded(t *testing.T) {
	t.Parallel()
	l := newLedger()
	waiting := change("101", emberforge, "expired", "waiting")
	waiting.Facts[0].At = noon().Add(-91 * 24 * time.Hour)
	l.setAside(t, waiting)
	recorder := l.recorder()
	recorder.Retention, recorder.Now = 90*24*time.Hour, func() time.Time { return noon().Add(100 * 24 * time.Hour) }
	if got := recorder.Retry(t.Context()); got.Err != nil || !slices.Equal(l.ids(emberforge), []string{"waiting"}) ||
		len(l.parked) != 0 {
		t.Errorf("Retry = %+v; the log has %s, %d changes are still set aside", got, l.ids(emberforge), len(l.parked))
	}
}

func TestRetry_SetAsideAgainMeanwhile_IsCounted(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.again = true
	l.setAside(t, change("101", emberforge, "first"))
	if got := l.recorder().Retry(t.Context()); got.Err == nil || got.Recorded != 1 || got.Parked != 1 {
		t.Errorf("Retry = %+v, want an error, 1 recorded event and 1 parked change", got)
	}
}

// If Lambda stopped the function at its deadline, no log line and no metric would say how many changes are set aside.
func TestRetry_ManyLogsStall_ReachesEveryShopAndEndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		for i := range 40 {
			shop := catalog.CustomerID(fmt.Sprint("shop-", i))
			l.stalls[shop] = true
			l.setAside(t, change(fmt.Sprint(101+i), shop, "theirs"))
		}
		l.setAside(t, change("999", emberforge, "first"))
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		begun := time.Now()
		got := l.recorder().Retry(ctx)
		if took := time.Since(begun); took != 2*time.Second || got.Recorded != 1 || got.Parked != 40 ||
			len(l.parked) != 40 {
			t.Errorf("Retry = %+v after %s", got, took)
		}
	})
}

func TestRetry_NothingResponds_EndsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.hangs = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		got := l.recorder().Retry(ctx)
		if took := time.Since(begun); took != 50*time.Second || !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("Retry = %+v after %s", got, took)
		}
	})
}

// An item that stalls must not hold up the shop's other changes in every run.
func TestRetry_ItemStalls_ComesLastInTheNextRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		slow := change("101", emberforge, "first")
		l.setAside(t, slow, change("102", emberforge, "second"))
		l.slow = map[event.Place]bool{slow.Place: true}
		if first, second := l.recorder().Retry(t.Context()),
			l.recorder().Retry(t.Context()); first.Recorded != 0 || second.Recorded != 1 {
			t.Errorf("Retry = %+v, then %+v; want 1 recorded event in the second run", first, second)
		}
	})
}

func TestRetry_StillUnreadable_StaysAndIsCounted(t *testing.T) {
	t.Parallel()
	l := newLedger()
	broken, lost := unreadable(change("101", emberforge)), event.Change{Err: errUnreadable}
	l.setAside(t, broken, lost)
	got := l.recorder().Retry(t.Context())
	if got.Recorded != 0 || got.Parked != 2 || len(got.Failed) != 0 || !errors.Is(got.Err, errUnreadable) ||
		l.parked[broken.Place].Attempts != 2 {
		t.Errorf("Retry = %+v, parked %+v; want 2 parked changes", got, l.parked)
	}
}

// An item that nobody repairs must not hold up the shop's other changes.
func TestRetry_OneUnreadableChange_OthersOfItsCustomerAreRecorded(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.setAside(t, unreadable(change("101", emberforge)), change("102", emberforge, "first"),
		change("103", emberforge, "second"))
	got := l.recorder().Retry(t.Context())
	if got.Recorded != 2 || got.Parked != 1 || !slices.Equal(l.ids(emberforge), []string{"first", "second"}) {
		t.Errorf("Retry = %+v; the log has %s", got, l.ids(emberforge))
	}
}

// Each attempt may take 5 seconds, and the function has a minute for all shops.
func TestRetry_LogOfACustomerStalls_IsTriedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge] = true
		for i := range 40 {
			l.setAside(t, change(fmt.Sprint(101+i), emberforge, fmt.Sprint("redemption ", i)))
		}
		l.setAside(t, change("201", sakura, "theirs"))
		begun := time.Now()
		got := l.recorder().Retry(t.Context())
		if took := time.Since(begun); took != 5*time.Second || l.appends[emberforge] != 1 {
			t.Errorf("%d appends in %s", l.appends[emberforge], took)
		}
		if got.Recorded != 1 || got.Parked != 40 || len(l.parked) != 40 ||
			!errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("Retry = %+v, with %d changes still set aside", got, len(l.parked))
		}
	})
}

func TestRetry_ItemCannotBeRead_OthersAreRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		slow := change("101", emberforge, "first")
		l.setAside(t, slow, change("102", emberforge, "second"), change("201", sakura, "theirs"))
		l.slow = map[event.Place]bool{slow.Place: true}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		got := l.recorder().Retry(ctx)
		if took := time.Since(begun); took != 5*time.Second || got.Recorded != 1 || got.Parked != 2 ||
			l.parked[slow.Place].Attempts != 2 {
			t.Errorf("Retry = %+v after %s; set aside: %+v", got, took, l.parked)
		}
	})
}

func TestRetry_ParkingCannotBeRead_ReportsIt(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.noPlaces = errAway
	if got := l.recorder().Retry(t.Context()); !errors.Is(got.Err, errAway) {
		t.Errorf("Retry = %+v, want the error %v", got, errAway)
	}
}
