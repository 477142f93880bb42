package event_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	logs     map[catalog.ShopID][]event.Event
	appends  map[catalog.ShopID]int
	stalls   map[catalog.ShopID]bool          // appends block until their time is over
	pace     map[catalog.ShopID]time.Duration // how long appending an event takes
	fails    map[catalog.ShopID]error
	parked   map[event.Place]event.Parked
	parks    int
	noPlaces error                    // why nothing can be set aside
	unlisted map[catalog.ShopID]error // why the parked changes of a shop cannot be read
	hangs    bool                     // the parking blocks until its time is over
	back     time.Time                // when the parking begins to respond; zero: it responds
	rereads  map[event.Place]event.Change
	slow     map[event.Place]bool // reading the item blocks until its time is over
	again    bool                 // each change is set aside again while it is recorded
}

func newLedger() *ledger {
	return &ledger{
		logs: map[catalog.ShopID][]event.Event{}, appends: map[catalog.ShopID]int{},
		stalls: map[catalog.ShopID]bool{}, pace: map[catalog.ShopID]time.Duration{},
		fails: map[catalog.ShopID]error{}, parked: map[event.Place]event.Parked{},
		rereads: map[event.Place]event.Change{},
	}
}

func (l *ledger) recorder() event.Recorder {
	return event.Recorder{Log: l, Parking: l, Now: noon}
}

func (l *ledger) Append(ctx context.Context, shop catalog.ShopID, events []event.Event) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends[shop]++
	if err := l.fails[shop]; err != nil {
		return 0, err
	}
	took := l.pace[shop] * time.Duration(len(events))
	if l.stalls[shop] {
		took = time.Hour
	}
	if took > 0 {
		l.mu.Unlock()
		err := wait(ctx, took)
		l.mu.Lock()
		if err != nil {
			return 0, fmt.Errorf("append: %w", err)
		}
	}
	l.logs[shop] = append(l.logs[shop], events...)
	return len(events), nil
}

func (l *ledger) stall(shop catalog.ShopID, stalls bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalls[shop] = stalls
}

// wait waits for the given time, or returns the error of the context if the context ends first.
func wait(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer is how the parking responds: not within the caller's time, with an error, or at once.
func (l *ledger) answer(ctx context.Context) error {
	switch {
	case l.hangs:
		<-ctx.Done()
	case !l.back.IsZero():
		_ = wait(ctx, time.Until(l.back))
	}
	return cmp.Or(l.noPlaces, ctx.Err())
}

func (l *ledger) Announce(ctx context.Context, _ catalog.ShopID) error { return l.answer(ctx) }

func (l *ledger) Park(ctx context.Context, _ catalog.ShopID, changes ...event.Parked) error {
	if err := l.answer(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range changes {
		l.parks++
		if old, is := l.parked[p.Place]; is {
			p.Attempts, p.First = old.Attempts, old.First
		}
		p.Attempts++
		l.parked[p.Place] = p
	}
	return nil
}

func (l *ledger) Shops(ctx context.Context) ([]catalog.ShopID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shops := make(map[catalog.ShopID]bool)
	for _, p := range l.parked {
		shops[p.Shop] = true
	}
	return slices.Collect(maps.Keys(shops)), l.answer(ctx)
}

func (l *ledger) Parked(_ context.Context, shop catalog.ShopID) (parked []event.Parked, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.parked {
		if p.Shop == shop {
			parked = append(parked, p)
		}
	}
	slices.SortFunc(parked, func(a, b event.Parked) int { return cmp.Compare(a.Place.Sort, b.Place.Sort) })
	return parked, l.unlisted[shop]
}

func (l *ledger) Release(_ context.Context, changes ...event.Parked) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again {
		return len(changes), nil
	}
	for _, p := range changes {
		delete(l.parked, p.Place)
	}
	return 0, nil
}

func (l *ledger) Reread(ctx context.Context, places []event.Place) []event.Change {
	changes := make([]event.Change, len(places))
	for i, place := range places {
		changes[i] = l.rereads[place]
		if l.slow[place] {
			<-ctx.Done()
			changes[i] = event.Change{Err: ctx.Err()}
		}
		changes[i].Place = place
	}
	return changes
}

// ids returns the IDs of the redemptions in a shop's log.
func (l *ledger) ids(shop catalog.ShopID) (ids []string) {
	for _, e := range l.logs[shop] {
		var redemption struct{ ID string }
		if err := json.Unmarshal(e.Data, &redemption); err != nil {
			panic(err)
		}
		ids = append(ids, redemption.ID)
	}
	return ids
}

// change returns a change of a shop's item that shows new redemptions.
func change(id string, shop catalog.ShopID, redemptions ...string) event.Change {
	c := event.Change{
		ID: id, Shop: shop,
		Place: event.Place{Table: event.Vouchers, Partition: string(shop) + "#07", Sort: "SUMMER20#" + id},
	}
	for _, r := range redemptions {
		c.Facts = append(c.Facts, event.OfRedemption(shop,
			voucher.Redemption{ID: r, Code: "SUMMER20", At: noon()})...)
	}
	return c
}

// stored makes later reads of the changed items return the changes, and returns these.
func (l *ledger) stored(changes ...event.Change) []event.Change {
	for _, c := range changes {
		l.rereads[c.Place] = c
	}
	return changes
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

func TestRecord_Batch_GoesToTheLogsOfItsShops(t *testing.T) {
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
	if e.ID != fact.ID() || e.Type != event.RedemptionCreated || e.Shop != sakura || !e.At.Equal(noon()) ||
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
func (l *ledger) types(shop catalog.ShopID) (types []event.Type) {
	for _, e := range l.logs[shop] {
		types = append(types, e.Type)
	}
	return types
}

// redemptions returns n changes of emberforge, each with one redemption.
func redemptions(n int) (changes []event.Change) {
	for i := range n {
		changes = append(changes, change(fmt.Sprint(1001+i), emberforge, fmt.Sprint("redemption ", i)))
	}
	return changes
}

// A batch of 100 takes longer than a shop may take. What was recorded until then must not be set aside.
func TestRecord_SlowLog_KeepsWhatItRecordedInTime(t *testing.T) {
	t.Parallel()
	for pace, want := range map[time.Duration]struct {
		recorded int
		took     time.Duration
	}{
		14 * time.Millisecond: {100, 1400 * time.Millisecond},
		20 * time.Millisecond: {100, 2500 * time.Millisecond}, // 50, and then 5 times 10
		// the first part of 50 fails, then ten are recorded
		100 * time.Millisecond: {10, 2500 * time.Millisecond},
		300 * time.Millisecond: {0, 2500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLedger()
			l.pace[emberforge] = pace
			begun := time.Now()
			got := l.recorder().Record(t.Context(), l.stored(redemptions(100)...))
			if took := time.Since(begun); took != want.took || got.Recorded != want.recorded ||
				got.Parked != 100-want.recorded || len(l.logs[emberforge]) != want.recorded {
				t.Errorf("an event takes %s: after %s, %+v; want %+v", pace, took, got, want)
			}
		})
	}
}

// picky is a log that fails at once for more than 6 events.
type picky struct{ *ledger }

func (p picky) Append(ctx context.Context, shop catalog.ShopID, events []event.Event) (int, error) {
	if len(events) > 6 {
		return 0, errAway
	}
	return p.ledger.Append(ctx, shop, events)
}

func TestRecord_LogFailsForLargeParts_IsHalvedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	l := newLedger()
	recorder := l.recorder()
	recorder.Log = picky{l}
	got := recorder.Record(t.Context(), redemptions(100))
	if got.Err != nil || got.Recorded != 100 || l.parks != 0 || l.appends[emberforge] != 17 { // 50, 25, 12, 6
		t.Errorf("Record = %+v, with %d parts and %d changes set aside", got, l.appends[emberforge], l.parks)
	}
}

// damaged is a log that fails for the events of some redemptions, because somebody has damaged what it stores about them.
type damaged struct {
	*ledger

	redemptions []string
}

func (d damaged) Append(ctx context.Context, shop catalog.ShopID, events []event.Event) (int, error) {
	for _, e := range events {
		for _, id := range d.redemptions {
			if strings.Contains(string(e.Data), `"`+id+`"`) {
				return 0, &event.DamagedError{Shop: shop, ID: e.ID}
			}
		}
	}
	return d.ledger.Append(ctx, shop, events)
}

// A change that can never be recorded must not hold up those after it, neither in its batch nor in later retries.
func TestRecord_LogRefusesSomeChanges_OthersAreRecorded(t *testing.T) {
	t.Parallel()
	l := newLedger()
	nicks := &indexed{}
	recorder := l.recorder()
	recorder.Log, recorder.Nicks = damaged{l, []string{"r-1", "r-2"}}, nicks
	var batch []event.Change
	for i := range 20 {
		batch = append(batch, change(strconv.Itoa(101+i), emberforge, fmt.Sprintf("r-%d", i), fmt.Sprintf("s-%d", i)))
	}
	got := recorder.Record(t.Context(), l.stored(batch...))
	if damage, is := errors.AsType[*event.DamagedError](got.Err); !is || damage.Shop != emberforge ||
		got.Recorded != 36 || got.Parked != 2 || len(got.Failed) != 0 || nicks.redemptions != 36 ||
		!slices.Equal(l.parkedSorts(), []string{"SUMMER20#102", "SUMMER20#103"}) {
		t.Errorf("Record = %+v, set aside: %s, %d redemptions indexed", got, l.parkedSorts(), nicks.redemptions)
	}
	l.setAside(t, change("201", emberforge, "r-201"), change("202", emberforge, "r-202"))
	for range 2 {
		got = recorder.Retry(t.Context())
	}
	if got.Parked != 2 || len(l.parked) != 2 || len(l.ids(emberforge)) != 38 {
		t.Errorf("Retry = %+v, set aside: %s", got, l.parkedSorts())
	}
}

// indexed is an event.Nicks that counts.
type indexed struct{ redemptions int }

func (n *indexed) Index(_ context.Context, _ catalog.ShopID, redemptions []voucher.Redemption) error {
	n.redemptions += len(redemptions)
	return nil
}

// While nothing of a shop can be recorded, a run tries only a part of what is set aside. The next run tries another.
func TestRetry_LogOfAShopFails_OneBatchIsTried(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.fails[emberforge] = errAway
	l.setAside(t, redemptions(250)...)
	for run := range 2 {
		got := l.recorder().Retry(t.Context())
		attempts := make(map[int]int)
		for _, p := range l.parked {
			attempts[p.Attempts]++
		}
		if got.Parked != 250 || attempts[2] != 100*(run+1) || attempts[1] != 250-100*(run+1) {
			t.Errorf("run %d: Retry = %+v; attempts %v", run, got, attempts)
		}
	}
}

// While the whole store is away, a batch must be delivered again and not be set aside when the store is back.
func TestRecord_StoreIsBackBeforeAnythingIsSetAside_IsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge] = true
		l.back = time.Now().Add(3 * time.Second)
		time.AfterFunc(2900*time.Millisecond, func() { l.stall(emberforge, false) })
		got := l.recorder().Record(t.Context(), l.stored(redemptions(100)...))
		if got.Err != nil || got.Recorded != 100 || l.parks != 0 {
			t.Errorf("Record = %+v, with %d changes set aside", got, l.parks)
		}
	})
}

func TestRecord_ManyErrors_JoinsTen(t *testing.T) {
	t.Parallel()
	l := newLedger()
	var batch []event.Change
	for i := range 100 {
		batch = append(batch, unreadable(change(fmt.Sprint(101+i), catalog.ShopID(fmt.Sprint("shop-", i%30)))))
	}
	got := l.recorder().Record(t.Context(), l.stored(batch...))
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
	got := l.recorder().Record(t.Context(), l.stored(
		change("101", emberforge, "first"), unreadable(change("102", emberforge)), lost,
		change("104", emberforge, "second"),
		unreadable(change("105", sakura)),
	))
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
	want := event.Parked{Place: place, Shop: emberforge, Reason: errUnreadable.Error(), First: noon(), Attempts: 1}
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
			batch = append(batch, change(fmt.Sprint(104+i), catalog.ShopID(fmt.Sprint("shop-", i%7)),
				fmt.Sprint("theirs ", i)))
		}
		begun := time.Now()
		got := l.recorder().Record(t.Context(), l.stored(batch...))
		if took := time.Since(begun); took != 2500*time.Millisecond {
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
	got := l.recorder().Record(t.Context(), l.stored(
		change("101", emberforge, "first"), change("102", emberforge), change("103", emberforge, "second"),
		change("104", sakura, "theirs"),
		unreadable(change("105", "cedar-mc")),
	))
	slices.Sort(got.Failed)
	if got.Recorded != 1 || got.Parked != 0 || !slices.Equal(got.Failed, []string{"101", "103", "105"}) {
		t.Errorf("Record = %+v, want 1 recorded event and 3 failed changes", got)
	}
	if !errors.Is(got.Err, errAway) || !errors.Is(got.Err, l.noPlaces) || !errors.Is(got.Err, errUnreadable) {
		t.Errorf("the error is %v", got.Err)
	}
}

// The batch is delivered again at once, so events come soon after the store is back.
func TestRecord_NothingResponds_EndsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge], l.hangs = true, true
		begun := time.Now()
		got := l.recorder().Record(t.Context(), redemptions(100))
		if took := time.Since(begun); took != 3500*time.Millisecond || len(got.Failed) != 100 {
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
	got := l.recorder().Record(t.Context(),
		l.stored(change("100", emberforge, "before"), damaged, change("102", emberforge, "after")))
	if got.Recorded != 2 || got.Parked != 1 || got.Err == nil || l.parked[damaged.Place].Attempts != 1 {
		t.Errorf("Record = %+v, want 2 recorded events and 1 parked change", got)
	}
}

// setAside sets changes aside. Later reads of their items return these changes.
func (l *ledger) setAside(t *testing.T, changes ...event.Change) {
	t.Helper()
	for _, c := range changes {
		reason := cmp.Or(c.Err, errAway)
		parked := event.Parked{Place: c.Place, Shop: c.Shop, Reason: reason.Error(), First: noon()}
		if err := l.Park(t.Context(), c.Shop, parked); err != nil {
			t.Fatal(err)
		}
		l.stored(c)
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
			shop := catalog.ShopID(fmt.Sprint("shop-", i))
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
func TestRetry_OneUnreadableChange_OthersOfItsShopAreRecorded(t *testing.T) {
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
func TestRetry_LogOfAShopStalls_IsTriedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.stalls[emberforge] = true
		l.setAside(t, redemptions(140)...)
		l.setAside(t, change("201", sakura, "theirs"))
		begun := time.Now()
		got := l.recorder().Retry(t.Context())
		if took := time.Since(begun); took != 5*time.Second || l.appends[emberforge] != 1 {
			t.Errorf("%d appends in %s", l.appends[emberforge], took)
		}
		if got.Recorded != 1 || got.Parked != 140 || len(l.parked) != 140 ||
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
		if took := time.Since(begun); took != 5*time.Second || got.Recorded != 2 || got.Parked != 1 ||
			l.parked[slow.Place].Attempts != 2 {
			t.Errorf("Retry = %+v after %s; set aside: %+v", got, took, l.parked)
		}
	})
}

// One run retries everything that can be recorded, however much it is.
func TestRetry_ManyChanges_AreRecordedInOneRunInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.pace[emberforge] = 13 * time.Millisecond
		l.setAside(t, redemptions(1191)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		got := l.recorder().Retry(ctx)
		if took := time.Since(begun); got.Err != nil || got.Recorded != 1191 || len(l.parked) != 0 ||
			took > 20*time.Second || l.appends[emberforge] != 24 {
			t.Errorf("Retry = %+v after %s and %d parts, with %d changes still set aside", got, took,
				l.appends[emberforge], len(l.parked))
		}
	})
}

// A shop whose parked changes cannot be read must not hold up the others.
func TestRetry_ParkedChangesOfOneShopCannotBeRead_OthersAreRecorded(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.unlisted = map[catalog.ShopID]error{sakura: errAway}
	l.setAside(t, change("101", emberforge, "first"), change("102", sakura, "theirs"))
	if got := l.recorder().Retry(t.Context()); got.Recorded != 1 || !errors.Is(got.Err, errAway) {
		t.Errorf("Retry = %+v, want 1 recorded event and the error %v", got, errAway)
	}
}

func TestRetry_ParkingCannotBeRead_ReportsIt(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.noPlaces = errAway
	if got := l.recorder().Retry(t.Context()); !errors.Is(got.Err, errAway) {
		t.Errorf("Retry = %+v, want the error %v", got, errAway)
	}
}
