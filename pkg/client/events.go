package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// EventType says what happened. New types may be added: skip events of a type that you do not know.
type EventType string

// The types of events.
const (
	// perhaps by an order: then the goods are delivered with the order
	EventRedemptionCreated EventType = "redemption.created"
	EventRedemptionUndone  EventType = "redemption.undone"
	EventOrderCreated      EventType = "order.created"
	EventOrderFulfilled    EventType = "order.fulfilled"
	EventOrderCancelled    EventType = "order.cancelled"
)

// Event is something that happened in the shop. Apply it once for each ID.
type Event struct {
	ID        string    `json:"id"`
	Type      EventType `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when it happened; the next event of the feed can have an earlier time
	Sequence  int64     `json:"sequence"`  // the place in the feed: 1, 2, 3 and so on, without gaps
	Shop      string    `json:"customer"`
	// Data is the redemption or the order at that time, as JSON. Redemption or Order is the decoded Data; both are nil
	// for an unknown type.
	Data       json.RawMessage   `json:"data"`
	Redemption *RedemptionRecord `json:"-"`
	Order      *PlacedOrder      `json:"-"`
	// Feed is the feed that Sequence belongs to. VerifyWebhook leaves it empty.
	Feed string `json:"-"`
	// Raw is the event as the service wrote it.
	Raw json.RawMessage `json:"-"`
}

// Cursor returns the place after the event. Store it together with the event's effect, and continue from it after a
// restart.
func (e Event) Cursor() EventCursor { return EventCursor{After: e.Sequence, Feed: e.Feed} }

// UnmarshalJSON reads an event, and its data if the type is known.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event
	var read plain
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*e = Event(read)
	e.Raw = bytes.Clone(text)
	isComplete := isRandomID(e.ID) && e.Type != "" && !e.Timestamp.IsZero() && e.Sequence >= 1 && isID(e.Shop) &&
		len(e.Data) > 0
	switch e.Type {
	case EventRedemptionCreated, EventRedemptionUndone:
		e.Redemption = new(RedemptionRecord)
		isComplete = isComplete && json.Unmarshal(e.Data, e.Redemption) == nil && e.Redemption.isComplete()
	case EventOrderCreated, EventOrderFulfilled, EventOrderCancelled:
		e.Order = new(PlacedOrder)
		isComplete = isComplete && json.Unmarshal(e.Data, e.Order) == nil && e.Order.isComplete()
	}
	if !isComplete {
		return errors.New("not an event")
	}
	return nil
}

// EventCursor is a place in the feed of a shop's events. The zero EventCursor is before the oldest stored event.
type EventCursor struct {
	After int64 `json:"after"` // the sequence of the last event before the place
	// Feed is the feed that After belongs to. If that feed was lost, the service refuses the cursor, because another
	// feed has other events at the same sequences. If Feed is empty, the service does not check it.
	Feed string `json:"feed"`
}

func (c EventCursor) query() string {
	query := url.Values{}
	if c != (EventCursor{}) {
		query.Set("after", strconv.FormatInt(c.After, 10))
	}
	if c.Feed != "" {
		query.Set("feed", c.Feed)
	}
	return query.Encode()
}

// EventPage is a part of the feed.
type EventPage struct {
	Events []Event
	Next   EventCursor // after the last event of the page
	// PollAfter is how long to wait before requesting the next page. 0: the next page has events already.
	PollAfter time.Duration
}

// Events iterates over the events after a cursor, in sequence, without a gap, and waits for new events. It needs
// WithServerKey. Each event comes at least once: a consumer that crashes gets the events since its stored cursor again.
// Only one consumer may use a cursor: two consumers would apply everything twice.
//
// While the service throttles, is unavailable or cannot be reached, Events waits without limit; see WithOutageReport.
// Events ends only with an error: the error of the context, or an error that a retry would not fix. ErrCursorExpired
// means that the consumer has missed events: they are no longer stored, or the feed was lost. Handle that, and continue
// with the ProblemError's Earliest and Feed. ErrInvalid means that the feed has not reached the cursor yet. To get only
// new events, begin at NewestEvent.
func (c *Client) Events(ctx context.Context, after EventCursor) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := c.availablePage(ctx, after)
			for _, event := range page.Events {
				if !yield(event, nil) {
					return
				}
			}
			after = page.Next
			if err == nil {
				err = sleep(ctx, min(page.PollAfter, c.poll))
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("events: %w", err))
				return
			}
		}
	}
}

// availablePage is like EventPage, but waits until the service is available.
func (c *Client) availablePage(ctx context.Context, after EventCursor) (EventPage, error) {
	for isOut := false; ; isOut = true {
		page, err := c.EventPage(ctx, after)
		delay, isOutage := outage(err)
		if isOut && err == nil {
			c.outage(nil)
		}
		if err == nil || !isOutage {
			return page, err
		}
		if !isOut && ctx.Err() == nil {
			c.outage(err)
		}
		// The random part keeps rejected clients from all returning at once.
		if ended := sleep(ctx, delay+time.Duration(c.jitter(int64(longestDelay)))); ended != nil {
			return EventPage{}, ended
		}
	}
}

// outage reports whether an error of EventPage is temporary, and how long to wait before the next request.
func outage(err error) (delay time.Duration, is bool) {
	status := 0
	if problem, is := errors.AsType[*ProblemError](err); is {
		status, delay = problem.Status, problem.RetryAfter
	} else if malformed, is := errors.AsType[*ResponseError](err); is {
		status = malformed.Status
	}
	return min(max(delay, longestDelay), longestPoll), isTransient(status) && !errors.Is(err, ErrNoServerKey)
}

// EventPage returns the next events after a cursor, and does not wait for new events. The page can be empty. For its
// errors see Events.
func (c *Client) EventPage(ctx context.Context, after EventCursor) (EventPage, error) {
	var page EventPage
	r := c.getPage("events", "/events", after.query())
	r.isServersOnly = true
	r.read = func(resp response) error {
		var received struct {
			Feed             string          `json:"feed"` // empty: the shop never had an event
			Events           []Event         `json:"events"`
			Next             json.RawMessage `json:"next"`
			PollAfterSeconds int64           `json:"pollAfterSeconds"`
		}
		understood := resp.decode("application/json", &received) && received.Events != nil
		page = EventPage{Events: received.Events, PollAfter: time.Duration(received.PollAfterSeconds) * time.Second}
		if understood {
			page.Next, understood = r.readNextEvents(received.Next, received.Feed)
		}
		understood = understood && received.PollAfterSeconds >= 0 &&
			received.PollAfterSeconds <= int64(longestPoll/time.Second)
		if !understood || !page.follows(after, c.shop) {
			return resp.notUnderstood("it is not a page of the events")
		}
		return nil
	}
	if err := c.do(ctx, r); err != nil {
		return EventPage{}, err
	}
	return page, nil
}

// longestPoll is the longest wait that the service may ask for.
const longestPoll = 5 * time.Minute

// readNextEvents reads the cursor after a page from the path of the next page.
func (r request) readNextEvents(text json.RawMessage, feed string) (EventCursor, bool) {
	query, understood := r.nextQuery(text)
	values, err := url.ParseQuery(query)
	after, malformed := strconv.ParseInt(values.Get("after"), 10, 64)
	return EventCursor{After: after, Feed: feed},
		understood && err == nil && malformed == nil && values.Get("feed") == feed
}

// follows reports whether the page has exactly the events that follow a cursor, and sets their feed. Without this
// check, a proxy that drops the query would make the client begin again, or skip events.
func (p EventPage) follows(after EventCursor, shop string) bool {
	isOfFeed := after.Feed == "" || after.Feed == p.Next.Feed
	isOfPlace := after == EventCursor{} || after.After+int64(len(p.Events)) == p.Next.After
	for i := range p.Events {
		event := &p.Events[i]
		event.Feed = p.Next.Feed
		isOfPlace = isOfPlace && event.Sequence == p.Next.After-int64(len(p.Events)-1-i) && event.Shop == shop
	}
	return isOfFeed && isOfPlace && (len(p.Events) == 0 || p.Next.Feed != "") && (len(p.Events) > 0 || p.PollAfter > 0)
}

// NewestEvent returns the place after the newest event. From there, Events yields only what happens from now on. If the
// shop never had an event, the place is the zero EventCursor.
func (c *Client) NewestEvent(ctx context.Context) (EventCursor, error) {
	page, err := c.EventPage(ctx, EventCursor{})
	step, isLonger := int64(1024), true
	for err == nil && page.PollAfter == 0 && step > 0 {
		// Search instead of reading the whole feed: double the steps until a step goes beyond the newest event, then
		// halve them.
		var further EventPage
		further, err = c.EventPage(ctx, EventCursor{page.Next.After + step, page.Next.Feed})
		switch {
		case errors.Is(err, ErrInvalid):
			step, isLonger, err = step/2, false, nil
		case err == nil && isLonger:
			page, step = further, step*2
		case err == nil:
			page, step = further, step/2
		}
	}
	if err != nil {
		return EventCursor{}, fmt.Errorf("newest event: %w", err)
	}
	return page.Next, nil
}
