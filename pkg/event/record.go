package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"shopfront/pkg/catalog"
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
	Facts    []Fact // what has happened, in order
	Err      error  // why the facts could not be read; nil if they were
}

// Parked is a change that could not be recorded and is set aside.
type Parked struct {
	Place    Place
	Customer catalog.CustomerID // empty if it could not be read
	Reason   string
	First    time.Time // when the change was set aside first
	Attempts int
}

// Log stores the events of customers.
type Log interface {
	// Append adds events of one customer to the log, in order, and leaves out those that are in the log already. It returns how many it
	// added. After an error, some of them may have been added.
	Append(ctx context.Context, customer catalog.CustomerID, events []Event) (int, error)
}

// Parking stores changes that could not be recorded.
type Parking interface {
	// Park sets a change aside. If its place is set aside already, Park counts another attempt and keeps First.
	Park(ctx context.Context, p Parked) error
	// Parked returns the changes that are set aside, at most 1,000.
	Parked(ctx context.Context) ([]Parked, error)
	// Release forgets a parked change after it was recorded, unless it was set aside again since Parked returned it.
	Release(ctx context.Context, p Parked) error
	// Reread returns all facts of the item that is now at a place. An item that is gone has none.
	Reread(ctx context.Context, place Place) Change
}

// shopTime bounds the time for recording one customer's events of a batch. After that they are set aside, so that one shop's trouble does
// not delay other shops.
const shopTime = 5 * time.Second

// Recorder records changes as events.
type Recorder struct {
	Log     Log
	Parking Parking
	// Represent returns an event's Data.
	Represent func(Fact) ([]byte, error)
	// Retention is how long events are kept. Facts that are older are left out: when an old order is fulfilled or cancelled, the event of its
	// creation has expired, and must not come again. 0 leaves nothing out.
	Retention time.Duration
	Now       func() time.Time
}

// Outcome reports what became of a batch.
type Outcome struct {
	Recorded int      // events that were added to logs
	Parked   int      // changes that were set aside
	Failed   []string // IDs of changes that could be neither recorded nor set aside
	Err      error    // all causes, joined, including those of parked changes
}

// Record records a batch of changes. A change that cannot be recorded is set aside. If the store refuses that as well, the change has
// failed, and the batch must be delivered again. Recording a change twice adds its events once.
func (r Recorder) Record(ctx context.Context, changes []Change) Outcome {
	shops := make(map[catalog.CustomerID][]Change)
	for _, change := range changes {
		shops[change.Customer] = append(shops[change.Customer], change)
	}
	var (
		mu      sync.Mutex
		all     sync.WaitGroup
		outcome Outcome
	)
	for customer, changes := range shops {
		all.Go(func() {
			of := r.recordShop(ctx, customer, changes)
			mu.Lock()
			defer mu.Unlock()
			outcome.Recorded += of.Recorded
			outcome.Parked += of.Parked
			outcome.Failed = append(outcome.Failed, of.Failed...)
			outcome.Err = errors.Join(outcome.Err, of.Err)
		})
	}
	all.Wait()
	return outcome
}

// recordShop records the changes of one customer. If the log fails, it sets all of them aside. After a change that cannot be set aside,
// it does not try the others: while the store does not respond, each attempt takes shopTime.
func (r Recorder) recordShop(ctx context.Context, customer catalog.CustomerID, changes []Change) (outcome Outcome) {
	var facts []Fact
	for _, change := range changes {
		facts = append(facts, change.Facts...)
	}
	outcome.Recorded, outcome.Err = r.append(ctx, customer, facts)
	lost := outcome.Err
	for _, change := range changes {
		reason := change.Err
		if len(change.Facts) > 0 {
			reason = cmp.Or(reason, lost)
		}
		if reason == nil {
			continue
		}
		outcome.Err = errors.Join(outcome.Err, change.Err)
		if len(outcome.Failed) == 0 {
			err := r.park(ctx, change, reason)
			if err == nil {
				outcome.Parked++
				continue
			}
			outcome.Err = errors.Join(outcome.Err, fmt.Errorf("set a change aside: %w", err))
		}
		outcome.Failed = append(outcome.Failed, change.ID)
	}
	return outcome
}

// append adds the events of facts to the customer's log, each once.
func (r Recorder) append(ctx context.Context, customer catalog.CustomerID, facts []Fact) (int, error) {
	var events []Event
	known := make(map[ID]bool, len(facts))
	for _, fact := range facts {
		id := fact.ID()
		if known[id] {
			continue
		}
		if r.Retention > 0 && fact.At.Before(r.Now().Add(-r.Retention)) {
			continue
		}
		known[id] = true
		data, err := r.Represent(fact)
		if err != nil {
			return 0, err
		}
		events = append(events, Event{ID: id, Type: fact.Type, Customer: customer, At: fact.At, Data: data})
	}
	if len(events) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shopTime)
	defer cancel()
	return r.Log.Append(ctx, customer, events)
}

// park sets a change aside.
func (r Recorder) park(ctx context.Context, change Change, reason error) error {
	ctx, cancel := context.WithTimeout(ctx, shopTime)
	defer cancel()
	return r.Parking.Park(ctx, Parked{Place: change.Place, Customer: change.Customer, Reason: reason.Error(), First: r.Now()})
}

// Retry records the changes that were set aside, from the items as they are now. That works because no redemption or order is ever deleted.
// In the outcome, Parked counts the changes that remain set aside, and Failed is not set.
func (r Recorder) Retry(ctx context.Context) Outcome {
	waiting, err := r.Parking.Parked(ctx)
	if err != nil {
		return Outcome{Err: err}
	}
	var outcome Outcome
	stalled := make(map[catalog.CustomerID]bool) // not tried again, because each attempt takes shopTime
	for _, parked := range waiting {
		if stalled[parked.Customer] {
			outcome.Parked++
			continue
		}
		recorded, err := r.retry(ctx, parked)
		outcome.Recorded += recorded
		if err != nil {
			stalled[parked.Customer] = errors.Is(err, context.DeadlineExceeded)
			outcome.Parked++
			outcome.Err = errors.Join(outcome.Err, err)
		}
	}
	return outcome
}

func (r Recorder) retry(ctx context.Context, parked Parked) (recorded int, err error) {
	limited, cancel := context.WithTimeout(ctx, shopTime)
	defer cancel()
	change := r.Parking.Reread(limited, parked.Place)
	if err = change.Err; err == nil {
		recorded, err = r.append(ctx, change.Customer, change.Facts)
	}
	if err == nil {
		return recorded, r.Parking.Release(ctx, parked)
	}
	parked.Reason = err.Error()
	return recorded, errors.Join(err, r.Parking.Park(ctx, parked))
}
