package cost

import (
	"context"
	"crypto/rand"
	"math"
	mathrand "math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"time"

	"shopfront/internal/measure/fixture"
	"shopfront/pkg/dynamo"
)

// The operations on events that the report prices in a special way. A poll finds no new events.
const (
	recordEvent    = "event, recorded alone"
	recordTen      = "event, recorded with 9 others"
	recordHundred  = "event, recorded with 99 others"
	deliverHundred = "event, delivered with 99 others"
	pollFeed       = "events, a poll"
)

// eventsIn returns how many events a request of an operation handles. The report divides the price of the request by
// this number.
func eventsIn(operation string) float64 {
	switch operation {
	case recordTen:
		return 10
	case recordHundred, deliverHundred:
		return 100
	default:
		return 1
	}
}

// recorded is the response to a batch. An operation with this response has the status 0, because its requests do not
// come from the gateway.
const recorded = `{"batchItemFailures":[]}`

func eventOperations() []operation {
	return []operation{
		{recordEvent, recordEvents, records(1), 0, recorded},
		{recordTen, recordEvents, records(10), 0, recorded},
		{recordHundred, recordEvents, records(100), 0, recorded},
		{"event, recorded again", recordEvents, recordsAgain, 0, recorded},
		{"events, the schedule", recordEvents, scheduled, 0, recorded},
		{deliverHundred, "list-events", feedAfter(0), 200, "redemption.created"},
		{pollFeed, "list-events", feedAfter(math.MaxInt64), 200, `"events":[]`},
	}
}

// records delivers new redemptions of a shop that has no events yet.
func records(count int) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		shop := newShop()
		return func() ([]byte, error) { return s.event.Redemptions(shop, count) }, nil
	}
}

// newShop returns the ID of a new shop. It is as long as the demo shop's.
func newShop() string { return rand.Text()[:len(fixture.ShopID)] }

// recordsAgain delivers a redemption that was recorded before.
func recordsAgain(_ context.Context, s *scene) (requests, error) {
	request, err := s.event.Redemptions(newShop(), 1)
	err = s.ask(request, err)
	return func() ([]byte, error) { return request, nil }, err
}

func scheduled(context.Context, *scene) (requests, error) {
	return func() ([]byte, error) { return []byte(`{}`), nil }, nil
}

// feedAfter requests the events after a sequence number. If no event has this number yet, feedAfter requests the events
// after the last one, so the response has none.
func feedAfter(after int64) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		if err := fixture.AppendEvents(ctx, s.client, 210); err != nil {
			return nil, err
		}
		w, err := fixture.Feed(s.client).Window(ctx, fixture.ShopID, math.MaxInt64, 1)
		if err != nil {
			return nil, err
		}
		query := url.Values{"after": {strconv.FormatInt(min(after, w.Last), 10)}, "feed": {w.Feed}}
		request, err := s.event.With("rawQueryString", query.Encode()).WithServerKey()
		return request.Encode, err
	}
}

// publish meters the reads that precede the sending of an event to the bus. It does not measure the sending itself. It
// takes the time and the logs from recording an event, which makes four calls to DynamoDB. Publishing makes two calls.
func (l *lab) publish(ctx context.Context, measured []Request) (Request, error) {
	w, err := fixture.Feed(l.client).Window(ctx, fixture.ShopID, 0, 1)
	if err != nil {
		return Request{}, err
	}
	l.meter.Take()
	_, err = dynamo.NewEventPages(fixture.Client(l.meter), fixture.EventsTable, time.Now, mathrand.Int64N).
		Events(ctx, []dynamo.EventAddition{{
			Shop: fixture.ShopID, ID: w.Events[0].ID,
			Sequence: w.Events[0].Sequence,
		}})
	r := measured[slices.IndexFunc(measured, func(r Request) bool { return r.Operation == recordEvent })]
	r.Operation, r.Function, r.Calls, r.Metrics = "event, sent to the bus", publishEvents, l.meter.Take(), nil
	return r, err
}
