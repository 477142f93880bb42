package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"shopfront/pkg/catalog"
)

// MaxPerPage bounds a page of the feed.
const MaxPerPage = 100

// ErrBeyond means that a cursor is beyond the last event of the feed.
var ErrBeyond = errors.New("the feed has no event with that sequence number yet")

// ExpiredError means that the event after a cursor is no longer stored, or that the cursor belongs to an earlier feed,
// which was lost.
type ExpiredError struct {
	Earliest int64 // the Cursor.After that begins with the oldest stored event: one less than its sequence number
	Feed     string
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the events after the cursor are no longer kept; the oldest that is kept comes after %d",
		e.Earliest)
}

// FromOldest is the After of a cursor that begins with the oldest stored event.
const FromOldest = -1

// Cursor is a place in the feed.
type Cursor struct {
	After int64  // one less than the sequence number of the first event to read; or FromOldest
	Feed  string // the feed to which After belongs; empty: not checked
}

// Page is a part of the feed.
type Page struct {
	Feed   string // identifies the feed; empty if the shop has no events yet
	Events []Event
	Next   int64 // the Cursor.After of the next page
	More   bool  // reports whether more events are ready
	// If More is false, Extended is when the feed got its last event. Zero: the feed has had no event.
	Extended time.Time
}

// Window is a part of a shop's log as it is stored.
type Window struct {
	Feed string // empty if the log has no events
	// First and Last are the first and the last sequence number on the pages of the log that were read. Last can be
	// above the numbers of Events, which are limited. No event between the window's start and First is stored any more.
	// If the window begins after the end of the log, Last is the last sequence number of the log.
	First, Last int64
	// FirstExtended is when the page that contains First got its last event. LastExtended is the same for Last. Later
	// pages have later times.
	FirstExtended, LastExtended time.Time
	// the events after the start, in sequence; an event that is no longer stored has only its Sequence, and a damaged
	// one only its Sequence and ID
	Events []Event
}

// FeedStore reads the logs of shops.
type FeedStore interface {
	// Window returns at most limit events after a sequence number, and the bounds of the part of the log that it read.
	Window(ctx context.Context, shop catalog.ShopID, after int64, limit int) (Window, error)
}

// Feed reads the events of shops.
type Feed struct{ Store FeedStore }

// Read returns a page of at most limit events; limit is 1 to MaxPerPage. In one feed, two pages after the same sequence
// number begin with the same events. But a page from FromOldest begins later once the oldest events have expired.
// A page ends before a damaged event, or fails with a *DamagedError if it would begin with that event. Other errors:
// *ExpiredError, ErrBeyond.
func (f Feed) Read(ctx context.Context, shop catalog.ShopID, cursor Cursor, limit int) (Page, error) {
	after := max(cursor.After, 0)
	w, err := f.Store.Window(ctx, shop, after, limit)
	if err != nil {
		return Page{}, err
	}
	oldest := cursor.After == FromOldest
	switch {
	case cursor.Feed != "" && cursor.Feed != w.Feed:
		return Page{}, f.expired(ctx, shop, 1, w.Feed)
	case w.Feed == "" && after == 0:
		return Page{}, nil
	case after > w.Last:
		return Page{}, ErrBeyond
	case !oldest && (w.First > after+1 || lastGone(w.Events) > 0):
		return Page{}, f.expired(ctx, shop, after+1, w.Feed)
	case oldest && lastGone(w.Events) > 0:
		earliest, err := f.search(ctx, shop, w.First, isKept)
		if err != nil {
			return Page{}, err
		}
		return f.Read(ctx, shop, Cursor{earliest - 1, w.Feed}, limit)
	}
	if i := slices.IndexFunc(w.Events, func(e Event) bool { return e.Damaged() != nil }); i == 0 {
		return Page{}, w.Events[0].Damaged()
	} else if i > 0 {
		w.Events = w.Events[:i]
	}
	page := Page{Feed: w.Feed, Events: w.Events, Next: after}
	if n := len(w.Events); n > 0 {
		page.Next = w.Events[n-1].Sequence
	}
	page.More, page.Extended = page.Next < w.Last, w.LastExtended
	return page, nil
}

// clockSkew bounds how far the clocks of functions may be apart.
const clockSkew = time.Minute

// Since returns a cursor before all events that happened at the given time or later. Earlier events may follow the
// cursor, too, because events are in the order in which they were recorded.
func (f Feed) Since(ctx context.Context, shop catalog.ShopID, since time.Time) (Cursor, error) {
	w, err := f.Store.Window(ctx, shop, 0, 1)
	if err != nil || w.Feed == "" {
		return Cursor{}, err
	}
	sequence, err := f.search(ctx, shop, w.First, func(w Window) bool {
		return isKept(w) && !w.FirstExtended.Before(since.Add(-clockSkew))
	})
	return Cursor{sequence - 1, w.Feed}, err
}

func isKept(w Window) bool { return lastGone(w.Events) == 0 }

func (e Event) isKept() bool { return e.ID != "" }

// lastGone returns the sequence number of the last event that is no longer stored, or 0 if all events are stored.
func lastGone(events []Event) int64 {
	for _, e := range slices.Backward(events) {
		if !e.isKept() {
			return e.Sequence
		}
	}
	return 0
}

// expired returns the error for a cursor whose next event is gone. It looks for the oldest stored event whose sequence
// number is at least the parameter from.
func (f Feed) expired(ctx context.Context, shop catalog.ShopID, from int64, feed string) error {
	if feed == "" {
		return &ExpiredError{}
	}
	earliest, err := f.search(ctx, shop, from, isKept)
	if err != nil {
		return err
	}
	return &ExpiredError{Earliest: earliest - 1, Feed: feed}
}

// search looks for the first event that has a property, beginning with the sequence number in the parameter from. The
// parameter has is a function that reports whether the first event of a window has the property. All later events must
// have the property, too. If no event has the property, search continues with the sequence number after the last event.
//
// From that sequence number, search skips events that are no longer stored, until all events of the page that begins
// there are stored. Such gaps exist because an event that waited for its place in the feed may expire before events
// that precede it. search returns the sequence number that it has reached.
func (f Feed) search(
	ctx context.Context, shop catalog.ShopID, from int64, has func(Window) bool,
) (int64, error) {
	w, err := f.Store.Window(ctx, shop, math.MaxInt64, 1)
	if err != nil {
		return 0, err
	}
	low, high := from, w.Last+1
	for low < high {
		middle := low + (high-low)/2
		w, err := f.Store.Window(ctx, shop, middle-1, 1)
		switch {
		case err != nil:
			return 0, err
		case w.First > middle: // the page is gone, and so are all events before it
			low = w.First
		case len(w.Events) > 0 && has(w):
			high = middle
		default:
			low = middle + 1
		}
	}
	for {
		w, err := f.Store.Window(ctx, shop, low-1, MaxPerPage)
		gone := lastGone(w.Events)
		if err != nil || gone == 0 {
			return low, err
		}
		low = gone + 1
	}
}
