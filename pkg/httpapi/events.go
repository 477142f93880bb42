package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
)

// EventReader reads the feed of a shop. An event.Feed implements it. Errors: *event.ExpiredError, event.ErrBeyond.
type EventReader interface {
	Read(ctx context.Context, shop catalog.ShopID, cursor event.Cursor, limit int) (event.Page, error)
}

// ListEvents is GET /shop/{customer}/events, for the shop's own server only. It lists events in the order of their
// sequence numbers.
func (s Service) ListEvents(reader EventReader) http.Handler {
	return s.handler(endpoint{
		path: "/shop/{customer}/events", revalidates: true,
		respond: admitted(eventsRequest, (*call).admitServer, func(c *call, wanted events) (response, error) {
			page, err := reader.Read(c.Context(), c.shop, wanted.cursor, wanted.limit)
			if errors.Is(err, event.ErrBeyond) {
				err = problemInvalid.because("The feed has no event with this sequence number yet.").of("after")
			}
			if err != nil {
				return response{}, err
			}
			c.record.note("listed")
			return jsonResponse(http.StatusOK, c.represent(page))
		}),
	})
}

// events asks for a page of the feed.
type events struct {
	cursor event.Cursor
	limit  int
}

func eventsRequest(c *call) (wanted events, err error) {
	if err := c.parseQuery("after", "limit", "feed"); err != nil {
		return events{}, err
	}
	if wanted.limit, err = pageLimit(c.query, event.MaxPerPage); err != nil {
		return events{}, err
	}
	cursor := &wanted.cursor
	cursor.After = event.FromOldest
	if c.query.Has("after") {
		text := c.query.Get("after")
		cursor.After, err = strconv.ParseInt(text, 10, 64)
		if err != nil || cursor.After < 0 || strconv.FormatInt(cursor.After, 10) != text {
			return events{}, problemInvalid.because(
				"The sequence number must be a whole number of 0 or more.",
			).of("after")
		}
	}
	cursor.Feed = c.query.Get("feed")
	if c.query.Has("feed") && (cursor.Feed == "" || !c.query.Has("after")) {
		return events{}, problemInvalid.because(
			"The feed must not be empty, and must be sent together with after.",
		).of("feed")
	}
	return wanted, nil
}

type eventPageJSON struct {
	Feed             string        `json:"feed"`
	Events           []event.Event `json:"events"`
	Next             string        `json:"next"`
	PollAfterSeconds int           `json:"pollAfterSeconds"`
}

func (c *call) represent(page event.Page) eventPageJSON {
	represented := eventPageJSON{Feed: page.Feed, Events: append([]event.Event{}, page.Events...)} // not null
	c.query.Set("after", strconv.FormatInt(page.Next, 10))
	if page.Feed != "" {
		c.query.Set("feed", page.Feed)
	}
	represented.Next = c.URL.Path + "?" + c.query.Encode()
	switch {
	case page.More:
	case c.received.Sub(page.Extended) < busyFor:
		represented.PollAfterSeconds = busyPoll
	default:
		represented.PollAfterSeconds = quietPoll
	}
	return represented
}

// After an event, more events are likely to follow soon. In quiet times, clients poll less often, which costs less.
const (
	busyFor   = time.Minute
	busyPoll  = 5  // seconds
	quietPoll = 15 // seconds
)
