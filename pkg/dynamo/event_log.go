package dynamo

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
)

const (
	// concurrentPuts is how many events or redemptions one call stores at the same time.
	concurrentPuts = 16
	// expiryMargin is how much longer than promised an event is stored. A page is stored a day longer than its events.
	expiryMargin = 7 * 24 * time.Hour
	pageMargin   = expiryMargin + 24*time.Hour
	// feedIDBytes is the size of the random ID of a log.
	feedIDBytes = 9
)

// EventAPI lists the DynamoDB operations that EventLog calls.
type EventAPI interface {
	table.BatchGetter
	transactor
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// EventLog stores the events of shops. It implements event.Log, event.FeedStore and event.Nicks. Create it with
// NewEventLog.
//
// A log is a list of pages, each of which names up to 50 events. The place of an event in the list is its sequence
// number. Append first stores an event under its ID. Then it adds the ID to the last page, on condition that the page
// has not changed since it was read. So the sequence has no gaps, and concurrent appends of the same event add it once.
type EventLog struct {
	api       EventAPI
	tableName string
	retention time.Duration
	now       func() time.Time
	random    func(n int64) int64
	ids       io.Reader
}

// NewEventLog returns the log in a table of events. Events are stored for at least the retention. random is as in
// NewRedeemer. ids is a source of random bytes for the IDs of new logs.
func NewEventLog(
	api EventAPI, tableName string, retention time.Duration, now func() time.Time, random func(n int64) int64,
	ids io.Reader,
) *EventLog {
	return &EventLog{api, tableName, retention, now, random, ids}
}

// Append implements event.Log.
//
// Append adds each event exactly once, for these reasons. Append reads the last page before it stores events. So if
// this call stores an event, no earlier page can name the event. If an earlier call stored the event, the item contains
// the number of the first page that can name it, and Append searches from that page to the last one. The last page gets
// new events only if it has not changed since it was read.
func (l *EventLog) Append(
	ctx context.Context, shop catalog.ShopID, events []event.Event,
) (added int, err error) {
	added, err = l.append(ctx, shop, events)
	return added, table.Outcome(err)
}

// mostAttempts bounds how often an append starts over because the log has changed. Only a damaged page causes so many
// attempts.
const mostAttempts = 100

func (l *EventLog) append(
	ctx context.Context, shop catalog.ShopID, events []event.Event,
) (added int, err error) {
	tail, err := l.tail(ctx, shop)
	if err != nil {
		return 0, err
	}
	known, err := l.store(ctx, events, tail.Number)
	if err != nil {
		return 0, err
	}
	events, from, err := l.settled(ctx, shop, events, known)
	if err != nil {
		return 0, err
	}
	for attempt := range mostAttempts {
		if from <= tail.Number { // a page may name one of the events already
			if events, tail, err = l.unnamed(ctx, shop, events, from); err == nil {
				err = l.renew(ctx, events, known)
			}
		}
		for len(events) > 0 && err == nil {
			n := 0
			tail, n, err = l.extend(ctx, shop, tail, events)
			added, events = added+n, events[n:]
		}
		if !errors.Is(err, errLookAgain) && !table.IsConflict(err) {
			return added, err
		}
		from = min(from, tail.Number)
		if err := table.Wait(ctx, table.Backoff(attempt, l.random)); err != nil {
			return added, err
		}
	}
	return added, fmt.Errorf("append to the log of events: gave up after %d attempts: %w", mostAttempts, errLookAgain)
}

// tail returns the last page of a shop's log. Before the first event, it returns an empty page without a feed.
func (l *EventLog) tail(ctx context.Context, shop catalog.ShopID) (table.EventPage, error) {
	query := table.EventPagesQuery(l.tableName, shop, 0)
	query.ScanIndexForward, query.Limit = aws.Bool(false), aws.Int32(1)
	out, err := l.api.Query(ctx, query)
	if err != nil || len(out.Items) == 0 {
		return table.EventPage{}, err
	}
	return table.DecodeEventPage(out.Items[0])
}

// storedEvent describes an event that an earlier call stored.
type storedEvent struct {
	page    int64 // the lowest page that can name the event
	isStale bool  // whether the event expires before the retention, counted from now, has passed
}

// store stores events that are not stored yet, and returns those that were already stored.
func (l *EventLog) store(
	ctx context.Context, events []event.Event, page int64,
) (known map[event.ID]storedEvent, err error) {
	var mu sync.Mutex
	known = make(map[event.ID]storedEvent)
	return known, atOnce(events, func(e event.Event) error {
		old, err := l.put(ctx, e, page)
		mu.Lock()
		defer mu.Unlock()
		if len(old) > 0 {
			known[e.ID] = storedEvent{
				old.Num(table.AttrPage),
				old.Num(table.AttrExpiresAt) < l.now().Add(l.retention).Unix(),
			}
		}
		return err
	})
}

// atOnce calls put for all items, at most concurrentPuts at a time, and returns the first error.
func atOnce[T any](all []T, put func(T) error) (err error) {
	var (
		mu      sync.Mutex
		pending sync.WaitGroup
		slots   = make(chan struct{}, concurrentPuts)
	)
	for _, one := range all {
		slots <- struct{}{}
		pending.Go(func() {
			defer func() { <-slots }()
			putErr := put(one)
			mu.Lock()
			defer mu.Unlock()
			err = cmp.Or(err, putErr)
		})
	}
	pending.Wait()
	return err
}

// put stores an event. If the event is already stored, put changes nothing and returns the stored item.
func (l *EventLog) put(ctx context.Context, e event.Event, page int64) (old table.Item, err error) {
	_, err = l.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(l.tableName), Item: table.EncodeEvent(e, page, l.expiry()),
		ConditionExpression:                 aws.String("attribute_not_exists(" + table.SortKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, exists := table.OldItem(err); exists {
		return old, nil
	}
	return nil, err
}

func (l *EventLog) expiry() time.Time { return l.now().Add(l.retention + expiryMargin) }

// renew extends the expiry of stale events. An event is stale if it is appended long after it was stored, for example
// by a retry of a parked change.
func (l *EventLog) renew(ctx context.Context, events []event.Event, known map[event.ID]storedEvent) error {
	for _, e := range events {
		if !known[e.ID].isStale {
			continue
		}
		update := &table.Update{Key: table.EventKey(e.Shop, e.ID)}
		update.Set(table.AttrExpiresAt, table.Num(l.expiry().Unix()))
		update.Require("attribute_exists(" + table.SortKey + ")")
		if _, err := l.api.UpdateItem(ctx, update.Input(l.tableName, types.ReturnValueNone)); err != nil {
			return err
		}
	}
	return nil
}

// pagesNearby is how many pages settled reads at a time. A batch of 100 events fits on these pages.
const pagesNearby = 4

// settled leaves out the events that the log already names. For each event that was stored earlier, it reads only the
// pages near the place where the log ended at that time. Nearly all such events are there, and the log may have become
// much longer since. from is the lowest page that may name one of the remaining events, or math.MaxInt64 if no page
// can.
func (l *EventLog) settled(
	ctx context.Context, shop catalog.ShopID, events []event.Event, known map[event.ID]storedEvent,
) (rest []event.Event, from int64, err error) {
	named := make(map[event.ID]bool)
	from = math.MaxInt64
	for _, e := range events {
		at, isKnown := known[e.ID]
		if isKnown && !named[e.ID] {
			query := table.EventPagesQuery(l.tableName, shop, at.page)
			query.Limit = aws.Int32(pagesNearby)
			if _, _, err := l.names(ctx, query, named); err != nil {
				return nil, 0, err
			}
		}
		if named[e.ID] {
			continue
		}
		if isKnown {
			from = min(from, at.page)
		}
		rest = append(rest, e)
	}
	return rest, from, nil
}

// unnamed reads the pages from a page number on. It returns the last page, and the events that these pages do not name.
// If a page still had room when it was read, but a later page follows, events were added to the page after it was read.
// Then the error is errLookAgain.
func (l *EventLog) unnamed(
	ctx context.Context, shop catalog.ShopID, events []event.Event, from int64,
) (missing []event.Event, last table.EventPage, err error) {
	named, torn := make(map[event.ID]bool), false
	query := table.EventPagesQuery(l.tableName, shop, from)
	for more := true; more; more = len(query.ExclusiveStartKey) > 0 {
		pages, next, err := l.names(ctx, query, named)
		if err != nil {
			return nil, last, err
		}
		for _, page := range pages {
			torn = torn || last.Feed != "" && hasRoom(last)
			last = page
		}
		query.ExclusiveStartKey = next
	}
	if torn {
		return events, last, errLookAgain
	}
	for _, e := range events {
		if !named[e.ID] {
			missing = append(missing, e)
		}
	}
	return missing, last, nil
}

// names runs a query for pages, and adds the IDs of the events that these pages name to ids. It returns the pages, and
// the key from which the query continues.
func (l *EventLog) names(
	ctx context.Context, query *dynamodb.QueryInput, ids map[event.ID]bool,
) ([]table.EventPage, table.Item, error) {
	out, err := l.api.Query(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	pages := make([]table.EventPage, len(out.Items))
	for i, it := range out.Items {
		if pages[i], err = table.DecodeEventPage(it); err != nil {
			return nil, nil, err
		}
		for place := range pages[i].Len() {
			ids[pages[i].ID(place)] = true
		}
	}
	return pages, out.LastEvaluatedKey, nil
}

func hasRoom(page table.EventPage) bool { return page.Len() < table.EventsPerPage }

// extend adds as many of the events as fit to the last page, or to a new page if the last one is full. n is how many it
// added. If the last page has changed meanwhile, the error is errLookAgain.
func (l *EventLog) extend(
	ctx context.Context, shop catalog.ShopID, tail table.EventPage, events []event.Event,
) (extended table.EventPage, n int, err error) {
	page := tail
	if !hasRoom(tail) {
		page = table.EventPage{Number: tail.Number + 1, Feed: tail.Feed}
	}
	n = min(len(events), table.EventsPerPage-page.Len())
	page.IDs = slices.Clone(page.IDs)
	for _, e := range events[:n] {
		id, err := table.EncodeEventID(e.ID)
		if err != nil {
			return tail, 0, err
		}
		page.IDs = append(page.IDs, id...)
	}
	if page.Feed == "" {
		random := make([]byte, feedIDBytes)
		if _, err := io.ReadFull(l.ids, random); err != nil {
			return tail, 0, err
		}
		page.Feed = base64.RawURLEncoding.EncodeToString(random)
	}
	if err := transact(ctx, l.api, l.extending(shop, tail, page)); err != nil {
		return tail, 0, err
	}
	return page, n, nil
}

// extending returns the actions that replace the last page, or add a page after it. The last page must not expire,
// because then the sequence would start over. A page gets its expiry when the next one is added.
func (l *EventLog) extending(shop catalog.ShopID, tail, page table.EventPage) []action {
	page.Extended = l.now()
	update := &table.Update{Key: table.EventPageKey(shop, page.Number)}
	update.Set(table.AttrEventIDs, &types.AttributeValueMemberB{Value: page.IDs})
	update.Set(table.AttrExtended, table.Millis(page.Extended))
	update.Set(table.AttrSeal, &types.AttributeValueMemberB{Value: page.Seal(shop)})
	if page.Number == tail.Number && tail.Feed != "" {
		update.RequireEqual(table.AttrEventIDs, &types.AttributeValueMemberB{Value: tail.IDs})
		update.RequireEqual(table.AttrFeed, table.Str(tail.Feed))
		return []action{updating(l.tableName, update, nil)}
	}
	update.Set(table.AttrFeed, table.Str(page.Feed))
	update.RequireEqual(table.AttrEventIDs, nil)
	if tail.Feed == "" {
		return []action{updating(l.tableName, update, nil)}
	}
	closed := &table.Update{Key: table.EventPageKey(shop, tail.Number)}
	closed.Set(table.AttrExpiresAt, table.Num(l.now().Add(l.retention+pageMargin).Unix()))
	closed.RequireEqual(table.AttrFeed, table.Str(tail.Feed))
	return []action{updating(l.tableName, update, nil), updating(l.tableName, closed, nil)}
}

// Window implements event.FeedStore.
func (l *EventLog) Window(
	ctx context.Context, shop catalog.ShopID, after int64, limit int,
) (event.Window, error) {
	w, err := l.window(ctx, shop, after, limit)
	return w, table.Outcome(err)
}

func (l *EventLog) window(
	ctx context.Context, shop catalog.ShopID, after int64, limit int,
) (event.Window, error) {
	pages, err := l.pages(ctx, shop, after, limit)
	if err != nil || len(pages) == 0 {
		return event.Window{}, err
	}
	last := pages[len(pages)-1]
	w := event.Window{
		Feed: last.Feed, First: pages[0].First(), Last: last.Last(), FirstExtended: pages[0].Extended,
		LastExtended: last.Extended,
	}
	begin := max(after, w.First-1)
	var keys []table.Key
	for _, page := range pages {
		for place := range page.Len() {
			if sequence := page.First() + int64(place); sequence > begin && len(keys) < limit {
				keys = append(keys, table.EventKey(shop, page.ID(place)))
			}
		}
	}
	found, err := table.BatchGet(ctx, l.api, l.random, l.tableName, keys...)
	for i, key := range keys {
		e, _ := table.DecodeEvent(shop, begin+1+int64(i), found[key], l.now())
		w.Events = append(w.Events, e)
	}
	return w, err
}

// pages returns the pages that name the events after a sequence number, up to limit. It also returns at least one more
// page, if there is one, so that Window.Last shows whether more events follow. If no page names such an event, it
// returns the last page of the log. It ends before a damaged page, unless that is the first one.
func (l *EventLog) pages(
	ctx context.Context, shop catalog.ShopID, after int64, limit int,
) ([]table.EventPage, error) {
	query := table.EventPagesQuery(l.tableName, shop, after/table.EventsPerPage)
	query.Limit = aws.Int32(int32((limit+table.EventsPerPage-1)/table.EventsPerPage + 2)) //nolint:gosec // limit is at most event.MaxPerPage
	out, err := l.api.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	pages := make([]table.EventPage, len(out.Items))
	for i, it := range out.Items {
		pages[i], err = table.DecodeEventPage(it)
		// There is a gap if the previous page became full only after it was read, or if pages between the two have
		// expired. The next window begins with the page after the gap, or with the damaged one.
		if i > 0 && (err != nil || pages[i].First() != pages[i-1].Last()+1) {
			return pages[:i], nil //nolint:nilerr // the next window has the error
		}
		if err != nil {
			return nil, err
		}
	}
	if len(pages) > 0 || after < table.EventsPerPage {
		return pages, nil
	}
	tail, err := l.tail(ctx, shop)
	if err != nil || tail.Feed == "" {
		return nil, err
	}
	return []table.EventPage{tail}, nil
}

// Restore stores an event that the log names but that was lost. If the event is stored, Restore changes nothing.
func (l *EventLog) Restore(ctx context.Context, e event.Event) error {
	_, err := l.put(ctx, e, 0)
	return table.Outcome(err)
}

// Find returns an event by its ID, without its sequence number. found is false if the event is not stored. A damaged
// event is an *event.DamagedError.
func (l *EventLog) Find(
	ctx context.Context, shop catalog.ShopID, id event.ID,
) (e event.Event, found bool, err error) {
	key := table.EventKey(shop, id)
	items, err := table.BatchGet(ctx, l.api, l.random, l.tableName, key)
	if err != nil || len(items[key]) == 0 {
		return event.Event{}, false, table.Outcome(err)
	}
	e, found = table.DecodeEvent(shop, 0, items[key], l.now())
	return e, found, e.Damaged()
}
