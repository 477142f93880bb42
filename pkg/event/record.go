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
	ID       string // identifies the record in its batch; empty if it cannot be read
	Place    Place  // zero if it cannot be read
	Customer catalog.CustomerID
	Facts    []Fact // what has happened, oldest first
	Err      error  // why the facts could not be read; nil if they were
}

// Parked is a change that could not be recorded and is set aside.
type Parked struct {
	Place    Place
	Customer catalog.CustomerID // empty if it could not be read
	Reason   string
	First    time.Time // when the change was first set aside
	Attempts int
}

// Log stores the events of shops.
type Log interface {
	// Append adds events of one shop to the log, in order, and leaves out those that are in the log already. It returns
	// how many it added. After an error, some of them may have been added.
	Append(ctx context.Context, customer catalog.CustomerID, events []Event) (int, error)
}

// Nicks is an index of redemptions by the nick that made them.
type Nicks interface {
	// Index adds redemptions of one shop to the index, as they are now. It leaves out redemptions without a nick.
	// Adding a redemption again changes nothing, and an undone redemption stays undone.
	Index(ctx context.Context, customer catalog.CustomerID, redemptions []voucher.Redemption) error
}

// Parking stores changes that could not be recorded.
type Parking interface {
	// Park sets a change aside. If a change at the same place is set aside already, Park counts another attempt and
	// keeps First.
	Park(ctx context.Context, p Parked) error
	// Parked returns the changes that are set aside. If there are more than about 10,000, it returns only the first of
	// them.
	Parked(ctx context.Context) ([]Parked, error)
	// Release forgets a parked change, unless it was set aside again since Parked returned it. It reports whether the
	// change is forgotten.
	Release(ctx context.Context, p Parked) (bool, error)
	// Reread returns all facts of the item that is now at a place. An item that is gone has no facts.
	Reread(ctx context.Context, place Place) Change
}

// shopTime bounds the time for recording the changes of one shop in a batch. If recording takes longer, the changes are
// set aside, so that one shop does not delay the others.
const shopTime = 5 * time.Second

const (
	// stallTime is how long a shop's log counts as stalled after it did not respond within shopTime. During that time,
	// a batch waits only stalledTime for the log. Otherwise one stalled log would delay every batch.
	stallTime   = time.Minute
	stalledTime = 500 * time.Millisecond
	// concurrentShops bounds how many shops are processed at once. It equals the largest number of shops in a batch.
	concurrentShops = 100
	// maxCauses bounds how many errors an Outcome joins.
	maxCauses = 10
)

// Recorder records changes as events.
type Recorder struct {
	Log     Log
	Parking Parking
	// Nicks gets redemptions before the log gets their events. It may be nil.
	Nicks Nicks
	// Retention is how long events are stored. An older fact is left out if a later fact of the same redemption or
	// order follows. For example, when an old order is cancelled, the event of its creation has expired and must not be
	// appended again. If Retention is 0, nothing is left out.
	Retention time.Duration
	Now       func() time.Time
	// Stalls is shared by the batches of a process. If it is nil, every batch waits shopTime for a stalled log.
	Stalls *Stalls
}

// Stalls remembers which shops' logs stalled. The zero value is ready for use.
type Stalls struct{ until sync.Map } // maps each shop whose log stalled to the end of stallTime

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
	shops := make(map[catalog.CustomerID][]Change)
	for _, change := range changes {
		shops[change.Customer] = append(shops[change.Customer], change)
	}
	return forShops(shops, func(customer catalog.CustomerID, changes []Change) Outcome {
		return r.recordShop(ctx, customer, changes)
	})
}

// forShops calls the parameter do for each shop, and adds up the outcomes.
func forShops[T any](shops map[catalog.CustomerID][]T, do func(catalog.CustomerID, []T) Outcome) (total Outcome) {
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		slots = make(chan struct{}, concurrentShops)
	)
	for customer, work := range shops {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			of := do(customer, work)
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

// recordShop records the changes of one shop. It sets aside the changes that cannot be read and, if the log fails, all
// others that have facts. After the first change that cannot be set aside, it does not try the rest, because each
// attempt takes shopTime if the store does not respond.
func (r Recorder) recordShop(ctx context.Context, customer catalog.CustomerID, changes []Change) (outcome Outcome) {
	var facts []Fact
	for _, change := range changes {
		facts = append(facts, change.Facts...)
	}
	recorded, lost := r.appendInTime(ctx, customer, facts)
	outcome.Recorded = recorded
	if lost != nil {
		outcome.causes = append(outcome.causes, lost)
	}
	for _, change := range changes {
		reason := change.Err
		if reason == nil && len(change.Facts) > 0 {
			reason = lost
		}
		if reason == nil {
			continue
		}
		if change.Err != nil {
			outcome.causes = append(outcome.causes, change.Err)
		}
		if len(outcome.Failed) == 0 {
			err := r.park(ctx, change, reason)
			if err == nil {
				outcome.Parked++
				continue
			}
			outcome.causes = append(outcome.causes, fmt.Errorf("set a change aside: %w", err))
		}
		outcome.Failed = append(outcome.Failed, change.ID)
	}
	return outcome
}

// appendInTime appends within shopTime, or within stalledTime if the log stalled less than stallTime ago.
func (r Recorder) appendInTime(ctx context.Context, customer catalog.CustomerID, facts []Fact) (int, error) {
	stalls, patience := r.Stalls, shopTime
	if stalls == nil {
		stalls = new(Stalls)
	}
	until, _ := stalls.until.Load(customer)
	if end, stalled := until.(time.Time); stalled && r.Now().Before(end) {
		patience = stalledTime
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	recorded, err := r.append(limited, customer, facts, time.Time{})
	if patience == shopTime && errors.Is(err, context.DeadlineExceeded) {
		stalls.until.Store(customer, r.Now().Add(stallTime))
	}
	return recorded, err
}

// IndexNicks adds each redemption that occurs in facts to the index of nicks.
func (r Recorder) IndexNicks(ctx context.Context, customer catalog.CustomerID, facts []Fact) error {
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
	return r.Nicks.Index(ctx, customer, slices.Collect(maps.Values(latest)))
}

// append adds the redemptions of the facts to the index of nicks. Then it adds the events of the facts to the shop's
// log, each once. Three kinds of facts stay out of the log: silent facts, facts older than the parameter from, and
// facts that Retention leaves out.
func (r Recorder) append(ctx context.Context, customer catalog.CustomerID, facts []Fact, from time.Time) (int, error) {
	if err := r.IndexNicks(ctx, customer, facts); err != nil {
		return 0, err
	}
	var events []Event
	known := make(map[ID]bool, len(facts))
	for i, fact := range facts {
		id := fact.ID()
		if known[id] || fact.Silent() || fact.At.Before(from) {
			continue
		}
		followed := i+1 < len(facts) && facts[i+1].subject() == fact.subject()
		if followed && r.Retention > 0 && fact.At.Before(r.Now().Add(-r.Retention)) {
			continue
		}
		known[id] = true
		e, err := fact.Event()
		if err != nil {
			return 0, err
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return 0, nil
	}
	return r.Log.Append(ctx, customer, events)
}

// park sets a change aside.
func (r Recorder) park(ctx context.Context, change Change, reason error) error {
	ctx, cancel := context.WithTimeout(ctx, shopTime)
	defer cancel()
	return r.Parking.Park(ctx, Parked{
		Place: change.Place, Customer: change.Customer, Reason: reason.Error(),
		First: r.Now(),
	})
}

// errStays means that a change was recorded, but must be retried.
var errStays = errors.New("the change was set aside again while it was being recorded")

// Retry reads the items of the changes that were set aside, and records the items' facts. That works because no
// redemption or order is ever deleted. In the outcome, Parked counts the changes that remain set aside, and Failed is
// not set.
//
// Retry stops trying 10 seconds before the deadline of the context, so that its outcome is reported.
func (r Recorder) Retry(ctx context.Context) Outcome {
	trying := ctx
	if deadline, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		trying, cancel = context.WithDeadline(ctx, deadline.Add(-2*shopTime))
		defer cancel()
	}
	waiting, err := r.Parking.Parked(trying)
	if err != nil {
		return Outcome{Err: err}
	}
	// A change that stalls comes last in the next run, so that it does not block other changes of its shop.
	slices.SortStableFunc(waiting, func(a, b Parked) int { return cmp.Compare(a.Attempts, b.Attempts) })
	shops := make(map[catalog.CustomerID][]Parked)
	for _, parked := range waiting {
		shops[parked.Customer] = append(shops[parked.Customer], parked)
	}
	return forShops(shops, func(_ catalog.CustomerID,
		waiting []Parked,
	) Outcome {
		return r.retryShop(ctx, trying, waiting)
	})
}

// retryShop retries the changes of one shop. After a change that stalls, it does not try the others, because each may
// take shopTime.
func (r Recorder) retryShop(ctx, trying context.Context, waiting []Parked) (outcome Outcome) {
	for i, parked := range waiting {
		recorded, err := r.retry(ctx, trying, parked)
		outcome.Recorded += recorded
		if err == nil {
			continue
		}
		outcome.Parked++
		outcome.causes = append(outcome.causes, err)
		if stalled := errors.Is(err, context.DeadlineExceeded); stalled {
			outcome.Parked += len(waiting) - i - 1
			break
		}
	}
	return outcome
}

// retry records a parked change. This must end within shopTime, and before the context trying ends. Then retry releases
// the change, or parks it again with the new reason. For that it has another shopTime.
func (r Recorder) retry(ctx, trying context.Context, parked Parked) (recorded int, err error) {
	limited, cancel := context.WithTimeout(trying, shopTime)
	defer cancel()
	change := r.Parking.Reread(limited, parked.Place)
	if err = change.Err; err == nil {
		// The item may also show older redemptions. If their events had expired before the change was set aside, they
		// stay out of the log.
		from := time.Time{}
		if r.Retention > 0 {
			from = parked.First.Add(-r.Retention)
		}
		recorded, err = r.append(limited, change.Customer, change.Facts, from)
	}
	storing, cancelStoring := context.WithTimeout(ctx, shopTime)
	defer cancelStoring()
	if err == nil {
		released, err := r.Parking.Release(storing, parked)
		if err == nil && !released {
			err = errStays
		}
		return recorded, err
	}
	parked.Reason = err.Error()
	return recorded, errors.Join(err, r.Parking.Park(storing, parked))
}
