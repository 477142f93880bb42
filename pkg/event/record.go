package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// Place is where an item is stored. Table is Vouchers or Checkouts, not the name of the table in a deployment.
type Place struct{ Table, Partition, Sort string }

// The tables whose changes are recorded.
const (
	Vouchers  = "vouchers"
	Checkouts = "checkouts"
)

// Change is a change of an item, as a stream delivers it.
type Change struct {
	ID    string // identifies the record in its batch; empty if it cannot be read
	Place Place  // zero if it cannot be read
	Shop  catalog.ShopID
	Facts []Fact // what has happened, oldest first
	Err   error  // why the facts could not be read; nil if they were

	from time.Time // facts from before stay out of the log
}

// Parked is a change that could not be recorded and is set aside.
type Parked struct {
	Place    Place
	Shop     catalog.ShopID // empty if it could not be read
	Reason   string
	First    time.Time // when the change was first set aside
	Attempts int
}

// Log stores the events of shops.
type Log interface {
	// Append adds events of one shop to the log, in order, and leaves out those that are in the log already. It returns
	// how many it added. After an error, some of them may have been added.
	Append(ctx context.Context, shop catalog.ShopID, events []Event) (int, error)
}

// Nicks is an index of redemptions by the nick that made them.
type Nicks interface {
	// Index adds redemptions of one shop to the index, as they are now. It leaves out redemptions without a nick.
	// Adding a redemption again changes nothing, and an undone redemption stays undone.
	Index(ctx context.Context, shop catalog.ShopID, redemptions []voucher.Redemption) error
}

// Parking stores changes that could not be recorded.
type Parking interface {
	// Announce adds a shop to Shops for at least 30 days.
	Announce(ctx context.Context, shop catalog.ShopID) error
	// Park announces a shop and sets changes of it aside. If a change at the same place is set aside already, Park
	// counts another attempt and keeps First. After an error, some of the changes may be set aside.
	Park(ctx context.Context, shop catalog.ShopID, changes ...Parked) error
	// Shops returns every shop that has changes that are set aside. Other shops may be among them.
	Shops(ctx context.Context) ([]catalog.ShopID, error)
	// Parked returns the changes of a shop that are set aside. If there are more than about 10,000, it returns only the
	// first of them.
	Parked(ctx context.Context, shop catalog.ShopID) ([]Parked, error)
	// Release forgets parked changes, except those that were set aside again since Parked returned them. It returns how
	// many it has not forgotten.
	Release(ctx context.Context, changes ...Parked) (kept int, err error)
	// Reread returns all facts of the items that are now at the given places, at most 100, in order. An item that is
	// gone has no facts.
	Reread(ctx context.Context, places []Place) []Change
}

// The times that recording the changes of one shop may take. The next batch waits meanwhile, and its events should be
// in their feeds within 5 seconds.
const (
	// shopTime bounds the first attempt to append the events of a batch.
	shopTime = 1500 * time.Millisecond
	// moreTime bounds the second attempt, and adding redemptions to the index of nicks.
	moreTime = time.Second
	// parkTime bounds each step of setting changes aside.
	parkTime = 2 * time.Second
)

const (
	// retryTime bounds reading or appending one batch in a scheduled run. Nothing waits for it.
	retryTime = 5 * time.Second
	// retryReserve is the part of a scheduled run's time that is reserved for reporting its outcome.
	retryReserve = 10 * time.Second
	// retryBatch is how many parked changes are retried together. It must not exceed 100, see Parking.Reread.
	retryBatch = 100
	// largePart is how many changes are appended at a time, so that a slow log keeps what it has added. smallPart
	// replaces it after a failure.
	largePart, smallPart = 50, 10
	// concurrentShops bounds how many shops are processed at once. It equals the largest number of shops in a batch.
	concurrentShops = 100
	// maxCauses bounds how many errors an Outcome joins.
	maxCauses = 10
)

// Recorder records changes as events.
type Recorder struct {
	Log     Log
	Parking Parking
	// Nicks gets redemptions after the log got their events. It may be nil.
	Nicks Nicks
	// Retention is how long events are stored. An older fact is left out if a later fact of the same redemption or
	// order follows. For example, when an old order is cancelled, the event of its creation has expired and must not be
	// appended again. If Retention is 0, nothing is left out.
	Retention time.Duration
	Now       func() time.Time
}

// Outcome reports what became of a batch.
type Outcome struct {
	Recorded int      // events that were added to logs
	Parked   int      // changes that were set aside
	Failed   []string // IDs of changes that could be neither recorded nor set aside
	Err      error    // at most ten causes, joined, including those of parked changes

	causes []error
}

// Record records a batch of changes. A change that cannot be recorded is set aside. If it cannot be set aside either,
// Outcome.Failed lists it, and the change must be delivered again. Recording a change twice adds its events once.
func (r Recorder) Record(ctx context.Context, changes []Change) Outcome {
	shops := make(map[catalog.ShopID][]Change)
	for _, change := range changes {
		shops[change.Shop] = append(shops[change.Shop], change)
	}
	return forShops(shops, func(shop catalog.ShopID, changes []Change) Outcome {
		return r.recordShop(ctx, shop, changes)
	})
}

// forShops calls the parameter do for each shop, and adds up the outcomes.
func forShops[T any](shops map[catalog.ShopID]T, do func(catalog.ShopID, T) Outcome) (total Outcome) {
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		slots = make(chan struct{}, concurrentShops)
	)
	for shop, work := range shops {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			of := do(shop, work)
			mu.Lock()
			defer mu.Unlock()
			total.Recorded += of.Recorded
			total.Parked += of.Parked
			total.Failed = append(total.Failed, of.Failed...)
			total.causes = append(total.causes, of.causes...)
		})
	}
	all.Wait()
	total.Err = errors.Join(total.causes[:min(len(total.causes), maxCauses)]...)
	return total
}

// recordShop records the changes of one shop. If that fails, it waits until the store responds, tries again in smaller
// parts, and sets aside what fails again. So while the whole store is away, nothing is set aside.
func (r Recorder) recordShop(
	ctx context.Context, shop catalog.ShopID, changes []Change,
) (outcome Outcome) {
	failed := r.record(ctx, shop, changes, shopTime, largePart, &outcome)
	if len(failed) == 0 {
		return outcome
	}
	waiting := make([]Parked, len(changes))
	for i, change := range changes {
		waiting[i] = Parked{Place: change.Place, Shop: shop, First: r.Now()}
	}
	waiting, _ = failed.split(waiting)
	announcing, cancel := context.WithTimeout(ctx, parkTime)
	defer cancel()
	err := r.Parking.Announce(announcing, shop)
	if err == nil {
		failed = r.again(ctx, shop, waiting, moreTime, smallPart, &outcome)
		waiting, _ = failed.split(waiting)
		_, err = r.settle(ctx, shop, waiting, nil)
	}
	if err == nil {
		outcome.Parked = len(waiting)
		return outcome
	}
	outcome.causes = append(outcome.causes, fmt.Errorf("set a change aside: %w", err))
	for _, change := range changes {
		if failed[change.Place] != nil {
			outcome.Failed = append(outcome.Failed, change.ID)
		}
	}
	return outcome
}

// failures says why changes were not recorded, by the places of their items.
type failures map[Place]error

// split divides parked changes into those that failed, with the reason, and the others. Each place occurs once.
func (f failures) split(changes []Parked) (failed, recorded []Parked) {
	seen := make(map[Place]bool, len(changes))
	for _, change := range changes {
		switch err := f[change.Place]; {
		case seen[change.Place]:
		case err != nil:
			change.Reason = err.Error()
			failed = append(failed, change)
		default:
			recorded = append(recorded, change)
		}
		seen[change.Place] = true
	}
	return failed, recorded
}

func (f failures) add(changes []Change, err error) {
	for _, change := range changes {
		f[change.Place] = err
	}
}

// record appends the events of one shop's changes to its log, and then adds their redemptions to the index of nicks.
// The limit bounds the time for appending, so that the shop does not delay the others. size is as in inParts. record
// replaces the causes of the outcome.
func (r Recorder) record(
	ctx context.Context, shop catalog.ShopID, changes []Change, limit time.Duration, size int,
	outcome *Outcome,
) failures {
	failed := make(failures)
	var readable []Change
	outcome.causes = nil
	for _, change := range changes {
		err := change.Err
		if err == nil {
			_, err = r.events([]Change{change})
		}
		switch {
		case err != nil:
			failed[change.Place] = err
			outcome.causes = append(outcome.causes, err)
		case len(change.Facts) > 0:
			readable = append(readable, change)
		}
	}
	causes := inParts(ctx, limit, size, readable, failed, func(ctx context.Context, part []Change) error {
		events, err := r.events(part)
		if err != nil || len(events) == 0 {
			return err
		}
		added, err := r.Log.Append(ctx, shop, events)
		outcome.Recorded += added
		return err
	})
	isRecorded := slices.DeleteFunc(readable, func(c Change) bool { return failed[c.Place] != nil })
	causes = append(causes, inParts(ctx, moreTime, size, isRecorded, failed,
		func(ctx context.Context, part []Change) error {
			var facts []Fact
			for _, change := range part {
				facts = append(facts, change.Facts...)
			}
			if err := r.IndexNicks(ctx, shop, facts); err != nil {
				return fmt.Errorf("index of nicks: %w", err)
			}
			return nil
		})...)
	outcome.causes = append(outcome.causes, causes...)
	return failed
}

// inParts hands changes to the parameter do, in order, at most size at a time. If a part fails, inParts halves the
// size. It goes on after a single change that fails, because the log may refuse that change for ever. When the time
// limit is over, it gives up. It adds the changes that were not handled to failed, and returns why.
func inParts(
	ctx context.Context, limit time.Duration, size int, changes []Change, failed failures,
	do func(context.Context, []Change) error,
) (causes []error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for len(changes) > 0 {
		part := changes[:min(size, len(changes))]
		err := do(ctx, part)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			part = changes
		case len(part) > 1:
			size = len(part) / 2
			continue
		}
		if err != nil {
			failed.add(part, err)
			causes = append(causes, err)
		}
		changes = changes[len(part):]
	}
	return causes
}

// IndexNicks adds each redemption that occurs in facts to the index of nicks.
func (r Recorder) IndexNicks(ctx context.Context, shop catalog.ShopID, facts []Fact) error {
	latest := make(map[string]voucher.Redemption)
	for _, fact := range facts {
		if fact.Redemption == nil {
			continue
		}
		if _, known := latest[fact.Redemption.ID]; !known || fact.Type == RedemptionUndone {
			latest[fact.Redemption.ID] = *fact.Redemption
		}
	}
	if r.Nicks == nil || len(latest) == 0 {
		return nil
	}
	return r.Nicks.Index(ctx, shop, slices.Collect(maps.Values(latest)))
}

// events returns the events of changes, each once. Three kinds of facts have none: silent facts, facts older than the
// change allows, and facts that Retention leaves out.
func (r Recorder) events(changes []Change) ([]Event, error) {
	var events []Event
	known := make(map[ID]bool)
	for _, change := range changes {
		for i, fact := range change.Facts {
			id := fact.ID()
			if known[id] || fact.Silent() || fact.At.Before(change.from) {
				continue
			}
			followed := i+1 < len(change.Facts) && change.Facts[i+1].subject() == fact.subject()
			if followed && r.Retention > 0 && fact.At.Before(r.Now().Add(-r.Retention)) {
				continue
			}
			known[id] = true
			e, err := fact.Event()
			if err != nil {
				return nil, err
			}
			events = append(events, e)
		}
	}
	return events, nil
}

// again records what the items of changes that failed show now. That works because no redemption or order is ever
// deleted. The limit and size are as in record.
func (r Recorder) again(
	ctx context.Context, shop catalog.ShopID, waiting []Parked, limit time.Duration, size int,
	outcome *Outcome,
) failures {
	places := make([]Place, len(waiting))
	for i, parked := range waiting {
		places[i] = parked.Place
	}
	reading, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	changes := r.Parking.Reread(reading, places)
	for i := range changes {
		// The item may also show older redemptions. If their events had expired before the change was set aside, they
		// stay out of the log.
		if r.Retention > 0 {
			changes[i].from = waiting[i].First.Add(-r.Retention)
		}
	}
	return r.record(ctx, shop, changes, limit, size, outcome)
}

// errStays means that a change was recorded, but must be retried.
var errStays = errors.New("the change was set aside again while it was being recorded")

// settle sets aside the changes of a shop that failed, and releases those that were recorded. It returns how many of
// the latter are still set aside.
func (r Recorder) settle(
	ctx context.Context, shop catalog.ShopID, failed, recorded []Parked,
) (kept int, err error) {
	ctx, cancel := context.WithTimeout(ctx, parkTime)
	defer cancel()
	if len(recorded) > 0 {
		if kept, err = r.Parking.Release(ctx, recorded...); err == nil && kept > 0 {
			err = errStays
		}
	}
	if len(failed) > 0 {
		err = errors.Join(err, r.Parking.Park(ctx, shop, failed...))
	}
	return kept, err
}

// Retry tries again to record the changes that were set aside. In the outcome, Parked counts the changes that remain
// set aside, and Failed is not set.
//
// Retry stops trying 10 seconds before the deadline of the context, so that its outcome is reported.
func (r Recorder) Retry(ctx context.Context) Outcome {
	trying := ctx
	if deadline, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		trying, cancel = context.WithDeadline(ctx, deadline.Add(-retryReserve))
		defer cancel()
	}
	shops, err := r.Parking.Shops(trying)
	if err != nil {
		return Outcome{Err: err}
	}
	waiting := make(map[catalog.ShopID]struct{})
	for _, shop := range shops {
		waiting[shop] = struct{}{}
	}
	return forShops(waiting, func(shop catalog.ShopID, _ struct{}) Outcome {
		return r.retryShop(ctx, trying, shop)
	})
}

// retryShop retries the changes of one shop, in batches. It stops after a batch of which nothing could be recorded.
func (r Recorder) retryShop(ctx, trying context.Context, shop catalog.ShopID) (total Outcome) {
	waiting, err := r.Parking.Parked(trying, shop)
	if err != nil {
		return Outcome{causes: []error{err}}
	}
	// The changes of a batch that fails come last in the next run, so that they do not block the others.
	slices.SortStableFunc(waiting, func(a, b Parked) int { return cmp.Compare(a.Attempts, b.Attempts) })
	for isUseful := true; len(waiting) > 0 && isUseful; {
		batch := waiting[:min(retryBatch, len(waiting))]
		waiting = waiting[len(batch):]
		var outcome Outcome
		failed, recorded := r.again(trying, shop, batch, retryTime, largePart, &outcome).split(batch)
		kept, err := r.settle(ctx, shop, failed, recorded)
		if err != nil {
			outcome.causes = append(outcome.causes, err)
		}
		total.Recorded += outcome.Recorded
		total.Parked += len(failed) + kept
		total.causes = append(total.causes, outcome.causes...)
		isUseful = len(recorded) > 0
	}
	total.Parked += len(waiting)
	return total
}
