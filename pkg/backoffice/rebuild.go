package backoffice

import (
	"cmp"
	"context"
	"slices"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/event"
)

// Rebuilding says how to rebuild a feed.
type Rebuilding struct {
	// From is the time of the earliest event to add. If it is zero, Rebuild adds all events since the time from which
	// the feed must be complete. If Rebuild adds an event of a redemption or order, it also adds the events of that
	// redemption or order before it, back to the latest one that the feed has.
	From time.Time
	// Progress is called with the number of items read, or of events added, since its last call.
	Progress func(steps int)
	// Memory is how many events are held in memory. Zero means 50,000. If more events are missing, everything is read
	// again for the rest.
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

// Rebuild compares the shop's records with its feed, and adds the events that the feed lacks, earliest first. If the
// feed names an event that is not stored, Rebuild stores it again in its place. The shop may stay live, and the
// functions may record events meanwhile. If Rebuild ends early, calling it again completes it. If how.From reaches back
// to events that have expired, Rebuild adds them again.
func (e *Events) Rebuild(ctx context.Context, shop *Shop, how Rebuilding) (Rebuilt, error) {
	how.Memory = cmp.Or(how.Memory, rebuildMemory)
	r := &rebuild{Rebuilding: how, Events: e, shop: shop}
	for more := true; more; {
		missing, isRest, err := r.missing(ctx)
		if err != nil {
			return r.result, err
		}
		if err := r.add(ctx, missing); err != nil {
			return r.result, err
		}
		more = isRest
	}
	return r.result, nil
}

// rebuild is one run of Rebuild.
type rebuild struct {
	Rebuilding
	*Events

	shop   *Shop
	result Rebuilt
}

// due is a fact whose event is missing.
type due struct {
	event.Fact

	// the fact's time, or a later one, so that the facts of one redemption or order stay in order although clocks
	// differ
	at time.Time
}

// missing returns the earliest facts that the feed lacks, in order. more reports whether the feed lacks further facts.
// If the feed names events that are not stored, missing stores them again. If r.From is zero, missing sets it.
func (r *rebuild) missing(ctx context.Context) (missing []due, more bool, err error) {
	known, err := r.readLog(ctx)
	if err != nil {
		return nil, false, err
	}
	r.result.Unread = 0
	for record, err := range r.shop.records(ctx) {
		if err != nil {
			return nil, false, err
		}
		if record.err != nil {
			r.result.Unread++
		}
		if err := r.restore(ctx, record.facts, known); err != nil {
			return nil, false, err
		}
		missing = append(missing, lacking(inOrder(record.facts), known, r.From)...)
		if len(missing) >= 2*r.Memory {
			missing, more = earliest(missing, r.Memory), true
		}
		r.Progress(1)
	}
	more = more || len(missing) > r.Memory
	return earliest(missing, r.Memory), more, nil
}

// knownEvents has the events in the feed, and the facts that are to be added to it: a record that moves may be read
// twice. The value is false for an event that the feed names, but that is not stored.
type knownEvents map[event.ID]bool

// readLog reads the events in the feed. If r.From is zero, readLog sets it.
func (r *rebuild) readLog(ctx context.Context) (knownEvents, error) {
	known := make(knownEvents)
	var coverage audit.Coverage
	for entry, err := range r.shop.log(ctx, r.Now()) {
		if err != nil {
			return nil, err
		}
		if entry.Sequence == 0 {
			continue
		}
		known[entry.ID] = entry.isStored
		if entry.isStored == !entry.At.IsZero() { // a damaged event has no time
			coverage.Add(entry.Sequence, entry.At)
		}
	}
	if r.From.IsZero() {
		r.From = coverage.Since(r.Now(), r.shop.EventRetention)
	}
	return known, nil
}

// earliest sorts facts by their time, and returns the first ones.
func earliest(facts []due, most int) []due {
	slices.SortStableFunc(facts, func(a, b due) int { return a.at.Compare(b.at) })
	return facts[:min(len(facts), most)]
}

// restore stores the events of the given facts again if the feed names them, but they are not stored. It leaves out
// facts from before r.From.
func (r *rebuild) restore(ctx context.Context, facts []event.Fact, known knownEvents) error {
	for _, fact := range facts {
		id := fact.ID()
		if isStored, isKnown := known[id]; !isKnown || isStored || fact.At.Before(r.From) {
			continue
		}
		again, err := fact.Event()
		if err != nil {
			return err
		}
		if err := r.stored.Restore(ctx, again); err != nil {
			return err
		}
		known[id] = true
		r.result.Added++
	}
	return nil
}

// lacking returns the unknown facts at the given time or later, and marks them as known. Before each of them, it also
// returns the earlier facts of the same redemption or order, back to the latest known fact. The facts before that one
// are not lost: their events have expired. lacking never returns silent facts.
func lacking(facts []due, known knownEvents, from time.Time) []due {
	var missing []due
	isNextLacking := false
	for _, fact := range slices.Backward(facts) {
		id := fact.ID()
		_, isKnown := known[id]
		isLacking := !isKnown && !fact.Silent() && (isNextLacking || !fact.At.Before(from))
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

// add appends the events of facts to the feed.
func (r *rebuild) add(ctx context.Context, missing []due) error {
	for batch := range slices.Chunk(missing, rebuildBatch) {
		events := make([]event.Event, len(batch))
		for i, fact := range batch {
			var err error
			if events[i], err = fact.Event(); err != nil {
				return err
			}
		}
		added, err := r.stored.Append(ctx, r.shop.Profile.ID, events)
		r.result.Added += added
		r.Progress(added)
		if err != nil {
			return err
		}
	}
	return nil
}
