package kills_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/audit"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
)

// eventsTable is the template's table of events. Only the command of eventsRebuild records events in it.
const eventsTable = "EventsTable"

// eventsRebuild adds the events of a cancelled order with a code. How many events the second run adds depends on where
// the first run was killed.
func eventsRebuild() command {
	return command{
		kind: "events rebuild", isWhole: true, late: true, args: ofShop("events", "rebuild"),
		prepare: func(r *round, s subject) {
			r.t.Helper()
			withHeldCheckout(r, s)
			placeOrder(r, s)
			if _, _, err := shopOf(r, s).CancelOrder(r.t.Context(), orderID, "chargeback", began()); err != nil {
				r.t.Fatal(err)
			}
		},
		again: func(r *round, s subject, _ *process) { r.must(r.t, r.command.args(r, s)...) },
		check: func(r *round, s subject, _ []keptItem) { wantFeed(r, s) },
	}
}

// wantFeed checks that each event is in the feed once.
func wantFeed(r *round, s subject) {
	r.t.Helper()
	tables := r.Calm.Tables
	tables.Events = eventsTable
	deployment := backoffice.NewDeployment(dynamotest.Client(r.t), tables, rand.Int64N)
	events, err := deployment.Events(time.Now, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	page, err := events.Read(r.t.Context(), catalog.ShopID(s.shop), event.Cursor{}, event.MaxPerPage)
	if err != nil {
		r.t.Fatal(err)
	}
	fed := make([]event.Type, len(page.Events))
	for i, e := range page.Events {
		fed[i] = e.Type
	}
	want := []event.Type{event.RedemptionCreated, event.RedemptionUndone, event.OrderCreated, event.OrderCancelled}
	if !slices.Equal(fed, want) {
		r.violation(r.t, "the feed has %q, want %q", fed, want)
	}
	shop, err := deployment.Shop(r.t.Context(), catalog.ShopID(s.shop))
	if err != nil {
		r.t.Fatal(err)
	}
	later := func() time.Time { return time.Now().Add(audit.RecordingTime) }
	report, err := shop.Verify(r.t.Context(), backoffice.Verification{Now: later, Settle: time.Millisecond})
	if err != nil || report.Found > 0 {
		r.violation(r.t, "verify %s: %+v, %v", s.shop, report.Findings, err)
	}
}
