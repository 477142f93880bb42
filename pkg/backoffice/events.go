package backoffice

import (
	"context"
	"errors"
	"io"
	"time"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
)

// ErrNoEvents means that the deployment has no table of events.
var ErrNoEvents = errors.New("this deployment has no events")

// Events gives access to the feeds of a deployment. Its Retry records changes that were set aside.
type Events struct {
	event.Feed
	event.Recorder

	stored *dynamo.EventLog
}

// Events opens the feeds, or returns ErrNoEvents. ids is a source of random bytes for the IDs of new feeds.
func (d *Deployment) Events(now func() time.Time, ids io.Reader) (*Events, error) {
	if d.Tables.Events == "" {
		return nil, ErrNoEvents
	}
	log := dynamo.NewEventLog(d.api, d.Tables.Events, d.EventRetention, now, d.random, ids)
	source := dynamo.NewEventSource(d.api, d.dynamoTables(), d.random)
	return &Events{
		Feed: event.Feed{Store: log}, stored: log,
		Recorder: event.Recorder{
			Log: log, Nicks: log, Parking: dynamo.NewEventParking(d.api, d.Tables.Events, source, now),
			Retention: d.EventRetention, Now: now,
		},
	}, nil
}

// Find returns an event of the shop by its ID, without its sequence number. isStored reports whether the event is
// stored.
func (e *Events) Find(ctx context.Context, shop *Shop, id event.ID) (found event.Event, isStored bool, err error) {
	return e.stored.Find(ctx, shop.Profile.ID, id)
}
