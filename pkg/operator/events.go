package operator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
	"shopfront/pkg/reconciliation"
)

// ErrNoEvents means that the deployment has no table of events.
var ErrNoEvents = errors.New("this deployment has no events")

// Events gives access to the feeds of a deployment. Its Retry records changes that were set aside.
type Events struct {
	event.Feed
	event.Recorder

	log *dynamo.EventLog
}

// Events opens the feeds, or returns ErrNoEvents. The function represent returns the data of an event. ids is a source of random bytes for
// the IDs of new feeds.
func (d *Deployment) Events(represent func(event.Fact) ([]byte, error), now func() time.Time, ids io.Reader) (*Events, error) {
	if d.Tables.Events == "" {
		return nil, ErrNoEvents
	}
	log := dynamo.NewEventLog(d.client, d.Tables.Events, d.EventRetention, now, d.random, ids)
	source := dynamo.NewEventSource(d.client, dynamo.Tables{Checkouts: d.Tables.Checkouts, Vouchers: d.Tables.Vouchers}, d.random)
	return &Events{
		Feed: event.Feed{Store: log}, log: log,
		Recorder: event.Recorder{
			Log: log, Nicks: log, Parking: dynamo.NewEventParking(d.client, d.Tables.Events, source),
			Represent: represent, Retention: d.EventRetention, Now: now,
		},
	}, nil
}

// Find returns an event of the shop by its ID, without its sequence number. isStored reports whether the event is stored.
func (e *Events) Find(ctx context.Context, shop *Shop, id event.ID) (found event.Event, isStored bool, err error) {
	return e.log.Find(ctx, shop.Customer.ID, id)
}

// Rebuilding says how to rebuild a feed.
type Rebuilding struct {
	// From is the time of the earliest event to add. If it is zero, Rebuild adds all events since the time from which the feed must be
	// complete. If Rebuild adds an event of a redemption or order, it also adds the events of that redemption or order before it, back to
	// the latest one that the feed has.
	From time.Time
	// Progress is called with the number of items read, or of events added, since its last call.
	Progress func(steps int)
	// Memory is how many events are held in memory. Zero means 50,000. If more events are missing, everything is read again for the rest.
	Memory int
}

// Rebuilt is the result of Rebuild.
type Rebuilt struct {
	Added  int // events, including those that were lost and stored again
	Unread int // items that cannot be read
}

const (
	rebuildMemory = 50_000
	rebuildBatch  = 100
)

// Rebuild compares the shop's records with its feed, and adds the events that the feed lacks, earliest first. If the feed names an event
// that is not stored, Rebuild stores it again in its place. The shop may stay live, and the functions may record events meanwhile. If
// Rebuild ends early, calling it again completes it. If how.From reaches back to events that have expired, Rebuild adds them again.
func (e *Events) Rebuild(ctx context.Context, shop *Shop, how Rebuilding) (result Rebuilt, err error) {
	how.Memory = cmp.Or(how.Memory, rebuildMemory)
	for more := true; more; {
		var missing []due
		var lost int
		missing, lost, more, result.Unread, err = e.missing(ctx, shop, &how)
		if result.Added += lost; err != nil {
			return result, err
		}
		for batch := range slices.Chunk(missing, rebuildBatch) {
			added, err := e.add(ctx, shop, batch)
			result.Added += added
			how.Progress(added)
			if err != nil {
				return result, err
			}
		}
	}
	return result, nil
}

// due is a fact whose event is missing.
type due struct {
	event.Fact

	at time.Time // the fact's time, or a later one, so that the facts of one redemption or order stay in order although clocks differ
}

// missing returns the earliest facts that the feed lacks, in order. The result more reports whether the feed lacks further facts. If the
// feed names events that are not stored, they are stored again, and counted in the result lost. If how.From is zero, it is set.
func (e *Events) missing(ctx context.Context, shop *Shop, how *Rebuilding) (missing []due, lost int, more bool, unread int, err error) {
	known := make(map[event.ID]bool) // events in the feed, and facts in missing: a record that moves may be read twice
	gone := make(map[event.ID]bool)  // events that the feed names, but that are not stored
	var coverage reconciliation.Coverage
	for entry, err := range shop.events.Log(ctx, shop.Customer.ID, e.Now()) {
		if err != nil {
			return nil, 0, false, 0, err
		}
		known[entry.ID] = true
		if entry.At.IsZero() {
			gone[entry.ID] = true
		}
		coverage.Add(entry.Sequence, entry.At)
	}
	if how.From.IsZero() {
		how.From = coverage.Since(e.Now(), shop.eventRetention)
	}
	keepEarliest := func() {
		slices.SortStableFunc(missing, func(a, b due) int { return a.at.Compare(b.at) })
		if len(missing) > how.Memory {
			missing, more = missing[:how.Memory], true
		}
	}
	for record, err := range shop.events.Records(ctx, shop.Customer.ID) {
		if err != nil {
			return nil, lost, false, 0, err
		}
		if record.Err != nil {
			unread++
		}
		restored, err := e.restore(ctx, shop, record.Facts, gone, how.From)
		if lost += restored; err != nil {
			return nil, lost, false, 0, err
		}
		missing = append(missing, lacking(inOrder(record.Facts), known, how.From)...)
		if len(missing) >= 2*how.Memory {
			keepEarliest()
		}
		how.Progress(1)
	}
	keepEarliest()
	return missing, lost, more, unread, nil
}

// restore stores the events of the given facts again if they are lost: the feed names them, but they are not stored. It leaves out facts
// from before the given time. It returns how many events it stored.
func (e *Events) restore(ctx context.Context, shop *Shop, facts []event.Fact, lost map[event.ID]bool, from time.Time) (restored int, err error) {
	for _, fact := range facts {
		id := fact.ID()
		if !lost[id] || fact.At.Before(from) {
			continue
		}
		data, err := e.Represent(fact)
		if err != nil {
			return restored, err
		}
		again := event.Event{ID: id, Type: fact.Type, Customer: shop.Customer.ID, At: fact.At, Data: data}
		if err := e.log.Restore(ctx, again); err != nil {
			return restored, err
		}
		delete(lost, id)
		restored++
	}
	return restored, nil
}

// lacking returns the unknown facts at the given time or later, and marks them as known. Before each of them, it also returns the earlier
// facts of the same redemption or order, back to the latest known fact. The facts before that one are not lost: their events have expired.
// lacking never returns silent facts.
func lacking(facts []due, known map[event.ID]bool, from time.Time) (missing []due) {
	isNextLacking := false
	for _, fact := range slices.Backward(facts) {
		id := fact.ID()
		isLacking := !known[id] && !fact.Silent() && (isNextLacking || !fact.At.Before(from))
		if isLacking {
			known[id] = true
			missing = append(missing, fact)
		}
		isNextLacking = isLacking && !fact.isFirst()
	}
	slices.Reverse(missing)
	return missing
}

// isFirst reports whether the fact is the first one of its redemption or order.
func (d due) isFirst() bool { return d.Type == event.RedemptionCreated || d.Type == event.OrderCreated }

func inOrder(facts []event.Fact) []due {
	ordered := make([]due, len(facts))
	for i, fact := range facts {
		ordered[i] = due{fact, fact.At}
		if !ordered[i].isFirst() && fact.At.Before(ordered[i-1].at) {
			ordered[i].at = ordered[i-1].at
		}
	}
	return ordered
}

func (e *Events) add(ctx context.Context, shop *Shop, batch []due) (added int, err error) {
	events := make([]event.Event, len(batch))
	for i, fact := range batch {
		events[i] = event.Event{ID: fact.ID(), Type: fact.Type, Customer: shop.Customer.ID, At: fact.At}
		if events[i].Data, err = e.Represent(fact.Fact); err != nil {
			return 0, err
		}
	}
	return e.log.Append(ctx, shop.Customer.ID, events)
}
